/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A dispatch queue's life, what is submitted to it, and its settings. See dispatcher.h. */
#include "sched/dispatcher.h"

#include <assert.h>
#include <stdio.h>

#include "common/clock.h"
#include "sched/dispatcher_parts.h"

/* ---- life -------------------------------------------------------------------------------- */

int dispatcher_set_depth(struct dispatcher *d, uint32_t depth)
{
	int err = 0;

	if (!depth)
		depth = 1;
	if (depth > DISPATCHER_DEPTH_MAX)
		depth = DISPATCHER_DEPTH_MAX;
	lock_take(&d->lock);
	while (d->n_threads < depth && !err)
		err = dispatcher_start_worker(d);
	dispatcher_advise(d);
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
	drive_reads_init(&d->drive);
	TAILQ_INIT(&d->answers);
	TAILQ_INIT(&d->finishing);
	TAILQ_INIT(&d->waiting);
	err = sched_queue_init(&d->queue, policy, limits);
	if (err)
		return err;
	lock_init(&d->lock, LOCK_DISPATCHER);
	clock_cond_init(&d->work);
	clock_cond_init(&d->closed);
	err = dispatcher_set_depth(d, depth);
	if (err) {
		pthread_cond_destroy(&d->closed);
		pthread_cond_destroy(&d->work);
		lock_fini(&d->lock);
		sched_queue_fini(&d->queue);
	}
	return err;
}

void dispatcher_set_name(struct dispatcher *d, const char *name)
{
	snprintf(d->name, sizeof(d->name), "%s", name);
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
	assert(!d->queue.queued && !d->queue.running && TAILQ_EMPTY(&d->answers) &&
	       TAILQ_EMPTY(&d->waiting));
	pthread_cond_destroy(&d->closed);
	pthread_cond_destroy(&d->work);
	lock_fini(&d->lock);
	sched_queue_fini(&d->queue);
}

/* ---- requests --------------------------------------------------------------------------- */

/* Lock held: times in the queue never go back. */
static enum sched_verdict submit(struct dispatcher *d, struct sched_req *r, uint64_t now)
{
	enum sched_verdict verdict = SCHED_FULL;

	if (dispatcher_must_wait(d, r))
		d->queue.stats.refused++;
	else
		verdict = sched_submit(&d->queue, r, now);
	dispatcher_advise(d);
	return verdict;
}

/* For a request of this VERDICT: one that waits for a chunk may have taken it over from a flow that is held (join.c). */
static void wake_for(struct dispatcher *d, enum sched_verdict verdict)
{
	if (verdict == SCHED_ADDED || (verdict == SCHED_WAITS && d->queue.queued != 0))
		dispatcher_wake(d);
	else if (verdict == SCHED_WAITS) /* the chunk is to be watched */
		dispatcher_watch(d);
}

enum sched_verdict dispatcher_submit(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;

	lock_take(&d->lock);
	verdict = submit(d, r, d->ops->now());
	wake_for(d, verdict);
	lock_drop(&d->lock);
	return verdict;
}

/* Whether R has the disk at once, there being nothing else: what the queue advises stays as it was. */
static bool runs_alone(struct dispatcher *d, struct sched_req *r, uint64_t now)
{
	return !d->busy && !dispatcher_must_wait(d, r) && dispatcher_place(d) == PLACE_ANY &&
	       sched_run_alone(&d->queue, r, now);
}

/* ... or because it is next. */
static bool runs(struct dispatcher *d, struct sched_req *r, uint64_t now)
{
	return dispatcher_place(d) != PLACE_NONE && sched_next_is(&d->queue, r, now);
}

enum sched_verdict dispatcher_submit_or_run(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict = SCHED_ADDED;
	uint64_t now;
	bool alone;

	lock_take(&d->lock);
	now = d->ops->now();
	alone = runs_alone(d, r, now);
	if (!alone)
		verdict = submit(d, r, now);
	if (alone || (verdict == SCHED_ADDED && runs(d, r, now))) {
		dispatcher_take_place(d, r->scattered);
		drive_reads_to(&d->drive, r, now);
		verdict = SCHED_RUN;
	} else {
		wake_for(d, verdict);
	}
	lock_drop(&d->lock);
	return verdict;
}

enum sched_verdict dispatcher_join(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;

	lock_take(&d->lock);
	verdict = sched_join(&d->queue, r, d->ops->now());
	wake_for(d, verdict);
	lock_drop(&d->lock);
	return verdict;
}

enum sched_verdict dispatcher_submit_or_pass(struct dispatcher *d, struct sched_req *r)
{
	enum sched_verdict verdict;
	uint64_t now;

	lock_take(&d->lock);
	now = d->ops->now();
	verdict = sched_join(&d->queue, r, now);
	if (verdict == SCHED_FULL && !dispatcher_must_wait(d, r) &&
	    sched_past_begin(&d->queue, r, now))
		verdict = SCHED_RUN;
	else if (verdict == SCHED_FULL)
		verdict = submit(d, r, now);
	wake_for(d, verdict);
	lock_drop(&d->lock);
	return verdict;
}

void dispatcher_went_past(struct dispatcher *d, struct sched_req *r)
{
	lock_take(&d->lock);
	sched_past_end(&d->queue, r, d->ops->now());
	if (d->queue.by_class[SCHED_DEMAND]) /* it may have kept a place from one of these */
		dispatcher_wake(d);
	lock_drop(&d->lock);
}

enum sched_verdict dispatcher_wait_room(struct dispatcher *d, struct sched_req *r, uint64_t timeout)
{
	enum sched_verdict verdict = SCHED_FULL;

	lock_take(&d->lock);
	if (!dispatcher_must_wait(d, r)) /* there may be room meanwhile */
		verdict = sched_submit_again(&d->queue, r, d->ops->now());
	dispatcher_advise(d);
	if (verdict == SCHED_FULL)
		verdict = dispatcher_queue_up(d, r, timeout);
	else
		wake_for(d, verdict);
	lock_drop(&d->lock);
	return verdict;
}

void dispatcher_ran(struct dispatcher *d, struct sched_req *r)
{
	uint64_t now;

	lock_take(&d->lock);
	now = dispatcher_sign(d, r);
	dispatcher_give_place(d, r->scattered);
	dispatcher_end_unlock(d, r, now);
}

uint64_t dispatcher_shorten(struct dispatcher *d, struct sched_req *r, uint64_t len)
{
	lock_take(&d->lock);
	len = sched_shorten(&d->queue, r, len);
	lock_drop(&d->lock);
	return len;
}

uint64_t dispatcher_chunk_of(struct dispatcher *d, struct sched_req *r)
{
	uint64_t chunk;

	lock_take(&d->lock);
	chunk = sched_chunk_of(&d->queue, r);
	lock_drop(&d->lock);
	return chunk;
}

/* LEN bytes came in SERVICE ns; returns what they took, as one read among others. Lock held. */
static uint64_t came(struct dispatcher *d, uint64_t len, uint64_t service)
{
	return drive_reads_came(&d->drive, d->queue.by_class[SCHED_DEMAND], len, service,
				d->ops->now());
}

struct cost_model dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len,
				     uint64_t service)
{
	struct cost_model cost;
	uint64_t took;

	lock_take(&d->lock);
	took = came(d, len, service);
	/* of disks side by side that have some each, a long one's transfer takes longer than the time since another came */
	if (took < service && len > COST_RUN)
		sched_passed(&d->queue, block + len);
	else
		sched_observe(&d->queue, block, len, took);
	cost = d->queue.cost;
	lock_drop(&d->lock);
	return cost;
}

struct cost_model dispatcher_passed(struct dispatcher *d, uint64_t end, uint64_t len,
				    uint64_t service)
{
	struct cost_model cost;

	lock_take(&d->lock);
	came(d, len, service);
	sched_passed(&d->queue, end);
	cost = d->queue.cost;
	lock_drop(&d->lock);
	return cost;
}

struct cost_model dispatcher_observe_step(struct dispatcher *d, uint64_t block, uint64_t end,
					  uint64_t len, uint64_t service, bool run)
{
	struct cost_model cost;

	lock_take(&d->lock);
	if (run || block != d->queue.observed)
		cost_observe_step(&d->queue.cost, len, service, run);
	sched_passed(&d->queue, end);
	cost = d->queue.cost;
	lock_drop(&d->lock);
	return cost;
}

void dispatcher_observe_among(struct dispatcher *d, uint64_t len, uint32_t seeks, uint64_t service)
{
	lock_take(&d->lock);
	cost_observe_among(&d->queue.cost, len, seeks, service);
	lock_drop(&d->lock);
}

struct sched_turn dispatcher_writeback_turn(struct dispatcher *d)
{
	struct sched_turn turn;

	lock_take(&d->lock);
	turn = sched_writeback_turn(&d->queue, d->ops->now());
	lock_drop(&d->lock);
	return turn;
}

void dispatcher_set_writeback_share(struct dispatcher *d, double share)
{
	lock_take(&d->lock);
	sched_set_writeback_share(&d->queue, share);
	if (d->queue.by_class[SCHED_WRITEBACK])
		pthread_cond_broadcast(&d->work);
	lock_drop(&d->lock);
}

void dispatcher_want(struct dispatcher *d, struct sched_req *r, const struct flow_id *by)
{
	lock_take(&d->lock);
	sched_want(&d->queue, r, by, d->ops->now());
	pthread_cond_broadcast(&d->work);
	lock_drop(&d->lock);
}

void dispatcher_forget_cost(struct dispatcher *d)
{
	lock_take(&d->lock);
	d->queue.cost = (struct cost_model){0};
	d->queue.writeback.cost = (struct writeback_cost){.drain = 0};
	drive_reads_forget(&d->drive);
	dispatcher_advise(d);
	lock_drop(&d->lock);
}

void dispatcher_restore(struct dispatcher *d, const struct dispatcher_learnt *l)
{
	lock_take(&d->lock);
	cost_restore(&d->queue.cost, l->ns_per_byte, l->seek_ns);
	if (l->decided)
		depth_evidence_restore(&d->drive.evidence, l->together, l->read_ns);
	dispatcher_advise(d);
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

void dispatcher_set_together(struct dispatcher *d, uint32_t max)
{
	lock_take(&d->lock);
	drive_reads_set_max(&d->drive, max);
	lock_drop(&d->lock);
}

void dispatcher_set_past(struct dispatcher *d, bool far, bool direct)
{
	lock_take(&d->lock);
	sched_set_past(&d->queue, far);
	d->queue.direct = direct;
	dispatcher_advise(d);
	lock_drop(&d->lock);
}

void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits)
{
	lock_take(&d->lock);
	d->queue.limits = *limits;
	dispatcher_advise(d);
	dispatcher_let_in(d);		  /* those woken look for what to do */
	pthread_cond_broadcast(&d->work); /* Stall_Time may be another */
	lock_drop(&d->lock);
}
