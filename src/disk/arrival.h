/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Waits until pages of a file are in memory, and does not count as one of its readers.
 *
 *   read(2)         marks what it reads. What is marked twice, by who waits for it and by the client it was fetched for,
 *                   is of those pages that the kernel keeps longest; and a mark is a whole folio's. So a stream, read
 *                   once, would drive out what is read again and again.
 *   MADV_POPULATE_  of a private mapping waits as read(2) does, and copies the page, into memory that is dropped at the
 *   WRITE           end (Linux 5.14). Nobody has read the file.
 *
 * (Reads after POSIX_FADV_NOREUSE, splice(2) and MADV_POPULATE_READ mark too.) While the disk is at it the kernel holds no
 * lock of the address space, but for the last attempt at a page that cannot be read: then it may hold up the whole
 * server for as long as a drive takes to fail. Hence one such page of a device is enough: from then on it is read(2).
 * So it is where there is no mapping; and of a device without seeks, where what was driven out is soon there again, and a
 * mapping costs the processor a twentieth of what a READ does.
 */
#ifndef DISK_ARRIVAL_H
#define DISK_ARRIVAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct arrival {
	int fd;
	char *map; /* NULL: none */
	uint64_t from, len;
	atomic_bool *spoilt; /* a page of the device could not be read */
};

/* What of FD is awaited lies in [from, end). SPOILT: its device's, which may change; NULL: by read(2). One thread. */
void arrival_begin(struct arrival *a, int fd, uint64_t from, uint64_t end, atomic_bool *spoilt);
/* The same, and the kernel's read-ahead goes on where a page is waited for that has its mark, as for a reader. */
void arrival_begin_ahead(struct arrival *a, int fd, uint64_t from, uint64_t end,
			 atomic_bool *spoilt);
/* Waits until the byte at OFFSET is there; false: it cannot be read. */
bool arrival_await(struct arrival *a, uint64_t offset);
/* Whether it is, and not only on its way; false if unsure, as where there is no mapping. */
bool arrival_is_there(const struct arrival *a, uint64_t offset);
void arrival_end(struct arrival *a);

#endif
