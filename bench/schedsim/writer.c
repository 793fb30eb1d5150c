/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* WRITEs, their pacing, COMMITs, and the ticks of src/writeback/flusher.c. */

#include "pricing/price.h"
#include "sim.h"
#include "writeback/share.h"

/* As flusher.c and dirty_memory.c have them. */
#define TICK	       (50 * MS)
#define MEMORY_K       1e4
#define PRICE_MIN      1e-2
#define RATE_FIRST     100e6
#define READS_AVERAGED 16
#define READS_SATURATE 4

static uint64_t oldest(const struct sim *s)
{
	uint64_t since = s->events.now;

	for (unsigned int i = 0; i < s->n; i++)
		if (s->clients[i].kind.work == SIM_WRITE &&
		    dirty_since(&s->clients[i].dirty) < since)
			since = dirty_since(&s->clients[i].dirty);
	return s->events.now - since;
}

static void set_share(struct sim *s)
{
	struct share_limits l = {.share_max = s->queue.limits.writeback_share,
				 .price_min = PRICE_MIN,
				 .age_max = s->params.writeback_max_age * MS};
	uint32_t reads = s->queue.queued - s->queue.by_class[SCHED_WRITEBACK];

	reads += s->queue.running - s->queue.writeback.running;
	s->reads += (reads - s->reads) / READS_AVERAGED;
	sched_set_writeback_share(
		&s->queue, share_bought(&l, price_of(MEMORY_K, memory_level(s) / PACING_SETPOINT),
					price_of((double)s->params.k_disk,
						 s->reads / (READS_SATURATE * s->depth)),
					oldest(s)));
}

static void tick(void *arg)
{
	struct sim *s = arg;

	memory_measure(s);
	if (s->stock) {
		stock_tick(s);
	} else {
		for (unsigned int i = 0; i < s->n; i++)
			if (s->clients[i].kind.work == SIM_WRITE)
				turn_claim(&s->clients[i], memory_level(s));
		set_share(s);
		server_dispatch(s);
	}
	events_at(&s->events, s->events.now + TICK, tick, s);
}

void writer_start(struct sim *s)
{
	s->memory.rate = RATE_FIRST;
	events_at(&s->events, s->events.now + TICK, tick, s);
}

static void answer(void *arg)
{
	client_answer(arg);
}

/* The kernel stops who dirties beyond the middle between what it lets pass and its limit. */
static void throttle(void *arg)
{
	struct sim_request *r = arg;
	struct sim *s = r->client->sim;
	const struct sim_memory *m = &s->memory;

	if (m->dirty + m->flying <= (m->background + 3 * m->limit) / 4)
		client_answer(r);
	else
		events_at(&s->events, s->events.now + 10 * MS, throttle, r);
}

void writer_write(struct sim *s, struct sim_request *r)
{
	struct sim_client *c = r->client;
	uint64_t now = s->events.now, delay;

	s->memory.dirty += r->req.len;
	dirty_add(&c->dirty, r->req.offset, r->req.len, now);
	if (s->stock) {
		stock_flush(s);
		throttle(r);
		return;
	}
	delay = pacing_delay(&s->pacing, c->kind.address, r->req.len, memory_level(s),
			     s->memory.rate, s->params.write_delay_max * MS, now);
	events_at(&s->events, now + delay, answer, r);
}

void writer_commit(struct sim_client *c)
{
	struct sim *s = c->sim;

	c->committing = true;
	if (s->stock) {
		stock_flush(s);
		return;
	}
	dirty_move(&c->dirty, &c->own, 0, UINT64_MAX);
	if (!c->busy && !c->own.n) {
		turn_settle(c);
		return;
	}
	turn_claim(c, 1);
	if (c->busy)
		sched_want(&s->queue, &c->req, &c->req.flow, s->events.now);
	server_dispatch(s);
}
