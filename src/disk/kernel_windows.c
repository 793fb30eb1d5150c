/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Windows of the kernel's read-ahead, one by one. See kernel_windows.h. */
#include "disk/kernel_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* The smallest page of any architecture. */
#define PAGE_MIN UINT64_C(4096)
/* What a touch finds in memory is copied here, over itself. */
#define SINK_SIZE (UINT64_C(16) << 10)

/* [at, at + len) is wanted. False: it cannot be asked for so. */
static bool touch(int fd, uint64_t at, uint64_t len)
{
	char sink[SINK_SIZE];
	struct iovec iov[KERNEL_WINDOW_MAX / SINK_SIZE];
	int n = 0;

	for (; len > 0; n++) {
		iov[n] = (struct iovec){sink, len < SINK_SIZE ? len : SINK_SIZE};
		len -= iov[n].iov_len;
	}
	return preadv2(fd, iov, n, (off_t)at, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

void kernel_windows_open(struct kernel_windows *w, struct backing *b, uint64_t from, uint64_t end,
			 uint64_t now)
{
	uint64_t size = b->own_queue ? device_window(b->device, now) : 0;

	*w = (struct kernel_windows){
		.fd = -1, .size = size, .at = from - from % PAGE_MIN, .begun = from, .end = end};
	if (size == 0 || size > KERNEL_WINDOW_MAX || end < from ||
	    end - from < KERNEL_WINDOWS_MIN * size)
		return;
	w->fd = backing_open_again(b, O_NOATIME);
	/* What follows continues a stream: the kernel would not read ahead of a single read. */
	if (w->fd >= 0 && w->at > 0 && !touch(w->fd, w->at - 1, 1))
		kernel_windows_close(w);
}

/*
 * The first touch begins two windows, each further one the next. In the first the mark is at its beginning
 * or in its middle, which differs between versions of the kernel.
 */
static bool begin_next(struct kernel_windows *w, struct backing *b)
{
	uint64_t next = w->at + w->size;

	return touch(w->fd, w->at, w->begun > w->at ? 1 : w->size) &&
	       (backing_resident(b, next, 1) ||
		(touch(w->fd, w->at + w->size / 2, 1) && backing_resident(b, next, 1)));
}

/* The last of it, without a mark: then it is also safe to read in the window before it. */
static void begin_tail(struct kernel_windows *w)
{
	if (!posix_fadvise(w->fd, (off_t)w->begun, (off_t)(w->end - w->begun), POSIX_FADV_WILLNEED))
		w->begun = w->end;
	kernel_windows_close(w);
}

void kernel_windows_start(struct kernel_windows *w, struct backing *b, uint64_t upto)
{
	while (w->fd >= 0 && w->at < upto && w->at + 2 * w->size < w->end) {
		if (!begin_next(w, b)) {
			kernel_windows_close(w);
			return;
		}
		w->at += w->size;
		w->begun = w->at + w->size;
	}
	if (w->fd >= 0 && w->at + 2 * w->size >= w->end)
		begin_tail(w);
}

void kernel_windows_close(struct kernel_windows *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}
