/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What listing a large directory with attributes needs, fetched ahead of the server that does it: its own
 * blocks (tree_blocks.h), and the inodes of its entries, by number.
 *
 *   the server   f7 f2 f9 f4 f1 ...      as the directory's hash has them: to and fro over the inodes
 *   here         |1   2 |  4   |  7  9|  the same blocks of inodes in the disk's order, each once (tree_inodes.h)
 *   ... ext4     |1...........9|         several together, for where they lie is known (tree_tables.h)
 *
 * One after the other they would come between those that the server waits for itself, with a seek to and fro.
 *
 * A request of class prefetch in the disk's queue, in turns, with gaps for small reads: as a walk's job
 * (tree_job.h). What comes is the kernel's to keep; nothing is answered from it. It counts as PREFETCHED, and is held against
 * no memory: nobody knows what of it was of use. So it ends where the client does not ask on, and while the disk costs the
 * highest price, where the export obeys that.
 */
#ifndef DISK_TREE_LISTING_H
#define DISK_TREE_LISTING_H

#include "disk/export_io.h"
#include "readahead/dir_walk.h"

/* A directory's bytes at least: some 1,000 entries. Of a smaller one the kernel has most at once. */
#define TREE_LISTING_MIN (32 << 10)
/*
 * Listings at a time: each has a descriptor, and lists of DIR_LIST_MAX entries and DIR_LIST_NAMES bytes of names at most, some
 * 7 MB for files and as much for subdirectories. One client has half of them at most; others do without.
 */
#define TREE_LISTINGS_MAX 8

/* So long (ns) after its client has asked for more last a listing ends. */
#define TREE_LISTING_IDLE UINT64_C(5000000000)

/* The directory ID (tree_dir.h) is listed on at NOW (ns). Any thread, for each entry: a load where nothing is under way. */
void tree_listing_goes_on(uint64_t id, uint64_t now);
bool tree_listing_any(void);
/* The directory of HANDLE, on the file system of MOUNT_FD, is about to be listed from its beginning. */
void tree_listing_submit(const struct dir_handle *handle, int mount_fd, struct export_io *io,
			 struct flow_id flow, uint64_t now);

#endif
