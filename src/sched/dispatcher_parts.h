/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the dispatcher share among themselves. The lock is held unless said otherwise. */
#ifndef SCHED_DISPATCHER_PARTS_H
#define SCHED_DISPATCHER_PARTS_H

#include "sched/dispatcher.h"

/* Publishes what the queue advises. */
static inline void dispatcher_advise(struct dispatcher *d)
{
	lock_assert_held(&d->lock);
	atomic_store_explicit(&d->chunk, sched_chunk(&d->queue), memory_order_relaxed);
	atomic_store_explicit(&d->streams, sched_streams(&d->queue), memory_order_relaxed);
}

/* dispatcher_work.c: returns 0 or an errno. */
int dispatcher_start_worker(struct dispatcher *d);
/* Somebody may be needed for what is queued: to do it, or to watch those it waits for. */
void dispatcher_wake(struct dispatcher *d);
/* The running R gives a sign of life, and counts again if it did not: drops the lock to say so. */
void dispatcher_sign(struct dispatcher *d, struct sched_req *r);
/* R's I/O is over: wakes who waited for it. Lock held before, not after. */
void dispatcher_end_unlock(struct dispatcher *d, struct sched_req *r);

#endif
