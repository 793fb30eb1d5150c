/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty data in memory, as src/writeback/dirty_memory.c has it. */
#include "sim.h"

#define RATE_SPAN    (200 * MS)
#define RATE_SPANS   4
#define RATE_BACKLOG 0.3

static uint64_t memory_budget(const struct sim *s)
{
	return s->params.dirty_budget ? s->params.dirty_budget : s->memory.background / 4 * 3;
}

double memory_level(const struct sim *s)
{
	return (double)(s->memory.dirty + s->memory.flying) / (double)memory_budget(s);
}

void memory_cleaned(struct sim *s, uint64_t bytes)
{
	s->memory.flying -= bytes;
	s->memory.out += bytes;
}

void memory_measure(struct sim *s)
{
	struct sim_memory *m = &s->memory;
	uint64_t now = s->events.now;

	if (now - m->measured < RATE_SPAN)
		return;
	if (memory_level(s) > RATE_BACKLOG)
		m->rate +=
			((double)m->out * 1e9 / (double)(now - m->measured) - m->rate) / RATE_SPANS;
	m->out = 0;
	m->measured = now;
}
