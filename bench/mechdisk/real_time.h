/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Nanoseconds of CLOCK_MONOTONIC, and sleep until one of them. */
#ifndef MECHDISK_REAL_TIME_H
#define MECHDISK_REAL_TIME_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

static inline int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline void sleep_until(int64_t at_ns)
{
	struct timespec ts = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

#endif
