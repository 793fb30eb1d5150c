/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file descriptor of our own for a file of the sub-FSAL: for residency, prefetch and FIEMAP.
 *
 * It is opened by handle, read-only, with the kernel's own read-ahead off, so that what the disk
 * does is what the scheduler decided. A handle has at most one; all of them together are bounded by
 * Descriptors_Max (least recently used first) and closed when idle.
 *
 * There are two kinds of reference. A use keeps the descriptor open: the handle's own, and that of
 * whoever does I/O just now. A hold keeps only the memory: a queued request has one, so that a file
 * removed meanwhile is closed, and its space free, at once and not when its turn comes.
 */
#ifndef RA_BACKING_H
#define RA_BACKING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sched/extent_map.h"

struct ra_handle;
struct ra_device;

struct backing {
	TAILQ_ENTRY(backing) link; /* of all open ones; the table's lock */
	struct ra_handle *hdl;	   /* its owner while linked */
	atomic_uint holds, uses;   /* every use is a hold too */
	atomic_bool gone;	   /* closed or unlinked: stop prefetching */
	_Atomic uint64_t used;	   /* ns */
	_Atomic uint64_t size;	   /* of the file as last seen, bytes */
	int fd;
	uint64_t file; /* inode number: identity on the device */
	struct ra_device *device;
	struct extent_map extents;
	pthread_mutex_t map_lock;
	void *map; /* mincore only */
	uint64_t map_len;
};

/* The part of a handle that is ours. */
struct backing_slot {
	pthread_mutex_t lock;
	struct backing *backing;
	bool none;	    /* this sub-FSAL has no descriptor for us */
	uint64_t file_hash; /* of the key: the file, to the ghost caches */
	uint8_t key_len;
	uint8_t key[64]; /* the sub-FSAL's key of the file: the nfsheur table's too */
};

/* False for a name that is not a way to probe residency. */
bool ra_probe_find(const char *name);
/* The way in force: to be called once, when the parameters are known. */
void backing_start(void);
/* Closes everything idle or deleted (all of it at the end: ALL). Any thread. */
void backing_sweep(uint64_t now, bool all);
/* How many are open. */
uint32_t backing_count(void);

/* A use of the handle's backing, opened if need be; NULL where there is none. With op_ctx. */
struct backing *backing_get(struct ra_handle *hdl, uint64_t now);
void backing_put(struct backing *b);
/* A hold by somebody who has a use or hold; backing_release() gives it back. */
struct backing *backing_hold(struct backing *b);
void backing_release(struct backing *b);
/* A hold of what the handle has, NULL if it has none. */
struct backing *backing_peek(struct ra_handle *hdl);
/* Makes a use of a hold, to be ended by backing_unuse(); false when the descriptor is closed. */
bool backing_use(struct backing *b);
void backing_unuse(struct backing *b);
/* Detaches the handle's backing: its descriptor closes as soon as nobody reads through it. */
void backing_drop(struct ra_handle *hdl);

/* The file changed: what is known of its place on the disk is void. */
void backing_invalidate(struct ra_handle *hdl);

/* Whether [offset, offset + len) is in the page cache; false if unsure. Never starts I/O. */
bool backing_resident(struct backing *b, uint64_t offset, uint64_t len);
/* The device address of OFFSET; where unmapped, one that keeps file order. */
uint64_t backing_block(struct backing *b, uint64_t offset);
/* Where OFFSET will go if it has no place yet: behind the byte before it. */
uint64_t backing_place(struct backing *b, uint64_t offset);
/* Asks the file system for the size again. */
uint64_t backing_refresh_size(struct backing *b);

#endif /* RA_BACKING_H */
