/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A chunk brought by the kernel's own read-ahead, of which each window is asked for and no more.
 *
 * What WILLNEED brings are single pages: on file systems that have larger units of memory (large folios:
 * XFS, since Linux 6.16 ext4), they cost several times the processor's time, when they are brought and
 * each time they are copied out. The kernel's own read-ahead makes them large; but it goes on behind what
 * is wanted. It does so from a mark in the last window, when somebody reads there:
 *
 *     from                                                end
 *       [ window ][ window ][ window ][ window ].. tail ..]      the last mark is left alone:
 *       ^ 1st     ^ 2nd     ^ 3rd     x                          the tail is WILLNEED's
 *
 * It does so for a stream only: what is before the first window must be there, and be read. At a chunk's beginning
 * it may still be on its way, with the chunk before it; or what follows is there already, by a client's READs.
 * Then a step goes by WILLNEED, and windows go on behind it.
 *
 * A touch is preadv2(2) with RWF_NOWAIT: where the data is not there it starts read-ahead and does not
 * wait for it. So the windows of a step all go to the disk at once, as WILLNEED's do. Where the data is there the touch is a
 * mapping's (arrival.h), which the kernel does not take for a reader.
 *
 * A window is twice the device's read_ahead_kb, as POSIX_FADV_SEQUENTIAL makes it: where a command costs time
 * whatever its length, as on flash, they are to be few. One that does not begin where a large folio can ends where one can, up to
 * one folio earlier (since Linux 6.17); those behind it are whole then.
 *
 * The descriptor is the chunk's own, for the kernel keeps the state of a stream in it. Whatever fails
 * here leaves its part to WILLNEED. One thread at a time.
 */
#ifndef DISK_KERNEL_WINDOWS_H
#define DISK_KERNEL_WINDOWS_H

#include "disk/backing.h"

/* Bytes of a window, at most; of a larger one chunks have too few. */
#define KERNEL_WINDOW_MAX (UINT64_C(4) << 20)
/* Windows of a chunk, at least, or it is not worth a descriptor. */
#define KERNEL_WINDOWS_MIN 4

struct kernel_windows {
	int fd;		/* -1: none */
	bool going;	/* what is touched next continues a stream */
	uint64_t size;	/* 0: the device has none, or too large ones */
	uint64_t at;	/* where to touch next */
	uint64_t begun; /* the disk has been asked so far */
	uint64_t end;
};

/* For [from, end) of B; NOW: ns. Not going, perhaps, though there is a descriptor. */
void kernel_windows_open(struct kernel_windows *w, struct backing *b, uint64_t from, uint64_t end,
			 uint64_t now);
/*
 * Asks the disk for what it can of B up to UPTO, perhaps two windows more. w->begun tells how far that
 * is, since the chunk's beginning.
 */
void kernel_windows_start(struct kernel_windows *w, struct backing *b, uint64_t upto);
/* What is before UPTO was asked for otherwise: if windows are not going, waits for its last byte, and they are. */
void kernel_windows_go_on(struct kernel_windows *w, uint64_t upto);
/* Bytes of the largest folio that a window of SIZE bytes can be in, a power of two. */
uint32_t kernel_windows_folio(uint64_t size);
void kernel_windows_close(struct kernel_windows *w);

#endif
