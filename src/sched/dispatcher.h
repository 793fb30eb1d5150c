/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The dispatcher of one device: its queue, a lock, and threads that do the I/O.
 *
 *   submit --> [ queue ] --> a worker executes ---------> its waiters, many of them --> [ answers ]
 *                 ^            |   at most Queue_Depth      few: answered at once           |
 *                 |            |   at a time                                                v
 *                 '------------' hangs for Stall_Time: a worker          a worker that is idle answers
 *                                that is idle takes the next one
 *
 * What "doing" a request means comes with it (sched_req_ops). A worker calls execute() without any
 * lock held; during it a chunk reports its parts with dispatcher_progress(). Submission never blocks
 * beyond the lock, which nobody else takes; what is refused may wait (dispatcher_room.c).
 *
 * A drive with a queue of its own is given several scattered reads at once, if that was found to be
 * faster (depth_evidence.h): beyond Queue_Depth, but only beside each other (place.h), and in the gaps
 * of a chunk. Another one is given the next read while it serves one, so that it does not stand still in
 * between. The workers for that are started when they are first needed.
 *
 * There are Queue_Depth workers, and one to spare from the first moment at which somebody has to
 * wait. The spare one keeps the disk from standing still: it answers waiters where they are so many
 * that copying them takes time the disk could have used (a handful is answered faster than a thread
 * wakes up), and it watches, in a timed wait, for requests that give no sign of life. Each of these
 * loses its place among the Queue_Depth, up to SCHED_STALLED_MAX of them; then there is another
 * spare one. When it gives a sign of life it counts again, and the disk gets no new request before
 * the depth is kept.
 */
#ifndef SCHED_DISPATCHER_H
#define SCHED_DISPATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"
#include "sched/drive_reads.h"
#include "sched/policy.h"
#include "sched/queue.h"

#define DISPATCHER_DEPTH_MAX 256
/* Workers that answer what others left to them. */
#define DISPATCHER_ANSWERERS_MAX 4
/* Workers: those at the disk, that hang there or in an answer, that answer, the spare one. */
#define DISPATCHER_THREADS_MAX                                                                     \
	(DISPATCHER_DEPTH_MAX + 2 * SCHED_STALLED_MAX + DISPATCHER_ANSWERERS_MAX + 1)
#define DISPATCHER_NAME_MAX 24

/* The host's. */
struct dispatcher_ops {
	uint64_t (*now)(void);
	/* The Nth worker starts; may be NULL. */
	void (*thread_start)(unsigned int n);
};

TAILQ_HEAD(finishing_list, finishing);
TAILQ_HEAD(room_wait_list, room_wait);
struct dispatcher_opening;

/*
 * Its fields are the dispatcher's; look through the functions below. What each request touches lies together, and
 * the large ones are at the end.
 */
struct dispatcher {
	struct lock lock;
	pthread_cond_t work;
	const struct dispatcher_ops *ops;
	_Atomic uint32_t depth; /* how many of the threads may work */
	uint32_t busy;		/* ... and do, on requests that have not stalled */
	uint32_t scattered;	/* of these: on scattered reads */
	uint32_t helping;	/* in a gap; not among the busy */
	uint32_t idle;		/* wait for work */
	bool watched;		/* one of these looks for stalled requests */
	bool stopping;
	uint32_t passed; /* workers that hang while they answer; those that do not: */
	struct finishing_list finishing;
	uint32_t
		telling; /* workers that write in the log that one hangs, or answer who is let go */
	uint32_t answerers;	       /* workers that answer one of ... */
	struct sched_list answers;     /* woken requests, to be completed by who is idle */
	struct room_wait_list waiting; /* reads that wait for room, oldest first */
	uint32_t n_waiting;
	uint32_t n_threads;
	_Atomic uint64_t chunk;
	_Atomic uint32_t streams;
	_Atomic uint64_t seek_bytes;
	struct dispatcher_opening *opening; /* a gap in which others help */
	struct drive_reads drive;
	struct sched_queue queue;
	pthread_cond_t closed; /* those who help in a gap have all ended */
	pthread_t threads[DISPATCHER_THREADS_MAX];
	char name[DISPATCHER_NAME_MAX]; /* the device's, for the log */
};

/* What is known of the drive's own queue. */
struct dispatcher_drive {
	uint32_t max; /* scattered reads together at most; 1: never more than the depth */
	uint32_t now; /* ... as it is at present */
	bool decided; /* on evidence */
	bool faster;  /* together it is, and so it is done */
	double ns[2]; /* a read took lately one by one, together; 0: not known */
};

/* What was found out of the device, and is worth being kept; 0: not known. */
struct dispatcher_learnt {
	double seek_ns, ns_per_byte;
	bool decided, together; /* scattered reads: whether it is known; they are faster together */
	double read_ns[2];	/* as dispatcher_drive's */
};

/* A dispatcher at one moment. */
struct dispatcher_stats {
	const struct sched_policy *policy;
	uint32_t depth;
	uint32_t running, queued[SCHED_CLASSES];
	uint32_t full_waiting; /* threads that wait for room */
	struct dispatcher_drive drive;
	double writeback_share;
	uint64_t chunk; /* bytes that one should have now */
	struct cost_model cost;
	struct sched_stats counted; /* since the start */
};

/* DEPTH 1..DISPATCHER_DEPTH_MAX requests at once. Returns 0 or an errno. */
int dispatcher_init(struct dispatcher *d, const struct dispatcher_ops *ops, uint32_t depth,
		    const struct sched_policy *policy, const struct sched_limits *limits);
/* What the log calls the device; before anything is submitted. */
void dispatcher_set_name(struct dispatcher *d, const char *name);
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
/* As sched_join(). */
enum sched_verdict dispatcher_join(struct dispatcher *d, struct sched_req *r);
/*
 * As dispatcher_submit() of a read from a cluster: SCHED_RUN when it may go past the queue, beside whatever is there. R is the
 * caller's then, stays where it is, and is charged until dispatcher_went_past(), on any thread.
 */
enum sched_verdict dispatcher_submit_or_pass(struct dispatcher *d, struct sched_req *r);
void dispatcher_went_past(struct dispatcher *d, struct sched_req *r);
/*
 * FAR: as sched_set_past(). DIRECT: demand reads go past the queue, to a device that serves them beside what is handed out
 * (cost_chunk_direct()).
 */
void dispatcher_set_past(struct dispatcher *d, bool far, bool direct);
/* So many of the server's threads may wait for room, of all devices' queues, ROOM_GATE_MAX (common/room_gate.h) at most. */
void dispatcher_set_full_threads(uint32_t max);
/*
 * R, a read, was refused: SCHED_FULL. Waits for room on the caller's thread, up to TIMEOUT ns (0:
 * not at all), if a thread may be spared (dispatcher_set_full_threads()): that holds R's client back, and no other. The
 * verdict is then as of dispatcher_submit(), R gone as after it; or SCHED_FULL again: the client is to
 * be told to come again. Not on a thread that requests in the queue need.
 */
enum sched_verdict dispatcher_wait_room(struct dispatcher *d, struct sched_req *r,
					uint64_t timeout);
/* From execute(): as sched_progress(), and completes the waiters. */
void dispatcher_progress(struct dispatcher *d, struct sched_req *r, uint64_t upto);
/*
 * From execute() of the chunk R, between steps: serves the small demand reads that wait, if the
 * policy opens a gap after SLICE ns. True when it did: the disk has been elsewhere.
 */
bool dispatcher_gap(struct dispatcher *d, struct sched_req *r, uint64_t slice);
/* The same of the slice that began at *SINCE (ns); a new one begins there after the gap. */
bool dispatcher_gap_since(struct dispatcher *d, struct sched_req *r, uint64_t *since);
/*
 * From execute() of a chunk, at its begin: it will be only LEN bytes long, or as long as its
 * waiters need. Returns its length.
 */
uint64_t dispatcher_shorten(struct dispatcher *d, struct sched_req *r, uint64_t len);
/* Bytes that the chunk R should have, at its begin: dispatcher_chunk(), or less for its client's sake. */
uint64_t dispatcher_chunk_of(struct dispatcher *d, struct sched_req *r);
/* As sched_writeback_turn(), sched_set_writeback_share() and sched_want(). */
struct sched_turn dispatcher_writeback_turn(struct dispatcher *d);
void dispatcher_set_writeback_share(struct dispatcher *d, double share);
void dispatcher_want(struct dispatcher *d, struct sched_req *r, const struct flow_id *by);
/* As sched_observe() and sched_passed(); each returns what the model is then. */
struct cost_model dispatcher_observe(struct dispatcher *d, uint64_t block, uint64_t len,
				     uint64_t service);
/*
 * As cost_observe_step(), of LEN bytes from BLOCK on, the last of which lie before END: behind what came last nothing was
 * sought, also where it begins a chunk.
 */
struct cost_model dispatcher_observe_step(struct dispatcher *d, uint64_t block, uint64_t end,
					  uint64_t len, uint64_t service, bool run);
/* LEN bytes in several places came together in SERVICE ns, with SEEKS: cost_observe_among(). */
void dispatcher_observe_among(struct dispatcher *d, uint64_t len, uint32_t seeks, uint64_t service);
struct cost_model dispatcher_passed(struct dispatcher *d, uint64_t end, uint64_t len,
				    uint64_t service);
/* The device is another one: what the old one cost is void. */
void dispatcher_forget_cost(struct dispatcher *d);
/* What is known by now; and what was known of it once, which counts where nothing is known yet. */
void dispatcher_learnt(struct dispatcher *d, struct dispatcher_learnt *l);
void dispatcher_restore(struct dispatcher *d, const struct dispatcher_learnt *l);
/* ENOMEM: the old one stays. */
int dispatcher_set_policy(struct dispatcher *d, const struct sched_policy *policy);
void dispatcher_set_limits(struct dispatcher *d, const struct sched_limits *limits);
/* More threads are started as needed; fewer just stay idle; 0 is 1. Returns 0 or an errno. */
int dispatcher_set_depth(struct dispatcher *d, uint32_t depth);

/*
 * Up to MAX scattered reads may go to the drive together, if that turns out to be faster; 0 and 1: no
 * more than the depth. What was found out is kept until there is another MAX above 1.
 */
void dispatcher_set_together(struct dispatcher *d, uint32_t max);

/* For whoever looks; each is true of one moment, and takes the lock for that long. */
void dispatcher_stats(struct dispatcher *d, struct dispatcher_stats *s);
struct cost_model dispatcher_cost(struct dispatcher *d);
struct sched_limits dispatcher_limits(struct dispatcher *d);
/*
 * Shares in force from now on, copied; requests queued move to their new groups. ENOMEM: the old ones
 * stay. Before the first call all clients have the same weight, and there are no floors or ceilings.
 */
int dispatcher_set_shares(struct dispatcher *d, const struct sched_shares *shares);
/* Fills up to MAX entries, those most lately active first; returns how many flows there are. */
unsigned int dispatcher_flows(struct dispatcher *d, struct flow_stats *stats, unsigned int max);
/* As sched_client_totals(). */
void dispatcher_client_totals(struct dispatcher *d, struct client_total *totals, size_t n);
/* Write-backs running. */
uint32_t dispatcher_writes(struct dispatcher *d);
/* Reads queued and running. */
uint32_t dispatcher_reads(struct dispatcher *d);

/* The time by the host's clock. */
static inline uint64_t dispatcher_now(const struct dispatcher *d)
{
	return d->ops->now();
}

/* Without the lock: the bytes that a chunk should have now, the streams that compete, the depth. */
static inline uint64_t dispatcher_chunk(const struct dispatcher *d)
{
	return atomic_load_explicit(&d->chunk, memory_order_relaxed);
}

/* ... and the bytes that it reads in the time of a seek. */
static inline uint64_t dispatcher_seek_bytes(const struct dispatcher *d)
{
	return atomic_load_explicit(&d->seek_bytes, memory_order_relaxed);
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
