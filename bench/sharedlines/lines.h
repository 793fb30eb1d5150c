/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which lines of the cache the plugin's threads write and read, as if each had a processor of its
 * own with a cache that never forgets.
 *
 *   instrumented code --> hooks.c --> lines_touch() --> tables in a file that bench/shared_lines
 *                                                       maps too: it switches them on, and reads
 *
 *   a line   who has it: a bit for each thread      write: the writer alone has it then
 *                                                   read:  the reader has it too
 *   a site   one return address and one line: how often it wrote, read, and had to fetch the line
 *            or take it from others ("moves")
 *
 * Both are open hash tables of a fixed size; what finds no place is counted as dropped.
 */
#ifndef SHAREDLINES_LINES_H
#define SHAREDLINES_LINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_LINE    64 /* bytes */
#define LINES_TABLE   (1u << 17)
#define LINES_SITES   (1u << 18)
#define LINES_THREADS 64 /* those that come later share the last bit */

/* The file's layout; bench/shared_lines reads it. */
struct lines_line {
	_Atomic uint64_t number; /* address / LINES_LINE; 0: free */
	_Atomic uint64_t has;	 /* a bit for each thread */
	_Atomic uint64_t wrote;	 /* the threads that ever wrote it */
};

struct lines_site {
	_Atomic uint64_t key; /* of address and line; 0: free */
	uint64_t address, line;
	_Atomic uint64_t writes, reads, moves;
};

struct lines_file {
	_Atomic uint64_t on, threads, dropped, unused;
	struct lines_line lines[LINES_TABLE];
	struct lines_site sites[LINES_SITES];
};

/* An access of LEN bytes by the code that returns to ADDRESS. Any thread; takes no lock. */
void lines_touch(const volatile void *at, size_t len, bool write, const void *address);
/* Maps the file that RA_SHARED_LINES names in the environment; without it nothing is recorded. */
void lines_start(void);

#endif
