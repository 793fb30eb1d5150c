/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The execution of a write-back. See turn.h. */
#include "writeback/turn.h"

#include <errno.h>
#include <fcntl.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/trace.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacer.h"

/* One step covers at most about so many separate writes. */
#define STEP_RUNS 4
/* As many steps are begun and not waited for, at most; and before it is known what they cost. */
#define STEPS_AHEAD	  16
#define STEPS_AHEAD_FIRST 2
/* Part of the budget beyond which any dirty data is worth a turn ... */
#define LEVEL_HIGH 0.5
/*
 * ... but of a file that is being written only if it is so much (bytes); else after so long without a WRITE (ns). The
 * rest of a small file, and its COMMIT, are about to come, and fsync writes it with others: a turn for a part of it
 * would be one more seek.
 */
#define PRESSED_MUCH  (UINT64_C(4) << 20)
#define PRESSED_RESTS (250 * CLOCK_MS)

static const struct sched_req_ops turn_ops;

static struct dirty_file *file_of(struct sched_req *r)
{
	return CONTAINER_OF(r, struct dirty_file, req);
}

/* The COMMIT to be served next: this turn's, else the one served longest ago; NULL: none waits. */
static struct commit_wait *next_commit(const struct dirty_file *f)
{
	struct commit_wait *w, *next = NULL;

	TAILQ_FOREACH(w, &f->commits, link) {
		if (!w->own.n)
			continue;
		if (f->running && w->served == 2 * f->turn)
			return w;
		if (next == NULL || w->served < next->served)
			next = w;
	}
	return next;
}

bool turn_wanted(const struct dirty_file *f)
{
	return next_commit(f) != NULL;
}

/* Whether what is dirty of F should go though it may be less than a chunk, and younger than the delay. */
static bool is_pressed(const struct dirty_file *f, double level, uint64_t now)
{
	return level > LEVEL_HIGH &&
	       (dirty_bytes(&f->dirty) > PRESSED_MUCH || elapsed(f->wrote, now) >= PRESSED_RESTS);
}

bool turn_claim(struct dirty_file *f, double level, uint64_t now)
{
	bool wanted, due;

	lock_assert_held(&wb.lock);
	if (f->busy || f->gone)
		return false;
	wanted = turn_wanted(f);
	if (!wanted && (!f->dirty.n || dirty_file_scattered(f)))
		return false;
	due = wanted || is_pressed(f, level, now) || dirty_longest(&f->dirty) >= f->chunk ||
	      elapsed(dirty_since(&f->dirty), now) >= f->delay;
	f->busy = due;
	return due;
}

/*
 * Whom a turn of F is charged to, for the COMMIT W or else for who wrote. The rule is that of now: by one of before
 * the client's reads would be served too, as long as old data goes out.
 */
static struct flow_id charged(struct dirty_file *f, struct commit_wait *w)
{
	struct flow_id *flow = w != NULL ? &w->flow : &f->flow;

	if (wb.refresh != NULL)
		wb.refresh(flow);
	return *flow;
}

/* What F's request asks for, and whom it is charged to; with the lock. */
static void describe(struct dirty_file *f)
{
	struct commit_wait *w = next_commit(f);
	const struct dirty_set *s = w != NULL ? &w->own : &f->dirty;
	uint64_t len = s->n ? s->range[0].end - s->range[0].offset : 0;

	f->req = (struct sched_req){.ops = &turn_ops,
				    .class = SCHED_WRITEBACK,
				    .file = f->backing->file,
				    .offset = s->n ? dirty_where(s) : 0,
				    .len = len < f->chunk ? len : f->chunk,
				    .flow = charged(f, w),
				    .wanted = w != NULL};
}

void turn_submit(struct dirty_file *f)
{
	bool out;

	lock_take(&wb.lock);
	assert(f->busy && !f->running);
	describe(f);
	lock_drop(&wb.lock);
	if (backing_use(f->backing)) { /* else it is on its way out */
		f->req.block = wb.ops->place(f->backing, f->req.offset);
		backing_unuse(f->backing);
	}
	if (wb.ops->submit(&f->backing->device->dispatcher, &f->req) == SCHED_ADDED)
		return;
	/* the queue is full: the flusher tries again */
	lock_take(&wb.lock);
	f->busy = false;
	out = dirty_file_take_out(f);
	if (!out)
		wb.ops->wake(&f->progress);
	lock_drop(&wb.lock);
	if (out)
		dirty_file_free(f);
}

bool turn_overlaps(const struct dirty_range *r, uint64_t offset, uint64_t len)
{
	return r->end > offset && (len > UINT64_MAX - offset || r->offset < offset + len);
}

/* The step NUMBER was taken from W: those that came with it or later may wait for it too. */
static void note_step(struct commit_wait *w, const struct dirty_range *step, uint64_t number)
{
	for (; w != NULL; w = TAILQ_NEXT(w, link))
		if (turn_overlaps(step, w->offset, w->len))
			w->until = number;
}

/* The next step, of at most MAX bytes: false when there is none, or somebody waits for the turn's end. */
static bool next_step(struct dirty_file *f, struct dirty_range *step, uint64_t max)
{
	struct commit_wait *w;
	bool got = false;

	lock_take(&wb.lock);
	if (!f->gone && !f->hurried) {
		w = next_commit(f);
		got = dirty_take(w != NULL ? &w->own : &f->dirty, max, STEP_RUNS, step);
		f->begun += got;
		if (got && w != NULL) {
			w->served = 2 * f->turn;
			note_step(w, step, f->begun);
		}
	}
	lock_drop(&wb.lock);
	return got;
}

static void step_done(struct dirty_file *f)
{
	lock_take(&wb.lock);
	f->done++;
	assert(f->done <= f->begun && f->begun < f->done + STEPS_AHEAD);
	if (f->waiters)
		wb.ops->wake(&f->progress);
	lock_drop(&wb.lock);
}

/* First it is recorded, so that no COMMIT can miss it; then the log may take its time. */
static void record(struct dirty_file *f, int err)
{
	bool first;

	if (err == EAGAIN) /* which is the word for "not known yet" (commit.c) */
		err = EIO;
	lock_take(&wb.lock);
	first = errors_note(f->error, f->backing->device->dev, f->backing->file, err);
	wb.stats.errors++;
	lock_drop(&wb.lock);
	if (first)
		errors_log(f->backing->device->dev, f->backing->file, err,
			   "the next COMMIT will say so", wb.ops->now());
}

static int sync_step(struct dirty_file *f, const struct dirty_range *step, unsigned int flags)
{
	return wb.ops->sync(f->backing, step->offset, step->end - step->offset, flags);
}

/* False: the file went while it was queued. Else it has a use for its turn. */
static bool begin_turn(struct dirty_file *f)
{
	lock_take(&wb.lock);
	assert(f->busy && !f->running && f->begun == f->done);
	f->running = !f->gone && backing_use(f->backing);
	f->turn += f->running;
	lock_drop(&wb.lock);
	return f->running;
}

/* A turn under way: steps are begun in order, and waited for in order. */
struct steps {
	struct sched_turn may;
	struct dirty_range ahead[STEPS_AHEAD];
	uint64_t n_begun, n_done;
	uint64_t taken, bytes;	    /* begun; out */
	uint64_t begun, last, took; /* ns: the turn, the last step's end; its time */
	int err;
};

/* Whether one more step will fit behind those on their way; the first one may always go. */
static bool fits(const struct steps *s)
{
	uint64_t ahead = s->n_begun - s->n_done;

	if (!s->n_begun)
		return true;
	if (s->may.bytes == UINT64_MAX) /* by how long the last one took */
		return ahead < STEPS_AHEAD_FIRST &&
		       s->last + (ahead + 1) * s->took - s->begun <= s->may.slice;
	return ahead < STEPS_AHEAD && s->taken + s->may.step / 2 <= s->may.bytes &&
	       s->last - s->begun < s->may.slice;
}

/* Its pages stay dirty, and are written when they are waited for. Of any other error nobody else need be told. */
static bool loses_nothing(int err)
{
	return err == ENOMEM || err == EAGAIN;
}

static void step_failed(struct dirty_file *f, struct steps *s, int err)
{
	record(f, err);
	s->err = err;
}

/* Begins as many steps as may be on their way. */
static void begin_steps(struct dirty_file *f, struct steps *s)
{
	struct dirty_range *step = &s->ahead[s->n_begun % STEPS_AHEAD];

	while (fits(s) && next_step(f, step, s->may.step)) {
		int err = sync_step(f, step, SYNC_FILE_RANGE_WRITE);

		if (err && !loses_nothing(err))
			step_failed(f, s, err);
		s->taken += step->end - step->offset;
		step = &s->ahead[++s->n_begun % STEPS_AHEAD];
	}
}

/* Waits for the oldest step. */
static void end_step(struct dirty_file *f, struct steps *s)
{
	const struct dirty_range *step = &s->ahead[s->n_done++ % STEPS_AHEAD];
	int err = sync_step(f, step,
			    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER);
	uint64_t now;

	if (err)
		step_failed(f, s, err);
	step_done(f);
	now = wb.ops->now();
	pacer_relax(now);
	s->took = now - s->last;
	s->last = now;
	s->bytes += step->end - step->offset;
}

/*
 * Where the file's next turn begins: asked here, since whoever submits must wait for nobody, the
 * flusher of all disks least; and while the disk has the turn's last step, for the disk should wait for
 * nobody either. A turn that waits is seen to stall, and others pass it.
 */
static void find_place(struct dirty_file *f)
{
	uint64_t next;
	bool soon;

	lock_take(&wb.lock);
	next = f->dirty.n ? dirty_where(&f->dirty) : f->dirty.cursor;
	soon = f->gone || f->hurried; /* somebody waits for the end of the turn */
	lock_drop(&wb.lock);
	if (!soon)
		wb.ops->find_place(f->backing, next);
}

/* Steps until the slice is over. Returns their bytes. */
static uint64_t run_steps(struct dirty_file *f, const struct sched_turn *may, int *err)
{
	struct steps s = {.may = *may, .begun = wb.ops->now()};
	bool placed = false;

	s.last = s.begun;
	for (begin_steps(f, &s); s.n_done < s.n_begun; begin_steps(f, &s)) {
		if (s.n_done + 1 == s.n_begun && !placed) {
			find_place(f);
			placed = true;
		}
		end_step(f, &s);
	}
	*err = s.err;
	return s.bytes;
}

static void turn_execute(struct dispatcher *d, struct sched_req *r)
{
	struct dirty_file *f = file_of(r);
	struct sched_turn may = wb.ops->allowance(d);
	struct device *device = f->backing->device;
	struct device_crowd crowd = device_crowd(device);
	uint64_t begun = wb.ops->now();
	int err = 0;

	r->io_len = 0;
	if (!begin_turn(f))
		return;
	r->io_len = run_steps(f, &may, &err);
	r->crowded = device_was_crowded(device, &crowd);
	backing_unuse(f->backing);
	trace(TRACE_TURN, f->backing->file, r->flow.client, r->io_len,
	      (wb.ops->now() - begun) / 1000, may.slice / 1000, (uint64_t)err);
}

static void turn_finish(struct dispatcher *d, struct sched_req *r)
{
	struct dirty_file *f = file_of(r);
	bool again, out = false;

	lock_take(&wb.lock);
	assert(f->begun == f->done);
	wb.stats.pushed += r->io_len;
	f->busy = f->running = false;
	wb.ops->wake(&f->progress);
	again = turn_claim(f, dirty_memory_level(), wb.ops->now());
	if (!again)
		out = dirty_file_take_out(f);
	lock_drop(&wb.lock);
	if (again)
		turn_submit(f);
	else if (out)
		dirty_file_free(f);
}

static const struct sched_req_ops turn_ops = {
	.execute = turn_execute,
	.finish = turn_finish,
};
