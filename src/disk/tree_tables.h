/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where ext4 has its inodes: in tables, one for each group of blocks, whose places stand in descriptors behind
 * the superblock. Who knows them can have the disk bring the inodes of many files at once and as they lie, by way of
 * the block device (tree_blocks.h), where stat(2) waits for one window of them after the other.
 *
 *   inodes by number   12 13 14 .. 40 | 900 901 |          2100 ...
 *   tables             group 0: [#####.........##]    group 1: [..#....]
 *   runs                         '---'        ''                '
 *
 * What is read here the kernel has in memory for as long as the file system is mounted. All of it is a hint, by
 * which nothing but reading ahead is done: a superblock that is otherwise than expected has no tables.
 *
 * A table's end may never have been written, and ext4 wants to be the first who has such a block in memory. So a
 * run reads nothing behind the last inode that is in use in its group, and there are none where a page is
 * more than a block.
 */
#ifndef DISK_TREE_TABLES_H
#define DISK_TREE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "readahead/dir_list.h"

/* Bytes between two inodes that are read through, and of a run at most. */
#define TREE_RUN_GAP (UINT64_C(64) << 10)
#define TREE_RUN_MAX (UINT64_C(2) << 20)

struct tree_tables {
	int fd;		 /* of the block device: the caller's */
	uint32_t inodes; /* in all */
	uint32_t of_group;
	uint32_t inode_size, block_size, descriptor_size; /* bytes */
	uint64_t descriptors;				  /* where they begin (bytes) */
	uint64_t group;					  /* asked for last, + 1; 0: none yet */
	uint64_t table; /* where it has its table (bytes); 0: not known */
};

/* Bytes of the device, whole blocks. */
struct tree_run {
	uint64_t from, upto;
};

/* Of the file system on the block device FD. False: they are not to be had. */
bool tree_tables_read(struct tree_tables *t, int fd);

/* Where the inode of that number is (bytes); 0: not known. */
uint64_t tree_tables_place(struct tree_tables *t, uint64_t inode);

/*
 * Where the inodes of LIST from *PLACE on (by inode) are, as far as they lie together; *PLACE is then the first
 * that do not. False: there are none.
 */
bool tree_tables_run(struct tree_tables *t, const struct dir_list *list, uint32_t *place,
		     struct tree_run *run);

#endif
