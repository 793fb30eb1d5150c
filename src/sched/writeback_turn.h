/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The write-back part of a dispatch queue, for queue.c. See writeback_turn.c. */
#ifndef SCHED_WRITEBACK_TURN_H
#define SCHED_WRITEBACK_TURN_H

#include "sched/queue.h"

/* The device address observed last, when it was a write-back's. */
#define AFTER_WRITEBACK UINT64_MAX

/* Reads queued. */
static inline uint32_t sched_reads(const struct sched_queue *q)
{
	return q->queued - q->by_class[SCHED_WRITEBACK];
}

/* R was queued. */
void writeback_add(struct sched_queue *q, struct sched_req *r);
/* The write-back that goes to the disk now, without removing it; NULL: none is due. */
struct sched_req *writeback_pick(struct sched_queue *q, uint64_t now);
/* R leaves the queue. */
void writeback_remove(struct sched_queue *q, struct sched_req *r);
/* R, of any class, has left the disk (or was dropped). */
void writeback_account(struct sched_queue *q, const struct sched_req *r, uint64_t now);

#endif
