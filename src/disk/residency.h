/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a range of a file is in the page cache, asked without starting I/O.
 *
 *   cachestat(2)   Linux 6.5: counts the pages of a range, a third of a microsecond
 *   mincore(2)     elsewhere: over a mapping of the file that is kept
 *
 * What is mapped of a file is a window around what was asked last, whatever the file's size: all of
 * them together must leave address space for the server.
 *
 *   file     |.........|.........|.........|.........|...   multiples of RESIDENCY_WINDOW
 *   mapped                       [=========]                a reader who goes on in it maps nothing
 *
 * The answer may be out of date when it arrives; it decides who reads, never what is read.
 */
#ifndef DISK_RESIDENCY_H
#define DISK_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"

/* The most that is mapped of one file (bytes): most whole, where addresses are plenty. */
#define RESIDENCY_WINDOW (sizeof(void *) > 4 ? UINT64_C(1) << 30 : UINT64_C(64) << 20)

/* Of one descriptor. */
struct residency {
	struct lock lock;
	void *map;		    /* mincore only */
	uint64_t map_from, map_len; /* of the file, bytes */
};

/* Names of the ways to ask, "auto" first; NULL beyond the last. */
const char *residency_probe_nth(unsigned int n);
/*
 * The way in force from now on, out of the names above; before the first use. False: this kernel
 * has no such call, and mincore is used.
 */
bool residency_start(const char *name);

void residency_init(struct residency *r);
/* Gives the mapping back: the file may go. */
void residency_fini(struct residency *r);
/*
 * Whether [offset, offset + len) of FD, whose file has SIZE bytes, is in the page cache, as far as
 * there is such a range; false if unsure. Any thread.
 */
bool residency_of(struct residency *r, int fd, uint64_t size, uint64_t offset, uint64_t len);

#endif
