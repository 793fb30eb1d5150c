/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a write-back's turn costs on this device, as observed.
 *
 *   disk   [ step ][ step ][ step ] . . . . . [ r ][ r ][ r ] [ step ]...
 *          |<------- turn ------->|<- drain ->|
 *
 * A turn is over for us when the drive says so. A drive with a write cache says so before the data is
 * on the platter: the first read waits for the rest (drain), and for the heads to come back. That wait
 * is the writers': it is part of the turn whose share is counted, and of the time that a read may have
 * to wait behind one. How fast a drive takes writes says how large a step may be, so that a turn ends
 * when it should. Pure; no locking of its own.
 */
#ifndef SCHED_WRITEBACK_COST_H
#define SCHED_WRITEBACK_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Of turns lately, the more the later; with their drain, where a read showed it. */
struct writeback_sum {
	double ns, bytes;
};

struct writeback_cost {
	struct writeback_sum all;
	struct writeback_sum alone; /* those beside which nobody else wrote */
	double drain; /* ns: of it what the first read after a turn waited for, lately */
	/* The last turn, as long as no read has shown its drain. */
	uint64_t last_ns, last_bytes;
	bool fresh; /* there is one */
};

/* A turn wrote BYTES in NS. One that no disk is fast enough for wrote nothing, and says nothing. */
void writeback_cost_turn(struct writeback_cost *c, uint64_t bytes, uint64_t ns);
/*
 * The same, and others wrote meanwhile. It waited for them, which it would have however short: it cost at most so
 * much, and its drain. To count that for its bytes would make the next one shorter, which waits as long, and so
 * dearer yet: they cost no more than they do alone. They may have cost less, and do so no longer.
 */
void writeback_cost_crowded(struct writeback_cost *c, uint64_t bytes, uint64_t ns);
/*
 * A read is over; the first one after a turn took NS, and EXPECTED it would have elsewhere. ALONE:
 * nothing else was on the disk meanwhile. Returns what it took longer (ns), which the turn cost too.
 */
uint64_t writeback_cost_read(struct writeback_cost *c, uint64_t ns, double expected, bool alone);
/* What so many bytes cost (ns), with what the drive does of them later; 0: not known. */
uint64_t writeback_cost_of(const struct writeback_cost *c, uint64_t bytes);
/* Bytes of a turn that, with its drain, should cost SLICE ns; UINT64_MAX: not known yet. */
uint64_t writeback_cost_bytes(const struct writeback_cost *c, uint64_t slice);
/* The same, but no less than is worth the way there: turns of less are all seek, and cost more of them. */
uint64_t writeback_cost_turn_bytes(const struct writeback_cost *c, uint64_t slice);
/* Bytes of one step of it. */
uint64_t writeback_cost_step(const struct writeback_cost *c, uint64_t slice);

#endif
