/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads at the disk, timed. See fetch.h. */
#include "disk/fetch.h"

/* ---- timing ------------------------------------------------------------------------------ */

/* A read that the device may be about to do. */
struct timed {
	uint64_t begun;		 /* ns */
	uint32_t readers, steps; /* with it; of chunks, if it is one of those */
	bool untold;		 /* it says nothing of the device */
	bool goes_on;		 /* where its chunk has come to */
	struct device_crowd crowd;
};

/*
 * What comes out of memory takes microseconds and must not pass for a seek that costs nothing: holes,
 * what was never written, what arrived while the request waited. Only what the device has read is
 * observed. Nor is a read where others' writes come in between. Where those of an fsync may have come, the
 * disk is where the read ended, but a seek takes no longer than before: the last reads before such writes are
 * taken notice of would be believed for as long as they go on.
 */
static struct timed begin(struct dispatcher *d, struct backing *b, bool resident)
{
	struct timed t = {.untold = resident || device_is_written(b->device),
			  .crowd = device_crowd(b->device)};

	t.readers = atomic_fetch_add(&b->device->reading, 1) + 1;
	t.begun = dispatcher_now(d);
	return t;
}

static void end(const struct timed *t, struct dispatcher *d, struct backing *b, uint64_t offset,
		ssize_t got)
{
	uint64_t service = dispatcher_now(d) - t->begun;
	struct extent_span span;

	atomic_fetch_sub(&b->device->reading, 1);
	if (got <= 0 || t->untold || !backing_written(b, offset, (uint64_t)got, &span))
		return;
	if (device_was_crowded(b->device, &t->crowd))
		dispatcher_passed(&b->device->dispatcher, span.end, (uint64_t)got, service);
	else
		device_observe(b->device, &span, (uint64_t)got, service, t->readers, t->steps,
			       t->goes_on);
}

/* ---- into a reply ------------------------------------------------------------------------ */

ssize_t fetch_reply(struct dispatcher *d, struct backing *b, const struct iovec *iov, int n,
		    uint64_t offset, uint64_t len, bool absent)
{
	struct timed t = begin(d, b, !absent && backing_resident(b, offset, len));
	ssize_t got = backing_read(b, iov, n, offset);

	end(&t, d, b, offset, got);
	return got;
}

/* ---- into memory ------------------------------------------------------------------------- */

/* PARTLY: some of it was there, or on its way, so that what it takes is not what LEN bytes take. */
static ssize_t bring_timed(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
			   uint64_t offset, uint64_t len, bool partly, bool goes_on)
{
	struct timed t = begin(d, b, partly);
	ssize_t got;

	t.goes_on = goes_on;
	if (w != NULL)
		t.steps = atomic_fetch_add(&b->device->steps, 1) + 1;
	got = b->ops->fetch(d, b, w, offset, len);
	if (w != NULL)
		atomic_fetch_sub(&b->device->steps, 1);
	end(&t, d, b, offset, got);
	return got;
}

ssize_t fetch_cache(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	if (backing_resident(b, offset, len))
		return (ssize_t)len;
	return bring_timed(d, b, NULL, offset, len, false, false);
}

ssize_t fetch_begun(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	ssize_t got;

	atomic_fetch_add(&b->device->reading, 1);
	got = b->ops->fetch(d, b, NULL, offset, len);
	atomic_fetch_sub(&b->device->reading, 1);
	return got;
}

ssize_t fetch_piece(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	if (backing_resident(b, offset, len))
		return (ssize_t)len;
	return fetch_begun(d, b, offset, len);
}

void fetch_begin(struct backing *b, uint64_t offset, uint64_t len)
{
	b->ops->begin(b, offset, len);
}

/* Whether some of it is, as others' reads leave it: where a unit begins, or at the end. */
static bool is_there_in_part(struct backing *b, uint64_t offset, uint64_t len)
{
	for (uint64_t at = 0; at < len; at += FETCH_UNIT)
		if (backing_resident(b, offset + at, 1))
			return true;
	return backing_resident(b, offset + len - 1, 1);
}

/* ---- a chunk in steps -------------------------------------------------------------------- */

void fetch_chunk_begin(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
		       uint64_t offset, uint64_t len)
{
	uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed), upto = offset + len;

	*c = (struct fetch_chunk){.d = d, .b = b};
	kernel_windows_open(&c->windows, b, offset, upto < size ? upto : size, dispatcher_now(d));
}

/* The device is asked for all of it, piece by piece as it comes to them; returns where the last one ends. */
static uint64_t ask_in_order(struct backing *b, uint64_t offset, uint64_t len)
{
	struct extent pieces[EXTENT_MAP_MAX];
	int n = backing_in_order(b, offset, len, pieces);

	for (int i = 0; i < n; i++)
		fetch_begin(b, pieces[i].offset, pieces[i].length);
	if (n > 0)
		return pieces[n - 1].block + pieces[n - 1].length;
	fetch_begin(b, offset, len);
	return backing_block(b, offset + len - 1) + 1;
}

uint64_t fetch_there_upto(struct backing *b, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len;

	while (offset < end) {
		uint64_t unit = FETCH_UNIT - offset % FETCH_UNIT;

		unit = unit < end - offset ? unit : end - offset;
		if (!backing_resident(b, offset, unit))
			break;
		offset += unit;
	}
	return offset;
}

/* Seeks that the device has for nothing but this; 0: it has something else to do, or less. */
static uint32_t seeks_of(struct backing *b, uint64_t offset, uint64_t len)
{
	struct extent_span span;

	if (atomic_load(&b->device->reading) != 0 || device_is_written(b->device) ||
	    is_there_in_part(b, offset, len) || !backing_written(b, offset, len, &span))
		return 0;
	return span.seeks + 1;
}

/* The device is asked for LEN bytes from OFFSET on, but for what is there from their beginning on. */
static void ask_for(struct fetch_chunk *c, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len, there = fetch_there_upto(c->b, offset, len);

	c->windows.begun = c->windows.end = end;
	c->group.there = there;
	if (there < end)
		dispatcher_passed(c->d, ask_in_order(c->b, there, end - there), end - there, 0);
}

/* ... for what goes together. */
static void ask_group(struct fetch_chunk *c, uint64_t offset)
{
	uint64_t len = backing_reach(c->b, offset, c->turn, c->seek);

	if (c->end - offset <= len + len / 2)
		len = c->end - offset;
	else
		len = backing_whole(c->b, offset, len);
	c->group.len = len;
	c->group.seeks = seeks_of(c->b, offset, len);
	c->group.begun = dispatcher_now(c->d);
	ask_for(c, offset, len);
}

void fetch_chunk_short(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
		       uint64_t offset, uint64_t len)
{
	*c = (struct fetch_chunk){
		.d = d, .b = b, .end = offset + len, .turn = len, .windows = {.fd = -1}};
	ask_for(c, offset, len);
}

void fetch_chunk_together(struct fetch_chunk *c, struct dispatcher *d, struct backing *b,
			  uint64_t offset, uint64_t len, uint64_t turn, uint64_t seek)
{
	*c = (struct fetch_chunk){.d = d,
				  .b = b,
				  .end = offset + len,
				  .turn = turn,
				  .seek = seek,
				  .windows = {.fd = -1}};
	ask_group(c, offset);
}

void fetch_chunk_disturbed(struct fetch_chunk *c)
{
	c->group.seeks = 0;
	c->goes_on = false;
}

/* A step up to END has come. Beside others' it took longer than its seeks do. */
static void observe_together(const struct fetch_chunk *c, uint64_t end)
{
	if (c->group.seeks && !c->beside && end == c->windows.end)
		dispatcher_observe_among(c->d, c->group.len, c->group.seeks,
					 dispatcher_now(c->d) - c->group.begun);
}

ssize_t fetch_chunk_next(struct fetch_chunk *c, uint64_t offset, uint64_t len, bool *already)
{
	bool asked, partly, alone;
	ssize_t got;

	c->pure = false;
	if (c->turn && offset >= c->windows.end)
		ask_group(c, offset);
	if (c->turn && len > c->windows.end - offset)
		len = c->windows.end - offset;
	if (len > FETCH_SHARED && device_is_shared(c->b->device, 0))
		len = FETCH_SHARED;
	/* what is on its way may count as resident */
	asked = c->windows.begun > offset && offset + len > c->group.there;
	*already = !asked && backing_resident(c->b, offset, len);
	if (*already) {
		c->goes_on = false;
		return (ssize_t)len;
	}
	partly = c->turn || (!asked && is_there_in_part(c->b, offset, len));
	alone = atomic_load(&c->b->device->reading) == 0;
	got = bring_timed(c->d, c->b, &c->windows, offset, len, partly, c->came);
	c->came = got > 0;
	c->pure = got > 0 && c->goes_on && alone && !partly;
	c->goes_on = got > 0;
	if (c->turn && got > 0)
		observe_together(c, offset + (uint64_t)got);
	return got;
}

void fetch_chunk_end(struct fetch_chunk *c)
{
	kernel_windows_close(&c->windows);
}
