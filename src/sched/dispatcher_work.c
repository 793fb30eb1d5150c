/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The workers of a dispatcher: what each does next, who answers, and who goes on when a request
 * hangs. See dispatcher.h.
 *
 *   the disk has room, and something is queued: do it    else: an answer is left to give: give it
 *   else: one of those on the disk has stalled: it loses its place      else: wait
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
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
	uint32_t away = d->queue.stalled + d->passed + d->answerers;

	if (d->idle || d->n_threads > d->depth + away)
		return true;
	return !d->stopping && d->n_threads < DISPATCHER_THREADS_MAX && !dispatcher_start_worker(d);
}

void dispatcher_wake(struct dispatcher *d)
{
	if (!sched_held_up(&d->queue) || (d->busy >= d->depth && d->watched))
		return;
	if (d->busy >= d->depth)
		keep_spare(d);
	pthread_cond_signal(&d->work);
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

/* Answers all in WOKEN, or has them answered. Lock held before, not after. */
static void answer_unlock(struct dispatcher *d, struct sched_list *woken)
{
	struct sched_req *r;

	if (!d->stopping && are_many(woken) && keep_spare(d)) {
		TAILQ_FOREACH(r, woken, link)
			sched_answer_later(&d->queue, r->len);
		TAILQ_CONCAT(&d->answers, woken, link);
		pthread_cond_signal(&d->work);
	}
	lock_drop(&d->lock);
	complete_all(woken);
}

/* Answers the first of those that were left; lock held. False: none is left to the caller. */
static bool answer_one(struct dispatcher *d)
{
	struct sched_req *r = TAILQ_FIRST(&d->answers);
	uint64_t len;

	if (!r || d->answerers == DISPATCHER_ANSWERERS_MAX)
		return false;
	TAILQ_REMOVE(&d->answers, r, link);
	len = r->len;
	d->answerers++;
	lock_drop(&d->lock);
	r->ops->complete(r);
	lock_take(&d->lock);
	d->answerers--;
	sched_answered(&d->queue, len);
	return true;
}

/* ---- requests that hang; lock held ------------------------------------------------------- */

/* What a line of the log says of a request; taken while the request is there. */
struct subject {
	const char *what;
	uint64_t file, offset, silent; /* ns */
};

static struct subject subject_of(const struct sched_req *r, uint64_t silent)
{
	static const char *const whats[SCHED_CLASSES] = {"read", "prefetch", "write-back"};

	return (struct subject){whats[r->class], r->file, r->offset, silent};
}

/* Drops the lock meanwhile: the log may lie on the device that hangs. */
static void log_stall(struct dispatcher *d, const struct subject *s, bool over)
{
	lock_drop(&d->lock);
	log_line(over ? LOG_LEVEL_EVENT : LOG_LEVEL_WARN,
		 "device %s: the %s of inode %" PRIu64 " at offset %" PRIu64 " %s %.1f s%s",
		 d->name, s->what, s->file, s->offset, over ? "goes on after" : "has hung for",
		 (double)s->silent / (double)CLOCK_SECOND, over ? "" : ": others pass it");
	lock_take(&d->lock);
}

void dispatcher_sign(struct dispatcher *d, struct sched_req *r)
{
	uint64_t now = d->ops->now(), silent = now - r->sign;

	/* again, for while the log is written others may pass it once more */
	for (; sched_sign(&d->queue, r, now); now = d->ops->now(), silent = now - r->sign) {
		struct subject s = subject_of(r, silent);

		d->busy += !r->in_gap;		  /* in a gap it is the chunk that has the place */
		pthread_cond_broadcast(&d->work); /* reads of its file were parked */
		log_stall(d, &s, true);
	}
}

/* A worker whose request has left the disk, and whose client is being answered. */
struct finishing {
	TAILQ_ENTRY(finishing) link;
	struct subject subject;
	uint64_t since; /* ns */
	bool passed;	/* for so long that others have its place */
};

/* As sched_stall_at(), with those that hang while they answer: the kernel may stop a copy too. */
static uint64_t stall_at(const struct dispatcher *d)
{
	const struct finishing *f = TAILQ_FIRST(&d->finishing);
	uint64_t at = sched_stall_at(&d->queue), limit = d->queue.limits.stall_time;

	if (f && limit && d->passed < SCHED_STALLED_MAX && f->since + limit < at)
		at = f->since + limit;
	return at;
}

/* The place of one that hangs is free; true: of one. */
static bool free_place(struct dispatcher *d, uint64_t now, struct subject *s)
{
	struct finishing *f = TAILQ_FIRST(&d->finishing);
	struct sched_req *r = sched_stall(&d->queue, now);

	if (r) {
		assert(r->in_gap || d->busy);
		*s = subject_of(r, now - r->sign);
		d->busy -= !r->in_gap;
		return true;
	}
	if (!f || now < stall_at(d))
		return false;
	*s = f->subject;
	s->silent = now - f->since;
	TAILQ_REMOVE(&d->finishing, f, link);
	f->passed = true;
	d->queue.stats.stalls++;
	d->passed++;
	d->busy--;
	return true;
}

/* One that has hung for too long loses its place. True: there was one. */
static bool pass_stalled(struct dispatcher *d)
{
	struct subject s;

	if (!sched_held_up(&d->queue) || d->busy < d->depth) /* nobody waits for it */
		return false;
	if (!free_place(d, d->ops->now(), &s))
		return false;
	if (keep_spare(d)) /* one who goes on if the log hangs too */
		pthread_cond_signal(&d->work);
	log_stall(d, &s, false);
	return true;
}

/* Ends R, whose waiters in WOKEN are answered too; lock held. */
static void finish(struct dispatcher *d, struct sched_req *r, struct sched_list *woken)
{
	struct finishing f = {.subject = subject_of(r, 0), .since = d->ops->now()};
	bool listed = !r->in_gap; /* else it is the chunk that is watched */

	if (listed)
		TAILQ_INSERT_TAIL(&d->finishing, &f, link);
	answer_unlock(d, woken);
	r->ops->finish(d, r);
	lock_take(&d->lock);
	if (f.passed) {
		d->passed--;
		d->busy++;
		f.subject.silent = d->ops->now() - f.since;
		log_stall(d, &f.subject, true);
	} else if (listed) {
		TAILQ_REMOVE(&d->finishing, &f, link);
	}
}

/* ---- workers ----------------------------------------------------------------------------- */

/* R has left the disk; lock held. */
static void end(struct dispatcher *d, struct sched_req *r, struct sched_list *woken)
{
	dispatcher_sign(d, r);
	sched_done(&d->queue, r, d->ops->now(), woken);
	dispatcher_advise(d);
}

void dispatcher_end_unlock(struct dispatcher *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	end(d, r, &woken);
	answer_unlock(d, &woken);
}

static void serve(struct dispatcher *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	lock_drop(&d->lock);
	r->ops->execute(d, r);
	lock_take(&d->lock);
	end(d, r, &woken);
	finish(d, r, &woken);
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
	if (sched_held_up(&d->queue) && !d->watched)
		stall = stall_at(d);
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

/* The disk first: who has answers to give is never kept from giving them for long. Lock held. */
static bool work(struct dispatcher *d)
{
	struct sched_req *r;

	/* at the end everybody helps: what a last chunk submits must not be left behind */
	if ((d->busy < d->depth || d->stopping) && (r = sched_next(&d->queue, d->ops->now()))) {
		d->busy++;
		serve(d, r);
		assert(d->busy);
		d->busy--;
		return true;
	}
	return answer_one(d) || pass_stalled(d);
}

void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	lock_take(&d->lock);
	dispatcher_sign(d, r);
	sched_progress(&d->queue, r, upto, d->ops->now(), &woken);
	answer_unlock(d, &woken);
}

bool dispatcher_gap(struct dispatcher *d, struct sched_req *r, uint64_t slice)
{
	struct sched_req *small;
	bool served = false;

	lock_take(&d->lock);
	while ((small = sched_next_in_gap(&d->queue, slice, !served, d->ops->now()))) {
		served = true;
		serve(d, small);
		dispatcher_sign(d, r);
	}
	lock_drop(&d->lock);
	return served;
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
