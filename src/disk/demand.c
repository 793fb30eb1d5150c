/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a demand read does at the disk, in the queue and past it. See prefetch.h. */
#include "disk/fetch.h"
#include "disk/prefetch.h"

/* A client's own read of B's file is at the disk, or has come. */
static void demand_begin(struct backing *b)
{
	atomic_fetch_add_explicit(&b->demands, 1, memory_order_relaxed);
}

static void demand_end(struct dispatcher *d, struct backing *b)
{
	atomic_store_explicit(&b->demand_end, dispatcher_now(d), memory_order_relaxed);
	atomic_fetch_sub_explicit(&b->demands, 1, memory_order_release);
}

void demand_fetch(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len)
{
	if (!len || !backing_use(b))
		return;
	demand_begin(b);
	fetch_cache(d, b, offset, len);
	demand_end(d, b);
	backing_unuse(b);
}

size_t demand_reply(struct dispatcher *d, struct backing *b, const struct iovec *iov, int n,
		    uint64_t offset, uint64_t len, bool absent)
{
	ssize_t got;

	if (!len || !backing_use(b))
		return 0;
	demand_begin(b);
	got = fetch_reply(d, b, iov, n, offset, len, absent);
	if (got < 0 && atomic_load(&b->reply_fd) <
			       0) /* for want of a descriptor: it is our turn nonetheless */
		fetch_cache(d, b, offset, len);
	demand_end(d, b);
	backing_unuse(b);
	return got > 0 ? (size_t)got : 0;
}

uint64_t demand_there(struct backing *b, uint64_t offset, uint64_t len)
{
	uint64_t last = offset + len - 1; /* of its unit nothing is left out */

	last -= last % FETCH_UNIT;
	return last > offset ? fetch_there_upto(b, offset, last - offset) - offset : 0;
}

size_t cached_reply(struct backing *b, const struct iovec *iov, int n, uint64_t offset)
{
	ssize_t got;

	if (!backing_use(b))
		return 0;
	if (b->ops->take != NULL)
		got = (ssize_t)b->ops->take(b, iov, n, offset);
	else
		got = backing_read(b, iov, n, offset);
	backing_unuse(b);
	return got > 0 ? (size_t)got : 0;
}

bool demand_is_left(struct backing *b, uint64_t offset, uint64_t len, bool let_go)
{
	bool there;

	/* Who has what he asked for was woken before; and pages count as resident while they are on their way. */
	if (let_go)
		return true;
	if (!backing_use(b))
		return false;
	there = backing_resident(b, offset, len);
	backing_unuse(b);
	return !there;
}

/* ---- past the queue ---------------------------------------------------------------------- */

struct device *direct_read_begin(struct backing *b, uint64_t offset, uint64_t len)
{
	struct device *device = b->device;

	if (atomic_load_explicit(&device->learns, memory_order_relaxed) != DEVICE_LEARNS_DEAR)
		return NULL;
	if (device_sample_due(device, dispatcher_now(&device->dispatcher)))
		demand_fetch(&device->dispatcher, b, offset, len);
	atomic_fetch_add(&device->reading, 1);
	return device;
}

void direct_read_end(struct device *device)
{
	if (device != NULL)
		atomic_fetch_sub(&device->reading, 1);
}

void demand_count(struct export_io *io, const struct readahead_plan *plan,
		  const struct readahead_tuning *tuning, uint64_t offset, uint64_t along)
{
	readahead_count(&io->counters, READAHEAD_DEMAND, 1);
	if (along != 0)
		readahead_count(&io->counters, READAHEAD_ALONG, along);
	if (plan->count != 0 && plan->len == 0 && plan->followed)
		readahead_lost(io->engine, tuning, &io->counters, &plan->cursor, offset);
}

void demand_count_joined(struct export_io *io, const struct readahead_plan *plan,
			 const struct readahead_tuning *tuning)
{
	readahead_count(&io->counters, READAHEAD_JOINED, 1);
	if (plan->len != 0 || !plan->followed)
		return;
	readahead_count(&io->counters, READAHEAD_LATE, 1);
	readahead_late(io->engine, tuning, &plan->cursor);
}
