/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A prefetch: one chunk of a file, brought into the page cache by a dispatcher thread.
 *
 *   plan --new--> prefetch --submit--> the disk's queue --> step, step, step ... --> over
 *                                              |               |
 *                             plan behind it is queued     waiters of a step are answered
 *
 * It comes in steps, and these bytes come and no others (fetch.h). The plan behind a chunk is queued when
 * the chunk starts, so that a stream has one chunk at the disk and one behind it.
 *
 * Where other streams wait, and a file lies in pieces, a turn has as many bytes as the disk comes to in the time of a
 * chunk in one place. Where it mostly seeks it is asked for all of them at once, in the order in which they lie.
 *
 * A failed prefetch is counted and forgotten; the reader meets the error itself, as without us.
 */
#ifndef DISK_PREFETCH_H
#define DISK_PREFETCH_H

#include <sys/uio.h>

#include "disk/backing.h"
#include "disk/export_io.h"

struct prefetch;

/* What the engine is told of the device of B's file in R. */
static inline void prefetch_ask_device(struct readahead_read *r, struct backing *b)
{
	const struct dispatcher *d = &b->device->dispatcher;

	r->chunk = dispatcher_chunk(d);
	r->streams = dispatcher_streams(d);
	r->seek = dispatcher_seek_bytes(d);
	r->direct = device_is_direct(b->device);
	r->price = board_readahead_price(&b->device->prices);
	r->kept = atomic_load_explicit(&b->kept_for, memory_order_relaxed);
	r->file = b->file;
}

/*
 * For PLAN of B's file, read in steps of STEP bytes on behalf of FLOW, as will be what it plans behind
 * it; to be submitted. Takes its own references. NULL: no memory; then the plan is over.
 */
struct prefetch *prefetch_new(struct export_io *io, struct backing *b,
			      const struct readahead_plan *plan, uint64_t step,
			      struct flow_id flow);
/*
 * Whether PLAN, of all of B's file, which fits in a chunk, begins a stream. It does not: read whole in one turn it costs no seek
 * more, and is over sooner. But for one in pieces, which costs more seeking than reading, and whose reader may want no more than
 * its beginning. The caller has a hold.
 */
bool prefetch_whole_begins(const struct readahead_plan *plan, struct backing *b);
/* What the engine could not know of PLAN: for each READ, before it is acted on. */
static inline void prefetch_judge(struct readahead_plan *plan, struct backing *b)
{
	if (plan->whole)
		plan->begins = prefetch_whole_begins(plan, b);
}
/*
 * Hands P to the disk's queue, unless all of it is in memory. P is gone then. NULL does nothing. For a thread that is not
 * to wait for the disk, as a client's READ's: backing_block_if_few().
 */
void prefetch_submit(struct prefetch *p);

/*
 * What a demand read does at the disk: brings [offset, offset + len) into the page cache. Errors are
 * left for whoever reads then. The caller has a hold at least.
 */
void demand_fetch(struct dispatcher *d, struct backing *b, uint64_t offset, uint64_t len);
/*
 * The same into the N parts of IOV, LEN bytes together; ABSENT: it was not in memory a moment ago.
 * Returns how many are there, fewer at the end of the file; 0: none, for whichever reason.
 */
size_t demand_reply(struct dispatcher *d, struct backing *b, const struct iovec *iov, int n,
		    uint64_t offset, uint64_t len, bool absent);
/* ... of what should be in memory, or is read past the queue: no request of ours. */
size_t cached_reply(struct backing *b, const struct iovec *iov, int n, uint64_t offset);

/*
 * How many bytes from OFFSET on, of LEN of which not all are, are in memory; they end where a unit of fetch.h does, as chunks do.
 * Nothing is asked where the range lies in one. The caller has a use.
 */
uint64_t demand_there(struct backing *b, uint64_t offset, uint64_t len);
/*
 * Whether LEN bytes at OFFSET of B are still to be fetched for a demand read that waited for another request and was woken;
 * LET_GO: because that hangs. The caller has a hold at least.
 */
bool demand_is_left(struct backing *b, uint64_t offset, uint64_t len, bool let_go);

/*
 * A demand read at OFFSET goes to the disk by itself, and brings ALONG bytes besides its own: what IO's engine must know
 * of it, with TUNING; PLAN is its plan.
 */
void demand_count(struct export_io *io, const struct readahead_plan *plan,
		  const struct readahead_tuning *tuning, uint64_t offset, uint64_t along);
/* ... or waits for a chunk, which is late, but that of a plan of its own, or for what another read brings. */
void demand_count_joined(struct export_io *io, const struct readahead_plan *plan,
			 const struct readahead_tuning *tuning);

/*
 * Around a read of B, not in memory, that goes to the kernel at once. Where that is because seeks
 * were found to cost nothing, some are measured: a disk that has no queue would not show otherwise
 * that it seeks. Returns what direct_read_end() wants; B need not outlive it.
 */
struct device *direct_read_begin(struct backing *b, uint64_t offset, uint64_t len);
void direct_read_end(struct device *device);

#endif
