/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threads that wait for room: a list of their clients, short enough to be walked. See room_gate.h. */
#include "sched/room_gate.h"

#include <assert.h>

#include "common/lock.h"

static struct {
	struct lock lock;
	uint32_t max, waiting;
	uint64_t client[ROOM_GATE_MAX]; /* one entry a thread, in no order */
} gate = {.lock = LOCK_INITIALIZER(LOCK_LEAF)};

void room_gate_set_max(uint32_t max)
{
	lock_take(&gate.lock);
	gate.max = max < ROOM_GATE_MAX ? max : ROOM_GATE_MAX;
	lock_drop(&gate.lock);
}

static uint32_t threads_of(uint64_t client)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gate.waiting; i++)
		n += gate.client[i] == client;
	return n;
}

bool room_gate_enter(uint64_t client)
{
	bool may;

	lock_take(&gate.lock);
	may = gate.waiting < gate.max && threads_of(client) < gate.max - gate.waiting;
	if (may)
		gate.client[gate.waiting++] = client;
	lock_drop(&gate.lock);
	return may;
}

void room_gate_leave(uint64_t client)
{
	uint32_t i = 0;

	lock_take(&gate.lock);
	while (i < gate.waiting && gate.client[i] != client)
		i++;
	assert(i < gate.waiting);
	gate.client[i] = gate.client[--gate.waiting];
	lock_drop(&gate.lock);
}
