/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* cachestat(2) of Linux 6.5, which Debian 12's headers do not have. Any thread. */
#ifndef DISK_CACHESTAT_H
#define DISK_CACHESTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same on all architectures */
#endif

/* Pages of a range: Linux' struct cachestat. */
struct cache_counts {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* Of LEN bytes at OFFSET of FD, 0: to its end. False: the kernel does not say. */
static inline bool cachestat_of(int fd, uint64_t offset, uint64_t len, struct cache_counts *counts)
{
	uint64_t range[2] = {offset, len}; /* Linux' struct cachestat_range */

	return syscall(SYS_cachestat, fd, range, counts, 0) == 0;
}

#endif
