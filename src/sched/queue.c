/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The dispatch queue: its bounds, and what goes next. See queue.h. */
#include "sched/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/trace.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"
#include "sched/place.h"

/* Whether small reads waited (gap_demand) is averaged over about this many chunks. */
#define DEMAND_CHUNKS 4

/* Slices of chunks, without a gap, after which the next one need not wait for the present chunk's. */
#define LONG 2

int sched_queue_init(struct sched_queue *q, const struct sched_policy *policy,
		     const struct sched_limits *limits)
{
	memset(q, 0, sizeof(*q));
	q->policy = policy;
	q->limits = *limits;
	TAILQ_INIT(&q->aged);
	TAILQ_INIT(&q->active);
	TAILQ_INIT(&q->stuck);
	TAILQ_INIT(&q->going_on);
	for (int i = 0; i < SCHED_FILE_HASH; i++)
		TAILQ_INIT(&q->chunks[i]);
	q->policy_shared = calloc(1, policy->shared + 1);
	if (q->policy_shared && !flows_init(q))
		return 0;
	sched_queue_fini(q);
	return ENOMEM;
}

void sched_queue_fini(struct sched_queue *q)
{
	flows_fini(q);
	free(q->policy_shared);
	q->policy_shared = NULL;
}

/* ---- coming ------------------------------------------------------------------------------ */

static bool has_room(const struct sched_queue *q, const struct sched_req *r)
{
	const struct sched_limits *l = &q->limits;
	uint32_t reads = sched_reads(q) + q->joined + q->answering;

	/* write-backs that are held back must not leave reads without a place, nor a COMMIT that waits */
	if (r->class == SCHED_WRITEBACK)
		return r->wanted || q->by_class[SCHED_WRITEBACK] < l->queue_max;
	if (reads >= l->queue_max)
		return false;
	/* one goes in however long it is */
	if (r->class == SCHED_DEMAND && q->held && q->held + r->len > l->queue_bytes)
		return false;
	return flow_has_room(q, r, reads);
}

static void add_read(struct sched_queue *q, struct sched_req *r)
{
	TAILQ_INSERT_TAIL(&q->aged, r, age);
	if (q->stalled && would_hang(q, r))
		park(q, r);
	else
		queue_enlist(q, r);
	offer(q, r);
	if (r->class == SCHED_DEMAND)
		order_insert(&q->places, &r->place, r->file, r->offset);
	going_on_add(q, r);
}

/* R comes, and is nowhere yet. */
static void come(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	assert(r->state == REQ_IDLE);
	r->arrival = r->submitted = q->flows.now = now;
	if (r->class != SCHED_WRITEBACK)
		r->wanted = r->class == SCHED_DEMAND;
	r->dropped = r->in_gap = r->stalled = r->hung = r->let_go = r->on_clock = r->was_guest =
		false;
	r->scattered = place_is_scattered(r);
	r->disk_time = 0;
	r->progress = r->offset;
	r->io_len = r->len;
	r->goes_on = r->offered = false;
	r->order.in = r->place.in = r->guest.in = NULL;
	TAILQ_INIT(&r->waiters);
}

/* There is room for R. */
static void admit(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	q->stats.submitted[r->class]++;
	flow_enter(q, r, now);
	if (r->class == SCHED_DEMAND)
		q->held += r->len;
}

/* R comes; JOINS: it is to be queued in no case. */
static enum sched_verdict enter(struct sched_queue *q, struct sched_req *r, bool joins,
				uint64_t now)
{
	struct sched_req *chunk;

	r->in = flow_get(q, &r->flow);
	if (r->class != SCHED_PREFETCH) /* which may have been planned by rules of before */
		flow_set_rule(q, r->in, r->flow.rule);
	chunk = r->class == SCHED_DEMAND ? chunk_for(q, r) : NULL;
	if (joins && !chunk)
		return SCHED_FULL;
	if (chunk && chunk->state == REQ_RUNNING && chunk->progress >= req_end(r))
		return SCHED_RESIDENT;
	if (!has_room(q, r))
		return SCHED_FULL;
	admit(q, r, now);
	if (chunk) {
		q->stats.joined++;
		join(q, r, chunk);
		return SCHED_WAITS;
	}
	r->sequence = ++q->sequence;
	r->state = REQ_QUEUED;
	q->queued++;
	q->by_class[r->class]++;
	r->in->stats.queued[r->class]++;
	queue_count_chunk(q, r, true);
	if (r->class == SCHED_WRITEBACK) {
		queue_enlist(q, r);
	} else {
		writeback_read_comes(q, r, now);
		add_read(q, r);
	}
	return SCHED_ADDED;
}

static enum sched_verdict submit(struct sched_queue *q, struct sched_req *r, bool joins,
				 uint64_t now)
{
	enum sched_verdict verdict;

	come(q, r, now);
	verdict = enter(q, r, joins, now);
	if (verdict != SCHED_FULL)
		trace(TRACE_SUBMIT, r->file, r->flow.client, r->offset, r->len, r->class, verdict);
	return verdict;
}

enum sched_verdict sched_submit(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	enum sched_verdict verdict = sched_submit_again(q, r, now);

	if (verdict == SCHED_FULL) {
		q->stats.refused++;
		r->in->stats.refused++;
		trace(TRACE_SUBMIT, r->file, r->flow.client, r->offset, r->len, r->class, verdict);
	}
	return verdict;
}

enum sched_verdict sched_submit_again(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	return submit(q, r, false, now);
}

enum sched_verdict sched_join(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	assert(r->class == SCHED_DEMAND);
	return submit(q, r, true, now);
}

/* ---- going ------------------------------------------------------------------------------- */

static bool is_too_old(const struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	return r->class == SCHED_PREFETCH && !r->wanted &&
	       now - r->submitted > q->limits.prefetch_max_age;
}

uint64_t sched_chunk_of(const struct sched_queue *q, const struct sched_req *r)
{
	uint64_t chunk = flow_turn(q, r);

	return r->charged < r->io_len && r->charged < chunk ? r->charged : chunk;
}

/* Bytes that R, which goes to the disk, will have, as far as known: a chunk is going to be shortened, and
 * a write-back or one that counts them says when it is over. */
static uint64_t bytes_of(const struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	bool limited = r->in->node.limited || r->in->group->node.limited;
	uint64_t bytes = req_bytes(r), chunk = bytes;

	if (r->class == SCHED_WRITEBACK || r->counts)
		return 0;
	if (limited && r->class == SCHED_PREFETCH)
		chunk = flow_chunk(q, r, flow_turn(q, r), now);
	return chunk < bytes ? chunk : bytes;
}

/* Whether R may go now, beside what runs. */
static bool has_place(const struct sched_queue *q, const struct sched_req *r)
{
	bool fits = !q->scattered_only || (r->scattered && goes_with_others(q, r));

	if (!fits && r->class == SCHED_DEMAND) /* a long one, which has no gap there */
		fits = pieces_are_there(q);
	return fits && !flow_is_kept(q, r->in);
}

/* R, which is in no order, has the disk. */
static void start(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (r->class != SCHED_WRITEBACK)
		q->writeback.sitting = 0;
	r->state = REQ_RUNNING;
	r->started = r->sign = now;
	r->reserved = flow_behind_floor(r->in, now);
	r->has_floor = flow_has_floor(r->in);
	clock_start(q, r, now);
	r->in->stats.running++;
	r->in->demands += r->class == SCHED_DEMAND;
	if (!goes_with_others(q, r))
		r->scattered = false; /* it has the disk for itself */
	TAILQ_INSERT_TAIL(&q->active, r, age);
	if (r->class == SCHED_DEMAND)
		merge(q, r);
	else if (r->by_reads && !r->dropped)
		absorb(q, r); /* those that would have gone before it, had they had their turn */
	flow_unqueue(r);
	flow_started(q, r);
	flow_limit_begin(q, r, bytes_of(q, r, now), now);
	q->running++;
	if (!r->dropped)
		q->head = r->block + r->io_len;
	trace(TRACE_PICK, r->file, r->flow.client, r->offset, r->io_len, r->class,
	      (now - r->submitted) / 1000);
}

static struct sched_req *hand_out(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	r->dropped = is_too_old(q, r, now);
	q->stats.dropped += r->dropped;
	if (r->class == SCHED_WRITEBACK)
		writeback_begins(q, r, now);
	queue_remove(q, r);
	start(q, r, now);
	return r;
}

struct sched_req *sched_next(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r = TAILQ_FIRST(&q->aged);

	if (!q->queued)
		return NULL;
	if (r && is_too_old(q, r, now))
		return hand_out(q, r, now);
	flow_release(q, now);
	r = writeback_pick(q, now);
	if (!r) {
		r = going_on_pick(q);
		if (r) /* beside its own, too */
			return hand_out(q, r, now);
		r = flow_pick(q, now);
	}
	if (!r || !has_place(q, r))
		return NULL; /* write-backs are queued, and held back; or it needs the disk for itself */
	q->stats.overdue += is_overdue(r);
	return hand_out(q, r, now);
}

bool sched_next_is(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	flow_release(q, now);
	if (r->state != REQ_QUEUED || is_parked(q, r) || writeback_pick(q, now) ||
	    !has_place(q, r) || !flow_next_is(q, r, now))
		return false;
	q->policy->pick(r->in->policy_state, q); /* what it notes of its picks */
	hand_out(q, r, now);
	return true;
}

/* Whether nothing is queued or under way, and nobody's answer. */
static bool is_idle(const struct sched_queue *q)
{
	return !(q->queued | q->running | q->stalled | q->joined | q->answering) && !q->held;
}

/* Whether the visit is F's, the disk waits for nobody, and no floor or ceiling has a say. */
static bool is_at_home(const struct sched_queue *q, const struct sched_flow *f)
{
	const struct flow_visit *v = &q->flows.visit;

	return v->flow == f && !v->wait_until && !f->node.limited && !f->group->node.limited &&
	       !flow_is_held(f);
}

bool sched_run_alone(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	if (!is_idle(q) || !q->limits.queue_max || q->scattered_only)
		return false;
	flow_release(q, now);
	r->in = flow_get(q, &r->flow);
	flow_set_rule(q, r->in, r->flow.rule);
	if (!is_at_home(q, r->in))
		return false;
	come(q, r, now);
	admit(q, r, now);
	writeback_read_comes(q, r, now);
	r->sequence = ++q->sequence;
	r->kind = flow_kind_of(q->policy, r);
	trace(TRACE_SUBMIT, r->file, r->flow.client, r->offset, r->len, r->class, SCHED_ADDED);
	if (q->policy->passed)
		q->policy->passed(r->in->policy_state);
	flow_serve(q, r->in);
	offer(q, r);
	start(q, r, now);
	return true;
}

static uint64_t slice_of_one(const struct sched_queue *q)
{
	return cost_slice(&q->cost, &q->limits.cost, 1);
}

/*
 * Whether a gap of N reads is due in a chunk that has run for SLICE: after a slice of it; or where there has been
 * nothing but chunks for LONG slices; or where one of them comes once in a while, and there is credit. Of a chunk
 * that has just begun it would wait for most, though nobody had broken in for long.
 */
static bool gap_is_due(const struct sched_queue *q, uint64_t slice, uint32_t n, uint64_t now)
{
	uint64_t whole = cost_slice(&q->cost, &q->limits.cost, n);

	return slice >= whole || q->gap_after >= LONG * whole ||
	       (flow_rare_waits(q) &&
		gap_credit_left(&q->gap_credit, slice_of_one(q), now) >= whole);
}

static struct sched_req *pick_in_gap(struct sched_queue *q, struct sched_req *chunk, uint64_t slice,
				     bool first, uint64_t now)
{
	uint32_t n = q->policy->gap ? flow_gap_reads(q, chunk) : 0;
	struct sched_req *r;

	if (first) {
		q->gap_after = now - q->elsewhere;
		q->gap_reads = 0;
	}
	if (!n || (first && !gap_is_due(q, slice, n, now)))
		return NULL;
	if (!first && writeback_pick(q, now)) /* its turn comes after this one */
		return NULL;
	r = flow_pick_in_gap(q, chunk, first, now);
	if (r && first)
		gap_credit_take(&q->gap_credit, slice_of_one(q), now);
	/* those who came meanwhile, once, as if they had come when it opened; but who comes again then waits */
	if (!r && !first && q->gap_after && gap_is_due(q, 0, q->gap_reads + n, now)) {
		q->gap_after = 0;
		r = flow_pick_in_gap(q, chunk, true, now);
		if (r)
			gap_credit_take(&q->gap_credit, slice_of_one(q), now);
	}
	return r && has_place(q, r) ? r : NULL;
}

struct sched_req *sched_next_in_gap(struct sched_queue *q, struct sched_req *chunk, uint64_t slice,
				    bool first, uint64_t now)
{
	struct sched_req *r;

	flow_release(q, now);
	r = pick_in_gap(q, chunk, slice, first, now);

	if (!r) {
		if (!q->scattered_only && !chunk->on_clock && !chunk->stalled) /* it goes on */
			clock_start(q, chunk, now);
		return NULL;
	}
	clock_stop(q, chunk, now); /* the disk goes elsewhere */
	q->gap_opened = true;
	q->gap_reads++;
	r->in_gap = true;
	return hand_out(q, r, now);
}

void sched_progress(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
		    struct sched_list *woken)
{
	assert(r->state == REQ_RUNNING && upto >= r->progress);
	r->progress = upto;
	wake(q, r, upto, now, woken);
}

uint64_t sched_shorten(struct sched_queue *q, struct sched_req *r, uint64_t len)
{
	const struct sched_req *w;

	assert(r->state == REQ_RUNNING && r->class == SCHED_PREFETCH);
	TAILQ_FOREACH(w, &r->waiters, link)
		if (req_end(w) > r->offset + len)
			len = req_end(w) - r->offset;
	if (len < r->len) {
		if (q->policy->shortened)
			q->policy->shortened(r->in->policy_state, q->policy_shared, r,
					     r->len - len);
		r->len = r->io_len = len;
		q->head = r->block + len;
	}
	return r->len;
}

/* Whether a demand read is at the drive: beside a chunk that does not have it for itself. */
static bool has_demand_there(const struct sched_queue *q)
{
	const struct sched_req *r;

	TAILQ_FOREACH(r, &q->active, age)
		if (r->class == SCHED_DEMAND)
			return true;
	return false;
}

/* A chunk is over: were small demand reads about? */
static void end_chunk(struct sched_queue *q, struct sched_req *r)
{
	bool beside = r->pieces && has_demand_there(q);
	double waited = q->gap_opened || beside || flows_demands(q) ? 1 : 0;

	q->gap_demand += (waited - q->gap_demand) / DEMAND_CHUNKS;
	if (q->gap_opened) /* the disk came back from the gap: the scan goes on from here */
		q->head = r->block + r->io_len;
	q->gap_opened = false;
	q->stats.served[SCHED_PREFETCH]++;
}

void sched_done(struct sched_queue *q, struct sched_req *r, uint64_t now, struct sched_list *woken)
{
	assert(r->state == REQ_RUNNING);
	sched_sign(q, r, now);
	clock_stop(q, r, now);
	r->in->stats.running--;
	r->in->demands -= r->class == SCHED_DEMAND;
	writeback_account(q, r, now);
	flow_served(q, r, now);
	flow_count_served(r);
	TAILQ_REMOVE(&q->active, r, age);
	q->running--;
	offer_no_more(q, r);
	if (r->class == SCHED_DEMAND) {
		account_wait(q, r, now);
		past_served(q, now);
		assert(q->held >= r->len);
		q->held -= r->len;
	} else if (r->class == SCHED_PREFETCH) {
		end_chunk(q, r);
	}
	if (r->class != SCHED_PREFETCH) {
		gap_credit_other(&q->gap_credit, r->disk_time, slice_of_one(q), now);
		q->elsewhere = now;
	} else if (!r->dropped) {
		gap_credit_chunk(&q->gap_credit);
	}
	if (!r->dropped)
		q->stats.bytes[r->class] += req_bytes(r);
	flow_leave(r, now);
	wake(q, r, UINT64_MAX, now, woken);
	r->state = REQ_IDLE;
}

void sched_answer_later(struct sched_queue *q, struct sched_req *r)
{
	struct sched_flow *f = r->in;

	q->answering++;
	q->held += r->len;
	f->refs++;
	flow_hold(f, 1, r->len);
}

void sched_answered(struct sched_queue *q, struct sched_flow *f, uint64_t len)
{
	assert(q->answering && q->held >= len && f->refs);
	q->answering--;
	q->held -= len;
	f->refs--;
	flow_free_room(f, 1, len);
}
