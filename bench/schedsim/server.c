/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The plugin's way of a read: engine, queue, dispatcher; without threads. */
#include <assert.h>
#include <stdlib.h>

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

/* A read that the queue refused, or whose disk needs no queue: on its own. */
static void direct_done(struct sim_io *io)
{
	client_answer(io->arg);
}

static void direct(struct sim *s, struct sim_request *r)
{
	server_demand(s, r, direct_done);
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

static void observe(struct sim *s, const struct sim_request *r, struct readahead_plan *plan)
{
	const struct sim_client *c = r->client;
	struct readahead_read read = {
		.key = &c->file,
		.key_len = sizeof(c->file),
		.offset = r->req.offset,
		.size = c->kind.size,
		.len = (uint32_t)r->req.len,
		.now = s->events.now,
		.chunk = sched_chunk(&s->queue),
		.streams = sched_streams(&s->queue),
		.file = c->file,
	};

	readahead_observe(s->engine, &s->tuning, &s->counters, &read, plan);
}

void server_read(struct sim *s, struct sim_request *r)
{
	struct readahead_plan plan;

	observe(s, r, &plan);
	if (plan.len)
		chunk_submit(r->client, &plan);
	if (client_resident(r->client, r->req.offset, r->req.len)) {
		client_answer(r);
	} else if (!s->disk.kind->arms) {
		direct(s, r);
	} else {
		switch (sched_submit(&s->queue, &r->req, s->events.now)) {
		case SCHED_RESIDENT:
			client_answer(r);
			break;
		case SCHED_FULL:
			direct(s, r);
			break;
		default:
			break;
		}
	}
	server_dispatch(s);
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

static void execute(struct sim *s, struct sched_req *r)
{
	if (r->class == SCHED_DEMAND)
		server_demand(s, (struct sim_request *)r, demand_done);
	else if (r->class == SCHED_PREFETCH)
		chunk_execute(s, r);
	else
		turn_execute(s, r);
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
		execute(s, r);
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
