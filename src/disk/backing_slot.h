/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A handle's place for its backing, and the list of all backings that are open.
 *
 *   slot --get--> its backing, or a new one: the opener handed in with the slot ---> [ list ]
 *                                                                                      |
 *   too many: the least recently used; long unused; without a name:  stolen from its slot, closed
 *
 * Locks: the list's, then the slot's. A thread that drops its slot's backing takes it from the slot
 * first and waits for the list then, so a thief who holds the list never meets a slot that is gone.
 */
#ifndef DISK_BACKING_SLOT_H
#define DISK_BACKING_SLOT_H

#include "common/lock.h"
#include "disk/backing.h"
#include "disk/export_io.h"

struct backing_slot;

/*
 * Opens the file of SLOT for ACCESS (O_RDONLY, O_RDWR); without touching its access time; the
 * caller closes it. -1 and *ERR: EOPNOTSUPP or EPERM where it can never be had, EXDEV or
 * EUCLEAN where the handle leads to a file that is not the FSAL's (file_identity.h), else what
 * open(2) said.
 */
typedef int (*backing_opener)(struct backing_slot *slot, int access, int *err);

/*
 * Opens a remote backing (backing_remote.h) of SLOT's file for the export IO at NOW (ns), where there is no
 * descriptor; NULL and *ERR: EOPNOTSUPP where there can never be one.
 */
typedef struct backing *(*backing_remote_opener)(struct backing_slot *slot, struct export_io *io,
						 uint64_t now, int *err);

#define BACKING_KEY_MAX 64 /* bytes */

/* The part of a handle that is ours. */
struct backing_slot {
	struct lock lock;
	struct backing *backing; /* lock */
	uint32_t changes;	 /* of the file, under way; lock */
	struct backing *hot;	 /* the same while it is hot, under RCU; written with the lock */
	_Atomic uint64_t spared; /* backing_spared(): so far (bytes) */
	_Atomic uint64_t not_before; /* ns: no descriptor is asked for sooner; UINT64_MAX: never */
	backing_opener open;
	backing_remote_opener open_remote; /* NULL: only descriptors */
	uint64_t file_hash;		   /* of the key: the file, to the ghost caches */
	uint8_t key_len;
	uint8_t key[BACKING_KEY_MAX]; /* the sub-FSAL's key of the file: the nfsheur table's too */
};

/* MAX backings at a time, closed when unused for IDLE ns. Holds at once; any thread. */
void backing_set_limits(uint32_t max, uint64_t idle);
/* Closes those of handles of the export IO: what is open of it then is in use. */
void backing_sweep_export(const struct export_io *io);
/* Closes everything idle or deleted (all of it at the end: EVERYTHING). One thread at a time. */
void backing_sweep(uint64_t now, bool everything);
/* How many are open. */
uint32_t backing_count(void);

/*
 * How many bytes a copy of COUNT may change, of which COPIED are known to be: COUNT 0 is a copy to the end of what is
 * read, so that before it is over it may be all there are.
 */
static inline uint64_t backing_copy_len(uint64_t count, uint64_t copied)
{
	if (count == 0)
		return UINT64_MAX;
	return copied > count ? copied : count;
}

#define BACKINGS_FIND_MAX 256
/*
 * Of the N files at FILE, BACKINGS_FIND_MAX at most (backing.h's identity) those that are open: each with a use, to be put, at its place in
 * FOUND; NULL: it is not. The list's lock is held for one pass over what is open.
 */
void backings_find(const uint64_t *file, struct backing **found, unsigned int n);

/* KEY: of the file; NULL, or longer than BACKING_KEY_MAX: there is never a backing. */
void backing_slot_init(struct backing_slot *slot, backing_opener open, const void *key,
		       size_t key_len);
/* Where the first opener says EOPNOTSUPP this one is asked. */
void backing_slot_set_remote(struct backing_slot *slot, backing_remote_opener open);
/* The handle goes. */
void backing_slot_fini(struct backing_slot *slot);

/*
 * A use of the slot's backing, opened if need be for the export IO; NULL where there is none, now
 * or ever. Any thread on which the opener works.
 */
struct backing *backing_get(struct backing_slot *slot, struct export_io *io, uint64_t now);

/* A file's beginning (bytes): most small files are no longer. */
#define BACKING_SPARED UINT64_C(131072)
/*
 * A READ of SLOT's file, on the device DEV, has come for the export IO. Whether it goes past our queue, and is the
 * first one or goes on from those before it, within BACKING_SPARED of the file's beginning: then it needs no backing,
 * which costs as much to open as a few READs. Those after the first one of which that is not true have one.
 */
bool backing_spared(struct backing_slot *slot, const struct export_io *io, dev_t dev,
		    uint64_t offset, uint64_t len);
/*
 * A further READ of SLOT's file, at OFFSET: whether the descriptor that brought the file's beginning then, not ours, is to go
 * on: ours would have the kernel begin to read ahead anew. Not far from there, and once: of a long file that is nothing.
 */
#define BACKING_SPARED_ON (4 * BACKING_SPARED)
bool backing_spared_on(struct backing_slot *slot, uint64_t offset);
/* The device used last for IO, if it is DEV; or NULL. */
struct device *backing_last_device(const struct export_io *io, dev_t dev);
/*
 * Whether DEV is the device that was used last for IO, and its write-backs are the kernel's: then a file there that is written
 * needs no backing for it.
 */
bool backing_write_spared(const struct export_io *io, dev_t dev);
/*
 * B, of which the caller has a use, was read at NOW, and the bytes found in memory: it may be hot from now on, and ENGINE,
 * if there is one, sees no more of its READs.
 */
void backing_found_cached(struct backing_slot *slot, struct backing *b, struct readahead *engine,
			  uint64_t now);
/*
 * Reads LEN bytes at OFFSET into the N parts of IOV if the slot's backing is hot: without a lock and a use.
 * Returns how many, fewer at the end of the file; 0: it is not hot, or they are not in memory.
 */
size_t backing_read_hot(struct backing_slot *slot, const struct iovec *iov, int n, uint64_t offset,
			uint64_t len, uint64_t now);
/* The file's times or its ctime were set: the next READ counts as access, hot or not. */
void backing_cool(struct backing_slot *slot);
/* A hold of what the slot has, NULL if it has none. */
struct backing *backing_peek(struct backing_slot *slot);
/* Detaches the slot's backing: its descriptor closes as soon as nobody reads through it. */
void backing_drop(struct backing_slot *slot);
/* Closes what other handles have open of the file of SLOT: what they keep is old. */
void backing_drop_others(struct backing_slot *slot);

/*
 * A client is shown the attributes A of the file of SLOT: what is kept of it, by other handles where SLOT has nothing, is to
 * be no older, nor what is on its way.
 */
void backing_shown(struct backing_slot *slot, const struct use_once_attrs *a);

/*
 * [offset, offset + len) of the file changes or has changed, LEN UINT64_MAX: to the end: what is known of
 * it is void.
 */
void backing_invalidate(struct backing_slot *slot, uint64_t offset, uint64_t len);
/*
 * The same around a change that may have the inode's lock for long: between the two nobody asks where the file lies, so
 * that no READ waits for a WRITE before it is queued. Each begin has its end, on any thread.
 */
void backing_change_begins(struct backing_slot *slot, uint64_t offset, uint64_t len);
void backing_change_ends(struct backing_slot *slot, uint64_t offset, uint64_t len);

#endif
