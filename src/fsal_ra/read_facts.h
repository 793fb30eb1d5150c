/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is asked of a READ's file and its device before the READ is judged (read.c), and what it counts for. Any thread.
 */
#ifndef FSAL_RA_READ_FACTS_H
#define FSAL_RA_READ_FACTS_H

#include "call.h"
#include "disk/backing_slot.h"
#include "disk/prefetch.h"
#include "fs_dev.h"
#include "prices.h"
#include "ra_methods.h"
#include "readahead/context_read.h"
#include "readahead/first_read.h"
#include "readahead/readahead.h"
#include "request_flow.h"

/* What CALL has read, AMOUNT bytes, counts for the price of memory: what it asked for beyond the file's end is none. */
static inline void count_for_price(const struct call *call, size_t amount)
{
	ra_prices_read(ra_handle_of(call->obj_hdl)->slot.file_hash, call->read_arg->offset, amount);
}

/* What the engine is told of R, which is of B's file, beside what it asks for. */
static inline void read_ask_device(struct readahead_read *r, struct backing *b)
{
	struct device *device = b->device;
	uint64_t window = atomic_load_explicit(&device->window, memory_order_relaxed);

	r->size = atomic_load_explicit(&b->size, memory_order_relaxed);
	if (r->offset + r->len > r->size)
		r->size = backing_refresh_size(b);
	prefetch_ask_device(r, b);
	r->brings = !device_joins_only(device) && window >= FIRST_READS_OWN;
	r->tail = device_queues_demand(device) ? first_read_tail(r->len, window, r->seek) : 0;
	if (trace_wanted())
		r->client = ra_flow_of_op(r->now).client;
}

/* Whether R, a READ of HDL for IO, is answered without a descriptor of ours: backing_spared(). It is counted. */
static inline bool read_is_spared(struct ra_handle *hdl, struct export_io *io,
				  const struct readahead_read *r)
{
	const struct fsal_filesystem *fs = hdl->sub_handle->fs;

	if (fs == NULL || !backing_spared(&hdl->slot, io, fs_dev(fs), r->offset, r->len))
		return false;
	readahead_count_read(&io->counters, r->len);
	readers_count(readahead_readers(io->engine), r->reader, READER_READS, 1);
	return true;
}

/*
 * Whether PLAN says that the data is in memory. What came a moment ago the machine may have taken away since; where the reads
 * of B's device are queued that is looked at: who reads it from the disk on this thread has no place in the queue, and keeps
 * those waiting who have. Of what is kept here it is looked at too, for it may be gone, and was not all kept.
 */
static inline bool read_is_known(const struct readahead_plan *plan, struct backing *b)
{
	return plan->known_resident && !device_queues_demand(b->device) && b->kept_for == 0;
}

/*
 * Up to where the reader of PLAN wants B's file: only where others are at the disk. Alone he is answered the sooner the less his
 * first READ brings, and behind that the disk goes on without a seek.
 */
static inline uint64_t read_comes_to(struct backing *b, const struct readahead_plan *plan)
{
	if (plan->comes_to == 0 || dispatcher_reads(&b->device->dispatcher) == 0)
		return 0;
	return plan->comes_to;
}

static inline bool read_is_there(void *backing, uint64_t offset, uint64_t len)
{
	return backing_resident(backing, offset, len);
}

/* Bytes to fetch for FIRST, of B, which is none that first_read_is(). */
static inline uint64_t read_beside(const struct first_read *first, struct backing *b,
				   const struct readahead_plan *plan, uint64_t now)
{
	const struct context_read context = {.offset = first->offset,
					     .len = first->len,
					     .size = first->size,
					     .is_there = read_is_there,
					     .arg = b};

	if (plan->asked || plan->len != 0 || !context_read_is(&context))
		return first->len;
	return context_read_length(&context, device_window(b->device, now));
}

/*
 * ... which is one: R's range. The first of its file may still wait for where that lies, which those behind it do not ask for:
 * what they bring begins with what it wants.
 */
static inline void read_begins(struct sched_req *r, struct first_read *first, struct backing *b,
			       const struct readahead_plan *plan, uint64_t now)
{
	uint64_t before;

	first->window = device_window(b->device, now);
	first->comes_to = read_comes_to(b, plan);
	first->missing = first_read_goes_on(first) && !backing_resident(b, 0, first->offset);
	before = first_read_before(first);
	r->offset -= before;
	r->len = before + first_read_length(first);
}

/* What ARG asks for of B, of which PLAN is the plan, and what that brings along at NOW where no stream does: R's range. */
static inline void read_brings(struct sched_req *r, const struct fsal_io_arg *arg,
			       struct backing *b, const struct readahead_plan *plan, uint64_t now)
{
	struct first_read first = {.offset = arg->offset,
				   .len = call_length(arg),
				   .size = atomic_load_explicit(&b->size, memory_order_relaxed),
				   .seek = dispatcher_seek_bytes(&b->device->dispatcher),
				   .count = plan->count,
				   .followed = plan->followed || plan->begins,
				   .ends = plan->ends,
				   .second = plan->second};

	r->offset = first.offset;
	r->len = first.len;
	if (device_joins_only(b->device) || (plan->len != 0 && !plan->begins))
		return;
	if (first_read_is(&first))
		read_begins(r, &first, b, plan, now);
	else
		r->len = read_beside(&first, b, plan, now);
	r->brings_more = r->len > first.len;
}

/*
 * R is a stream's READ. What it has in memory from its beginning on it does not ask for: the rest is in a chunk that it can
 * join, where it lies across the end of one that is over. Not at a file's beginning, where it may wait for a walk's job.
 */
static inline void read_leaves_out(struct sched_req *r, struct backing *b,
				   const struct readahead_plan *plan)
{
	uint64_t there;

	if (!plan->followed || r->offset == 0 || r->brings_more || device_joins_only(b->device))
		return;
	there = demand_there(b, r->offset, r->len);
	r->offset += there;
	r->len -= there;
}

#endif
