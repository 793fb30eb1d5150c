/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One descriptor of ours: its references, and what is asked of its file. See backing.h. */
#include "disk/backing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Unmapped parts of a file get addresses up here, by inode: file order, after everything mapped. */
#define UNMAPPED_BASE (UINT64_C(1) << 62)

/* Of a reply_fd: not asked for yet; there is none to be had. */
#define FD_UNKNOWN (-1)
#define FD_NEVER   (-2)

/* ---- references -------------------------------------------------------------------------- */

/* Subvolumes that share a disk have the same inode numbers. */
static uint64_t identity(const struct stat *st, const struct device *device)
{
	uint64_t subvolume = st->st_dev == device->dev ? 0 : (uint64_t)st->st_dev;

	return (uint64_t)st->st_ino ^ subvolume * UINT64_C(0x9e3779b97f4a7c15);
}

struct backing *backing_new(int fd, const struct stat *st, struct device *device)
{
	struct backing *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->fd = fd;
	atomic_init(&b->reply_fd, FD_UNKNOWN);
	b->file = identity(st, device);
	b->device = device;
	b->own_queue = st->st_dev == atomic_load(&device->dev);
	atomic_fetch_add(&device->backings, 1);
	atomic_init(&b->holds, 2);
	atomic_init(&b->uses, 2);
	atomic_init(&b->size, (uint64_t)st->st_size);
	residency_init(&b->residency);
	extent_map_init(&b->extents);
	return b;
}

struct backing *backing_hold(struct backing *b)
{
	unsigned int before = atomic_fetch_add_explicit(&b->holds, 1, memory_order_relaxed);

	assert(before > 0);
	(void)before;
	return b;
}

void backing_release(struct backing *b)
{
	if (atomic_fetch_sub_explicit(&b->holds, 1, memory_order_acq_rel) != 1)
		return;
	assert(atomic_load(&b->uses) == 0 && b->slot == NULL);
	extent_map_fini(&b->extents);
	atomic_fetch_sub(&b->device->backings, 1);
	free(b);
}

bool backing_use(struct backing *b)
{
	unsigned int uses = atomic_load_explicit(&b->uses, memory_order_relaxed);

	while (uses)
		if (atomic_compare_exchange_weak(&b->uses, &uses, uses + 1))
			return true;
	return false;
}

void backing_unuse(struct backing *b)
{
	unsigned int before = atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel);

	assert(before > 0);
	if (before != 1)
		return;
	residency_fini(&b->residency);
	if (atomic_load(&b->reply_fd) >= 0)
		close(b->reply_fd);
	close(b->fd);
}

void backing_put(struct backing *b)
{
	backing_unuse(b);
	backing_release(b);
}

struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add_explicit(&b->uses, 1, memory_order_relaxed);
	return backing_hold(b);
}

/* ---- the file ---------------------------------------------------------------------------- */

int backing_open_again(struct backing *b, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
}

/* With an access time. */
static int open_for_replies(struct backing *b)
{
	int fd = backing_open_again(b, 0);

	if (fd < 0)
		return FD_NEVER;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the kernel's read-ahead off */
	return fd;
}

/* Two threads may open it at once: the first one's stays. */
static int reply_fd(struct backing *b)
{
	int fd = atomic_load_explicit(&b->reply_fd, memory_order_relaxed), was = FD_UNKNOWN;

	if (fd != FD_UNKNOWN)
		return fd;
	fd = open_for_replies(b);
	if (atomic_compare_exchange_strong(&b->reply_fd, &was, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return was;
}

ssize_t backing_read(struct backing *b, const struct iovec *iov, int n, uint64_t offset)
{
	int fd = reply_fd(b);
	ssize_t got;

	do
		got = preadv(fd, iov, n, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Whether the file ended at END when it was read. */
static bool ends_at(int fd, uint64_t end)
{
	struct stat st;

	return !fstat(fd, &st) && (uint64_t)st.st_size == end;
}

size_t backing_read_cached(struct backing *b, const struct iovec *iov, int n, uint64_t offset,
			   uint64_t len)
{
	ssize_t got;

	if (offset > INT64_MAX)
		return 0; /* -1 would be the descriptor's position to preadv2 */
	got = preadv2(b->fd, iov, n, (off_t)offset, RWF_NOWAIT);
	if (got < 0 && errno == EOPNOTSUPP)
		hot_never(&b->hot);
	if (got <= 0)
		return 0;
	/* short: the file ends, or a page is not there */
	return (uint64_t)got == len || ends_at(b->fd, offset + (uint64_t)got) ? (size_t)got : 0;
}

/* Whether each READ moves the access time. */
static bool is_strictatime(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) || (fs.f_flag & (ST_NOATIME | ST_RELATIME)) == 0;
}

bool backing_resident_whole(struct backing *b, uint64_t *took)
{
	struct dispatcher *d = &b->device->dispatcher;
	uint64_t begun = dispatcher_now(d), size = backing_refresh_size(b);
	bool whole = size <= HOT_FILE_MAX && !is_strictatime(b->fd) && backing_resident(b, 0, size);

	*took = dispatcher_now(d) - begun;
	return whole;
}

bool backing_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	return residency_of(&b->residency, b->fd,
			    atomic_load_explicit(&b->size, memory_order_relaxed), offset, len);
}

/* Of an OFFSET without a place. */
static uint64_t file_order(const struct backing *b, uint64_t offset)
{
	return UNMAPPED_BASE + ((b->file & 0xfffff) << 40) + offset % (UINT64_C(1) << 40);
}

uint64_t backing_block(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_lookup(&b->extents, offset, extent_fetch_fiemap, &b->fd, &block))
		return block;
	return file_order(b, offset);
}

bool backing_written(struct backing *b, uint64_t offset, uint64_t len, uint64_t *block)
{
	return extent_map_written(&b->extents, offset, len, extent_fetch_fiemap, &b->fd, block);
}

uint64_t backing_place(struct backing *b, uint64_t offset)
{
	uint64_t block = backing_block(b, offset), before;

	if (block < UNMAPPED_BASE || !offset)
		return block;
	before = backing_block(b, offset - 1);
	return before < UNMAPPED_BASE ? before + 1 : block;
}

uint64_t backing_place_known(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_peek(&b->extents, offset, &block))
		return block;
	if (offset && extent_map_peek(&b->extents, offset - 1, &block))
		return block + 1;
	return file_order(b, offset);
}

uint64_t backing_refresh_size(struct backing *b)
{
	struct stat st;

	if (!fstat(b->fd, &st))
		atomic_store_explicit(&b->size, (uint64_t)st.st_size, memory_order_relaxed);
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}
