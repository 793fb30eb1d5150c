/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The dispatch queue: joining, absorbing, merging, the bound on waiting. See queue.h. */
#include "sched/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/policy.h"
#include "sched/writeback_turn.h"

/* Small demand reads wait at this share of the chunks or more: there are random readers about. */
#define DEMANDS_ABOUT 0.4
/* ... averaged over about this many chunks. */
#define DEMAND_CHUNKS 4

static struct sched_list *file_list(struct sched_queue *q, uint64_t file)
{
	return &q->files[(file * 0x9e3779b97f4a7c15u) >> 56];
}

static uint64_t end_of(const struct sched_req *r)
{
	return r->offset + r->len;
}

int sched_queue_init(struct sched_queue *q, const struct sched_policy *policy,
		     const struct sched_limits *limits)
{
	memset(q, 0, sizeof(*q));
	q->policy = policy;
	q->policy_state = malloc(policy->size);
	if (!q->policy_state)
		return ENOMEM;
	policy->init(q->policy_state);
	q->limits = *limits;
	TAILQ_INIT(&q->aged);
	TAILQ_INIT(&q->writeback.queued);
	for (int i = 0; i < SCHED_FILE_HASH; i++)
		TAILQ_INIT(&q->files[i]);
	return 0;
}

void sched_queue_fini(struct sched_queue *q)
{
	free(q->policy_state);
	q->policy_state = NULL;
}

/* Takes a queued request out of every list but that of its file. */
static void unqueue(struct sched_queue *q, struct sched_req *r)
{
	if (r->class == SCHED_WRITEBACK) {
		writeback_remove(q, r);
	} else {
		q->policy->remove(q->policy_state, r);
		TAILQ_REMOVE(&q->aged, r, age);
	}
	q->queued--;
	q->by_class[r->class]--;
}

static void join(struct sched_req *r, struct sched_req *to)
{
	if (!to->wanted || r->arrival < to->arrival)
		to->arrival = r->arrival;
	to->wanted = true;
	r->state = REQ_JOINED;
	TAILQ_INSERT_TAIL(&to->waiters, r, order);
}

/*
 * The chunk a demand read can wait for: the one that brings its last byte, if its first byte is in
 * that chunk too, or in an earlier one still to come.
 */
static struct sched_req *chunk_for(struct sched_queue *q, const struct sched_req *r)
{
	struct sched_req *at, *first = NULL, *last = NULL;

	TAILQ_FOREACH(at, file_list(q, r->file), hash) {
		if (at->file != r->file || at->class != SCHED_PREFETCH || at->dropped)
			continue;
		if (at->offset <= r->offset && r->offset < end_of(at))
			first = at;
		if (at->offset < end_of(r) && end_of(r) <= end_of(at))
			last = at;
	}
	return first ? last : NULL;
}

/* A new chunk takes over the demands queued for what it will read. */
static void absorb(struct sched_queue *q, struct sched_req *chunk)
{
	struct sched_list *list = file_list(q, chunk->file);
	struct sched_req *at, *following;

	for (at = TAILQ_FIRST(list); at; at = following) {
		following = TAILQ_NEXT(at, hash);
		if (at->file != chunk->file || at->state != REQ_QUEUED ||
		    at->class != SCHED_DEMAND || at->offset < chunk->offset ||
		    end_of(at) > end_of(chunk))
			continue;
		unqueue(q, at);
		TAILQ_REMOVE(list, at, hash);
		join(at, chunk);
		q->stats.absorbed++;
	}
}

enum sched_verdict sched_submit(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	r->arrival = r->submitted = now;
	if (r->class != SCHED_WRITEBACK)
		r->wanted = r->class == SCHED_DEMAND;
	r->dropped = false;
	r->progress = r->offset;
	r->io_len = r->len;
	TAILQ_INIT(&r->waiters);
	if (r->class == SCHED_DEMAND) {
		struct sched_req *chunk = chunk_for(q, r);

		if (chunk && chunk->state == REQ_RUNNING && chunk->progress >= end_of(r))
			return SCHED_RESIDENT;
		if (chunk) {
			q->stats.submitted[r->class]++;
			q->stats.joined++;
			join(r, chunk);
			return SCHED_WAITS;
		}
	}
	/* write-backs that are held back must not leave reads without a place */
	if ((r->class == SCHED_WRITEBACK ? q->by_class[SCHED_WRITEBACK] : sched_reads(q)) >=
	    q->limits.queue_max) {
		q->stats.refused++;
		return SCHED_FULL;
	}
	q->stats.submitted[r->class]++;
	r->sequence = ++q->sequence;
	if (r->class == SCHED_PREFETCH)
		absorb(q, r);
	r->state = REQ_QUEUED;
	TAILQ_INSERT_TAIL(file_list(q, r->file), r, hash);
	q->queued++;
	q->by_class[r->class]++;
	if (r->class == SCHED_WRITEBACK) {
		writeback_add(q, r);
	} else {
		TAILQ_INSERT_TAIL(&q->aged, r, age);
		q->policy->add(q->policy_state, r);
	}
	return SCHED_ADDED;
}

/* The one that has waited longest beyond Max_Wait, if any has. */
static struct sched_req *expired(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r, *oldest = NULL;

	TAILQ_FOREACH(r, &q->aged, age)
		if (r->wanted && now - r->arrival >= q->limits.cost.max_wait &&
		    (!oldest || r->arrival < oldest->arrival))
			oldest = r;
	return oldest;
}

static struct sched_req *too_old(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r = TAILQ_FIRST(&q->aged);

	return r && !r->wanted && now - r->submitted > q->limits.prefetch_max_age ? r : NULL;
}

/* Demands that follow R on the device ride with it. */
static void merge(struct sched_queue *q, struct sched_req *r)
{
	struct sched_list *list = file_list(q, r->file);
	struct sched_req *at;
	bool grew = true;

	while (grew) {
		grew = false;
		TAILQ_FOREACH(at, list, hash) {
			if (at->file != r->file || at->state != REQ_QUEUED ||
			    at->class != SCHED_DEMAND || at->block != r->block + r->io_len ||
			    at->offset != r->offset + r->io_len ||
			    r->io_len + at->len > q->limits.max_io)
				continue;
			unqueue(q, at);
			TAILQ_REMOVE(list, at, hash);
			join(at, r);
			r->io_len += at->len;
			q->stats.merged++;
			grew = true;
			break;
		}
	}
}

static struct sched_req *hand_out(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	unqueue(q, r);
	r->state = REQ_RUNNING;
	r->started = now;
	if (r->class == SCHED_DEMAND)
		merge(q, r);
	q->running++;
	if (!r->dropped)
		q->head = r->block + r->io_len;
	return r;
}

struct sched_req *sched_next(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r;

	if (!q->queued)
		return NULL;
	r = too_old(q, now);
	if (r) {
		r->dropped = true;
		q->stats.dropped++;
	} else if ((r = expired(q, now))) {
		q->stats.expired++;
	} else {
		r = writeback_pick(q, now);
		if (!r && sched_reads(q))
			r = q->policy->pick(q->policy_state, q);
		if (!r)
			return NULL; /* write-backs are queued, and held back */
	}
	return hand_out(q, r, now);
}

bool sched_next_is(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (r->state != REQ_QUEUED || sched_reads(q) != 1 || writeback_pick(q, now))
		return false;
	q->policy->pick(q->policy_state, q); /* what it notes of its picks */
	hand_out(q, r, now);
	return true;
}

struct sched_req *sched_next_in_gap(struct sched_queue *q, uint64_t slice, bool first, uint64_t now)
{
	struct sched_req *r;

	if (!q->policy->gap || !q->by_class[SCHED_DEMAND])
		return NULL;
	if (first && slice < cost_slice(&q->cost, &q->limits.cost, q->by_class[SCHED_DEMAND]))
		return NULL;
	r = q->policy->gap(q->policy_state, q, first);
	if (!r)
		return NULL;
	q->gap_opened = true;
	return hand_out(q, r, now);
}

static void account_wait(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	uint64_t wait = now - r->submitted, us = wait / 1000;
	int bucket = us ? 64 - __builtin_clzll(us) : 0;

	if (bucket >= SCHED_WAIT_BUCKETS)
		bucket = SCHED_WAIT_BUCKETS - 1;
	q->stats.waits[bucket]++;
	if (wait > q->stats.wait_max)
		q->stats.wait_max = wait;
	q->stats.served[SCHED_DEMAND]++;
}

static void wake(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
		 struct sched_list *woken)
{
	struct sched_req *w, *following;

	for (w = TAILQ_FIRST(&r->waiters); w; w = following) {
		following = TAILQ_NEXT(w, order);
		if (end_of(w) > upto)
			continue;
		TAILQ_REMOVE(&r->waiters, w, order);
		w->state = REQ_IDLE;
		account_wait(q, w, now);
		TAILQ_INSERT_TAIL(woken, w, order);
	}
}

void sched_progress(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
		    struct sched_list *woken)
{
	r->progress = upto;
	wake(q, r, upto, now, woken);
}

uint64_t sched_shorten(struct sched_queue *q, struct sched_req *r, uint64_t len)
{
	const struct sched_req *w;

	TAILQ_FOREACH(w, &r->waiters, order)
		if (end_of(w) > r->offset + len)
			len = end_of(w) - r->offset;
	if (len < r->len) {
		r->len = r->io_len = len;
		q->head = r->block + len;
	}
	return r->len;
}

void sched_done(struct sched_queue *q, struct sched_req *r, uint64_t now, struct sched_list *woken)
{
	TAILQ_REMOVE(file_list(q, r->file), r, hash);
	q->running--;
	writeback_account(q, r, now);
	if (r->class == SCHED_DEMAND) {
		account_wait(q, r, now);
	} else if (r->class == SCHED_PREFETCH) {
		double waited = q->gap_opened || q->by_class[SCHED_DEMAND] ? 1 : 0;

		q->gap_demand += (waited - q->gap_demand) / DEMAND_CHUNKS;
		if (q->gap_opened) /* the disk came back from the gap: the scan goes on from here */
			q->head = r->block + r->io_len;
		q->gap_opened = false;
		q->stats.served[SCHED_PREFETCH]++;
	}
	if (!r->dropped)
		q->stats.bytes[r->class] += r->io_len;
	wake(q, r, UINT64_MAX, now, woken);
	r->state = REQ_IDLE;
}

void sched_observe(struct sched_queue *q, uint64_t block, uint64_t len, uint64_t service)
{
	/* the first read after a write-back also waits for what the drive's write cache has left */
	if (q->observed != AFTER_WRITEBACK)
		cost_observe(&q->cost, len, service, block == q->observed);
	q->observed = block + len;
}

uint32_t sched_streams(const struct sched_queue *q)
{
	uint32_t n = q->by_class[SCHED_PREFETCH] + (q->running ? 1 : 0);

	return n ? n : 1;
}

uint64_t sched_chunk(const struct sched_queue *q)
{
	return cost_chunk(&q->cost, &q->limits.cost, sched_streams(q),
			  q->gap_demand > DEMANDS_ABOUT);
}

int sched_set_policy(struct sched_queue *q, const struct sched_policy *policy)
{
	struct sched_req *r;
	void *state;

	if (policy == q->policy)
		return 0;
	state = malloc(policy->size);
	if (!state)
		return ENOMEM;
	policy->init(state); /* all start level: being queued again is no turn had */
	TAILQ_FOREACH(r, &q->aged, age) {
		q->policy->remove(q->policy_state, r);
		policy->add(state, r);
	}
	free(q->policy_state);
	q->policy = policy;
	q->policy_state = state;
	q->stats.switches++;
	return 0;
}

uint64_t sched_wait_percentile(const struct sched_stats *s, double percent)
{
	uint64_t sum = 0, upto = 0;

	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++)
		sum += s->waits[i];
	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++) {
		upto += s->waits[i];
		if (sum && (double)upto >= (double)sum * percent / 100)
			return ((uint64_t)1 << i) * 1000;
	}
	return 0;
}
