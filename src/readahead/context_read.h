/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much a READ brings along that is of no stream, but lies behind what is in memory. Who reads all of a file, or of a part of
 * it, in any order comes to what lies there too: what comes with this one spares him as many seeks.
 *
 *   file    ..........|== in memory ==| read |  twice as much as is there  |.........
 *                      more than the          up to CONTEXT_READ_MAX in all
 *                      READ asks for
 *
 * The kernel's own read-ahead brings as much as is there, and goes on at marks in it, for READs that find their data in memory
 * too. These cost nothing here: twice as much comes to about the same.
 *
 * In a file of which little is in memory that is one look for a READ that goes to the disk, and nothing is brought.
 *
 * Pure: what is in memory is asked of the caller. Any thread.
 */
#ifndef READAHEAD_CONTEXT_READ_H
#define READAHEAD_CONTEXT_READ_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that such a READ brings in all, the kernel's window by default; and of a READ that is one. */
#define CONTEXT_READ_MAX (UINT64_C(128) << 10)
#define CONTEXT_READ_LEN (CONTEXT_READ_MAX / 2)

struct context_read {
	uint64_t offset, len, size;				    /* bytes; size: of the file */
	bool (*is_there)(void *arg, uint64_t offset, uint64_t len); /* all of that is in memory */
	void *arg;
};

/* Whether there is something behind which R may bring more: else it is not, and neither the window need be known. One look. */
bool context_read_is(const struct context_read *r);
/* Bytes to fetch from the offset on, LEN at least, of one that is; WINDOW: the kernel's, read_ahead_kb, in bytes. */
uint64_t context_read_length(const struct context_read *r, uint64_t window);

#endif
