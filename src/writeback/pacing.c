/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pacing of writers. See pacing.h. */
#include "writeback/pacing.h"

#define SECOND UINT64_C(1000000000)
/* A client is active for so long after a write; they are counted this often (ns). */
#define ACTIVE_FOR   SECOND
#define COUNT_PERIOD (SECOND / 10)
/* Share of the disk's rate that is left at the budget. */
#define RATE_LEAST 0.02

static void count_active(struct pacing *p, uint64_t now)
{
	if (p->active && now - p->counted < COUNT_PERIOD)
		return;
	p->counted = now;
	p->active = 0;
	for (int i = 0; i < PACING_CLIENTS; i++)
		if (p->client[i].seen && now - p->client[i].seen < ACTIVE_FOR)
			p->active++;
	if (!p->active)
		p->active = 1;
}

static double speed(double level)
{
	double s = 2 * (1 - level) / (1 - PACING_SETPOINT);

	return s < RATE_LEAST ? RATE_LEAST : s;
}

uint64_t pacing_delay(struct pacing *p, uint64_t client, uint64_t bytes, double level, double rate,
		      uint64_t delay_max, uint64_t now)
{
	uint64_t slot = (client * 0x9e3779b97f4a7c15u) >> 56, *clock = &p->client[slot].clock;
	double cost;

	p->client[slot].seen = now;
	if (level <= PACING_SETPOINT || !delay_max || rate <= 0) {
		*clock = now;
		return 0;
	}
	count_active(p, now);
	cost = (double)bytes * p->active / (rate * speed(level)) * (double)SECOND;
	if (*clock < now)
		*clock = now;
	*clock += cost < (double)delay_max ? (uint64_t)cost : delay_max;
	if (*clock - now > delay_max)
		*clock = now + delay_max;
	return *clock - now;
}
