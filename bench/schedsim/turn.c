/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A write-back's turn, as src/writeback/turn.c has it, and what fsync adds at the end of a COMMIT. */
#include <assert.h>
#include <stdlib.h>

#include "sim.h"

#define STEP_BYTES (2 * MIB)
#define STEP_RUNS  4
#define LEVEL_HIGH 0.5
/* The journal's place, and what a COMMIT of it writes: the descriptor block and the commit block. */
#define JOURNAL	     (1024 * MIB)
#define JOURNAL_LEN  (64 * KIB)
#define JOURNAL_DONE (4 * KIB)

struct step {
	struct sim_io io;
	struct sim_turn *turn;
	struct dirty_range range;
	bool running;
};

struct sim_turn {
	struct sim_client *client;
	uint64_t begun, last, took, slice, bytes; /* ns; bytes */
	bool more;
	struct step step[2];
	unsigned int next, first; /* of step: to begin, to wait for */
};

static bool is_wanted(const struct sim_client *c)
{
	return c->own.n > 0;
}

void turn_claim(struct sim_client *c, double level)
{
	struct sim *s = c->sim;
	const struct dirty_set *set = is_wanted(c) ? &c->own : &c->dirty;
	uint64_t now = s->events.now;

	if (c->busy || !set->n)
		return;
	if (!is_wanted(c) && level <= LEVEL_HIGH &&
	    dirty_longest(set) < s->params.writeback_chunk &&
	    now - dirty_since(set) < s->params.writeback_delay * MS)
		return;
	c->busy = true;
	c->req = (struct sched_req){
		.class = SCHED_WRITEBACK,
		.file = c->file,
		.offset = dirty_where(set),
		.block = c->base + dirty_where(set),
		.len = s->params.writeback_chunk,
		.wanted = is_wanted(c),
		.flow = {.client = c->kind.address + 1},
	};
	c->busy = sched_submit(&s->queue, &c->req, now) == SCHED_ADDED;
}

static void step_done(struct sim_io *io);

/* Hands the next step to the disk; false: there is none. */
static bool begin_step(struct sim_turn *t)
{
	struct step *step = &t->step[t->next];
	struct sim_client *c = t->client;
	struct sim *s = c->sim;

	if (!dirty_take(is_wanted(c) ? &c->own : &c->dirty, STEP_BYTES, STEP_RUNS, &step->range))
		return false;
	t->next = !t->next;
	step->turn = t;
	step->running = true;
	step->io.op = DISK_WRITE;
	step->io.offset = c->base + step->range.offset;
	step->io.len = step->range.end - step->range.offset;
	step->io.client = c->n;
	step->io.done = step_done;
	step->io.arg = step;
	s->memory.dirty -= step->io.len;
	s->memory.flying += step->io.len;
	sim_disk_submit(&s->disk, &step->io);
	return true;
}

static void end_turn(struct sim_turn *t)
{
	struct sim_client *c = t->client;
	struct sim *s = c->sim;

	c->req.io_len = t->bytes;
	free(t);
	c->turn = NULL;
	c->busy = false;
	server_end(s, &c->req);
	if (c->committing && !is_wanted(c))
		turn_settle(c);
	else
		turn_claim(c, memory_level(s));
	s->busy--;
	server_dispatch(s);
}

/* The next step, if it is sure to fit, while the one before is on its way. */
static void begin_more(struct sim_turn *t)
{
	t->more = t->last + 2 * t->took - t->begun <= t->slice && begin_step(t);
}

/* The step waited for is out; the one begun ahead is waited for next. */
static void account_step(struct sim_turn *t, uint64_t len)
{
	struct sim *s = t->client->sim;

	t->first = !t->first;
	t->bytes += len;
	t->took = s->events.now - t->last;
	t->last = s->events.now;
}

static void step_done(struct sim_io *io)
{
	struct step *step = io->arg;
	struct sim_turn *t = step->turn;

	step->running = false;
	memory_cleaned(t->client->sim, io->len);
	if (step != &t->step[t->first]) /* a drive with a queue: it overtook the first */
		return;
	do {
		account_step(t, t->step[t->first].io.len);
		if (!t->more) {
			end_turn(t);
			return;
		}
		begin_more(t);
	} while (!t->step[t->first].running);
}

void turn_execute(struct sim *s, struct sched_req *r)
{
	struct sim_client *c = (struct sim_client *)((char *)r - offsetof(struct sim_client, req));
	struct sim_turn *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	c->turn = t;
	t->client = c;
	t->begun = t->last = s->events.now;
	t->slice = sched_writeback_slice(&s->queue, s->events.now);
	if (begin_step(t)) {
		begin_more(t);
		return;
	}
	c->busy = false;
	c->turn = NULL;
	free(t);
	c->req.io_len = 0;
	server_end(s, r);
	s->busy--;
}

/* ---- fsync --------------------------------------------------------------------------------- */

static void committed(struct sim_io *io)
{
	client_stable(io->arg);
}

static void described(struct sim_io *io)
{
	struct sim_client *c = io->arg;

	io->offset = JOURNAL + JOURNAL_LEN;
	io->len = JOURNAL_DONE;
	io->done = committed;
	sim_disk_submit(&c->sim->disk, io);
}

void turn_settle(struct sim_client *c)
{
	struct sim_io *io = &c->requests[0].io;

	*io = (struct sim_io){.op = DISK_WRITE,
			      .stable = true,
			      .offset = JOURNAL,
			      .len = JOURNAL_LEN,
			      .client = c->n,
			      .done = described,
			      .arg = c};
	c->committing = false;
	sim_disk_submit(&c->sim->disk, io);
}
