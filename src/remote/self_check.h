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
#define CHECK_TRIAL	8 /* so many do after a pause, with as many slow ones in proportion */
#define CHECK_QUICK	UINT64_C(150000)      /* ns */
#define CHECK_CHUNK	(UINT64_C(128) << 10) /* bytes: a shorter read does not say how chunks come */
#define CHECK_COPIED	1		      /* ns a byte: no slower than copying */
#define CHECK_AVERAGED	8
#define CHECK_SHIFT	16
#define CHECK_PAUSE_MIN UINT64_C(5000000000)  /* ns */
#define CHECK_PAUSE_MAX UINT64_C(60000000000) /* ns */

/* Of one file; zero: nothing is known. */
struct self_check {
	_Atomic uint32_t reads, slow;
	_Atomic uint64_t until; /* ns: nothing is fetched ahead before */
	_Atomic uint64_t pause; /* ns: the last one; 0: there was none, or it went well since */
	/* of chunks' reads, on average: ns that 2^CHECK_SHIFT bytes take (0: not known), and bytes */
	_Atomic uint64_t came, length;
};

/* A read of LEN bytes that were fetched ahead took TOOK ns: one that took no longer than copying says nothing of the cluster. */
void self_check_came(struct self_check *c, uint64_t len, uint64_t took);
/*
 * What a read of LEN bytes from the cluster is taken to take (ns) where nobody has measured that; 0: nothing came yet. It is those
 * bytes' share of a chunk's read. Of a shorter one twice that, half of which counts: it has a part of the time for each request
 * that is not its bytes'. Who reads what is there more slowly than it came has it from the cluster.
 */
uint64_t self_check_expected(const struct self_check *c, uint64_t len);

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
