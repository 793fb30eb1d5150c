/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The plugin's way of a READ: the engine is told, then memory, the queue, or the disk itself. */

#include "sim.h"

/* A read that the queue refused, or whose disk needs no queue: on its own. */
static void direct_done(struct sim_io *io)
{
	client_answer(io->arg);
}

static void direct(struct sim *s, struct sim_request *r)
{
	server_demand(s, r, direct_done);
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
		.seek = cost_seek_bytes(&s->queue.cost),
		.file = c->file,
	};

	readahead_observe(s->engine, &s->tuning, &s->counters, &read, plan);
}

void reader_read(struct sim *s, struct sim_request *r)
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
