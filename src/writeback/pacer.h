/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Holding back replies to UNSTABLE writes while too much is dirty: how long is said by pacing.h;
 * here is the thread that lets them go. Reads, metadata and stable writes never come here.
 *
 *   hold(delay) ---> [ held replies, the next one due first ] ---> answer(), on the pacer's thread
 *                                                 relax() ---'  those for which there is room again
 *
 * The delay is what the level of the moment asks for. A fast disk may have emptied a small budget long before it
 * is over, and would stand still: below the setpoint nobody is held back, as far as what they will send has room.
 *
 * A reply that is held keeps its request in memory, with the data that was written. So both are
 * bounded, the number and the bytes; beyond either a reply goes at once.
 */
#ifndef WRITEBACK_PACER_H
#define WRITEBACK_PACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Part of whatever is held back. */
struct paced {
	TAILQ_ENTRY(paced) link;
	uint64_t due;	/* ns */
	uint64_t bytes; /* of the request, which waits with its reply */
	bool elsewhere; /* its holder's: not for this machine's memory, so that its level says nothing */
	void (*answer)(struct paced *p);
};

struct pacer_limits {
	uint32_t replies; /* held at a time */
	uint64_t bytes;	  /* of their requests */
	/* The thread has started: gives it a name. NULL: it needs none. */
	void (*name_thread)(const char *name);
};

/* 0 or an errno. */
int pacer_start(const struct pacer_limits *limits);
/* From now on; what is held stays. Any thread, before it is started too. */
void pacer_set_room(uint32_t replies, uint64_t bytes);
/* Answers what is still held. */
void pacer_stop(void);
/* For how long (ns) to hold the reply to CLIENT's write of BYTES; 0: not at all. MAX: ns, bounds it. */
uint64_t pacer_delay(uint64_t client, uint64_t bytes, uint64_t max);
/* The same where not this machine's memory fills: by that LEVEL (1: full), and the RATE (bytes a second) it empties at. */
uint64_t pacer_delay_at(uint64_t client, uint64_t bytes, double level, double rate, uint64_t max);
/*
 * Calls ANSWER on the pacer's thread in DELAY ns; BYTES: of the request. False when there is no room
 * for it: then nothing was held.
 */
bool pacer_hold(struct paced *p, uint64_t bytes, uint64_t delay, void (*answer)(struct paced *p));
/* It is NOW, and data has been written out: looks at memory's level, if there is anybody to let go. Any thread. */
void pacer_relax(uint64_t now);

/* For operators. */
struct pacer_stats {
	uint32_t held;	    /* now */
	uint64_t bytes;	    /* of their requests, now */
	uint64_t replies;   /* ever held */
	uint64_t delay;	    /* ns, that all of them together were held, or are to be */
	uint64_t delay_max; /* ns, that one was to be held */
	uint64_t refused;   /* found no room */
};
void pacer_stats(struct pacer_stats *s);

#endif
