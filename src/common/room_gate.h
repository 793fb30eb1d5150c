/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who may have one of a few places: so many in all, and of one client at most as many as are still left. One
 * greedy client so gets half of them, two get a third each, and one is left for who comes next (Choudhury & Hahne's
 * dynamic threshold, 1998). Any thread.
 */
#ifndef COMMON_ROOM_GATE_H
#define COMMON_ROOM_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"

#define ROOM_GATE_MAX 128

struct room_gate {
	struct lock lock;
	uint32_t max;
	_Atomic uint32_t n;		/* places that are taken; changed with the lock */
	uint64_t client[ROOM_GATE_MAX]; /* one entry a place, in no order */
};

/* With M places, ROOM_GATE_MAX at most. */
#define ROOM_GATE_INITIALIZER(m)                                                                   \
	{                                                                                          \
		.lock = LOCK_INITIALIZER(LOCK_LEAF), .max = (m)                                    \
	}

/* From now on; at most ROOM_GATE_MAX. */
void room_gate_set_max(struct room_gate *g, uint32_t max);
/* CLIENT has a place, and says when it does no more; false: it may not. */
bool room_gate_enter(struct room_gate *g, uint64_t client);
void room_gate_leave(struct room_gate *g, uint64_t client);
/* Whether somebody has a place; without the lock. */
static inline bool room_gate_is_taken(const struct room_gate *g)
{
	return atomic_load_explicit(&g->n, memory_order_relaxed) != 0;
}

#endif
