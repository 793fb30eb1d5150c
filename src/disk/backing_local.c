/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The local kind of backing: a descriptor, the page cache, extents. See backing.h. */
#include "disk/backing_local.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool local_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	return residency_of(&b->residency, b->fd,
			    atomic_load_explicit(&b->size, memory_order_relaxed), offset, len);
}

static bool local_block(struct backing *b, uint64_t offset, bool if_few, uint64_t *block)
{
	return (if_few ? extent_map_lookup_if_few : extent_map_lookup)(
		&b->extents, offset, extent_fetch_fiemap, &b->fd, block);
}

static bool local_written(struct backing *b, uint64_t offset, uint64_t len,
			  struct extent_span *span)
{
	return extent_map_written(&b->extents, offset, len, extent_fetch_fiemap, &b->fd, span);
}

static uint64_t local_reach(struct backing *b, uint64_t offset, uint64_t turn, uint64_t seek,
			    bool if_few)
{
	return (if_few ? extent_map_reach_if_few : extent_map_reach)(
		&b->extents, offset, turn, seek, extent_fetch_fiemap, &b->fd);
}

static uint64_t local_whole(struct backing *b, uint64_t offset, uint64_t len)
{
	return extent_map_whole(&b->extents, offset, len, extent_fetch_fiemap, &b->fd);
}

static int local_in_order(struct backing *b, uint64_t offset, uint64_t len, struct extent *pieces)
{
	return extent_map_in_order(&b->extents, offset, len, extent_fetch_fiemap, &b->fd, pieces);
}

static bool local_place_known(struct backing *b, uint64_t offset, uint64_t *block)
{
	return extent_map_peek(&b->extents, offset, block);
}

static void local_refresh_size(struct backing *b)
{
	struct stat st;

	if (!fstat(b->fd, &st))
		atomic_store_explicit(&b->size, (uint64_t)st.st_size, memory_order_relaxed);
}

/* As far as is known here: a file system of which the other end hangs is not asked. */
static bool local_is_removed(struct backing *b)
{
	struct statx st;

	return !statx(b->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK, &st) &&
	       (st.stx_mask & STATX_NLINK) && st.stx_nlink == 0;
}

/* What the page cache has is what was written; only its place on the disk may be another. */
static void local_changed(struct backing *b, uint64_t offset, uint64_t len)
{
	(void)offset;
	(void)len;
	extent_map_invalidate(&b->extents);
}

static void local_close(struct backing *b)
{
	residency_fini(&b->residency);
	if (atomic_load(&b->reply_fd) >= 0)
		close(b->reply_fd);
	close(b->fd);
}

static const struct backing_ops local_ops = {
	.resident = local_resident,
	.block = local_block,
	.place_known = local_place_known,
	.written = local_written,
	.reach = local_reach,
	.whole = local_whole,
	.in_order = local_in_order,
	.refresh_size = local_refresh_size,
	.is_removed = local_is_removed,
	.changed = local_changed,
	.fetch = fetch_local,
	.begin = begin_local,
	.close = local_close,
};

uint64_t backing_file_name(uint64_t inode, dev_t dev, bool has_disk)
{
	uint64_t subvolume = has_disk ? 0 : (uint64_t)dev;

	return (inode ^ subvolume * UINT64_C(0x9e3779b97f4a7c15)) & BACKING_FILE_MAX;
}

struct backing *backing_new(int fd, const struct stat *st, struct device *device)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	backing_init(b, &local_ops, device,
		     backing_file_name(st->st_ino, st->st_dev, st->st_dev == device->dev),
		     (uint64_t)st->st_size);
	b->fd = fd;
	atomic_init(&b->reply_fd, FD_UNKNOWN);
	b->own_queue = st->st_dev == atomic_load(&device->dev);
	residency_init(&b->residency);
	return b;
}
