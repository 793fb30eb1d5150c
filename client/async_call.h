/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A call that may never return, such as any on a file system whose server hangs, in a child
 * process: so that who wants the result does not hang with it, and can end while the call cannot be
 * killed. A child has nothing of ours open, and no lock.
 *
 *   owner: async_call_start ---> child: run(arg, result), _exit
 *          async_call_done  <--- SIGCHLD; the result lies in memory that both see
 *
 * A call that nobody waits for any more is dropped: its child is killed. One that cannot be killed
 * now is kept among the stuck ones, ASYNC_STUCK_MAX of all calls together.
 *
 * SIGCHLD must not be ignored. One thread.
 */
#ifndef CLIENT_ASYNC_CALL_H
#define CLIENT_ASYNC_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Children that were killed and do not end. */
#define ASYNC_STUCK_MAX 16

/* All zero: none is under way. */
struct async_call {
	pid_t child; /* 0: none */
	void *shared;
	size_t size; /* bytes, of the result */
};

struct async_stuck {
	pid_t children[ASYNC_STUCK_MAX];
	unsigned int count;
};

typedef void (*async_run)(const void *arg, void *result);

/* RESULT is SIZE long, all zero when RUN begins. False: one is under way, or no child can be. */
bool async_call_start(struct async_call *c, async_run run, const void *arg, size_t size);
/* True once for each call that has returned, with its result. */
bool async_call_done(struct async_call *c, void *result);
/* Gives up the call, if any. False: it is stuck, with as many others as may be; it stays C's. */
bool async_call_drop(struct async_call *c, struct async_stuck *stuck);
/* Forgets those that have ended. */
void async_stuck_reap(struct async_stuck *stuck);

#endif
