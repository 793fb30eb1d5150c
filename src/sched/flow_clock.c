/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Disk time of requests of which several may be under way at once.
 *
 *   sum    0         t/2           t/2 + u/1      each of n under way has an nth of the time that
 *   a      |----------|------------|              passes, so all the disk's time is somebody's, once
 *   b      |----------|
 */
#include <assert.h>

#include "sched/parts.h"

static void clock_advance(struct flow_clock *c, uint64_t now)
{
	if (c->n)
		c->sum += (now - c->last) / c->n;
	c->last = now;
}

void clock_start(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	assert(!r->on_clock);
	clock_advance(&q->flows.clock, now);
	q->flows.clock.n++;
	r->on_clock = true;
	r->clock_from = q->flows.clock.sum;
}

void clock_stop(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (!r->on_clock)
		return;
	clock_advance(&q->flows.clock, now);
	assert(q->flows.clock.n);
	q->flows.clock.n--;
	r->on_clock = false;
	r->disk_time += q->flows.clock.sum - r->clock_from;
}

uint64_t clock_had(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	clock_advance(&q->flows.clock, now);
	return r->disk_time + (r->on_clock ? q->flows.clock.sum - r->clock_from : 0);
}
