/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the dispatch queue share among themselves: queue.c, join.c, overdue.c,
 * writeback_turn.c, wait_stats.c. */
#ifndef SCHED_PARTS_H
#define SCHED_PARTS_H

#include "sched/policy.h"
#include "sched/queue.h"

/* The device address observed last, when it was a write-back's. */
#define AFTER_WRITEBACK UINT64_MAX

static inline uint64_t req_end(const struct sched_req *r)
{
	return r->offset + r->len;
}

/* Reads queued. */
static inline uint32_t sched_reads(const struct sched_queue *q)
{
	return q->queued - q->by_class[SCHED_WRITEBACK];
}

/* remove.c: takes a queued request out of all that is queued. */
void queue_remove(struct sched_queue *q, struct sched_req *r);

/* join.c */
struct sched_list *chunk_list(struct sched_queue *q, uint64_t file);
void chunk_add(struct sched_queue *q, struct sched_req *chunk);
void chunk_remove(struct sched_queue *q, struct sched_req *chunk);
/* The chunk that a demand read can wait for, or NULL. */
struct sched_req *chunk_for(struct sched_queue *q, const struct sched_req *r);
/* The demand R becomes a waiter of TO. */
void join(struct sched_queue *q, struct sched_req *r, struct sched_req *to);
/* A new chunk takes over the demands queued for what it will read. */
void absorb(struct sched_queue *q, struct sched_req *chunk);
/* Demands that follow R on the device ride with it. */
void merge(struct sched_queue *q, struct sched_req *r);
/* Moves R's waiters that end at UPTO or before to WOKEN. */
void wake(struct sched_queue *q, struct sched_req *r, uint64_t upto, uint64_t now,
	  struct sched_list *woken);

/* overdue.c: the read beyond Max_Wait that goes to the disk now, without removing it; NULL: none. */
struct sched_req *overdue_pick(struct sched_queue *q, uint64_t now);
static inline bool is_overdue(const struct sched_queue *q, const struct sched_req *r)
{
	return r->order.in == &q->overdue.batch;
}

/* stall.c: whether reads of FILE hang, more than one. */
bool file_hangs(const struct sched_queue *q, uint64_t file);
/* The queued read R, in no order, waits until its file hangs no more. */
void park(struct sched_queue *q, struct sched_req *r);
static inline bool is_parked(const struct sched_queue *q, const struct sched_req *r)
{
	return r->order.in == &q->parked;
}

/* writeback_turn.c: R was queued. */
void writeback_add(struct sched_queue *q, struct sched_req *r);
/* The write-back that goes to the disk now, without removing it; NULL: none is due. */
struct sched_req *writeback_pick(struct sched_queue *q, uint64_t now);
/* R leaves the queue for the disk. */
void writeback_remove(struct sched_queue *q, struct sched_req *r);
/* R, of any class, has left the disk (or was dropped). */
void writeback_account(struct sched_queue *q, const struct sched_req *r, uint64_t now);

/* wait_stats.c: a demand read is over. */
void account_wait(struct sched_queue *q, const struct sched_req *r, uint64_t now);

#endif
