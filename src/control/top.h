/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `ractl top` and `ractl clients`: who uses the devices, again and again or once. */
#ifndef CONTROL_TOP_H
#define CONTROL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "control/client_rows.h"

#define TOP_INTERVAL_MIN 100 /* ms */
#define TOP_INTERVAL_MAX 3600000
#define TOP_COUNT_MAX	 1000000000

struct top_options {
	const char *socket;
	unsigned int timeout_s;
	bool json;
	uint64_t interval; /* ms; of top_clients() also 0: since the start */
	uint64_t count;	   /* so many intervals; 0: no end */
	enum rows_by by;
	enum rows_order order;
};

/* Prints what was used in one interval. False after a message. */
bool top_clients(const struct top_options *o);
/* The same interval after interval, until it is ended or the server goes. */
bool top_batch(const struct top_options *o);
/* Live on the terminal, until q; where there is none, it says so and goes on as top_batch(). */
bool top_live(const struct top_options *o);

#endif
