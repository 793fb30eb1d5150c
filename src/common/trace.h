/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decisions as they are taken, for whoever asks why: a ring of the last TRACE_RING of them, read by
 * `ractl trace`.
 *
 *   trace(TRACE_PICK, file, ...) ---> [ off: one load and a branch ]
 *                                     [ on: a slot of the ring, no lock, no allocation ]
 *
 * The ring never blocks a writer: a reader that is too slow misses records and sees how many by the
 * gap in their numbers. Any thread may write and read.
 */
#ifndef COMMON_TRACE_H
#define COMMON_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_RING 8192 /* records kept */
#define TRACE_ARGS 4

enum trace_event {
	TRACE_OBSERVE, /* a read was matched with a cursor */
	TRACE_PLAN,    /* a prefetch was planned */
	TRACE_SUBMIT,  /* a request was given to a disk's queue */
	TRACE_PICK,    /* a request goes to the disk */
	TRACE_TURN,    /* a write-back's turn is over */
	TRACE_COMMIT,  /* a COMMIT was answered */
	TRACE_PRICE,   /* a device's prices were computed */
	TRACE_EVENTS
};

/* What an event's arguments mean; a name of NULL: there is no such argument. */
struct trace_kind {
	const char *name;
	const char *args[TRACE_ARGS];
};
extern const struct trace_kind trace_kinds[TRACE_EVENTS];

struct trace_record {
	uint64_t number; /* of the record, from 1 on */
	uint64_t time;	 /* ns of clock_now() */
	uint64_t file;	 /* inode, or hash of the handle; 0: none */
	uint64_t client; /* the host's number for it; 0: nobody's, or not known */
	uint64_t args[TRACE_ARGS];
	enum trace_event event;
};

extern atomic_bool trace_on;

/* Whether somebody looks: what only a trace needs is to be found out then alone. */
static inline bool trace_wanted(void)
{
	return __builtin_expect(atomic_load_explicit(&trace_on, memory_order_relaxed), 0);
}

void trace_write(enum trace_event event, uint64_t file, uint64_t client, uint64_t a, uint64_t b,
		 uint64_t c, uint64_t d);
/* Notes a decision, if somebody looks. */
static inline void trace(enum trace_event event, uint64_t file, uint64_t client, uint64_t a,
			 uint64_t b, uint64_t c, uint64_t d)
{
	if (trace_wanted())
		trace_write(event, file, client, a, b, c, d);
}

void trace_switch(bool on);
/* The number of the last record written; 0: none yet. */
uint64_t trace_last(void);
/*
 * Copies records of numbers above AFTER, the oldest first, up to MAX, and up to one that is just being written;
 * returns how many. Those that were overwritten meanwhile are left out.
 */
unsigned int trace_read(uint64_t after, struct trace_record *records, unsigned int max);

#endif
