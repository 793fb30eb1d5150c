/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A prefetch: steps, and gaps between them, as src/disk/prefetch.c and dispatcher_gap() have them. */
#include <assert.h>

#include "sched/place.h"
#include "sim.h"

struct chunk {
	struct sched_req req; /* first */
	struct sim_client *client;
	struct readahead_plan plan;
	uint64_t upto, slice; /* offset; ns */
	bool started;
	uint32_t beside; /* small reads of its gap that run */
	struct sim_io io;
};

static void step(struct chunk *c);

/* All of it is in memory already. */
static bool is_resident(struct chunk *c)
{
	struct sim *s = c->client->sim;
	uint64_t end = c->plan.offset + c->plan.len;

	if (!client_resident(c->client, c->plan.offset, c->plan.len))
		return false;
	c->upto = end;
	readahead_already(s->engine, &s->counters, &c->plan, c->plan.offset, end);
	readahead_arrived(s->engine, &c->plan, end, s->events.now);
	return true;
}

void chunk_submit(struct sim_client *client, const struct readahead_plan *plan)
{
	struct sim *s = client->sim;
	struct chunk *c = block_new(&s->blocks, sizeof(*c));

	c->client = client;
	c->plan = *plan;
	c->upto = plan->offset;
	c->req = (struct sched_req){
		.class = SCHED_PREFETCH,
		.one_step = plan->len <= client->sim->params.prefetch_step,
		.file = client->file,
		.owner = plan->cursor.index + 1,
		.offset = plan->offset,
		.len = plan->len,
		.block = client->base + plan->offset,
		.flow = {.client = client->kind.address + 1},
	};
	if (!is_resident(c) && sched_submit(&s->queue, &c->req, s->events.now) == SCHED_ADDED)
		return;
	readahead_finished(s->engine, &s->counters, plan, c->upto, false, false);
	block_free(c);
}

static void start(struct chunk *c)
{
	struct sim *s = c->client->sim;
	uint64_t turn = sched_chunk_of(&s->queue, &c->req);
	struct readahead_read at = {.size = c->client->kind.size,
				    .now = s->events.now,
				    .chunk = sched_chunk(&s->queue),
				    .streams = sched_streams(&s->queue),
				    .seek = cost_seek_bytes(&s->queue.cost),
				    .file = c->client->file};
	struct readahead_plan next;

	if (c->plan.way == WAY_FORWARD && c->plan.len > turn + turn / 2 &&
	    readahead_may_shorten(s->engine, &c->plan))
		readahead_shorten(s->engine, &s->counters, &c->plan,
				  sched_shorten(&s->queue, &c->req, turn));
	readahead_started(s->engine, &s->tuning, &s->counters, &c->plan, &at, &next);
	c->started = true;
	if (next.len)
		chunk_submit(c->client, &next);
}

static void end(struct chunk *c)
{
	struct sim *s = c->client->sim;
	bool scattered = c->req.scattered;

	server_leave(s, &c->req);
	readahead_finished(s->engine, &s->counters, &c->plan, c->upto, c->started, false);
	block_free(c);
	server_give_place(s, scattered);
}

static void gap(struct chunk *c, bool first);

static void gap_done(struct sim_io *io)
{
	struct sim_request *r = io->arg;
	struct sim *s = r->client->sim;
	struct chunk *c = (struct chunk *)(uintptr_t)r->req.owner;

	c->beside--;
	server_end_demand(s, r);
	gap(c, false);
	if (!c->beside) {
		c->slice = s->events.now;
		step(c);
	}
}

/* Small reads within the chunk, as many as go together. */
static void gap(struct chunk *c, bool first)
{
	struct sim *s = c->client->sim;
	struct sched_req *r;

	if (c->req.scattered)
		return; /* others are beside it, and need no gap */
	while (c->beside < drive_reads_together(&s->drive, &s->queue)) {
		server_beside(s, c->beside, c->beside != 0);
		r = sched_next_in_gap(&s->queue, &c->req, s->events.now - c->slice,
				      first && !c->beside, s->events.now);
		if (!r)
			return;
		r->owner = (uintptr_t)c; /* of no stream: free for us */
		c->beside++;
		server_demand(s, (struct sim_request *)r, gap_done);
		if (!r->scattered)
			return;
	}
}

/* Of a step of N bytes so many are fetched. */
static uint64_t brought(const struct chunk *c, uint64_t n)
{
	return c->plan.record && n > c->plan.record ? c->plan.record : n;
}

static void arrived(struct chunk *c, uint64_t n)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sim *s = c->client->sim;

	client_arrived(c->client, c->upto, brought(c, n));
	c->upto += n;
	if (c->plan.record && c->upto < c->plan.offset + c->plan.len)
		return; /* records come in any order */
	readahead_arrived(s->engine, &c->plan, c->upto, s->events.now);
	sched_progress(&s->queue, &c->req, c->upto, s->events.now, &woken);
	server_wake(s, &woken);
}

static uint64_t step_length(const struct chunk *c)
{
	uint64_t left = c->plan.offset + c->plan.len - c->upto;
	uint64_t step = c->plan.record ? c->plan.step : c->client->sim->params.prefetch_step;

	return left < step ? left : step;
}

static void step_done(struct sim_io *io)
{
	struct chunk *c = io->arg;
	struct sim *s = c->client->sim;

	server_observe(s, io);
	arrived(c, step_length(c));
	if (c->upto == c->plan.offset + c->plan.len)
		end(c);
	else if (gap(c, true), !c->beside)
		step(c);
}

static void end_now(void *arg)
{
	end(arg);
}

/* Steps that are in memory cost nothing. Returns the length of the next one that is not. */
static uint64_t pass_resident(struct chunk *c)
{
	struct sim *s = c->client->sim;
	uint64_t n = step_length(c);

	while (n && client_resident(c->client, c->upto, brought(c, n))) {
		readahead_already(s->engine, &s->counters, &c->plan, c->upto, c->upto + n);
		arrived(c, n);
		n = step_length(c);
	}
	return n;
}

static void step(struct chunk *c)
{
	struct sim *s = c->client->sim;
	uint64_t n = pass_resident(c), from = c->upto;

	if (!n) {
		events_at(&s->events, s->events.now, end_now, c);
		return;
	}
	while (client_resident(c->client, from, PAGE))
		from += PAGE;
	c->io.op = DISK_READ;
	c->io.offset = c->client->base + from;
	c->io.len = c->upto + brought(c, n) - from;
	c->io.client = c->client->n;
	c->io.done = step_done;
	c->io.arg = c;
	sim_disk_submit(&s->disk, &c->io);
}

void chunk_execute(struct sim *s, struct sched_req *r)
{
	struct chunk *c = (struct chunk *)r;

	drive_reads_to(&s->drive, r, s->events.now);
	if (r->dropped) {
		events_at(&s->events, s->events.now, end_now, c);
		return;
	}
	c->slice = s->events.now;
	start(c);
	step(c);
}
