/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A thread for calls that may never return, such as any on a file system whose server hangs: so
 * that who wants the result does not hang with it. One call at a time; while one is under way no
 * other begins, so a hung server costs one thread and no more.
 *
 *   owner: async_call_start ---> thread: run() ---> eventfd wakes owner: async_call_done, the result is his
 *
 * What run() reads and writes belongs to the thread from async_call_start to async_call_done, else to the
 * owner. The thread lives as long as the program: it cannot be joined when it hangs.
 */
#ifndef CLIENT_ASYNC_CALL_H
#define CLIENT_ASYNC_CALL_H

#include <pthread.h>
#include <stdbool.h>

struct async_call {
	void (*run)(void *arg);
	void *arg;
	int wake; /* an eventfd, written to when a call has returned */
	pthread_mutex_t lock;
	pthread_cond_t start;
	enum { ASYNC_CALL_IDLE, ASYNC_CALL_UNDER_WAY, ASYNC_CALL_RETURNED } state;
};

/* 0 or an errno: no thread. */
int async_call_init(struct async_call *e, void (*run)(void *arg), void *arg, int wake);
/* False: the last one is still under way, or its result was not taken. */
bool async_call_start(struct async_call *e);
/* True once for each call, when it has returned. */
bool async_call_done(struct async_call *e);

#endif
