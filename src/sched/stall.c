/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that hang in the kernel: an inode's lock, a journal, a device that stopped.
 *
 *   active   [ r1 r2 r3 ... ]  by the last sign of life: handed out, a step done, a gap over
 *              | none for Stall_Time                       ^
 *              v                                           |
 *   stuck    [ r1 ]  counts neither as running nor         | a sign of life
 *                    as a write-back that has its turn ----'
 *
 * Whoever runs the queue gives the disk to another one instead: at most SCHED_STALLED_MAX times.
 */
#include <assert.h>

#include "sched/parts.h"

uint64_t sched_stall_at(const struct sched_queue *q)
{
	const struct sched_req *r = TAILQ_FIRST(&q->active);

	if (!r || !q->limits.stall_time || q->stalled >= SCHED_STALLED_MAX)
		return UINT64_MAX;
	return r->sign + q->limits.stall_time;
}

struct sched_req *sched_stall(struct sched_queue *q, uint64_t now)
{
	struct sched_req *r = TAILQ_FIRST(&q->active);

	if (now < sched_stall_at(q))
		return NULL;
	assert(r && r->state == REQ_RUNNING && !r->stalled);
	r->stalled = r->hung = true;
	TAILQ_REMOVE(&q->active, r, age);
	TAILQ_INSERT_TAIL(&q->stuck, r, age);
	q->running--;
	q->writeback.running -= r->class == SCHED_WRITEBACK;
	q->stalled++;
	q->stats.stalls++;
	return r;
}

bool sched_sign(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	bool stalled = r->stalled;

	assert(r->state == REQ_RUNNING);
	r->sign = now;
	TAILQ_REMOVE(stalled ? &q->stuck : &q->active, r, age);
	TAILQ_INSERT_TAIL(&q->active, r, age);
	if (stalled) {
		r->stalled = false;
		q->stalled--;
		q->running++;
		q->writeback.running += r->class == SCHED_WRITEBACK;
	}
	return stalled;
}
