/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The one clock: nanoseconds of CLOCK_MONOTONIC, which a step of the wall clock does not move, and
 * conditions whose timed waits go by it. Pure code never calls clock_now(): times are handed in.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_MS     UINT64_C(1000000)	  /* in ns */
#define CLOCK_SECOND UINT64_C(1000000000) /* in ns */

static inline uint64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * CLOCK_SECOND + (uint64_t)ts.tv_nsec;
}

/* Threads read the clock before they take a lock: what happened since may seem to lie ahead. */
static inline uint64_t elapsed(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}

/* A condition whose timed waits go by clock_now(). */
static inline void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* Waits until the time UNTIL of clock_now() at the longest: 0 or ETIMEDOUT. */
static inline int clock_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	struct timespec ts = {.tv_sec = (time_t)(until / CLOCK_SECOND),
			      .tv_nsec = (long)(until % CLOCK_SECOND)};

	return pthread_cond_timedwait(cond, lock, &ts);
}

#endif
