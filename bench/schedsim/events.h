/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is to happen in virtual time: a heap of moments. Those of one moment go in order of entry. */
#ifndef SCHEDSIM_EVENTS_H
#define SCHEDSIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
	uint64_t at, order; /* ns; of entry */
	void (*fire)(void *arg);
	void *arg;
};

struct events {
	uint64_t now, entered; /* ns */
	struct event *heap;
	size_t n, room;
};

/* FIRE(ARG) at AT (ns), not before now. Memory that cannot be had ends the program. */
void events_at(struct events *e, uint64_t at, void (*fire)(void *arg), void *arg);
/* Time goes on to the next event, which happens; false: there is none until LIMIT (ns). */
bool events_step(struct events *e, uint64_t limit);
void events_fini(struct events *e);

#endif
