/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What rides with another request, so that nothing is read twice.
 *
 *   file    |--------- chunk, queued or running ---------|        |d|d|d|
 *             ^ a demand inside it joins                          ^ the first is picked:
 *             ^ one queued before is absorbed                       its neighbours merge into it, and those
 *                                                                   that overlap, each with more than it needs
 *
 * A joined demand is a waiter of the other, and woken when its last byte has arrived.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/parts.h"

/* Reads about there that do not merge, so many of which are looked at. */
#define PASSED_MAX 64

struct sched_list *chunk_list(struct sched_queue *q, uint64_t file)
{
	return &q->chunks[(file * 0x9e3779b97f4a7c15u) >> 56];
}

void offer(struct sched_queue *q, struct sched_req *r)
{
	r->offered = is_for_others(r);
	if (!r->offered)
		return;
	absorb(q, r); /* may bring it among those waited for */
	TAILQ_INSERT_TAIL(chunk_list(q, r->file), r, hash);
}

void offer_no_more(struct sched_queue *q, struct sched_req *r)
{
	if (r->offered)
		TAILQ_REMOVE(chunk_list(q, r->file), r, hash);
	r->offered = false;
}

/* Whether the chunk brings what of R lies within it: it may leave out what lies between records. */
static bool has(const struct sched_req *chunk, const struct sched_req *r)
{
	if (!chunk->record)
		return true;
	return r->offset >= chunk->offset &&
	       (r->offset - chunk->offset) % chunk->step + r->len <= chunk->record;
}

static bool has_ceiling(const struct flow_node *node)
{
	return rate_limit_opens(&node->limit);
}

/* F has many reads queued, or a ceiling that is not also MINE's: its chunks may go so late that MINE should not wait. */
static bool keeps_chunks(const struct sched_flow *f, const struct sched_flow *mine)
{
	return f->stats.queued[SCHED_DEMAND] > FLOW_FEW || has_ceiling(&f->node) ||
	       (f->group != mine->group && has_ceiling(&f->group->node));
}

/*
 * Whether the chunk AT has not gone yet, and lets reads where it begins go before it: who has just begun with a file has
 * its first bytes as soon as any small read, though turns of others come before his first one.
 */
static bool lets_go_before(const struct sched_req *at)
{
	return at->by_reads && at->state == REQ_QUEUED;
}

/*
 * Who may wait for AT. For a chunk who has it at the disk, or in his own flow, or takes it over (promote()), or finds
 * it where it goes soon. For a demand read who has all from it, and is of the same flow or finds it at the disk: it
 * goes to no other flow; but not for one that waits because it would hang. For neither who comes while it hangs, for no
 * more may be bad than one part of it.
 */
static bool is_joined_by(const struct sched_queue *q, const struct sched_req *at,
			 const struct sched_req *r)
{
	bool whole = at->offset <= r->offset && req_end(r) <= at->offset + at->io_len;
	bool own = at->flow.client == r->flow.client && at->flow.export_id == r->flow.export_id;

	if (at->stalled || (lets_go_before(at) && r->offset < at->offset + at->by_reads))
		return false;
	if (at->class != SCHED_DEMAND)
		return at->state == REQ_RUNNING || at->in == r->in ||
		       flow_is_behind(r->in, at->in) || !keeps_chunks(at->in, r->in);
	return whole && !is_parked(q, at) && (own || at->state == REQ_RUNNING);
}

/*
 * It is the one that brings the read's last byte, if its first byte is in that chunk too, or in an
 * earlier one still to come; but for a read that brings it sooner.
 */
struct sched_req *chunk_for(struct sched_queue *q, const struct sched_req *r)
{
	struct sched_req *at, *first = NULL, *last = NULL, *sooner = NULL;

	TAILQ_FOREACH(at, chunk_list(q, r->file), hash) {
		if (at->file != r->file || at->dropped || !has(at, r) || !is_joined_by(q, at, r))
			continue;
		if (at->class == SCHED_DEMAND && at->state == REQ_RUNNING)
			return at; /* all of it is on its way */
		if (at->class == SCHED_DEMAND)
			sooner = at;
		if (at->offset <= r->offset && r->offset < covered_end(at))
			first = at;
		if (at->offset < req_end(r) && req_end(r) <= covered_end(at))
			last = at;
	}
	if (sooner && last && lets_go_before(last))
		return sooner;
	return first ? last : NULL;
}

/* TO, which is queued, goes over to the flow of R: that one waits, and pays. */
static void rehome(struct sched_queue *q, struct sched_req *to, const struct sched_req *r)
{
	queue_delist(q, to);
	flow_rehome(to, r->in);
	to->wanted = false; /* promote() puts it in its place */
	queue_enlist(q, to);
}

/* The last one of TO's flow that waits came at this time, or R did. */
static uint64_t last_arrival(const struct sched_req *to, const struct sched_req *r)
{
	const struct sched_req *last = TAILQ_LAST(&to->in->waiting, sched_list);

	return last && last->arrival > r->arrival ? last->arrival : r->arrival;
}

/* TO is waited for since R's arrival, as far as that is of its flow: it has its place. */
static void place(struct sched_req *to, struct sched_req *r)
{
	struct sched_list *waiting = &to->in->waiting;

	if (to->wanted)
		TAILQ_REMOVE(waiting, to, wait);
	if (r->state == REQ_QUEUED && r->in == to->in) { /* TO absorbs it */
		to->arrival = r->arrival;
		TAILQ_INSERT_BEFORE(r, to, wait);
	} else {
		to->arrival = last_arrival(to, r);
		TAILQ_INSERT_TAIL(waiting, to, wait);
	}
}

/* The demand R waits for TO: for TO's place among those waited for the older of the two counts. */
static void promote(struct sched_queue *q, struct sched_req *to, struct sched_req *r)
{
	bool listed = to->state == REQ_QUEUED && !is_parked(q, to);

	if (listed && to->class != SCHED_DEMAND && to->in != r->in && flow_is_behind(r->in, to->in))
		rehome(q, to, r);
	if (listed && to->in != r->in)
		flow_guest(q, to, r->arrival);
	if (to->wanted && (to->arrival <= r->arrival || to->in != r->in))
		return;
	if (listed)
		place(to, r);
	else
		to->arrival = r->arrival;
	if (listed) {
		flow_late_watch(q, to->in, to->arrival);
		flow_joined_watch(q, to);
	}
	to->wanted = true;
}

void join(struct sched_queue *q, struct sched_req *r, struct sched_req *to)
{
	assert(r->class == SCHED_DEMAND && TAILQ_EMPTY(&r->waiters));
	offer_no_more(q, r);
	promote(q, to, r);
	if (r->state == REQ_QUEUED)
		queue_remove(q, r);
	r->state = REQ_JOINED;
	q->joined++;
	q->with_others += lets_go(to);
	TAILQ_INSERT_TAIL(&to->waiters, r, link);
}

static struct sched_req *place_of(struct order_node *node)
{
	return node ? CONTAINER_OF(node, struct sched_req, place) : NULL;
}

void absorb(struct sched_queue *q, struct sched_req *chunk)
{
	struct order_node *at = order_from(&q->places, chunk->file, chunk->offset), *next;
	struct sched_req *r;

	for (; (r = place_of(at)) && r->file == chunk->file && r->offset < req_end(chunk);
	     at = next) {
		next = order_next(at);
		if (req_end(r) > req_end(chunk) || !has(chunk, r) || !is_joined_by(q, chunk, r) ||
		    !TAILQ_EMPTY(&r->waiters) || is_parked(q, r) != is_parked(q, chunk))
			continue;
		join(q, r, chunk);
		q->stats.absorbed++;
	}
}

/*
 * Bytes that R has when N, which begins at its end, is merged into it; 0: it is to go by itself. Or within it, where
 * both are of one flow and R brings more than it needs: then N may, too, of what lies behind.
 */
static uint64_t merged_len(const struct sched_queue *q, const struct sched_req *r,
			   const struct sched_req *n)
{
	uint64_t at = n->offset - r->offset, len = at + n->len;

	if (n->block != r->block + at || len > q->limits.max_io ||
	    (at < r->io_len && (!r->brings_more || n->in != r->in)))
		return 0;
	return len > r->io_len ? len : r->io_len;
}

void merge(struct sched_queue *q, struct sched_req *r)
{
	uint64_t from = r->brings_more ? r->offset : r->offset + r->io_len;
	struct order_node *at = order_from(&q->places, r->file, from), *next;
	struct sched_req *n;
	int passed = 0;

	/* past the queue each asks for its own; where one hangs the others need not */
	if (q->past.on || has_stuck(q, r->file))
		return;
	for (; (n = place_of(at)) && n->file == r->file && n->offset <= r->offset + r->io_len;
	     at = next) {
		uint64_t len = merged_len(q, r, n);

		next = order_next(at);
		if (!TAILQ_EMPTY(&n->waiters) || !len) {
			if (++passed == PASSED_MAX)
				break;
			continue;
		}
		join(q, n, r);
		r->io_len = len;
		q->stats.merged++;
	}
}

void wake(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
	  struct sched_list *woken)
{
	struct sched_req *w, *following;

	for (w = TAILQ_FIRST(&r->waiters); w; w = following) {
		following = TAILQ_NEXT(w, link);
		if (req_end(w) > upto)
			continue;
		TAILQ_REMOVE(&r->waiters, w, link);
		assert(w->state == REQ_JOINED && q->joined && q->held >= w->len);
		w->state = REQ_IDLE;
		q->joined--;
		q->with_others -= lets_go(r);
		q->held -= w->len;
		account_wait(q, w, now);
		flow_unqueue(w);
		flow_leave(w, now);
		TAILQ_INSERT_TAIL(woken, w, link);
	}
}
