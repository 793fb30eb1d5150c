/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A thread for calls that may never return, such as any on a file system whose server hangs: so
 * that who wants the result does not hang with it. One call at a time; while one is under way no
 * other begins, so a hung server costs one thread and no more.
 *
 *   owner: errand_start ---> thread: run() ---> eventfd wakes owner: errand_done, the result is his
 *
 * What run() reads and writes belongs to the thread from errand_start to errand_done, else to the
 * owner. The thread lives as long as the program: it cannot be joined when it hangs.
 */
#ifndef CLIENT_ERRAND_H
#define CLIENT_ERRAND_H

#include <pthread.h>
#include <stdbool.h>

struct errand {
	void (*run)(void *arg);
	void *arg;
	int wake; /* an eventfd, written to when a call has returned */
	pthread_mutex_t lock;
	pthread_cond_t start;
	enum { ERRAND_IDLE, ERRAND_UNDER_WAY, ERRAND_RETURNED } state;
};

/* 0 or an errno: no thread. */
int errand_init(struct errand *e, void (*run)(void *arg), void *arg, int wake);
/* False: the last one is still under way, or its result was not taken. */
bool errand_start(struct errand *e);
/* True once for each call, when it has returned. */
bool errand_done(struct errand *e);

#endif
