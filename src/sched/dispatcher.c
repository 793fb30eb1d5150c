/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Threads around one dispatch queue. See dispatcher.h. */
#include "sched/dispatcher.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

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
		TAILQ_REMOVE(woken, r, link);
		r->ops->complete(r); /* R may be gone after this */
	}
}

/* R's I/O is over: wakes who waited for it. Lock held before, not after. */
static void end_unlock(struct dispatcher *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(&d->queue, r, d->ops->now(), &woken);
	advise(d);
	lock_drop(&d->lock);
	complete_all(d, &woken);
}

static void serve(struct dispatcher *d, struct sched_req *r)
{
	lock_drop(&d->lock);
	r->ops->execute(d, r);
	lock_take(&d->lock);
	end_unlock(d, r);
	r->ops->finish(d, r);
	lock_take(&d->lock);
}

/* Waits for work, or until what is held back may go; lock held. */
static void wait_for_work(struct dispatcher *d)
{
	uint64_t now = d->ops->now(), until = UINT64_MAX, left;

	if (d->busy < d->depth) /* else whoever frees the disk looks again */
		until = sched_hold_until(&d->queue, now);
	if (until == UINT64_MAX) {
		pthread_cond_wait(&d->work, &d->lock.mutex);
		return;
	}
	left = until - now < HOLD_MIN ? HOLD_MIN : until - now;
	clock_cond_wait_until(&d->work, &d->lock.mutex, clock_now() + left);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct dispatcher *d = w->d;
	struct sched_req *r;

	if (d->ops->thread_start)
		d->ops->thread_start(w->n);
	lock_take(&d->lock);
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
	lock_drop(&d->lock);
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
	lock_take(&d->lock);
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
	lock_drop(&d->lock);
	return d->depth ? 0 : err;
}

int dispatcher_init(struct dispatcher *d, const struct dispatcher_ops *ops, uint32_t depth,
		    const struct sched_policy *policy, const struct sched_limits *limits)
{
	int err;

	*d = (struct dispatcher){.ops = ops};
	err = sched_queue_init(&d->queue, policy, limits);
	if (err)
		return err;
	lock_init(&d->lock, LOCK_DISPATCHER);
	clock_cond_init(&d->work);
	advise(d);
	err = dispatcher_set_depth(d, depth);
	if (err) {
		pthread_cond_destroy(&d->work);
		lock_fini(&d->lock);
		sched_queue_fini(&d->queue);
	}
	return err;
}

void dispatcher_fini(struct dispatcher *d)
{
	lock_take(&d->lock);
	d->stopping = true;
	d->queue.writeback.hurry = true;
	pthread_cond_broadcast(&d->work);
	lock_drop(&d->lock);
	for (uint32_t i = 0; i < d->n_threads; i++)
		pthread_join(d->threads[i], NULL);
	assert(!d->queue.queued && !d->queue.running);
	pthread_cond_destroy(&d->work);
	lock_fini(&d->lock);
	sched_queue_fini(&d->queue);
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

	lock_take(&d->lock);
	verdict = sched_submit(&d->queue, r, d->ops->now());
	advise(d);
	if (verdict == SCHED_ADDED)
		wake_worker(d);
	lock_drop(&d->lock);
	return verdict;
}

enum sched_verdict dispatcher_submit_or_run(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;
	uint64_t now;

	lock_take(&d->lock);
	now = d->ops->now(); /* under the lock: times in the queue never go back */
	verdict = sched_submit(&d->queue, r, now);
	advise(d);
	if (verdict == SCHED_ADDED && d->busy < d->depth && sched_next_is(&d->queue, r, now)) {
		d->busy++;
		verdict = SCHED_RUN;
	} else if (verdict == SCHED_ADDED) {
		wake_worker(d);
	}
	lock_drop(&d->lock);
	return verdict;
}

void dispatcher_ran(struct dispatcher *d, struct sched_req *r)
{
	lock_take(&d->lock);
	d->busy--;
	wake_worker(d);
	end_unlock(d, r);
}

void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	lock_take(&d->lock);
	sched_progress(&d->queue, r, upto, d->ops->now(), &woken);
	lock_drop(&d->lock);
	complete_all(d, &woken);
}

bool dispatcher_gap(struct dispatcher *d, uint64_t slice)
{
	struct sched_req *r;
	bool served = false;

	lock_take(&d->lock);
	while ((r = sched_next_in_gap(&d->queue, slice, !served, d->ops->now()))) {
		served = true;
		serve(d, r);
	}
	lock_drop(&d->lock);
	return served;
}

uint64_t dispatcher_shorten(struct dispatcher *d, struct sched_req *r, uint64_t len)
{
	lock_take(&d->lock);
	len = sched_shorten(&d->queue, r, len);
	lock_drop(&d->lock);
	return len;
}

void dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len, uint64_t service)
{
	lock_take(&d->lock);
	sched_observe(&d->queue, block, len, service);
	lock_drop(&d->lock);
}

uint64_t dispatcher_writeback_slice(struct dispatcher *d)
{
	uint64_t slice;

	lock_take(&d->lock);
	slice = sched_writeback_slice(&d->queue, d->ops->now());
	lock_drop(&d->lock);
	return slice;
}

void dispatcher_set_writeback_share(struct dispatcher *d, double share)
{
	lock_take(&d->lock);
	sched_set_writeback_share(&d->queue, share);
	if (d->queue.by_class[SCHED_WRITEBACK])
		pthread_cond_broadcast(&d->work);
	lock_drop(&d->lock);
}

uint32_t dispatcher_writes(struct dispatcher *d)
{
	uint32_t writes;

	lock_take(&d->lock);
	writes = d->queue.writeback.running;
	lock_drop(&d->lock);
	return writes;
}

uint32_t dispatcher_reads(struct dispatcher *d)
{
	uint32_t reads;

	lock_take(&d->lock);
	reads = d->queue.queued + d->queue.running - d->queue.by_class[SCHED_WRITEBACK] -
		d->queue.writeback.running;
	lock_drop(&d->lock);
	return reads;
}

void dispatcher_want(struct dispatcher *d, struct sched_req *r)
{
	lock_take(&d->lock);
	sched_want(&d->queue, r, d->ops->now());
	pthread_cond_broadcast(&d->work);
	lock_drop(&d->lock);
}

void dispatcher_forget_cost(struct dispatcher *d)
{
	lock_take(&d->lock);
	d->queue.cost = (struct cost_model){0};
	advise(d);
	lock_drop(&d->lock);
}

int dispatcher_set_policy(struct dispatcher *d, const struct sched_policy *policy)
{
	int err;

	lock_take(&d->lock);
	err = sched_set_policy(&d->queue, policy);
	lock_drop(&d->lock);
	return err;
}

void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits)
{
	lock_take(&d->lock);
	d->queue.limits = *limits;
	advise(d);
	lock_drop(&d->lock);
}

void dispatcher_stats(struct dispatcher *d, struct dispatcher_stats *s)
{
	const struct sched_queue *q = &d->queue;

	lock_take(&d->lock);
	*s = (struct dispatcher_stats){
		.policy = q->policy,
		.depth = dispatcher_depth(d),
		.running = q->running,
		.writeback_share = q->writeback.share,
		.chunk = sched_chunk(q),
		.cost = q->cost,
		.counted = q->stats,
	};
	memcpy(s->queued, q->by_class, sizeof(s->queued));
	lock_drop(&d->lock);
}

struct cost_model dispatcher_cost(struct dispatcher *d)
{
	struct cost_model cost;

	lock_take(&d->lock);
	cost = d->queue.cost;
	lock_drop(&d->lock);
	return cost;
}

struct sched_limits dispatcher_limits(struct dispatcher *d)
{
	struct sched_limits limits;

	lock_take(&d->lock);
	limits = d->queue.limits;
	lock_drop(&d->lock);
	return limits;
}
