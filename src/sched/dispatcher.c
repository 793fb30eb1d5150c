/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Threads around one dispatch queue. See dispatcher.h. */
#include "sched/dispatcher.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* The shortest timed wait (ns). */
#define HOLD_MIN UINT64_C(100000)

struct worker {
	struct dispatcher *d;
	unsigned int n;
};

/* Publishes what the queue advises; lock held. */
static void advise(struct dispatcher *d)
{
	atomic_store_explicit(&d->chunk, sched_chunk(&d->queue), memory_order_relaxed);
	atomic_store_explicit(&d->streams, sched_streams(&d->queue), memory_order_relaxed);
}

static void complete_all(struct dispatcher *d, struct sched_list *woken)
{
	struct sched_req *r;

	while ((r = TAILQ_FIRST(woken))) {
		TAILQ_REMOVE(woken, r, order);
		d->ops->complete(r); /* R may be gone after this */
	}
}

/* R's I/O is over: wakes who waited for it. Lock held before, not after. */
static void end_unlock(struct dispatcher *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(&d->queue, r, d->ops->now(), &woken);
	advise(d);
	pthread_mutex_unlock(&d->lock);
	complete_all(d, &woken);
}

static void serve(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_unlock(&d->lock);
	d->ops->execute(d, r);
	pthread_mutex_lock(&d->lock);
	end_unlock(d, r);
	d->ops->finish(d, r);
	pthread_mutex_lock(&d->lock);
}

/* Waits for work, or until what is held back may go; lock held. */
static void wait_for_work(struct dispatcher *d)
{
	uint64_t now = d->ops->now(), until = UINT64_MAX, left;
	struct timespec ts;

	if (d->busy < d->depth) /* else whoever frees the disk looks again */
		until = sched_hold_until(&d->queue, now);
	if (until == UINT64_MAX) {
		pthread_cond_wait(&d->work, &d->lock);
		return;
	}
	left = until - now < HOLD_MIN ? HOLD_MIN : until - now;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	left += (uint64_t)ts.tv_nsec;
	ts.tv_sec += (time_t)(left / 1000000000u);
	ts.tv_nsec = (long)(left % 1000000000u);
	pthread_cond_timedwait(&d->work, &d->lock, &ts);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct dispatcher *d = w->d;
	struct sched_req *r;

	if (d->ops->thread_start)
		d->ops->thread_start(w->n);
	pthread_mutex_lock(&d->lock);
	for (;;) {
		/* at the end everybody helps: what a last chunk submits must not be left behind */
		if ((d->busy < d->depth || d->stopping) &&
		    (r = sched_next(&d->queue, d->ops->now()))) {
			d->busy++;
			serve(d, r);
			d->busy--;
			continue;
		}
		if (d->stopping)
			break;
		wait_for_work(d);
	}
	pthread_mutex_unlock(&d->lock);
	if (d->ops->thread_stop)
		d->ops->thread_stop();
	free(w);
	return NULL;
}

int dispatcher_set_depth(struct dispatcher *d, uint32_t depth)
{
	int err = 0;

	if (!depth)
		depth = 1;
	if (depth > DISPATCHER_DEPTH_MAX)
		depth = DISPATCHER_DEPTH_MAX;
	pthread_mutex_lock(&d->lock);
	while (d->n_threads < depth && !err) {
		struct worker *w = malloc(sizeof(*w));

		if (!w) {
			err = ENOMEM;
			break;
		}
		w->d = d;
		w->n = d->n_threads;
		err = pthread_create(&d->threads[d->n_threads], NULL, worker_main, w);
		if (err)
			free(w);
		else
			d->n_threads++;
	}
	d->depth = d->n_threads < depth ? d->n_threads : depth;
	pthread_cond_broadcast(&d->work);
	pthread_mutex_unlock(&d->lock);
	return d->depth ? 0 : err;
}

int dispatcher_init(struct dispatcher *d, const struct dispatcher_ops *ops, uint32_t depth,
		    const struct sched_policy *policy, const struct sched_limits *limits)
{
	pthread_condattr_t attr;
	int err;

	*d = (struct dispatcher){.ops = ops};
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->work, &attr);
	pthread_condattr_destroy(&attr);
	sched_queue_init(&d->queue, policy, limits);
	advise(d);
	err = dispatcher_set_depth(d, depth);
	if (err) {
		pthread_cond_destroy(&d->work);
		pthread_mutex_destroy(&d->lock);
	}
	return err;
}

void dispatcher_fini(struct dispatcher *d)
{
	pthread_mutex_lock(&d->lock);
	d->stopping = true;
	d->queue.writeback.hurry = true;
	pthread_cond_broadcast(&d->work);
	pthread_mutex_unlock(&d->lock);
	for (uint32_t i = 0; i < d->n_threads; i++)
		pthread_join(d->threads[i], NULL);
	pthread_cond_destroy(&d->work);
	pthread_mutex_destroy(&d->lock);
}

/* Somebody may be needed for what is queued; lock held. */
static void wake_worker(struct dispatcher *d)
{
	if (d->queue.queued && d->busy < d->depth)
		pthread_cond_broadcast(&d->work);
}

enum sched_verdict dispatcher_submit(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;

	pthread_mutex_lock(&d->lock);
	verdict = sched_submit(&d->queue, r, d->ops->now());
	advise(d);
	if (verdict == SCHED_ADDED)
		wake_worker(d);
	pthread_mutex_unlock(&d->lock);
	return verdict;
}

enum sched_verdict dispatcher_submit_or_run(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;
	uint64_t now = d->ops->now();

	pthread_mutex_lock(&d->lock);
	verdict = sched_submit(&d->queue, r, now);
	advise(d);
	if (verdict == SCHED_ADDED && d->busy < d->depth && sched_next_is(&d->queue, r, now)) {
		d->busy++;
		verdict = SCHED_RUN;
	} else if (verdict == SCHED_ADDED) {
		wake_worker(d);
	}
	pthread_mutex_unlock(&d->lock);
	return verdict;
}

void dispatcher_ran(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&d->lock);
	d->busy--;
	wake_worker(d);
	end_unlock(d, r);
}

void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	pthread_mutex_lock(&d->lock);
	sched_progress(&d->queue, r, upto, d->ops->now(), &woken);
	pthread_mutex_unlock(&d->lock);
	complete_all(d, &woken);
}

bool dispatcher_gap(struct dispatcher *d, uint64_t slice)
{
	struct sched_req *r;
	bool served = false;

	pthread_mutex_lock(&d->lock);
	while ((r = sched_next_in_gap(&d->queue, slice, !served, d->ops->now()))) {
		served = true;
		serve(d, r);
	}
	pthread_mutex_unlock(&d->lock);
	return served;
}

uint64_t dispatcher_shorten(struct dispatcher *d, struct sched_req *r, uint64_t len)
{
	pthread_mutex_lock(&d->lock);
	len = sched_shorten(&d->queue, r, len);
	pthread_mutex_unlock(&d->lock);
	return len;
}

void dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len, uint64_t service)
{
	pthread_mutex_lock(&d->lock);
	sched_observe(&d->queue, block, len, service);
	pthread_mutex_unlock(&d->lock);
}

uint64_t dispatcher_writeback_slice(struct dispatcher *d)
{
	uint64_t slice;

	pthread_mutex_lock(&d->lock);
	slice = sched_writeback_slice(&d->queue, d->ops->now());
	pthread_mutex_unlock(&d->lock);
	return slice;
}

void dispatcher_set_writeback_share(struct dispatcher *d, double share)
{
	pthread_mutex_lock(&d->lock);
	sched_set_writeback_share(&d->queue, share);
	if (d->queue.by_class[SCHED_WRITEBACK])
		pthread_cond_broadcast(&d->work);
	pthread_mutex_unlock(&d->lock);
}

uint32_t dispatcher_writes(struct dispatcher *d)
{
	uint32_t writes;

	pthread_mutex_lock(&d->lock);
	writes = d->queue.writeback.running;
	pthread_mutex_unlock(&d->lock);
	return writes;
}

uint32_t dispatcher_reads(struct dispatcher *d)
{
	uint32_t reads;

	pthread_mutex_lock(&d->lock);
	reads = d->queue.queued + d->queue.running - d->queue.by_class[SCHED_WRITEBACK] -
		d->queue.writeback.running;
	pthread_mutex_unlock(&d->lock);
	return reads;
}

void dispatcher_want(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&d->lock);
	sched_want(&d->queue, r, d->ops->now());
	pthread_cond_broadcast(&d->work);
	pthread_mutex_unlock(&d->lock);
}

void dispatcher_set_policy(struct dispatcher *d, const struct sched_policy *policy)
{
	pthread_mutex_lock(&d->lock);
	sched_set_policy(&d->queue, policy);
	pthread_mutex_unlock(&d->lock);
}

void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits)
{
	pthread_mutex_lock(&d->lock);
	d->queue.limits = *limits;
	advise(d);
	pthread_mutex_unlock(&d->lock);
}
