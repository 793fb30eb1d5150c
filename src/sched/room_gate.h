/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many of the server's threads may wait for room in a queue: so many in all, whichever device, and
 * of one client at most as many as are still left. One greedy client so gets half of them, two get a
 * third each, and one is left for who comes next.
 *
 * One for the server, as its threads are.
 */
#ifndef SCHED_ROOM_GATE_H
#define SCHED_ROOM_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define ROOM_GATE_MAX 128

/* From now on; at most ROOM_GATE_MAX. */
void room_gate_set_max(uint32_t max);
/* A thread with a request of CLIENT may wait, and says when it does no more; false: it may not. */
bool room_gate_enter(uint64_t client);
void room_gate_leave(uint64_t client);

#endif
