/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Directories as the fetcher of trees opens and reads them: as the server, to fetch ahead and for nothing
 * else. Access times stay. What is mounted within the tree is left alone. On dispatcher threads: each call may wait for
 * the disk.
 */
#ifndef DISK_TREE_DIR_H
#define DISK_TREE_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "readahead/dir_walk.h"

/* What a directory is called in dir_walk.h: its inode, told apart from that of another file system. */
static inline uint64_t tree_id(dev_t dev, uint64_t inode)
{
	uint64_t id = inode ^ (uint64_t)dev * UINT64_C(0x9e3779b97f4a7c15);

	return id != 0 ? id : 1;
}

struct tree_dir {
	int fd;
	dev_t dev;
	uint64_t id, inode;
	uint64_t stamp; /* another one when its content has changed */
};

/*
 * The directory of handle H, on the file system of MOUNT_FD (any file of it); or NAME within DIR. False:
 * it is not there, is none, or is on another file system. To be closed.
 */
bool tree_dir_open(struct tree_dir *dir, int mount_fd, const struct dir_handle *h);
bool tree_dir_open_at(struct tree_dir *dir, const struct tree_dir *at, const char *name);
void tree_dir_close(struct tree_dir *dir);
/* The inode of NAME in DIR is in memory after this. False: there is none, or it is on another file system. */
bool tree_dir_look(const struct tree_dir *dir, const char *name);
/* Entries of all kinds that are looked at, in one directory. */
#define TREE_ENTRIES_MAX (4 * DIR_LIST_MAX)
/* ... whose inode is asked what they are, where the directory does not say it. */
#define TREE_UNKNOWN_MAX 256

/* Between two waits for the disk; false: no more is wanted. */
struct tree_dir_pause {
	bool (*pause)(void *arg);
	void *arg;
};

/*
 * Its files, and its subdirectories: as far as DIR_LIST_MAX, DIR_LIST_NAMES and TREE_ENTRIES_MAX go. Entries of which neither the
 * directory nor, of the first TREE_UNKNOWN_MAX, their inode says what they are count as files. False: it cannot be read,
 * or is not wanted any more. To be given to dir_walks_enlist().
 */
bool tree_dir_read(const struct tree_dir *dir, const struct tree_dir_pause *pause,
		   struct dir_list **files, struct dir_list **dirs);
/* A regular file of that inode in DIR, for reading, *SIZE bytes; -1: there is none. */
int tree_file_open(const struct tree_dir *dir, const char *name, uint64_t inode, uint64_t *size);

#endif
