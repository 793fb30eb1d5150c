/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The order in which inodes are asked for that a listing needs: by number, one of each block; of a file system
 * with windows one behind each span first.
 *
 * ext4 reads an inode with what lies around it, in windows of 128 KiB: first the blocks before that which is
 * asked for, then that, then those behind it. Where that is the first of the window that is missing, which it
 * always is by number, it goes to the disk behind the others, and waits for most of a revolution.
 *
 *   by number     1 -> |2 3 4 5 6 7 8| 1          the same again, 7 ms each time
 *   one behind    5 -> |1 2 3 4|5|6 7 8|          as they lie; 1 to 4 are there, and before 5 comes 13
 *
 * Where windows begin depends on where the inodes lie: an inode that is a span from the one before is the first of
 * its window by chance only. All that is for file systems of which it is not known where (tree_tables.h). Pure.
 */
#ifndef DISK_TREE_INODES_H
#define DISK_TREE_INODES_H

#include <stdbool.h>
#include <stdint.h>

#include "readahead/dir_list.h"

/* Inodes whose numbers agree but for their last bits are taken to come together, in a block of the disk. */
#define TREE_INODES_BLOCK 16
/* ... in a window: as mkfs and mount have it by default, 32 blocks. */
#define TREE_INODES_WINDOW 512

/* All zero: at its beginning. */
struct tree_inodes {
	uint32_t place; /* by inode: all before it have been asked for, or come with another */
	uint64_t block; /* that was asked for last, + 1 */
	uint64_t span;	/* for which one behind it was, + 1 */
};

/* The next entry of LIST to be asked for, of a file system with WINDOWS or without; NULL: there is none. */
const char *tree_inodes_next(struct tree_inodes *t, const struct dir_list *list, bool windows);

#endif
