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
	atomic_store_explicit(&d->seek_bytes, cost_seek_bytes(&d->queue.cost),
			      memory_order_relaxed);
}

/* Up to so many are at the drive now: whether a flow that has one there may have another. */
static inline void dispatcher_crowd(struct dispatcher *d, uint32_t there)
{
	d->queue.one_each =
		there && there >= drive_reads_of_one(&d->drive, &d->queue, d->ops->now());
}

/* For what a cluster has a place: none is at hand, and a flow may have as many as there is room for. */
static inline enum sched_place dispatcher_place_far(struct dispatcher *d)
{
	uint32_t there = sched_past_places(&d->queue);
	enum sched_place place = sched_place(d->depth, d->busy, d->scattered, there);

	d->queue.scattered_only = place != PLACE_ANY;
	d->queue.short_too = d->queue.pieces_too = d->queue.young_too = false;
	d->queue.at_hand = d->queue.one_each = false;
	return place;
}

/* ... of a disk. */
static inline enum sched_place dispatcher_place_near(struct dispatcher *d)
{
	uint32_t there = d->busy < d->depth ? 0 : drive_reads_there(&d->drive, &d->queue);
	enum sched_place place = sched_place(d->depth, d->busy, d->scattered, there);

	d->queue.scattered_only = place != PLACE_ANY;
	d->queue.short_too = drive_reads_takes_chunks(&d->drive, &d->queue);
	d->queue.pieces_too = drive_reads_takes_pieces(&d->drive, &d->queue);
	d->queue.young_too = drive_reads_takes_young(&d->drive, &d->queue);
	d->queue.at_hand =
		place == PLACE_SCATTERED && drive_reads_one_at_hand(&d->drive, &d->queue);
	dispatcher_crowd(d, place == PLACE_SCATTERED ? d->scattered : 0);
	return place;
}

/* For what the disk has a place; the queue is told. */
static inline enum sched_place dispatcher_place(struct dispatcher *d)
{
	return d->queue.past.on ? dispatcher_place_far(d) : dispatcher_place_near(d);
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

/* dispatcher_work.c: returns 0 or an errno. */
int dispatcher_start_worker(struct dispatcher *d);
/* Somebody may be needed for what is queued: to do it, or to watch those it waits for. */
void dispatcher_wake(struct dispatcher *d);
/* The same, of those that watch only: something waits for what is at the disk, and may not have a place itself. */
void dispatcher_watch(struct dispatcher *d);
/* R's I/O is over, and it has given a sign of life at NOW: wakes who waited for it. Lock held before, not after. */
void dispatcher_end_unlock(struct dispatcher *d, struct sched_req *r, uint64_t now);

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
/* The running R gives a sign of life, and counts again if it did not: drops the lock to say so. Returns when (ns). */
uint64_t dispatcher_sign(struct dispatcher *d, struct sched_req *r);
/* As sched_stall_at(), with those that hang while they answer. */
uint64_t dispatcher_stall_at(const struct dispatcher *d);
/* One that hangs loses its place, and lets those in WOKEN go; false: none has hung for long enough. */
bool dispatcher_free_place(struct dispatcher *d, uint64_t now, struct subject *s,
			   struct sched_list *woken);
/* R has left the disk at NOW, and its client is being answered until the other one is called. */
void dispatcher_finish_begin(struct dispatcher *d, const struct sched_req *r, uint64_t now,
			     struct finishing *f);
void dispatcher_finish_end(struct dispatcher *d, struct finishing *f);

#endif
