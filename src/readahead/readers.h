/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who reads, by address: what the READs of each found in memory, and what became of what was fetched ahead of them.
 *
 *   address --hash--> one of READERS_PROBES places --> the reader's number, its place + 1
 *                                                       '-> counters, spread over READERS_SHARDS lines
 *
 * A reader that is known is found without a lock: every READ looks for its own. A place is taken for good, but
 * for one whose reader was silent for READERS_IDLE: that is given to a new one when no other is free. Then a few of
 * the READs under way at that moment may be counted for the wrong one of the two, and what is known by number of the old one
 * is to be forgotten. Where no place can be had the number is 0: nobody's, for whom nothing is counted.
 *
 * Any thread.
 */
#ifndef READAHEAD_READERS_H
#define READAHEAD_READERS_H

#include <stdint.h>

#define READERS_MAX    1024
#define READERS_PROBES 16
#define READERS_SHARDS 4
#define READERS_IDLE   UINT64_C(600000000000) /* ns */

enum reader_counter {
	READER_READS,
	READER_RESIDENT, /* whose data was in memory on arrival */
	READER_USED,	 /* bytes fetched ahead of it, and read */
	READER_WASTED,	 /* ... come, and given up unread */
	READER_COUNTERS
};

/* An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d. All zero: nobody. */
struct reader_address {
	uint8_t byte[16];
};

struct reader_look {
	struct reader_address address;
	uint64_t used; /* ns, to a second: when it was last looked for */
	uint64_t value[READER_COUNTERS];
};

struct readers;

/* NULL: no memory. FORGET, if not NULL, is called with ARG before a number is given to a reader: under a lock, so not for long. */
struct readers *readers_new(void (*forget)(void *arg, uint32_t number), void *arg);
/* Nobody counts any more; NULL does nothing. */
void readers_free(struct readers *r);
/* The number of the reader at A, which is known from now on; 0: nobody's. NOW: ns. */
uint32_t readers_find(struct readers *r, const struct reader_address *a, uint64_t now);
/* N more for the reader of that number. */
void readers_count(struct readers *r, uint32_t reader, enum reader_counter which, uint64_t n);
/* Fills up to MAX, those first that were looked for last; returns how many are known. */
uint32_t readers_look(const struct readers *r, struct reader_look *looks, uint32_t max);

#endif
