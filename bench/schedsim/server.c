/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The queue and its dispatcher, without threads. */
#include <assert.h>

#include "sched/parts.h"
#include "sched/place.h"
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
	if (r->req.state == REQ_RUNNING)
		drive_reads_to(&s->drive, &r->req, s->events.now);
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

void server_beside(struct sim *s, uint32_t there, bool scattered_only)
{
	s->queue.scattered_only = scattered_only;
	s->queue.one_each =
		there && there >= drive_reads_of_one(&s->drive, &s->queue, s->events.now);
}

void server_observe(struct sim *s, const struct sim_io *io)
{
	uint64_t now = s->events.now;
	uint32_t queued = s->queue.by_class[SCHED_DEMAND];

	sched_observe(&s->queue, io->offset, io->len,
		      drive_reads_came(&s->drive, queued, io->len, now - io->begun, now));
}

void server_leave(struct sim *s, struct sched_req *r)
{
	drive_reads_order(&s->drive, &s->queue, r, s->events.now);
	drive_reads_from(&s->drive, r, s->events.now);
	server_end(s, r);
}

void server_end_demand(struct sim *s, struct sim_request *r)
{
	server_observe(s, &r->io);
	client_arrived(r->client, r->req.offset, r->io.len);
	server_leave(s, &r->req);
	client_answer(r);
}

void server_give_place(struct sim *s, bool scattered)
{
	assert(s->busy && s->scattered >= scattered);
	s->busy--;
	s->scattered -= scattered;
	server_dispatch(s);
}

static void demand_done(struct sim_io *io)
{
	struct sim_request *r = io->arg;
	struct sim *s = r->client->sim;
	bool scattered = r->req.scattered;

	server_end_demand(s, r);
	server_give_place(s, scattered);
}

void server_execute(struct sim *s, struct sched_req *r)
{
	server_demand(s, (struct sim_request *)r, demand_done);
}

/* The next request that the disk has a place for; NULL: none. */
static struct sched_req *next(struct sim *s)
{
	enum sched_place place = sched_place(s->depth, s->busy, s->scattered,
					     drive_reads_there(&s->drive, &s->queue));

	s->queue.at_hand =
		place == PLACE_SCATTERED && drive_reads_one_at_hand(&s->drive, &s->queue);
	s->queue.short_too = drive_reads_takes_chunks(&s->drive, &s->queue);
	server_beside(s, place == PLACE_SCATTERED ? s->scattered : 0, place != PLACE_ANY);
	return place == PLACE_NONE ? NULL : sched_next(&s->queue, s->events.now);
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

	while ((r = next(s))) {
		s->busy++;
		s->scattered += r->scattered;
		s->ops->execute[r->class](s, r);
	}
	if (s->busy >= s->depth)
		return;
	until = sched_hold_until(&s->queue, now);
	if (until == NEVER || (s->timer > now && s->timer <= until))
		return;
	/* as the dispatcher's HOLD_MIN: it does not spin */
	s->timer = until < now + MS / 10 ? now + MS / 10 : until;
	events_at(&s->events, s->timer, timer, s);
}
