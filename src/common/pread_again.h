/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* pread(2), again where a signal came in between. Any thread. */
#ifndef COMMON_PREAD_AGAIN_H
#define COMMON_PREAD_AGAIN_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* As pread(2), but never EINTR. */
static inline ssize_t pread_again(int fd, void *buffer, size_t len, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, buffer, len, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

#endif
