/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The dispatcher of one device: its queue, a lock, and Queue_Depth threads that do the I/O.
 *
 * What "doing" a request means comes with it (sched_req_ops). A worker calls execute() without any
 * lock held; during it a chunk reports its parts with dispatcher_progress(), and the waiters served
 * by them complete on the worker's thread. Submission never blocks beyond the lock, which nobody
 * else takes.
 */
#ifndef SCHED_DISPATCHER_H
#define SCHED_DISPATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"
#include "sched/policy.h"
#include "sched/queue.h"

#define DISPATCHER_DEPTH_MAX 256

/* The host's. */
struct dispatcher_ops {
	uint64_t (*now)(void);
	/* The Nth worker starts; may be NULL. */
	void (*thread_start)(unsigned int n);
};

/* Its fields are dispatcher.c's; look through the functions below. */
struct dispatcher {
	struct lock lock;
	pthread_cond_t work;
	struct sched_queue queue;
	const struct dispatcher_ops *ops;
	pthread_t threads[DISPATCHER_DEPTH_MAX];
	uint32_t n_threads;
	_Atomic uint32_t depth; /* threads started; how many of them may work */
	uint32_t busy;
	bool stopping;
	_Atomic uint64_t chunk;
	_Atomic uint32_t streams;
};

/* A dispatcher at one moment. */
struct dispatcher_stats {
	const struct sched_policy *policy;
	uint32_t depth;
	uint32_t running, queued[SCHED_CLASSES];
	double writeback_share;
	uint64_t chunk; /* bytes that one should have now */
	struct cost_model cost;
	struct sched_stats counted; /* since the start */
};

/* DEPTH 1..DISPATCHER_DEPTH_MAX threads. Returns 0 or an errno. */
int dispatcher_init(struct dispatcher *d, const struct dispatcher_ops *ops, uint32_t depth,
		    const struct sched_policy *policy, const struct sched_limits *limits);
/* Serves what is queued, then joins the threads. Nothing may be submitted any more. */
void dispatcher_fini(struct dispatcher *d);
/* As sched_submit(). */
enum sched_verdict dispatcher_submit(struct dispatcher *d, struct sched_req *r);
/*
 * The same, but SCHED_RUN when the disk is free and R the only read: then the caller does R's I/O
 * on its own thread and calls dispatcher_ran(), which saves two changes of thread. R is the
 * caller's then.
 */
enum sched_verdict dispatcher_submit_or_run(struct dispatcher *d, struct sched_req *r);
void dispatcher_ran(struct dispatcher *d, struct sched_req *r);
/* From execute(): as sched_progress(), and completes the waiters. */
void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto);
/*
 * From execute() of a chunk, between steps: serves the small demand reads that wait, if the policy
 * opens a gap after SLICE ns. True when it did: the disk has been elsewhere.
 */
bool dispatcher_gap(struct dispatcher *d, uint64_t slice);
/*
 * From execute() of a chunk, at its begin: it will be only LEN bytes long, or as long as its
 * waiters need. Returns its length.
 */
uint64_t dispatcher_shorten(struct dispatcher *d, struct sched_req *r, uint64_t len);
/* As sched_writeback_slice(), sched_set_writeback_share() and sched_want(). */
uint64_t dispatcher_writeback_slice(struct dispatcher *d);
void dispatcher_set_writeback_share(struct dispatcher *d, double share);
void dispatcher_want(struct dispatcher *d, struct sched_req *r);
void dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len, uint64_t service);
/* The device is another one: what the old one cost is void. */
void dispatcher_forget_cost(struct dispatcher *d);
/* ENOMEM: the old one stays. */
int dispatcher_set_policy(struct dispatcher *d, const struct sched_policy *policy);
void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits);
/* More threads are started as needed; fewer just stay idle; 0 is 1. Returns 0 or an errno. */
int dispatcher_set_depth(struct dispatcher *d, uint32_t depth);

/* For whoever looks; each is true of one moment, and takes the lock for that long. */
void dispatcher_stats(struct dispatcher *d, struct dispatcher_stats *s);
struct cost_model dispatcher_cost(struct dispatcher *d);
struct sched_limits dispatcher_limits(struct dispatcher *d);
/* Write-backs running. */
uint32_t dispatcher_writes(struct dispatcher *d);
/* Reads queued and running. */
uint32_t dispatcher_reads(struct dispatcher *d);

/* Without the lock: the bytes that a chunk should have now, the streams that compete, the depth. */
static inline uint64_t dispatcher_chunk(const struct dispatcher *d)
{
	return atomic_load_explicit(&d->chunk, memory_order_relaxed);
}

static inline uint32_t dispatcher_streams(const struct dispatcher *d)
{
	return atomic_load_explicit(&d->streams, memory_order_relaxed);
}

static inline uint32_t dispatcher_depth(const struct dispatcher *d)
{
	return atomic_load_explicit(&d->depth, memory_order_relaxed);
}

#endif
