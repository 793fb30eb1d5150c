/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The queue and its dispatcher, without threads. */
#include <assert.h>

#include "sched/parts.h"
#include "sim.h"

void server_wake(struct sim *s, struct sched_list *woken)
{
	struct sched_req *r;

	(void)s;
	while ((r = TAILQ_FIRST(woken))) {
		TAILQ_REMOVE(woken, r, link);
		client_answer((struct sim_request *)r);
	}
}

void server_demand(struct sim *s, struct sim_request *r, void (*done)(struct sim_io *io))
{
	r->io.op = DISK_READ;
	r->io.offset = r->req.block;
	r->io.len = r->req.io_len ? r->req.io_len : r->req.len;
	r->io.client = r->client->n;
	r->io.done = done;
	r->io.arg = r;
	sim_disk_submit(&s->disk, &r->io);
}

void server_end(struct sim *s, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(&s->queue, r, s->events.now, &woken);
	server_wake(s, &woken);
}

static void demand_done(struct sim_io *io)
{
	struct sim_request *r = io->arg;
	struct sim *s = r->client->sim;

	if (s->busy == 1)
		sched_observe(&s->queue, io->offset, io->len, s->events.now - io->begun);
	server_end(s, &r->req);
	client_answer(r);
	assert(s->busy);
	s->busy--;
	server_dispatch(s);
}

void server_execute(struct sim *s, struct sched_req *r)
{
	server_demand(s, (struct sim_request *)r, demand_done);
}

static void timer(void *arg)
{
	struct sim *s = arg;

	s->timer = NEVER;
	server_dispatch(s);
}

void server_dispatch(struct sim *s)
{
	uint64_t now = s->events.now, until;
	struct sched_req *r;

	while (s->busy < s->depth && (r = sched_next(&s->queue, now))) {
		s->busy++;
		s->ops->execute[r->class](s, r);
	}
	if (s->busy == s->depth)
		return;
	until = sched_hold_until(&s->queue, now);
	if (until == NEVER || (s->timer > now && s->timer <= until))
		return;
	/* as the dispatcher's HOLD_MIN: it does not spin */
	s->timer = until < now + MS / 10 ? now + MS / 10 : until;
	events_at(&s->events, s->timer, timer, s);
}
