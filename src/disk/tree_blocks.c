/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory's blocks by way of its block device. See tree_blocks.h. */
#include "disk/tree_blocks.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "disk/extents.h"

/* Bytes of one call of WILLNEED: the kernel's default of read_ahead_kb; it starts no more than that. */
#define CALL (UINT64_C(128) << 10)
/* The name of a device, below /dev. */
#define NAME_MAX_LEN 64

/* The kernel's name of the block device. False: it has none. */
static bool device_name(dev_t dev, char *name)
{
	char path[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(dev), minor(dev));
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, "DEVNAME=%63s", name) == 1;
	fclose(file);
	return found;
}

/* The block device of that number, to be fetched ahead; -1: it is not to be had. */
static int open_device(dev_t dev)
{
	char name[NAME_MAX_LEN], path[NAME_MAX_LEN + 8];
	struct stat st;
	int fd;

	if (!device_name(dev, name))
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISBLK(st.st_mode) || st.st_rdev != dev)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void tree_blocks_ask(int device, uint64_t from, uint64_t len)
{
	for (uint64_t at = 0; at < len; at += CALL)
		posix_fadvise(device, (off_t)(from + at),
			      (off_t)(len - at < CALL ? len - at : CALL), POSIX_FADV_WILLNEED);
}

bool tree_blocks_windows(const struct tree_dir *dir)
{
	struct statfs fs;

	return !fstatfs(dir->fd, &fs) && fs.f_type == EXT4_SUPER_MAGIC;
}

int tree_blocks_open(const struct tree_dir *dir)
{
	return tree_blocks_windows(dir) ? open_device(dir->dev) : -1;
}

uint64_t tree_blocks_start(const struct tree_dir *dir, int device)
{
	struct extent extents[EXTENT_MAP_MAX];
	uint64_t covered, bytes = 0;
	int n, fd = dir->fd;

	n = extent_fetch_fiemap(&fd, 0, extents, EXTENT_MAP_MAX, &covered);
	for (int i = 0; i < n && bytes + extents[i].length <= TREE_BLOCKS_MAX; i++) {
		if (extents[i].unwritten)
			continue;
		tree_blocks_ask(device, extents[i].block, extents[i].length);
		bytes += extents[i].length;
	}
	return bytes;
}
