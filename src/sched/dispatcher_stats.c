/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Looking at a dispatcher: copies of one moment, so that nobody else takes its lock. */
#include <string.h>

#include "sched/dispatcher_parts.h"

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

void dispatcher_stats(struct dispatcher *d, struct dispatcher_stats *s)
{
	const struct sched_queue *q = &d->queue;

	lock_take(&d->lock);
	*s = (struct dispatcher_stats){
		.policy = q->policy,
		.depth = dispatcher_depth(d),
		.running = q->running,
		.full_waiting = d->n_waiting,
		.drive = {.max = d->drive.max,
			  .now = drive_reads_level(&d->drive),
			  .decided = d->drive.evidence.decided,
			  .faster = d->drive.evidence.together,
			  .ns = {d->drive.evidence.ns[0], d->drive.evidence.ns[1]}},
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

void dispatcher_learnt(struct dispatcher *d, struct dispatcher_learnt *l)
{
	const struct depth_evidence *e = &d->drive.evidence;
	const struct cost_model *cost = &d->queue.cost;

	lock_take(&d->lock);
	*l = (struct dispatcher_learnt){
		.seek_ns = cost_seek_known(cost) ? cost->seek_ns : 0,
		.ns_per_byte = cost_run_known(cost) ? cost->ns_per_byte : 0,
		.decided = e->decided,
		.together = e->together,
		.read_ns = {e->ns[0], e->ns[1]},
	};
	lock_drop(&d->lock);
}

struct sched_limits dispatcher_limits(struct dispatcher *d)
{
	struct sched_limits limits;

	lock_take(&d->lock);
	limits = d->queue.limits;
	lock_drop(&d->lock);
	return limits;
}

int dispatcher_set_shares(struct dispatcher *d, const struct sched_shares *shares)
{
	int err;

	lock_take(&d->lock);
	err = sched_set_shares(&d->queue, shares, d->ops->now());
	pthread_cond_broadcast(&d->work); /* who was held may go */
	lock_drop(&d->lock);
	return err;
}

unsigned int dispatcher_flows(struct dispatcher *d, struct flow_stats *stats, unsigned int max)
{
	unsigned int n;

	lock_take(&d->lock);
	n = sched_flows(&d->queue, stats, max);
	lock_drop(&d->lock);
	return n;
}

void dispatcher_client_totals(struct dispatcher *d, struct client_total *totals, size_t n)
{
	lock_take(&d->lock);
	sched_client_totals(&d->queue, totals, n);
	lock_drop(&d->lock);
}
