/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The workers of a dispatcher: what each does next, who answers, and who goes on when a request
 * hangs. See dispatcher.h.
 *
 *   the disk has room, and something is queued: do it    else: an answer is left to give: give it
 *   else: one of those on the disk has stalled: it loses its place      else: wait
 *
 * A gap of a chunk, where the drive is given several reads together:
 *
 *   the chunk's thread   step step | open: r          r       wait | step step ...
 *   one with nothing to do         |   help: r   r             |
 *   another                        |     help: r     r  -------'  the last that helps closes the gap
 *
 * Who helps takes the gap's reads as the chunk's thread does, and has no place at the disk: the chunk
 * has. That gives no sign of life while it waits: what hangs here hangs the chunk.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "sched/dispatcher_parts.h"

/* The shortest timed wait (ns). */
#define HOLD_MIN UINT64_C(100000)
/* More waiters than this, or more bytes to copy, are left to a thread that is idle. */
#define ANSWER_NOW	 32
#define ANSWER_NOW_BYTES (UINT64_C(1) << 20)

struct worker {
	struct dispatcher *d;
	unsigned int n;
};

static void *worker_main(void *arg);

/* ---- threads; lock held ------------------------------------------------------------------ */

int dispatcher_start_worker(struct dispatcher *d)
{
	struct worker *w = malloc(sizeof(*w));
	int err;

	if (!w)
		return ENOMEM;
	*w = (struct worker){.d = d, .n = d->n_threads};
	err = pthread_create(&d->threads[d->n_threads], NULL, worker_main, w);
	if (err)
		free(w);
	else
		d->n_threads++;
	return err;
}

/* Sees to it that somebody is left who is not at the disk; false: nobody can be had. */
static bool keep_spare(struct dispatcher *d)
{
	uint32_t away = d->queue.stalled + d->passed + d->answerers + d->telling;
	uint32_t working = d->busy + d->helping;

	if (working < d->depth)
		working = d->depth;
	if (d->idle || d->n_threads > working + away)
		return true;
	return !d->stopping && d->n_threads < DISPATCHER_THREADS_MAX && !dispatcher_start_worker(d);
}

/* Whether one more could serve a read of the open gap. */
static bool may_help(const struct dispatcher *d)
{
	return d->opening && d->opening->helpers + 1 < drive_reads_together(&d->drive, &d->queue) &&
	       !drive_reads_is_full(&d->drive);
}

void dispatcher_wake(struct dispatcher *d)
{
	bool none = dispatcher_place(d) == PLACE_NONE && !may_help(d);

	if (!sched_held_up(&d->queue) || (none && d->watched))
		return;
	if (d->busy >= d->depth)
		keep_spare(d);
	pthread_cond_signal(&d->work);
}

void dispatcher_watch(struct dispatcher *d)
{
	if (!d->watched && sched_held_up(&d->queue) && keep_spare(d))
		pthread_cond_signal(&d->work);
}

/* There may be room in the queue for who waits for it. */
static void let_in(struct dispatcher *d)
{
	if (dispatcher_let_in(d))
		dispatcher_wake(d);
}

/* ---- answers ----------------------------------------------------------------------------- */

static void complete_all(struct sched_list *woken)
{
	struct sched_req *r;

	while ((r = TAILQ_FIRST(woken))) {
		TAILQ_REMOVE(woken, r, link);
		r->ops->complete(r); /* R may be gone after this */
	}
}

static bool are_many(const struct sched_list *woken)
{
	const struct sched_req *r;
	uint64_t n = 0, bytes = 0;

	TAILQ_FOREACH(r, woken, link) {
		bytes += r->len;
		if (++n > ANSWER_NOW || bytes > ANSWER_NOW_BYTES)
			return true;
	}
	return false;
}

/* Whether an answer would not stand behind others', which may hang. */
static bool may_leave(const struct dispatcher *d)
{
	return !d->stopping && TAILQ_EMPTY(&d->answers) && d->answerers < DISPATCHER_ANSWERERS_MAX;
}

/* Answers all in WOKEN, or has them answered. Lock held before, not after. */
static void answer_unlock(struct dispatcher *d, struct sched_list *woken)
{
	struct sched_req *r;

	if (may_leave(d) && are_many(woken) && keep_spare(d)) {
		TAILQ_FOREACH(r, woken, link)
			sched_answer_later(&d->queue, r);
		TAILQ_CONCAT(&d->answers, woken, link);
		pthread_cond_signal(&d->work);
	}
	let_in(d);
	lock_drop(&d->lock);
	complete_all(woken);
}

/* Answers the first of those that were left; lock held. False: none is left to the caller. */
static bool answer_one(struct dispatcher *d)
{
	struct sched_req *r = TAILQ_FIRST(&d->answers);
	struct sched_flow *f;
	bool again;
	uint64_t len;

	if (!r || d->answerers == DISPATCHER_ANSWERERS_MAX)
		return false;
	TAILQ_REMOVE(&d->answers, r, link);
	len = r->len;
	f = r->in;
	again = r->let_go; /* it may come again, for the place that it has */
	if (again)
		sched_answered(&d->queue, f, len);
	d->answerers++;
	if (keep_spare(d) && !TAILQ_EMPTY(&d->answers)) /* this one may hang */
		pthread_cond_signal(&d->work);
	dispatcher_watch(d);
	lock_drop(&d->lock);
	r->ops->complete(r);
	lock_take(&d->lock);
	d->answerers--;
	if (!again)
		sched_answered(&d->queue, f, len);
	let_in(d);
	return true;
}

/* ---- workers ----------------------------------------------------------------------------- */

/* Whether something waits for who is at the disk; else what is queued waits for its time, and places are free. */
static bool waits_for_place(const struct dispatcher *d)
{
	return sched_held_up(&d->queue) && (d->busy >= d->depth || d->queue.with_others);
}

/* One that has hung for too long loses its place. True: there was one. */
static bool pass_stalled(struct dispatcher *d)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct subject s;

	if (!waits_for_place(d) || !dispatcher_free_place(d, d->ops->now(), &s, &woken))
		return false;
	d->telling++;
	if (keep_spare(d)) /* one who goes on if the log hangs too */
		pthread_cond_signal(&d->work);
	if (!TAILQ_EMPTY(&woken)) {
		answer_unlock(d, &woken);
		lock_take(&d->lock);
	}
	dispatcher_log_stall(d, &s, false);
	d->telling--;
	return true;
}

/* Ends R, whose waiters in WOKEN are answered too, at NOW; lock held. */
static void finish(struct dispatcher *d, struct sched_req *r, uint64_t now,
		   struct sched_list *woken)
{
	struct finishing f;

	dispatcher_finish_begin(d, r, now, &f);
	answer_unlock(d, woken);
	r->ops->finish(d, r);
	lock_take(&d->lock);
	dispatcher_finish_end(d, &f);
}

/* R has left the disk, and has given a sign of life for the last time, at NOW; lock held. */
static void end(struct dispatcher *d, struct sched_req *r, uint64_t now, struct sched_list *woken)
{
	drive_reads_order(&d->drive, &d->queue, r, now);
	drive_reads_from(&d->drive, r, now);
	sched_done(&d->queue, r, now, woken);
	dispatcher_advise(d);
}

void dispatcher_end_unlock(struct dispatcher *d, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	end(d, r, now, &woken);
	dispatcher_wake(d);
	answer_unlock(d, &woken);
}

static void serve(struct dispatcher *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	bool full;
	uint64_t now;

	drive_reads_to(&d->drive, r, d->ops->now());
	let_in(d); /* R's place in the queue is free */
	lock_drop(&d->lock);
	r->ops->execute(d, r);
	lock_take(&d->lock);
	now = dispatcher_sign(d, r);
	full = drive_reads_is_full(&d->drive);
	end(d, r, now, &woken);
	/* this thread looks for the next one when R is answered */
	if (full && !drive_reads_is_full(&d->drive))
		dispatcher_wake(d);
	finish(d, r, now, &woken);
}

/*
 * Waits for work, until what is held back may go, or until a request will have stalled for which
 * something queued has to wait; lock held.
 */
static void wait_for_work(struct dispatcher *d)
{
	uint64_t now = d->ops->now(), until = UINT64_MAX, stall = UINT64_MAX;
	bool watch;

	if (d->busy < d->depth) /* else whoever frees the disk looks again */
		until = sched_hold_until(&d->queue, now);
	if (waits_for_place(d) && !d->watched)
		stall = dispatcher_stall_at(d);
	watch = stall != UINT64_MAX;
	until = stall < until ? stall : until;
	d->idle++;
	d->watched |= watch;
	if (until == UINT64_MAX)
		pthread_cond_wait(&d->work, &d->lock.mutex);
	else
		clock_cond_wait_until(&d->work, &d->lock.mutex,
				      clock_now() +
					      (until < now + HOLD_MIN ? HOLD_MIN : until - now));
	d->watched &= !watch;
	d->idle--;
}

/* Serves a read of the open gap; false: there is none. */
static bool help(struct dispatcher *d)
{
	struct dispatcher_opening *o = d->opening;
	struct sched_req *small;

	if (!may_help(d))
		return false;
	d->queue.scattered_only = true;
	dispatcher_crowd(d, o->helpers + 1);
	small = sched_next_in_gap(&d->queue, o->chunk, o->slice, false, d->ops->now());
	if (!small)
		return false;
	o->helpers++;
	d->helping++;
	if (may_help(d) && d->queue.by_class[SCHED_DEMAND])
		dispatcher_wake(d);
	else
		dispatcher_watch(d); /* this one may have */
	serve(d, small);
	d->helping--;
	if (!--o->helpers)
		pthread_cond_broadcast(&d->closed);
	return true;
}

/* The next request that the disk has a place for; NULL: none. */
static struct sched_req *next(struct dispatcher *d)
{
	enum sched_place place = dispatcher_place(d);

	if (d->stopping) /* everybody helps: what a last chunk submits must not be left behind */
		d->queue.scattered_only = d->queue.one_each = false;
	else if (place == PLACE_NONE)
		return NULL;
	return sched_next(&d->queue, d->ops->now());
}

/* The disk first: who has answers to give is never kept from giving them for long. Lock held. */
static bool work(struct dispatcher *d)
{
	struct sched_req *r = next(d);

	bool scattered = r && r->scattered;

	if (!r)
		return help(d) || answer_one(d) || pass_stalled(d);
	dispatcher_take_place(d, scattered);
	/* it may have company; or this one waited until somebody is over his ceiling no more */
	if (dispatcher_place(d) == PLACE_SCATTERED ||
	    sched_held_up(&d->queue) > sched_ready(&d->queue))
		dispatcher_wake(d);
	else
		dispatcher_watch(d); /* this one may have */
	serve(d, r);
	dispatcher_give_place(d, scattered);
	return true;
}

void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	lock_take(&d->lock);
	dispatcher_sign(d, r);
	sched_progress(&d->queue, r, upto, d->ops->now(), &woken);
	answer_unlock(d, &woken);
}

/* Others help in O from now on, unless they do elsewhere, or R needs the disk for itself. */
static void open_gap(struct dispatcher *d, struct dispatcher_opening *o, const struct sched_req *r)
{
	if (!r->scattered && d->opening == o)
		d->opening = NULL;
	if (!r->scattered || d->opening || drive_reads_together(&d->drive, &d->queue) <= 1)
		return;
	d->opening = o;
	if (d->queue.by_class[SCHED_DEMAND])
		dispatcher_wake(d);
}

/* The next read of the gap O, or NULL: then those who help in it have ended too. */
static struct sched_req *next_in_gap(struct dispatcher *d, struct dispatcher_opening *o, bool first)
{
	struct sched_req *r;

	for (;;) {
		d->queue.scattered_only = o->helpers != 0;
		dispatcher_crowd(d, o->helpers);
		r = sched_next_in_gap(&d->queue, o->chunk, o->slice, first, d->ops->now());
		if (r || !o->helpers)
			return r;
		pthread_cond_wait(&d->closed, &d->lock.mutex);
	}
}

bool dispatcher_gap(struct dispatcher *d, struct sched_req *r, uint64_t slice)
{
	struct dispatcher_opening o = {.chunk = r, .slice = slice};
	struct sched_req *small;
	bool served = false;

	if (r->scattered)
		return false; /* others are beside it, and need no gap */
	lock_take(&d->lock);
	while ((small = next_in_gap(d, &o, !served))) {
		served = true;
		open_gap(d, &o, small);
		serve(d, small);
		dispatcher_sign(d, r);
	}
	if (d->opening == &o)
		d->opening = NULL;
	if (served)
		dispatcher_sign(d, r);
	lock_drop(&d->lock);
	return served;
}

bool dispatcher_gap_since(struct dispatcher *d, struct sched_req *r, uint64_t *since)
{
	if (!dispatcher_gap(d, r, d->ops->now() - *since))
		return false;
	*since = d->ops->now();
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct dispatcher *d = w->d;

	if (d->ops->thread_start)
		d->ops->thread_start(w->n);
	lock_take(&d->lock);
	for (;;) {
		if (work(d))
			continue;
		if (d->stopping)
			break;
		wait_for_work(d);
	}
	lock_drop(&d->lock);
	free(w);
	return NULL;
}
