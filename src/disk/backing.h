/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file descriptor of our own for a file of the sub-FSAL: for residency, prefetch and FIEMAP.
 *
 * It is read-only, with the kernel's own read-ahead off, so that what the disk does is what the
 * scheduler decided. A handle has at most one, in its slot; all of them together are bounded (least
 * recently used first) and closed when idle. Who can open one is handed in with the slot.
 *
 *        slot ----use----> +---------+ <----hold---- request in a queue
 *     (a handle's)         | backing |
 *     reading now --use--> +---------+ ----------> device (stays to the end)
 *                            |     |
 *             last use gone: |     | last hold gone:
 *                close(fd)  <+     +> free
 *
 * There are two kinds of reference. A use keeps the descriptor open: the slot's own, and that of
 * whoever does I/O just now. A hold keeps only the memory: a queued request has one, so that a file
 * removed meanwhile is closed, and its space free, at once and not when its turn comes. Each use is
 * a hold too.
 */
#ifndef DISK_BACKING_H
#define DISK_BACKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/lock.h"
#include "disk/export_io.h"
#include "disk/extents.h"
#include "disk/residency.h"

struct backing_slot;

struct backing {
	TAILQ_ENTRY(backing) link; /* of all open ones; the list's lock */
	struct backing_slot *slot; /* its owner while linked; the list's lock */
	atomic_uint holds, uses;
	atomic_bool gone;      /* closed or unlinked: stop prefetching */
	_Atomic uint64_t used; /* ns */
	_Atomic uint64_t size; /* of the file as last seen, bytes */
	int fd;
	uint64_t file; /* identity on the device: the inode number, mixed with its subvolume */
	struct device *device;
	struct extent_map extents;
	struct residency residency;
};

/*
 * Opens the file of SLOT for ACCESS (O_RDONLY, O_RDWR), without touching its access time; the
 * caller closes it. -1 and *ERR: EOPNOTSUPP or EPERM where it can never be had, EXDEV or
 * EUCLEAN where the handle leads to a file that is not the FSAL's (file_identity.h), else what
 * open(2) said.
 */
typedef int (*backing_opener)(struct backing_slot *slot, int access, int *err);

#define BACKING_KEY_MAX 64 /* bytes */

/* The part of a handle that is ours. */
struct backing_slot {
	struct lock lock;
	struct backing *backing;     /* lock */
	_Atomic uint64_t not_before; /* ns: no descriptor is asked for sooner; UINT64_MAX: never */
	backing_opener open;
	uint64_t file_hash; /* of the key: the file, to the ghost caches */
	uint8_t key_len;
	uint8_t key[BACKING_KEY_MAX]; /* the sub-FSAL's key of the file: the nfsheur table's too */
};

/* MAX descriptors at a time, closed when unused for IDLE ns. Holds at once; any thread. */
void backing_set_limits(uint32_t max, uint64_t idle);
/* Closes everything idle or deleted (all of it at the end: EVERYTHING). One thread at a time. */
void backing_sweep(uint64_t now, bool everything);
/* How many are open. */
uint32_t backing_count(void);

/* KEY: of the file; NULL, or longer than BACKING_KEY_MAX: there is never a backing. */
void backing_slot_init(struct backing_slot *slot, backing_opener open, const void *key,
		       size_t key_len);
/* The handle goes. */
void backing_slot_fini(struct backing_slot *slot);

/*
 * A use of the slot's backing, opened if need be for the export IO; NULL where there is none, now
 * or ever. Any thread on which the opener works.
 */
struct backing *backing_get(struct backing_slot *slot, struct export_io *io, uint64_t now);
void backing_put(struct backing *b);
/* A hold by somebody who has a use or hold; backing_release() gives it back. */
struct backing *backing_hold(struct backing *b);
void backing_release(struct backing *b);
/* A hold of what the slot has, NULL if it has none. */
struct backing *backing_peek(struct backing_slot *slot);
/* Makes a use of a hold, to be ended by backing_unuse(); false when the descriptor is closed. */
bool backing_use(struct backing *b);
void backing_unuse(struct backing *b);
/* Detaches the slot's backing: its descriptor closes as soon as nobody reads through it. */
void backing_drop(struct backing_slot *slot);

/* The file changed: what is known of its place on the disk is void. */
void backing_invalidate(struct backing_slot *slot);

/* Whether [offset, offset + len) is in the page cache; false if unsure. Never starts I/O. */
bool backing_resident(struct backing *b, uint64_t offset, uint64_t len);
/* The device address of OFFSET; where unmapped, one that keeps file order. */
uint64_t backing_block(struct backing *b, uint64_t offset);
/* Where OFFSET will go if it has no place yet: behind the byte before it. */
uint64_t backing_place(struct backing *b, uint64_t offset);
/* Asks the file system for the size again. */
uint64_t backing_refresh_size(struct backing *b);

#endif
