/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads at the disk, with few copies. See fetch.h. */
#include "disk/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "disk/scratch.h"

/* ---- timing ------------------------------------------------------------------------------ */

/* A read that the device may be about to do. */
struct timed {
	uint64_t begun; /* ns */
	uint32_t readers;
	bool resident;
};

/*
 * What comes out of memory takes microseconds and must not pass for a seek that costs nothing: holes,
 * what was never written, what arrived while the request waited. Only what the device has read is
 * observed.
 */
static struct timed begin(struct dispatcher *d, struct backing *b, bool resident)
{
	struct timed t = {.resident = resident};

	t.readers = atomic_fetch_add(&b->device->reading, 1) + 1;
	t.begun = dispatcher_now(d);
	return t;
}

static void end(const struct timed *t, struct dispatcher *d, struct backing *b, uint64_t offset,
		ssize_t got)
{
	uint64_t service = dispatcher_now(d) - t->begun, block;

	atomic_fetch_sub(&b->device->reading, 1);
	if (got > 0 && !t->resident && backing_written(b, offset, (uint64_t)got, &block))
		device_observe(b->device, block, (uint64_t)got, service, t->readers);
}

/* ---- into a reply ------------------------------------------------------------------------ */

ssize_t fetch_reply(struct dispatcher *d, struct backing *b, const struct iovec *iov, int n,
		    uint64_t offset, uint64_t len)
{
	struct timed t = begin(d, b, backing_resident(b, offset, len));
	ssize_t got = backing_read(b, iov, n, offset);

	end(&t, d, b, offset, got);
	return got;
}

/* ---- into the page cache ----------------------------------------------------------------- */

static ssize_t read_at(int fd, char *buffer, uint64_t len, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, buffer, len, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Through a buffer that is thrown away, for which the size is no matter. */
static ssize_t read_copying(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	size_t size = len < SCRATCH_MAX ? len : SCRATCH_MAX;
	char *buffer = scratch_take(size);
	uint64_t done = 0;
	ssize_t got = -1;

	while (buffer != NULL && done < len) {
		got = read_at(b->fd, buffer, len - done < size ? len - done : size, offset + done);
		if (got <= 0)
			break;
		done += (uint64_t)got;
	}
	scratch_give(buffer, size, dispatcher_now(d));
	return done ? (ssize_t)done : got;
}

static uint32_t piece_of(const struct device *device)
{
	uint32_t piece = atomic_load_explicit(&device->piece, memory_order_relaxed);

	return piece != 0 ? piece : FETCH_PIECE_MAX;
}

/* A PIECE was cut short: by the device's limit, or memory is. */
static void halve_pieces(struct device *device, uint32_t piece)
{
	if (piece > FETCH_PIECE_MIN)
		atomic_store_explicit(&device->piece, piece / 2, memory_order_relaxed);
}

/* The kernel starts to bring [offset, upto). */
static bool will_need(struct backing *b, uint64_t offset, uint64_t upto, uint32_t piece)
{
	for (uint64_t at = offset; at < upto; at += piece)
		if (posix_fadvise(b->fd, (off_t)at, upto - at < piece ? upto - at : piece,
				  POSIX_FADV_WILLNEED))
			return false;
	return true;
}

/* Waits for it: a byte of each unit, at its end or that of the file's part. */
static bool wait_for(struct backing *b, uint64_t offset, uint64_t upto)
{
	uint64_t end;
	char byte;

	for (uint64_t at = offset; at < upto; at = end) {
		end = at - at % FETCH_UNIT + FETCH_UNIT;
		if (end > upto)
			end = upto;
		if (read_at(b->fd, &byte, 1, end - 1) != 1)
			return false;
	}
	return true;
}

/*
 * How much of what follows a step of STEP bytes is asked for with it, so that the device does not stand
 * still between steps: another one. Where reads wait for their turn in between, that is theirs.
 */
static uint64_t ahead_of(struct device *device, uint64_t step)
{
	return device_queues_demand(device) ? 0 : step;
}

/* Whether [offset, upto), which is within the file, is there now, without having been copied. */
static bool populate(struct backing *b, struct kernel_windows *w, uint64_t offset, uint64_t upto)
{
	uint32_t piece = piece_of(b->device);
	uint64_t rest = offset;

	if (w != NULL) {
		kernel_windows_start(w, b, upto + ahead_of(b->device, upto - offset));
		if (w->begun > rest)
			rest = w->begun;
	}
	if (!will_need(b, rest, upto, piece) || !wait_for(b, offset, upto))
		return false;
	if (backing_resident(b, offset, upto - offset))
		return true;
	halve_pieces(b->device, piece);
	return false;
}

/* As fetch_cache(), of what is not all there. */
static ssize_t bring(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
		     uint64_t offset, uint64_t len)
{
	uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed), upto = offset + len;

	if (upto > size)
		upto = size;
	if (upto > offset && populate(b, w, offset, upto))
		return (ssize_t)(upto - offset);
	return read_copying(d, b, offset, len);
}

static ssize_t bring_timed(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
			   uint64_t offset, uint64_t len)
{
	struct timed t = begin(d, b, false);
	ssize_t got = bring(d, b, w, offset, len);

	end(&t, d, b, offset, got);
	return got;
}

ssize_t fetch_cache(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	if (backing_resident(b, offset, len))
		return (ssize_t)len;
	return bring_timed(d, b, NULL, offset, len);
}

/* ---- a chunk in steps -------------------------------------------------------------------- */

void fetch_chunk_begin(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
		       uint64_t offset, uint64_t len)
{
	uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed), upto = offset + len;

	c->d = d;
	c->b = b;
	kernel_windows_open(&c->windows, b, offset, upto < size ? upto : size, dispatcher_now(d));
}

ssize_t fetch_chunk_next(struct fetch_chunk *c, uint64_t offset, uint64_t len, bool *already)
{
	/* What is on its way may count as resident. */
	*already = c->windows.begun <= offset && backing_resident(c->b, offset, len);
	return *already ? (ssize_t)len : bring_timed(c->d, c->b, &c->windows, offset, len);
}

void fetch_chunk_end(struct fetch_chunk *c)
{
	kernel_windows_close(&c->windows);
}
