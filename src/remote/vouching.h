/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a file's change attribute comes in time for what is kept of it (remote/use_once.h).
 *
 *   asked        |------------- USE_ONCE_VOUCHED ------------|      what its answer vouches for
 *   asked again  |----- USE_ONCE_ASKS -----|-- in time? -----|      VOUCHING_TIME
 *
 * An answer that takes longer leaves a gap in which nothing may be given: READs go to the cluster for what
 * lies here, so that all is moved twice, just when the cluster has more to do than it can. So an answer that
 * is late, or none, stops read-ahead of the file for a while, as self_check.h does; and as long as one is
 * overdue nothing is fetched either. The next trial begins with the question, so that nothing is moved for
 * it if the answer is late again. The pauses grow until VOUCHING_GOOD answers have come in time.
 *
 * Any thread, no lock: two may ask at once, and a lost count does not matter.
 */
#ifndef REMOTE_VOUCHING_H
#define REMOTE_VOUCHING_H

#include "remote/self_check.h"
#include "remote/use_once.h"

#define VOUCHING_TIME (USE_ONCE_VOUCHED - USE_ONCE_ASKS) /* ns */
#define VOUCHING_GOOD 8

/* Of one file; zero: nothing is known. */
struct vouching {
	struct self_check check;
	_Atomic uint64_t asked; /* ns: since when an answer is awaited; 0: none is */
	_Atomic uint32_t good;	/* answers in time since the last one that was not */
};

/* Whether the file may be asked about: not while an answer is awaited, or read-ahead has stopped. */
bool vouching_may_ask(const struct vouching *v, uint64_t now);
/* The question is sent at NOW, which is not 0. */
void vouching_asks(struct vouching *v, uint64_t now);
/*
 * At NOW its answer has come, GOOD, or failed; it was sent at ASKED. True: with this one nothing is to be
 * fetched ahead any more, for a while.
 */
bool vouching_told(struct vouching *v, uint64_t asked, bool good, uint64_t now);
/* Whether what is fetched ahead at NOW can be given, as far as is known. */
bool vouching_works(const struct vouching *v, uint64_t now);

/*
 * Whether a file that was last changed in the second CHANGED can be told by that from what another WRITE makes of it, which is
 * sent at NOW or later; both in seconds since 1970, NOW before the file was asked about. FSAL_GLUSTER's change attribute is
 * the second of the last change, so that two in one second are the same:
 *
 *   writer     | WRITE  WRITE |                                    by his clock, or the brick's
 *   attribute  |<-- CHANGED ->|<- VOUCHING_CLOCKS ->| settled      by ours
 *
 * Clocks may so differ, and a WRITE be under way, for VOUCHING_CLOCKS together. A time in the future is not settled.
 */
#define VOUCHING_CLOCKS 1 /* s */
static inline bool vouching_is_settled(int64_t changed, int64_t now)
{
	return changed < now - VOUCHING_CLOCKS;
}

/*
 * What is vouched for of a file with this change attribute and SIZE: another number where either is another. What is cut
 * off or appended is so seen though the writer's clock is behind that of the one before him.
 */
static inline uint64_t vouching_change(uint64_t change, uint64_t size)
{
	return change ^
	       size * UINT64_C(0x9e3779b97f4a7c15); /* an odd factor: each size has its own */
}

/* ... and what its times are, to the nanosecond: use_once_attrs.stamp. Where replicas' differ by so much that changes more often. */
static inline uint64_t vouching_stamp(uint64_t change, uint32_t ctime_ns, uint32_t mtime_ns)
{
	return change ^ (((uint64_t)ctime_ns << 32) | mtime_ns) * UINT64_C(0xff51afd7ed558ccd);
}

#endif
