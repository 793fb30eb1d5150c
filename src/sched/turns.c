/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * turns: N-step C-SCAN's fairness at the elevator's throughput.
 *
 *   scan of chunks    | A....... | d d | B....... | d | C....... | ...
 *                       a turn     gap   a turn   gap   a turn
 *
 * Streams take turns: a scan holds one chunk of each, frozen and sorted by disk address, and a
 * chunk is sized (cost.h) so that the seek before it is a small share of the turn. Ellard &
 * Seltzer's N-step C-SCAN paid half the bandwidth for fairness because a turn was one small read.
 *
 * Streams are fair by bytes, as in start-time fair queueing: a chunk is tagged with what its stream
 * had before it, a stream new to the queue starts level with the scan under way, and a scan takes
 * the chunks of the streams furthest behind, up to half a chunk. So the stream that came first, or
 * was given a longer chunk, is not ahead for good, and idleness earns nothing.
 *
 * Small demand reads (of no stream, or of one too young for read-ahead) are served in gaps, between
 * chunks and, after a slice of time, within them: all that wait when the gap opens, as a frozen
 * batch in scan order, so that none of them starves another; then the turn goes on, so that they do
 * not starve the streams.
 */
#include "sched/policy.h"

static void add(struct sched_queue *q, struct sched_req *r)
{
	uint64_t slot = r->owner % SCHED_OWNER_HASH;

	if (r->class == SCHED_DEMAND) {
		order_insert(&q->demands, r);
		return;
	}
	r->tag = q->level;
	if (q->streams[slot].owner == r->owner && q->streams[slot].had > r->tag)
		r->tag = q->streams[slot].had;
	q->streams[slot].owner = r->owner;
	q->streams[slot].had = r->tag + r->len;
	order_insert(&q->next, r);
}

/* Freezes the next scan: the chunks of the streams furthest behind. */
static void next_scan(struct sched_queue *q)
{
	uint64_t level = UINT64_MAX, upto;
	struct sched_req *r, *following;

	TAILQ_FOREACH(r, &q->next, order)
		if (r->tag < level)
			level = r->tag;
	upto = level + sched_chunk(q) / 2;
	q->level = level;
	for (r = TAILQ_FIRST(&q->next); r; r = following) {
		following = TAILQ_NEXT(r, order);
		if (r->tag > upto)
			continue;
		TAILQ_REMOVE(&q->next, r, order);
		TAILQ_INSERT_TAIL(&q->current, r, order);
	}
}

static bool take_from(struct sched_list *list, struct sched_req *r)
{
	struct sched_req *at;

	TAILQ_FOREACH(at, list, order)
		if (at == r) {
			TAILQ_REMOVE(list, r, order);
			return true;
		}
	return false;
}

static void remove_req(struct sched_queue *q, struct sched_req *r)
{
	if (r->class == SCHED_DEMAND) {
		if (!take_from(&q->batch, r))
			TAILQ_REMOVE(&q->demands, r, order);
		return;
	}
	q->gap_used = false; /* a chunk goes: the next gap may open after it */
	if (!take_from(&q->current, r))
		TAILQ_REMOVE(&q->next, r, order);
}

static struct sched_req *pick(struct sched_queue *q, uint64_t now)
{
	bool chunks = !TAILQ_EMPTY(&q->current) || !TAILQ_EMPTY(&q->next);

	(void)now;
	if (TAILQ_EMPTY(&q->batch) && (!q->gap_used || !chunks))
		TAILQ_CONCAT(&q->batch, &q->demands, order);
	if (!TAILQ_EMPTY(&q->batch)) {
		q->gap_used = true;
		return order_scan(&q->batch, q->head);
	}
	if (TAILQ_EMPTY(&q->current) && !TAILQ_EMPTY(&q->next))
		next_scan(q);
	return order_scan(&q->current, q->head);
}

static struct sched_req *gap(struct sched_queue *q, bool first)
{
	if (first && TAILQ_EMPTY(&q->batch))
		TAILQ_CONCAT(&q->batch, &q->demands, order);
	return order_scan(&q->batch, q->head);
}

const struct sched_policy sched_turns = {
	.name = "turns",
	.summary = "streams in turn, turns sized by what a seek costs, small reads in between",
	.add = add,
	.remove = remove_req,
	.pick = pick,
	.gap = gap,
};
