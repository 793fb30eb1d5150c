/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A write-back's turn, as src/writeback/turn.c has it, and what fsync adds at the end of a COMMIT. */
#include <assert.h>

#include "sim.h"

/* From a turn's begin to its first command (ns). */
#define BEGIN_NS    2000000
#define STEP_RUNS   4
#define STEPS_AHEAD 16
#define LEVEL_HIGH  0.5
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
	struct sched_turn may;
	uint64_t begun, last, took; /* ns */
	uint64_t bytes, taken;
	struct step step[STEPS_AHEAD];
	uint64_t first, next; /* steps: waited for, to begin */
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
	struct step *step = &t->step[t->next % STEPS_AHEAD];
	struct sim_client *c = t->client;
	struct sim *s = c->sim;

	if (!dirty_take(is_wanted(c) ? &c->own : &c->dirty, t->may.step, STEP_RUNS, &step->range))
		return false;
	t->next++;
	t->taken += step->range.end - step->range.offset;
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
	block_free(t);
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

static bool fits(const struct sim_turn *t)
{
	uint64_t now = t->client->sim->events.now;

	if (t->may.bytes != UINT64_MAX)
		return t->taken + t->may.step / 2 <= t->may.bytes && now - t->begun < t->may.slice;
	return t->last + (t->next - t->first + 1) * t->took - t->begun <= t->may.slice;
}

/* More steps, as far as they are sure to fit behind those on their way. */
static void begin_more(struct sim_turn *t)
{
	unsigned int ahead = t->may.bytes == UINT64_MAX ? 2 : STEPS_AHEAD;

	while (t->next - t->first < ahead && fits(t) && begin_step(t))
		;
}

/* The step waited for is out; the one begun ahead is waited for next. */
static void account_step(struct sim_turn *t, uint64_t len)
{
	t->first++;
	t->bytes += len;
	t->took = t->client->sim->events.now - t->last;
	t->last = t->client->sim->events.now;
}

static void step_done(struct sim_io *io)
{
	struct step *step = io->arg, *first;
	struct sim_turn *t = step->turn;

	step->running = false;
	memory_cleaned(t->client->sim, io->len);
	/* a drive with a queue: one may have overtaken the first */
	while (t->first < t->next && !(first = &t->step[t->first % STEPS_AHEAD])->running) {
		account_step(t, first->io.len);
		begin_more(t);
	}
	if (t->first == t->next)
		end_turn(t);
}

static void begin_turn(void *arg)
{
	struct sim_turn *t = arg;

	if (begin_step(t))
		begin_more(t);
	else
		end_turn(t);
}

void turn_execute(struct sim *s, struct sched_req *r)
{
	struct sim_client *c = (struct sim_client *)((char *)r - offsetof(struct sim_client, req));
	struct sim_turn *t = block_new(&s->blocks, sizeof(*t));

	c->turn = t;
	t->client = c;
	t->begun = t->last = s->events.now;
	t->may = sched_writeback_turn(&s->queue, s->events.now);
	/* the file system finds room first */
	events_at(&s->events, s->events.now + BEGIN_NS, begin_turn, t);
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
