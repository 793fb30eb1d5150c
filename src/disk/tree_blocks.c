/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory's blocks by way of its block device. See tree_blocks.h. */
#include "disk/tree_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/lock.h"
#include "common/log.h"
#include "disk/extents.h"

/* Bytes of one call of WILLNEED: the kernel's default of read_ahead_kb; it starts no more than that. */
#define CALL (UINT64_C(128) << 10)
/* The name of a device, below /dev. */
#define NAME_MAX_LEN 64

/* Of which devices was said that they cannot be opened: each once, and of more than these nothing. */
static struct {
	struct lock lock;
	dev_t dev[TREE_BLOCKS_TOLD_MAX];
	unsigned int n;
} told = {.lock = LOCK_INITIALIZER(LOCK_LEAF)};

/* Whether nothing was said of it yet, and may be now. */
static bool is_news(dev_t dev)
{
	unsigned int i = 0;
	bool news;

	lock_take(&told.lock);
	while (i < told.n && told.dev[i] != dev)
		i++;
	news = i == told.n && i < TREE_BLOCKS_TOLD_MAX;
	if (news)
		told.dev[told.n++] = dev;
	lock_drop(&told.lock);
	return news;
}

static void tell(dev_t dev, const char *path, int err)
{
	if (is_news(dev))
		log_line(LOG_LEVEL_WARN,
			 "device %u:%u: %s cannot be opened (%s): blocks of its directories are "
			 "not fetched ahead",
			 major(dev), minor(dev), path, strerror(err));
}

/* The kernel's name of the block device, below /dev. Else the cause. */
static int device_name(dev_t dev, char *name)
{
	char path[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(dev), minor(dev));
	file = fopen(path, "re");
	if (file == NULL)
		return errno;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, "DEVNAME=%63s", name) == 1;
	fclose(file);
	return found ? 0 : ENODEV;
}

/* The device DEV at PATH; -1: errno says why. */
static int open_path(const char *path, dev_t dev)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISBLK(st.st_mode) || st.st_rdev != dev)) {
		close(fd);
		fd = -1;
		errno = ENXIO;
	}
	return fd;
}

int tree_blocks_open_device(dev_t dev)
{
	char name[NAME_MAX_LEN] = "", path[NAME_MAX_LEN + 8];
	int fd = -1, err = device_name(dev, name);

	snprintf(path, sizeof(path), "/dev/%s", err ? "..." : name);
	if (!err)
		fd = open_path(path, dev);
	if (fd < 0)
		tell(dev, path, err ? err : errno);
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
	return tree_blocks_windows(dir) ? tree_blocks_open_device(dir->dev) : -1;
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
