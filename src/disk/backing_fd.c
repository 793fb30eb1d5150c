/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads through a local backing's descriptors. See backing.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "disk/backing_local.h"

/*
 * Of a READ that fails beside a bad sector, in one folio with it: how often it is tried again, the time between, after
 * which it is not, and how long it waits for another one of the file (ns).
 */
#define APART_TRIES 8
#define APART_PAUSE 5000000
#define APART_TIME  (CLOCK_SECOND / 2)
#define APART_WAIT  (2 * CLOCK_SECOND)
/* So many of a folio's parts are looked at for one that can be read. */
#define FOLIO_PARTS 4
/* A descriptor for replies that could not be had is asked for again after this (ns). */
#define REPLY_RETRY CLOCK_SECOND

int backing_open_again(struct backing *b, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
}

/* With an access time. FD_UNKNOWN: not now; it is asked for again in a while. */
static int open_for_replies(struct backing *b)
{
	uint64_t now = clock_now();
	int fd;

	if (now < atomic_load_explicit(&b->reply_again, memory_order_relaxed))
		return FD_UNKNOWN;
	fd = backing_open_again(b, 0);
	if (fd >= 0)
		return fd;
	if (errno == EPERM || errno == EOPNOTSUPP)
		return FD_NEVER;
	atomic_store_explicit(&b->reply_again, now + REPLY_RETRY, memory_order_relaxed);
	return FD_UNKNOWN;
}

/* Two threads may open it at once: the first one's stays. Below 0: there is none. */
static int reply_fd(struct backing *b)
{
	int fd = atomic_load_explicit(&b->reply_fd, memory_order_relaxed), was = FD_UNKNOWN;

	if (fd != FD_UNKNOWN)
		return fd;
	fd = open_for_replies(b);
	if (fd == FD_UNKNOWN || atomic_compare_exchange_strong(&b->reply_fd, &was, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return was;
}

/*
 * What goes past the queue is read ahead of by the kernel as of the sub-FSAL's descriptor, and what is queued is
 * not. FD is open anew, with the kernel's read-ahead, or as it was for the READ before.
 */
static void advise(struct backing *b, int fd)
{
	bool quiet = device_queues_demand(b->device);

	if (atomic_load_explicit(&b->reply_quiet, memory_order_relaxed) == quiet)
		return;
	atomic_store_explicit(&b->reply_quiet, quiet, memory_order_relaxed);
	posix_fadvise(fd, 0, 0, quiet ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
}

static ssize_t read_at(int fd, const struct iovec *iov, int n, uint64_t offset)
{
	ssize_t got;

	do
		got = preadv(fd, iov, n, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Whether anything of the folio at FROM can be read, but for what lies near OFFSET, as far as is seen before UNTIL. */
static bool is_apart(int fd, uint64_t from, uint64_t folio, uint64_t offset, uint64_t until)
{
	uint64_t part = folio / FOLIO_PARTS;
	char byte;
	const struct iovec iov = {&byte, 1};

	for (uint64_t at = from; at < from + folio && clock_now() < until; at += part)
		if (at / part != offset / part && read_at(fd, &iov, 1, at) == 1)
			return true;
	return false;
}

static void pause_apart(void)
{
	const struct timespec pause = {.tv_nsec = APART_PAUSE};

	nanosleep(&pause, NULL);
}

/*
 * Of READs that keep a folio in memory by waiting for it, one at a time tries to drop it: else they keep it for each
 * other. False: another has been at it for so long that its disk is slow to fail.
 */
static bool begin_apart(struct backing *b)
{
	uint64_t until = clock_now() + APART_WAIT;

	while (atomic_exchange(&b->apart, true)) {
		if (clock_now() >= until)
			return false;
		pause_apart();
	}
	return true;
}

/* Counted before and after: a read that failed by it began before it was over. */
void backing_evict(struct backing *b, uint64_t from, uint64_t len)
{
	atomic_fetch_add(&b->dropped, 1);
	posix_fadvise(b->fd, (off_t)from, (off_t)len, POSIX_FADV_DONTNEED);
	atomic_fetch_add(&b->dropped, 1);
}

/* Whether the folio at FROM has been dropped since *WAS, or is now, of which nothing can be read; *WAS is up to date then. */
static bool is_dropped(struct backing *b, int fd, uint64_t from, uint64_t folio, uint64_t offset,
		       uint64_t until, uint32_t *was)
{
	uint32_t before = *was;

	if (atomic_load(&b->dropped) == before && !is_apart(fd, from, folio, offset, until))
		backing_evict(b, from, folio);
	*was = atomic_load(&b->dropped);
	return *was != before;
}

/*
 * What could not be read, perhaps only for it lies in one folio of FOLIO bytes with a bad sector, is read again without
 * that: until those have gone who wait for it. Where others of its bytes can be read, or there is no such folio, what
 * failed is bad itself, and is not tried again, unless somebody has dropped one meanwhile. A drive may take seconds to
 * fail: then nothing is tried after the first. WAS: b->dropped before it failed.
 */
static ssize_t read_apart(struct backing *b, int fd, uint64_t folio, uint32_t was,
			  const struct iovec *iov, int n, uint64_t offset)
{
	uint64_t until, from = offset - offset % folio;
	ssize_t got = -1;

	if (!begin_apart(b)) {
		errno = EIO;
		return -1;
	}
	until = clock_now() + APART_TIME;
	for (int i = 0; got < 0 && i < APART_TRIES; i++) {
		if (i > 0)
			pause_apart();
		if ((i > 0 && clock_now() >= until) ||
		    !is_dropped(b, fd, from, folio, offset, until, &was))
			break;
		got = read_at(fd, iov, n, offset);
	}
	atomic_store(&b->apart, false);
	return got;
}

ssize_t backing_read(struct backing *b, const struct iovec *iov, int n, uint64_t offset)
{
	uint32_t folio, dropped = atomic_load_explicit(&b->dropped, memory_order_relaxed);
	int fd = reply_fd(b);
	ssize_t got;

	if (fd < 0) {
		errno = EBADF;
		return -1;
	}
	advise(b, fd);
	got = read_at(fd, iov, n, offset);
	if (got >= 0 || errno != EIO)
		return got;
	folio = atomic_load_explicit(&b->folio, memory_order_relaxed);
	return folio > FOLIO_PARTS ? read_apart(b, fd, folio, dropped, iov, n, offset) : got;
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
