/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long the operations of one kind, or of one client, took:
 *
 *   due ---- late ---- sent ---- latency ---- answered
 *    '----------------- waited ------------------'
 *
 * What the user waits for begins when the operation is due. One that a stalled server keeps from being sent
 * is late, and its latency says nothing of the stall.
 */
#ifndef NFSREPLAY_TIMES_H
#define NFSREPLAY_TIMES_H

#include "nfsbench/latency.h"

struct replay_times {
	struct latency latency, late, waited; /* µs */
};

/* Times in ns of one clock. */
void replay_times_add(struct replay_times *t, uint64_t due, uint64_t sent, uint64_t answered);
void replay_times_merge(struct replay_times *into, const struct replay_times *from);

#endif
