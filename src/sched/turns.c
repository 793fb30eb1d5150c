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
#include <string.h>

#include "sched/policy.h"

#define TURNS_STREAMS 1024

struct turns {
	struct sched_list current, next;  /* chunks, by address: this scan, the one after */
	struct sched_list demands, batch; /* small reads: waiting for a gap, in the present one */
	bool gap_used;
	uint64_t level; /* what the streams of the present scan have had, bytes */
	struct {
		uint64_t owner, had; /* bytes */
	} streams[TURNS_STREAMS];    /* as far as there is room */
};

static void init(void *state)
{
	struct turns *t = state;

	memset(t, 0, sizeof(*t));
	TAILQ_INIT(&t->current);
	TAILQ_INIT(&t->next);
	TAILQ_INIT(&t->demands);
	TAILQ_INIT(&t->batch);
}

static void add(void *state, struct sched_req *r)
{
	struct turns *t = state;
	uint64_t slot = r->owner % TURNS_STREAMS;

	if (r->class == SCHED_DEMAND) {
		order_insert(&t->demands, r);
		return;
	}
	r->tag = t->level;
	if (t->streams[slot].owner == r->owner && t->streams[slot].had > r->tag)
		r->tag = t->streams[slot].had;
	t->streams[slot].owner = r->owner;
	t->streams[slot].had = r->tag + r->len;
	order_insert(&t->next, r);
}

/* Freezes the next scan: the chunks of the streams furthest behind. */
static void next_scan(struct turns *t, const struct sched_queue *q)
{
	uint64_t level = UINT64_MAX, upto;
	struct sched_req *r, *following;

	TAILQ_FOREACH(r, &t->next, order)
		if (r->tag < level)
			level = r->tag;
	upto = level + sched_chunk(q) / 2;
	t->level = level;
	for (r = TAILQ_FIRST(&t->next); r; r = following) {
		following = TAILQ_NEXT(r, order);
		if (r->tag > upto)
			continue;
		TAILQ_REMOVE(&t->next, r, order);
		TAILQ_INSERT_TAIL(&t->current, r, order);
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

static void remove_req(void *state, struct sched_req *r)
{
	struct turns *t = state;

	if (r->class == SCHED_DEMAND) {
		if (!take_from(&t->batch, r))
			TAILQ_REMOVE(&t->demands, r, order);
		return;
	}
	t->gap_used = false; /* a chunk goes: the next gap may open after it */
	if (!take_from(&t->current, r))
		TAILQ_REMOVE(&t->next, r, order);
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	struct turns *t = state;
	bool chunks = !TAILQ_EMPTY(&t->current) || !TAILQ_EMPTY(&t->next);

	if (TAILQ_EMPTY(&t->batch) && (!t->gap_used || !chunks))
		TAILQ_CONCAT(&t->batch, &t->demands, order);
	if (!TAILQ_EMPTY(&t->batch)) {
		t->gap_used = true;
		return order_scan(&t->batch, q->head);
	}
	if (TAILQ_EMPTY(&t->current) && !TAILQ_EMPTY(&t->next))
		next_scan(t, q);
	return order_scan(&t->current, q->head);
}

static struct sched_req *gap(void *state, const struct sched_queue *q, bool first)
{
	struct turns *t = state;

	if (first && TAILQ_EMPTY(&t->batch))
		TAILQ_CONCAT(&t->batch, &t->demands, order);
	return order_scan(&t->batch, q->head);
}

const struct sched_policy sched_turns = {
	.name = "turns",
	.size = sizeof(struct turns),
	.init = init,
	.add = add,
	.remove = remove_req,
	.pick = pick,
	.gap = gap,
};
