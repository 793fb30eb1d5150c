/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the dispatcher share among themselves. The lock is held unless said otherwise. */
#ifndef SCHED_DISPATCHER_PARTS_H
#define SCHED_DISPATCHER_PARTS_H

#include <assert.h>

#include "sched/dispatcher.h"
#include "sched/place.h"

/* Publishes what the queue advises. */
static inline void dispatcher_advise(struct dispatcher *d)
{
	lock_assert_held(&d->lock);
	atomic_store_explicit(&d->chunk, sched_chunk(&d->queue), memory_order_relaxed);
	atomic_store_explicit(&d->streams, sched_streams(&d->queue), memory_order_relaxed);
}

/* Of Demand_Wait, what a client's reads at the drive may take while others have some too. */
#define CROWD_PART 4

/* Whether lately scattered reads of several clients, or of several exports, went to the drive. */
static inline bool dispatcher_crowded(const struct dispatcher *d)
{
	return d->ops->now() < d->crowded_until;
}

/*
 * Scattered reads that may be at the drive together now. What is there the drive serves as it likes: a
 * client's read may come last. So that one client's many do not keep another's waiting for long, there
 * are no more then than are served in a part of Demand_Wait: three or four put most of a long queue
 * into the drive's order already.
 */
static inline uint32_t dispatcher_together(const struct dispatcher *d)
{
	uint32_t level = d->together > 1 ? depth_evidence_level(&d->evidence) : 1;
	double each = d->evidence.ns[1] > 0 ? d->evidence.ns[1] : d->evidence.ns[0];
	double wait = (double)d->queue.limits.cost.demand_wait / CROWD_PART;

	if (level > d->together)
		level = d->together;
	if (level > 1 && each > 0 && dispatcher_crowded(d) && level * each > wait)
		level = (uint32_t)(wait / each);
	return level ? level : 1;
}

/* For what the disk has a place; the queue is told. */
static inline enum sched_place dispatcher_place(struct dispatcher *d)
{
	enum sched_place place =
		sched_place(d->depth, d->busy, d->scattered, dispatcher_together(d));

	d->queue.scattered_only = place != PLACE_ANY;
	return place;
}

/* R takes one of the places at the disk, or gives it back. */
static inline void dispatcher_take_place(struct dispatcher *d, bool scattered)
{
	d->busy++;
	d->scattered += scattered;
}

static inline void dispatcher_give_place(struct dispatcher *d, bool scattered)
{
	assert(d->busy && d->scattered >= scattered);
	d->busy--;
	d->scattered -= scattered;
}

/* A gap in which others than the chunk's thread serve reads. */
struct dispatcher_opening {
	struct sched_req *chunk;
	uint64_t slice;	  /* ns */
	uint32_t helpers; /* those others, now */
};

/* dispatcher_drive.c: R, which was handed out, goes to the drive; it has left it. */
void dispatcher_to_drive(struct dispatcher *d, const struct sched_req *r);
void dispatcher_from_drive(struct dispatcher *d, const struct sched_req *r);
/* LEN bytes came in SERVICE ns; returns how long the drive was at it, as one among others. */
uint64_t dispatcher_came(struct dispatcher *d, uint64_t len, uint64_t service);

/* dispatcher_work.c: returns 0 or an errno. */
int dispatcher_start_worker(struct dispatcher *d);
/* Somebody may be needed for what is queued: to do it, or to watch those it waits for. */
void dispatcher_wake(struct dispatcher *d);
/* R's I/O is over: wakes who waited for it. Lock held before, not after. */
void dispatcher_end_unlock(struct dispatcher *d, struct sched_req *r);

/* dispatcher_room.c: whether reads of R's client wait for room, which R must not overtake. */
bool dispatcher_must_wait(const struct dispatcher *d, const struct sched_req *r);
/* There may be room: submits those that wait for it, as far as there is. True: a worker may be needed. */
bool dispatcher_let_in(struct dispatcher *d);
/* As dispatcher_wait_room(), behind the others. Drops the lock meanwhile. */
enum sched_verdict dispatcher_queue_up(struct dispatcher *d, struct sched_req *r, uint64_t timeout);

/* dispatcher_stall.c: what a line of the log says of a request; taken while the request is there. */
struct subject {
	const char *what;
	uint64_t file, offset, silent; /* ns */
};

/* A worker whose request has left the disk, and whose client is being answered. */
struct finishing {
	TAILQ_ENTRY(finishing) link;
	struct subject subject;
	uint64_t since; /* ns */
	bool in_gap;	/* of a chunk, which is watched in its stead */
	bool scattered; /* its place is that of a scattered read */
	bool passed;	/* it hangs, and others have its place */
};

/* OVER: it goes on. Drops the lock meanwhile: the log may lie on the device that hangs. */
void dispatcher_log_stall(struct dispatcher *d, const struct subject *s, bool over);
/* The running R gives a sign of life, and counts again if it did not: drops the lock to say so. */
void dispatcher_sign(struct dispatcher *d, struct sched_req *r);
/* As sched_stall_at(), with those that hang while they answer. */
uint64_t dispatcher_stall_at(const struct dispatcher *d);
/* One that hangs loses its place; false: none has hung for long enough. */
bool dispatcher_free_place(struct dispatcher *d, uint64_t now, struct subject *s);
/* R has left the disk, and its client is being answered until the other one is called. */
void dispatcher_finish_begin(struct dispatcher *d, const struct sched_req *r, struct finishing *f);
void dispatcher_finish_end(struct dispatcher *d, struct finishing *f);

#endif
