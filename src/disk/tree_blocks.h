/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The blocks of a directory itself, fetched ahead of whoever reads it. ext4 hands a large one out by the hash of
 * its names, and waits for each block on its own, to and fro; where they lie FIEMAP tells. They are in the
 * cache of the block device, which anybody who may open that can fill.
 *
 *   getdents   b7 b2 b9 b4 ...     the same blocks, as they lie: b1 b2 b3 b4 ...
 *
 * Other file systems keep theirs elsewhere (XFS reads ahead in directories by itself): nothing is done.
 */
#ifndef DISK_TREE_BLOCKS_H
#define DISK_TREE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/tree_dir.h"

/* Bytes of a directory that are fetched at most. */
#define TREE_BLOCKS_MAX (UINT64_C(8) << 20)

/* Starts that, and waits for nothing. Returns how many bytes; 0: it cannot be done here. */
uint64_t tree_blocks_start(const struct tree_dir *dir);

/* Whether DIR's file system reads an inode with a window of those around it. */
bool tree_blocks_windows(const struct tree_dir *dir);

#endif
