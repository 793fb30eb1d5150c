/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Windows of the kernel's read-ahead, one by one. See kernel_windows.h. */
#include "disk/kernel_windows.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/page.h"
#include "disk/arrival.h"

/* A descriptor's window with POSIX_FADV_SEQUENTIAL is so many times the device's. */
#define SEQUENTIAL 2
/*
 * What a touch finds in memory is copied here, which cannot be written: so the kernel takes no more for read than
 * the first of it.
 */
#define SINK_SIZE (UINT64_C(16) << 10)
static const char sink[SINK_SIZE];

/* [at, at + len) is wanted. False: it cannot be asked for so. */
static bool touch(int fd, uint64_t at, uint64_t len)
{
	struct iovec iov[KERNEL_WINDOW_MAX / SINK_SIZE];
	int n = 0;

	for (; len > 0; n++) {
		iov[n] = (struct iovec){(void *)sink, len < SINK_SIZE ? len : SINK_SIZE};
		len -= iov[n].iov_len;
	}
	return preadv2(fd, iov, n, (off_t)at, RWF_NOWAIT) >= 0 || errno == EAGAIN ||
	       errno == EFAULT;
}

/*
 * A mark at AT is passed, as by a reader. If it is there, a touch would have all of a large folio taken for read; if not, a
 * mapping would wait for it.
 */
static bool pass(struct kernel_windows *w, struct backing *b, uint64_t at)
{
	struct arrival a;
	bool passed;

	arrival_begin_ahead(&a, w->fd, at, at + 1, device_spoilt(b->device));
	passed = arrival_is_there(&a, at) ? arrival_await(&a, at) : touch(w->fd, at, 1);
	arrival_end(&a);
	return passed;
}

/*
 * Windows begin at AT if the byte before it has been read here: what follows continues a stream then, and the
 * kernel does not read ahead of a single read. FLAGS: preadv2's, to wait for that byte or not.
 */
static void go_on(struct kernel_windows *w, uint64_t at, int flags)
{
	char byte;
	struct iovec iov = {&byte, 1};
	ssize_t got = at > 0 ? preadv2(w->fd, &iov, 1, (off_t)(at - 1), flags) : 1;

	w->going = got == 1;
	if (w->going)
		w->at = at;
	else if (got == 0 || errno != EAGAIN)
		kernel_windows_close(w);
}

uint32_t kernel_windows_folio(uint64_t size)
{
	return UINT32_C(1) << (31 - __builtin_clz((uint32_t)size));
}

void kernel_windows_open(struct kernel_windows *w, struct backing *b, uint64_t from, uint64_t end,
			 uint64_t now)
{
	uint64_t size = b->own_queue ? SEQUENTIAL * (uint64_t)device_window(b->device, now) : 0;
	uint64_t at = page_down(from);

	if (size > KERNEL_WINDOW_MAX)
		size = 0;
	*w = (struct kernel_windows){.fd = -1, .size = size, .begun = at, .end = end};
	if (size == 0 || end < from || end - from < KERNEL_WINDOWS_MIN * size)
		return;
	w->fd = backing_open_again(b, O_NOATIME);
	if (w->fd >= 0 && posix_fadvise(w->fd, 0, 0, POSIX_FADV_SEQUENTIAL))
		kernel_windows_close(w);
	if (w->fd >= 0)
		atomic_store_explicit(&b->folio, kernel_windows_folio(size), memory_order_relaxed);
	if (w->fd >= 0 && (at == 0 || backing_resident(b, at - 1, 1)))
		go_on(w, at, RWF_NOWAIT);
}

/*
 * Where the window at AT ends, all of which is there or on its way; 0: it has not begun. Its last byte says so: a client's READ
 * often has brought its first one. One that begins where no folio of its size can may end where one can, since Linux 6.17.
 */
static uint64_t end_of(const struct kernel_windows *w, struct backing *b, uint64_t at)
{
	uint64_t most = at + w->size, folio = kernel_windows_folio(w->size), end = most;

	for (uint64_t unit = PAGE_LEAST; unit <= folio && end > at; unit *= 2) {
		end = most - most % unit;
		if (end > at && backing_resident(b, end - 1, 1))
			return end;
	}
	return 0;
}

/* Where the window at w->at ends, or will, if none has begun yet. */
static uint64_t window_end(const struct kernel_windows *w)
{
	return w->begun > w->at ? w->begun : w->at + w->size;
}

/* The first window; false: none. Of one whose beginning is there the kernel would bring the rest, without a mark. */
static bool begin_first(struct kernel_windows *w, struct backing *b)
{
	uint64_t end = 0;

	if (!backing_resident(b, w->at, 1) && touch(w->fd, w->at, w->size))
		end = end_of(w, b, w->at);
	if (end != 0)
		w->begun = end;
	return end != 0;
}

/*
 * The first touch begins two windows, each further one the next. In the first the mark is at its beginning
 * or in its middle, which differs between versions of the kernel. False: not, or by whom cannot be told.
 */
static bool begin_next(struct kernel_windows *w, struct backing *b)
{
	uint64_t next, end;

	if (backing_resident(b, window_end(w) + w->size - 1, 1) ||
	    !(w->begun > w->at ? pass(w, b, w->at) : begin_first(w, b)))
		return false;
	next = w->begun;
	end = end_of(w, b, next);
	if (end == 0 && pass(w, b, w->at + w->size / 2))
		end = end_of(w, b, next);
	if (end == 0)
		return false;
	w->at = next;
	w->begun = end;
	return true;
}

/* The last of it, without a mark: then it is also safe to read in the window before it. */
static void begin_tail(struct kernel_windows *w)
{
	if (!posix_fadvise(w->fd, (off_t)w->begun, (off_t)(w->end - w->begun), POSIX_FADV_WILLNEED))
		w->begun = w->end;
	kernel_windows_close(w);
}

/*
 * Where none has begun, what comes first is there already: they can go on behind that. Else the kernel goes
 * its own way, with marks that nobody knows of, and would bring more than is known.
 */
static void leave(struct kernel_windows *w)
{
	if (w->begun > w->at)
		kernel_windows_close(w);
	w->going = false;
}

/* Whether windows can go on before the tail, the first one two at once. */
static bool has_room(const struct kernel_windows *w)
{
	return window_end(w) + w->size < w->end;
}

void kernel_windows_start(struct kernel_windows *w, struct backing *b, uint64_t upto)
{
	while (w->going && w->at < upto && has_room(w)) {
		if (!begin_next(w, b)) {
			leave(w);
			return;
		}
	}
	if (w->going && !has_room(w))
		begin_tail(w);
}

void kernel_windows_go_on(struct kernel_windows *w, uint64_t upto)
{
	uint64_t at = page_up(upto);

	if (w->fd < 0 || w->going || w->begun > at || at + 2 * w->size >= w->end)
		return;
	w->begun = at;
	go_on(w, at, 0);
}

void kernel_windows_close(struct kernel_windows *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->going = false;
}
