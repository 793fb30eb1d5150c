/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A call that may never return, such as any on a file system whose server hangs, in a child
 * process: so that who wants the result does not hang with it, and can end while the call cannot be
 * killed. A child has nothing of ours open, and no lock.
 *
 *   owner: async_call_start ---> a child that is idle, else a new one: run(arg, result)
 *          async_call_done  <--- SIGCHLD; the result lies in memory that both see
 *                           ---> the child waits for the next call
 *
 * A call that nobody waits for any more is dropped: its child is killed. One that cannot be killed
 * now is kept among the stuck ones, ASYNC_STUCK_MAX of all calls together. Whoever is gone himself leaves
 * his call: where there is no such place its child counts as one of its group until there is, or it ends.
 *
 * Calls that may hang together, those to one server, are a group: a group has ASYNC_GROUP_MAX
 * children at most, so that a server that hangs leaves some for others. Stuck ones do not count in
 * that; but the last ASYNC_KEPT places are for groups that have none at all, so that several servers
 * that hang leave some too.
 *
 * SIGCHLD must not be ignored. One thread.
 */
#ifndef CLIENT_ASYNC_CALL_H
#define CLIENT_ASYNC_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Children, of all groups, and those that hang. */
#define ASYNC_WORKERS_MAX 64
#define ASYNC_GROUP_MAX	  8
#define ASYNC_KEPT	  16
/* Children that were killed and do not end. */
#define ASYNC_STUCK_MAX 16
/* Children that are kept for the next call; more of them end, one after the other. */
#define ASYNC_IDLE_MAX 16
/* Bytes. */
#define ASYNC_ARG_MAX	 8192
#define ASYNC_RESULT_MAX 64

struct async_worker {
	pid_t child; /* 0: none */
	enum { ASYNC_IDLE, ASYNC_BUSY, ASYNC_LEFT, ASYNC_STUCK } state;
	uint32_t group;
	struct async_job *job; /* in memory that it sees too */
};

/* All zero: no child yet. */
struct async_pool {
	struct async_worker workers[ASYNC_WORKERS_MAX];
};

/* All zero: none is under way. */
struct async_call {
	struct async_worker *worker; /* of a pool; NULL: none */
};

typedef void (*async_run)(const void *arg, void *result);

/*
 * RUN gets a copy of ARG, which is SIZE long, and a result of ASYNC_RESULT_MAX bytes, all zero.
 * False: one is under way, its group has as many as may be, or no child can be had.
 */
bool async_call_start(struct async_call *c, struct async_pool *pool, uint32_t group, async_run run,
		      const void *arg, size_t size);
/* True once for each call that has returned, with the SIZE first bytes of its result. */
bool async_call_done(struct async_call *c, void *result, size_t size);
/* Gives up the call, if any. False: it is stuck, with as many others as may be; it stays C's. */
bool async_call_drop(struct async_call *c, struct async_pool *pool);
/* Gives it up for good: what cannot be dropped now is the POOL's. */
void async_call_leave(struct async_call *c, struct async_pool *pool);
/* Forgets children that were killed and have ended, and ends idle ones that are too many. */
void async_pool_reap(struct async_pool *pool);
/* How many are stuck. */
unsigned int async_pool_stuck(const struct async_pool *pool);
/* How many calls of GROUP are under way, without stuck ones. */
unsigned int async_pool_group(const struct async_pool *pool, uint32_t group);
/* Whether others' calls hang in so many that there is none for GROUP. */
bool async_pool_crowded(const struct async_pool *pool, uint32_t group);
/* Ends those that are idle. */
void async_pool_end(struct async_pool *pool);

#endif
