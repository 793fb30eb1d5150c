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

/* Devices of which the log says that they cannot be opened. */
#define TREE_BLOCKS_TOLD_MAX 64

/* The block device of DIR's file system, to be closed by the caller; -1: it cannot be used. Any thread. */
int tree_blocks_open(const struct tree_dir *dir);
/* The same of the device DEV. Where it cannot be opened the log says why, once. */
int tree_blocks_open_device(dev_t dev);

/* Starts that by way of DEVICE, and waits for nothing. Returns how many bytes. */
uint64_t tree_blocks_start(const struct tree_dir *dir, int device);

/* The same of LEN bytes of DEVICE at FROM. */
void tree_blocks_ask(int device, uint64_t from, uint64_t len);

/* Whether DIR's file system reads an inode with a window of those around it. */
bool tree_blocks_windows(const struct tree_dir *dir);

#endif
