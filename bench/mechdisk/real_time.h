/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The one clock, as the model counts by it, and sleep until one of its times. */
#ifndef MECHDISK_REAL_TIME_H
#define MECHDISK_REAL_TIME_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "common/clock.h"

static inline int64_t now(void)
{
	return (int64_t)clock_now();
}

static inline void sleep_until(int64_t at_ns)
{
	struct timespec ts = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

#endif
