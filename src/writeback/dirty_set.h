/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What of one file was written and has not gone to the disk: a few ranges, sorted.
 *
 *   offset ->   [======]     [==]   [===========================]
 *               a range: since when, and out of how many separate writes
 *
 * A file written in sequence is one range that grows. Random writes make many; beyond
 * DIRTY_RANGES the two nearest become one, with the clean gap between them if that is no longer than
 * DIRTY_GAP: writing out a few clean pages costs nothing. Where none are so near, the one with the
 * least to write is forgotten: the kernel writes it, or fsync. So the set is a hint both ways.
 * What a sequential writer wrote at the end is younger than what is in front: a part of a range is as old as its place says.
 * `runs` remembers how scattered a range is, so that a step through it can be kept short, and
 * `bytes` how much of it was written.
 *
 * No lock and no allocation: the caller's.
 */
#ifndef WRITEBACK_DIRTY_SET_H
#define WRITEBACK_DIRTY_SET_H

#include <stdbool.h>
#include <stdint.h>

#define DIRTY_RANGES 32
#define DIRTY_GAP    (UINT64_C(1) << 20) /* bytes */

struct dirty_range {
	uint64_t offset, end; /* bytes */
	uint64_t since;	      /* ns: its oldest write, in front */
	uint64_t newest;      /* ns: the one at its end; since: it was written in no such order */
	uint64_t bytes;	      /* dirty in it, at most; 1..end - offset */
	uint32_t runs;	      /* separate writes joined in it */
};

struct dirty_set {
	uint32_t n;
	uint64_t cursor; /* where the last step ended: steps go on from there, one way round */
	struct dirty_range range[DIRTY_RANGES];
};

/* [offset, offset + len) became dirty at NOW (ns). An empty range is nothing; one beyond 2^64 ends
 * there. */
void dirty_add(struct dirty_set *s, uint64_t offset, uint64_t len, uint64_t now);
/* [offset, offset + len) is clean, or gone. */
void dirty_remove(struct dirty_set *s, uint64_t offset, uint64_t len);
/* Moves what lies in [offset, offset + len) from one set to another. */
void dirty_move(struct dirty_set *from, struct dirty_set *to, uint64_t offset, uint64_t len);
/*
 * The next step of at most MAX bytes and about RUNS separate writes, taken out of the set. False
 * when the set is empty.
 */
bool dirty_take(struct dirty_set *s, uint64_t max, uint32_t runs, struct dirty_range *step);
/* Where the next step would begin; the set is not empty. */
uint64_t dirty_where(const struct dirty_set *s);
/* Dirty bytes of the range with most of them. */
uint64_t dirty_longest(const struct dirty_set *s);
/* Dirty bytes of all ranges together: without the gaps. */
uint64_t dirty_bytes(const struct dirty_set *s);
/* Since when its oldest data is dirty (ns); UINT64_MAX when clean. */
uint64_t dirty_since(const struct dirty_set *s);

#endif
