/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Into the page cache, without copying where the kernel can be asked to. See fetch.h. */
#include <fcntl.h>

#include "common/pread_again.h"
#include "disk/arrival.h"
#include "disk/backing_local.h"
#include "disk/fetch.h"
#include "disk/scratch.h"

/* Through a buffer that is thrown away, for which the size is no matter. */
static ssize_t read_copying(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	size_t size = len < SCRATCH_MAX ? len : SCRATCH_MAX;
	char *buffer = scratch_take(size);
	uint64_t done = 0;
	ssize_t got = -1;

	while (buffer != NULL && done < len) {
		got = pread_again(b->fd, buffer, len - done < size ? len - done : size,
				  offset + done);
		if (got <= 0)
			break;
		done += (uint64_t)got;
	}
	scratch_give(buffer, size, dispatcher_now(d));
	return done ? (ssize_t)done : got;
}

/*
 * So many pieces in a row that came whole say that larger ones may. Where they do not it takes twice as many before they
 * are tried once more, up to so many: what is cut short is waited for unit by unit, and then read in smaller parts and copied.
 */
#define PIECES_WHOLE	 64
#define PIECES_WHOLE_MAX 4096

static uint32_t piece_of(const struct device *device)
{
	uint32_t piece = atomic_load_explicit(&device->piece, memory_order_relaxed);

	return piece != 0 ? piece : FETCH_PIECE_MAX;
}

/* Pieces are as large as TO from now on; false: they are no more as large as FROM. */
static bool change_pieces(struct device *device, uint32_t from, uint32_t to)
{
	uint32_t is = atomic_load(&device->piece);

	return (is != 0 ? is : FETCH_PIECE_MAX) == from &&
	       atomic_compare_exchange_strong(&device->piece, &is, to);
}

/* A PIECE was cut short: by the device's limit, then larger ones are tried ever less; or memory is. */
static void halve_pieces(struct device *device, uint32_t piece)
{
	bool known = atomic_load(&device->piece) != 0; /* else what follows is of another device */
	uint32_t wanted = PIECES_WHOLE;

	if (piece <= FETCH_PIECE_MIN || !change_pieces(device, piece, piece / 2))
		return;
	if (atomic_exchange(&device->piece_tried, false) && known)
		wanted = 2 * atomic_load(&device->pieces_wanted);
	atomic_store(&device->pieces_wanted, wanted < PIECES_WHOLE_MAX ? wanted : PIECES_WHOLE_MAX);
	atomic_store(&device->pieces_whole, 0);
}

/* N of size PIECE came whole. */
static void count_pieces(struct device *device, uint32_t piece, uint32_t n)
{
	bool larger = piece < FETCH_PIECE_MAX;

	if (n == 0 || atomic_load_explicit(&device->piece, memory_order_relaxed) != piece)
		return; /* not known, and so as large as can be; or others by now */
	if (atomic_fetch_add(&device->pieces_whole, n) + n < atomic_load(&device->pieces_wanted) ||
	    (larger && !change_pieces(device, piece, 2 * piece)))
		return;
	atomic_store(&device->pieces_whole, 0);
	atomic_store(&device->piece_tried, larger);
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

/*
 * Waits for it: for a byte of each unit, at its end or that of the file's part. Returns UPTO, or where the first
 * byte is that cannot be read. The last one is waited for before the others: most often these are there then,
 * and the thread has slept once, not for each of them.
 */
static uint64_t wait_for(struct backing *b, uint64_t offset, uint64_t upto)
{
	struct arrival a;
	uint64_t end = offset - offset % FETCH_UNIT + FETCH_UNIT, there;
	bool last;

	arrival_begin(&a, b->fd, offset, upto, device_spoilt(b->device));
	last = arrival_await(&a, upto - 1);
	while (end < upto && arrival_await(&a, end - 1))
		end += FETCH_UNIT;
	if (end < upto)
		there = end - 1;
	else
		there = last ? upto : upto - 1;
	arrival_end(&a);
	return there;
}

/* Where others write to a disk, what is asked for together takes as long to read as so many seeks. */
#define SEEKS_TOGETHER 2

/*
 * How much of what follows a step of STEP bytes up to UPTO is asked for with it, BEGUN being as far as that
 * was done before. Where reads wait for their turn between steps, nothing. Else at least the next step, so
 * that the device does not stand still; and where others write to a disk, whatever the kernel has of theirs
 * comes between one of our requests and the next, with two seeks: then few large ones.
 */
static uint64_t ahead_of(struct device *device, uint64_t begun, uint64_t upto, uint64_t step)
{
	uint64_t together = SEEKS_TOGETHER * dispatcher_seek_bytes(&device->dispatcher);

	if (!device_is_written(device) && device_queues_demand(device))
		return 0;
	if (!device_is_written(device) || together < step)
		return step;
	return begun >= upto + step ? 0 : together;
}

/*
 * The byte at BAD cannot be read, nor can any of its folio, by nobody, for as long as that is in memory: it is
 * brought again by pages, of which only those of the bad sector fail. They stay, so that nobody asks for them
 * ahead once more.
 */
static void split_folio(struct backing *b, uint64_t window, uint64_t bad)
{
	uint64_t folio = kernel_windows_folio(window), from = bad - bad % folio;

	backing_evict(b, from, folio);
	posix_fadvise(b->fd, (off_t)from, (off_t)folio, POSIX_FADV_WILLNEED);
}

/*
 * Windows go on behind a step up to UPTO that went without them, up to WITH. Where reads wait for their turn a
 * chunk begins when the one before it is over, and large commands are worth more.
 */
static void begin_behind(struct backing *b, struct kernel_windows *w, uint64_t upto, uint64_t with)
{
	if (device_queues_demand(b->device))
		return;
	kernel_windows_go_on(w, upto);
	kernel_windows_start(w, b, with);
}

/* As will_need(), of what no window has; without windows also what is asked for with it beside others' writes. */
static bool begin_step(struct backing *b, struct kernel_windows *w, uint64_t offset, uint64_t upto,
		       uint32_t piece)
{
	bool shared = device_is_shared(b->device, 1) && upto > w->size;
	uint64_t with = upto, from;

	if (!shared)
		with += ahead_of(b->device, w->begun, upto, upto - offset);
	/* once windows have begun they are one ahead of what they are asked for */
	kernel_windows_start(w, b, shared && w->begun > w->at ? upto - w->size : with);
	from = w->begun > offset ? w->begun : offset;
	if (w->going)
		return will_need(b, from, upto, piece);
	if (!device_is_written(b->device)) {
		if (!will_need(b, from, upto, piece))
			return false;
		begin_behind(b, w, upto, with);
		return true;
	}
	if (with > w->end)
		with = w->end > upto ? w->end : upto;
	if (from < with)
		w->begun = with;
	return will_need(b, from, with, piece);
}

/* Whether [offset, upto), which is within the file, is there now, without having been copied. */
static bool populate(struct backing *b, struct kernel_windows *w, uint64_t offset, uint64_t upto)
{
	uint32_t piece = piece_of(b->device);
	uint64_t there;
	bool begun = w != NULL ? begin_step(b, w, offset, upto, piece)
			       : will_need(b, offset, upto, piece);

	if (!begun)
		return false;
	there = wait_for(b, offset, upto);
	if (there < upto) {
		if (w != NULL && w->size != 0)
			split_folio(b, w->size, there);
		return false;
	}
	if (backing_resident(b, offset, upto - offset)) {
		if (w == NULL || !w->going)
			count_pieces(b->device, piece, (uint32_t)((upto - offset) / piece));
		return true;
	}
	if (upto <= backing_refresh_size(b)) /* else the file was made shorter meanwhile */
		halve_pieces(b->device, piece);
	return false;
}

ssize_t fetch_local(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
		    uint64_t offset, uint64_t len)
{
	uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed), upto = offset + len;

	if (upto > size)
		upto = size;
	if (upto > offset && populate(b, w, offset, upto))
		return (ssize_t)(upto - offset);
	return read_copying(d, b, offset, len);
}

void begin_local(struct backing *b, uint64_t offset, uint64_t len)
{
	(void)will_need(b, offset, offset + len, piece_of(b->device));
}
