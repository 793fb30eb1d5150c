/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The options of ractl's command line. */
#ifndef CONTROL_OPTIONS_H
#define CONTROL_OPTIONS_H

#include <stdbool.h>

#include "control/top.h"

struct options {
	const char *socket; /* where it is not given, as it was */
	bool json, reset, follow, batch;
	const char *events;
	const char *output, *root; /* of metrics, NULL: standard output; of advise */
	unsigned int clients;	   /* of metrics: those that used a device most; 0: none */
	struct top_options top;
	unsigned int given;	      /* those of TAKES_... */
	const char *wrong, *argument; /* what was wrong, for people; the argument may be "" */
};

/* Options that only some verbs take; of those that TAKES_ROWS stands for these two are told apart. */
#define TAKES_RESET    (1u << 0)
#define TAKES_TRACE    (1u << 1)
#define TAKES_ROWS     (1u << 2)
#define TAKES_BATCH    (1u << 3)
#define TAKES_INTERVAL (1u << 4)
#define TAKES_BY       (1u << 5)
#define TAKES_OUTPUT   (1u << 6)
#define TAKES_ROOT     (1u << 7)
#define TAKES_CLIENTS  (1u << 8)

/* Clients of a device that metrics may name. */
#define METRICS_CLIENTS_MAX 64

enum options_read { OPTIONS_READ, OPTIONS_HELP, OPTIONS_WRONG };

/* Fills O, which is zero but for the socket, from the command line; arguments begin at optind. */
enum options_read options_parse(struct options *o, int argc, char **argv);
/* Which verbs the lowest of the options GIVEN is for. */
const char *options_only_for(unsigned int given);

#endif
