/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a cluster's client keeps what is fetched ahead of a file.
 *
 * It does not where another client has the file open for writing (CephFS takes the capability to cache
 * away), or where its cache is too small or off: then everything would be moved twice and nothing gained.
 * Nobody says so; but a read of what was fetched a moment ago then takes as long as one of what was not.
 *
 *   reads that should be in memory   q q q s q ...      quick: go on
 *                                    s s q s s s s ...  slow, 26 of 32: nothing is fetched ahead of this
 *                                                       file for a while, then it is tried again
 *
 * Slow is what takes more than half of what the cluster would take for it, as measured on it, and more
 * than CHECK_QUICK. The pause is CHECK_PAUSE_MIN, twice as long each time that the next trial fails too, up
 * to CHECK_PAUSE_MAX. Where slow and quick cannot be told apart (a cluster in memory, as fast as its
 * client), to stop costs as little as to go on.
 *
 * Any thread, no lock: a lost count does not matter.
 */
#ifndef REMOTE_SELF_CHECK_H
#define REMOTE_SELF_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHECK_READS	32
#define CHECK_SLOW	26
#define CHECK_QUICK	UINT64_C(150000)      /* ns */
#define CHECK_PAUSE_MIN UINT64_C(5000000000)  /* ns */
#define CHECK_PAUSE_MAX UINT64_C(60000000000) /* ns */

/* Of one file; zero: nothing is known. */
struct self_check {
	_Atomic uint32_t reads, slow;
	_Atomic uint64_t until; /* ns: nothing is fetched ahead before */
	_Atomic uint64_t pause; /* ns: the last one; 0: there was none, or it went well since */
};

/*
 * A read that should have been in memory took TOOK ns; from the cluster it would take EXPECTED, 0: not
 * known. True: with this one nothing is to be fetched ahead any more, for a while.
 */
bool self_check_read(struct self_check *c, uint64_t took, uint64_t expected, uint64_t now);
/* Whether prefetching of the file has stopped. */
static inline bool self_check_stopped(const struct self_check *c, uint64_t now)
{
	return now < atomic_load_explicit(&c->until, memory_order_relaxed);
}
/* What was fetched ahead could not be read at all: the same. */
void self_check_failed(struct self_check *c, uint64_t now);
/* It went well for long enough: the next pause is a short one. */
void self_check_went_well(struct self_check *c);

#endif
