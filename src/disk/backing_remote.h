/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The remote kind of backing: a file of a FSAL that reaches a cluster by itself (CephFS) and has a cache of
 * its own in this process. What is fetched ahead goes into that cache, by reading it on a second handle and
 * throwing the bytes away; clients' reads go the FSAL's way, and find them there.
 *
 *   prefetch: steps ---> read() of our handle ---> scratch            [ the FSAL's cache ]
 *                                    '------------------- fills ------->    |
 *   client's READ ------------------> the FSAL's read2 <---- from it -------'
 *
 * Where the FSAL has no such cache (GLUSTER) the bytes are kept here, for one READ (remote/use_once.h), and given
 * only while the file's change attribute is vouched for. It is asked for on the same handle.
 *
 * So what a client of the first kind gets is what the FSAL says, always. Whether something is in that cache nobody can ask:
 * hint.h remembers what went in, and self_check.h notices when it does not stay there.
 *
 * The calls are handed in; each may wait for the cluster. Never with a lock. read() on dispatcher threads,
 * size() and close() on any.
 */
#ifndef DISK_BACKING_REMOTE_H
#define DISK_BACKING_REMOTE_H

#include "disk/backing.h"
#include "disk/export_io.h"

struct remote_calls {
	/* LEN bytes at OFFSET into BUFFER; how many, fewer at the end of the file only; -1: an error. */
	ssize_t (*read)(void *handle, void *buffer, size_t len, uint64_t offset);
	/* The size of the file as it is now. */
	bool (*size)(void *handle, uint64_t *size);
	/*
	 * Its change attribute: another one where bytes or size are others, if it is SETTLED (use_once_told()). Only of
	 * files with `keep`.
	 */
	bool (*change)(void *handle, uint64_t *change, bool *settled);
	/* ... and says export_io_handle_closed(). */
	void (*close)(void *handle);
};

/* What is known of a file when it is opened. */
struct remote_file {
	const struct remote_calls *calls;
	void *handle;	       /* the calls' */
	uint64_t file;	       /* identity on the device */
	uint64_t size;	       /* bytes */
	uint64_t cache;	       /* bytes that the FSAL's cache holds, about */
	struct use_once *keep; /* where bytes are kept instead, NULL: in the FSAL's cache */
};

/*
 * What a file with this INODE is called, of which LEN bytes at KEY say in which file system it is, and perhaps that number: its
 * number, where they say beside it what they said of the first file that was named with *USUAL, which is 0 before; else that is
 * mixed in. For clusters' file systems and snapshots have files of the same numbers, which must not pass for one. Any thread.
 */
uint64_t backing_remote_name(uint64_t inode, const void *key, size_t len, _Atomic uint64_t *usual);

/*
 * A backing of F on DEVICE, for which export_io_handle_opens() has said yes: with two uses, the slot's and
 * the caller's. The handle is its own from now on. NULL: no memory, which *ERR says; the handle stays the
 * caller's.
 */
struct backing *backing_remote_new(const struct remote_file *f, struct export_io *io,
				   struct device *device, int *err);

/*
 * Files of which a read waits for the FSAL's client for too long: its attributes are asked for, which wakes
 * it (remote/overdue.h). At NOW (ns), every OVERDUE_LOOK or so, on a thread that may wait for the cluster.
 */
#define OVERDUE_LOOK UINT64_C(100000000) /* ns */
void backings_wake_overdue(uint64_t now);

#endif
