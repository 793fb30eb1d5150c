/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Places: a list of their clients, short enough to be walked. See room_gate.h. */
#include "common/room_gate.h"

#include <assert.h>

void room_gate_set_max(struct room_gate *g, uint32_t max)
{
	lock_take(&g->lock);
	g->max = max < ROOM_GATE_MAX ? max : ROOM_GATE_MAX;
	lock_drop(&g->lock);
}

static uint32_t places_of(const struct room_gate *g, uint64_t client)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += g->client[i] == client;
	return n;
}

bool room_gate_enter(struct room_gate *g, uint64_t client)
{
	bool may;

	lock_take(&g->lock);
	may = g->n < g->max && places_of(g, client) < g->max - g->n;
	if (may)
		g->client[g->n++] = client;
	lock_drop(&g->lock);
	return may;
}

void room_gate_leave(struct room_gate *g, uint64_t client)
{
	uint32_t i = 0;

	lock_take(&g->lock);
	while (i < g->n && g->client[i] != client)
		i++;
	assert(i < g->n);
	g->client[i] = g->client[--g->n];
	lock_drop(&g->lock);
}
