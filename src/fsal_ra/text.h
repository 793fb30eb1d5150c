/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Texts of /proc and /sys that are kept open and read again and again. */
#ifndef RA_TEXT_H
#define RA_TEXT_H

#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Reads FD from its beginning, up to SIZE bytes: their number, or -1 with errno. One pread() is not
 * enough: of a text longer than a page the kernel gives a page at a time.
 */
static inline ssize_t ra_text_read(int fd, char *buf, size_t size)
{
	size_t got = 0;
	ssize_t n = 0;

	while (got < size && (n = pread(fd, buf + got, size - got, (off_t)got)) > 0)
		got += (size_t)n;
	return n < 0 ? n : (ssize_t)got;
}

#endif /* RA_TEXT_H */
