/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * turns: N-step C-SCAN's fairness at the elevator's throughput.
 *
 *   scan of chunks    | A....... | d d | B....... | d | C....... | ...
 *                       a turn     gap   a turn   gap   a turn
 *
 * Streams take turns: a scan holds one chunk of each, frozen and sorted by disk address, and a chunk
 * is sized (cost.h) so that the seek before it is a small share of the turn. Ellard & Seltzer's
 * N-step C-SCAN paid half the bandwidth for fairness because a turn was one small read.
 *
 * Small demand reads (of no stream, or of one too young for read-ahead) are served in gaps, between
 * chunks and, after a slice of time, within them: all that wait when the gap opens, as a frozen batch
 * in scan order, so that none of them starves another; then the turn goes on, so that they do not
 * starve the streams.
 */
#include "sched/policy.h"

static void add(struct sched_queue *q, struct sched_req *r)
{
	if (r->class == SCHED_DEMAND)
		order_insert(&q->demands, r);
	else
		order_insert(&q->next, r);
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
	if (TAILQ_EMPTY(&q->current))
		TAILQ_CONCAT(&q->current, &q->next, order);
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
