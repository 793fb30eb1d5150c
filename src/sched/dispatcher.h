/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The dispatcher of one device: its queue, a lock, and Queue_Depth threads that do the I/O.
 *
 * What "doing" a request means is handed in. A worker calls execute() without any lock held; during
 * it a chunk reports its parts with dispatcher_progress(), and the waiters served by them complete
 * on the worker's thread. Submission never blocks beyond the lock.
 */
#ifndef SCHED_DISPATCHER_H
#define SCHED_DISPATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sched/queue.h"

#define DISPATCHER_DEPTH_MAX 256

struct dispatcher;

struct dispatcher_ops {
	uint64_t (*now)(void);
	/* Carries out R (dropped: only tidies up). Does not free it. */
	void (*execute)(struct dispatcher *d, struct sched_req *r);
	/* R's data is there (or its I/O failed and R must find out): answers the client, ends R. */
	void (*complete)(struct sched_req *r);
	/* An executed request is over, its waiters completed: ends R. */
	void (*finish)(struct dispatcher *d, struct sched_req *r);
	/* A worker starts or stops; either may be NULL. */
	void (*thread_start)(unsigned int n);
	void (*thread_stop)(void);
};

struct dispatcher {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct sched_queue queue;
	const struct dispatcher_ops *ops;
	pthread_t threads[DISPATCHER_DEPTH_MAX];
	uint32_t n_threads;
	_Atomic uint32_t depth; /* threads started; how many of them may work */
	uint32_t busy;
	bool stopping;
	/* What a chunk should have now (bytes), and how many streams compete: read without the
	 * lock. */
	_Atomic uint64_t chunk;
	_Atomic uint32_t streams;
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
/* From execute(): as sched_progress(), and completes the waiters. SERVICE: ns of the last step. */
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
/* Write-backs running. */
uint32_t dispatcher_writes(struct dispatcher *d);
/* Reads queued and running. */
uint32_t dispatcher_reads(struct dispatcher *d);
void dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len, uint64_t service);
void dispatcher_set_policy(struct dispatcher *d, const struct sched_policy *policy);
void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits);
/* More threads are started as needed; fewer just stay idle; 0 is 1. Returns 0 or an errno. */
int dispatcher_set_depth(struct dispatcher *d, uint32_t depth);

#endif
