/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data path of a client's read.
 *
 *   READ of a file that is in memory as a whole (disk/hot.h): answered, and that is all
 *   any other -> tell the engine (readahead/), which may plan a prefetch
 *     in memory?  -> answered at once, on this thread; then the prefetch is queued
 *     not?        -> the prefetch is queued, then the read: it joins a chunk or goes by itself; a
 *                    dispatcher thread answers, with an op context of its own
 *
 * The bytes come out of the kernel's page cache, so nothing here can be stale: through the sub-FSAL, or
 * where it cannot be told apart (own_answer.h) from our own descriptor, straight into the reply.
 *
 * NFSv4's READs carry a state (open, lock, delegation), of which the server keeps a reference until the
 * READ is answered, as it keeps the handle: a file closed meanwhile, or a client that is gone, leave
 * the state without descriptor, and the sub-FSAL then takes the one that it has for NFSv3.
 */
#include <errno.h>

#include "call.h"
#include "common/clock.h"
#include "common/container.h"
#include "common/trace.h"
#include "disk/prefetch.h"
#include "far_write.h"
#include "own_answer.h"
#include "prices.h"
#include "read_below.h"
#include "read_facts.h"
#include "request_flow.h"
#include "resume.h"
#include "unanswered.h"
#include "walk.h"

/* A read that took no longer came out of memory: ns, and so many bytes more a ns. */
#define QUICK	    20000
#define QUICK_BYTES 4

/* ---- the answer ------------------------------------------------------------------------- */

static void answered_below(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
			   void *caller_data)
{
	struct call *call = caller_data;

	if (call->past != NULL)
		dispatcher_went_past(call->past, &call->req);
	call->past = NULL;
	if (resume_wanted(call, call->read_arg, &status))
		return;
	if (unanswered_again(call, sub, &status, answered_below))
		return;
	if (!FSAL_IS_ERROR(status))
		count_for_price(call, call->read_arg->io_amount);
	if (!FSAL_IS_ERROR(status) && call->read_arg->state == NULL)
		own_answer_read_below(ra_handle_of(call->obj_hdl));
	under_way_end(&call->below, !FSAL_IS_ERROR(status));
	call_done(sub, status, obj_data, call);
}

/* Out of its backing B, or past it: NULL. */
static void answer(struct call *call, struct backing *b)
{
	struct fsal_io_arg *arg = call->read_arg;

	if (call->amount == 0 && call->own && b != NULL)
		call->amount = cached_reply(b, arg->iov, arg->iov_count, arg->offset);
	if (call->amount == 0) {
		SUB_OBJ(call->obj_hdl, read2, call->bypass, answered_below, arg, call);
		return;
	}
	count_for_price(call, call->amount);
	under_way_end(&call->below, true);
	arg->io_amount = call->amount;
	arg->end_of_file = false;
	call_done(NULL, fsalstat(ERR_FSAL_NO_ERROR, 0), arg, call);
}

/* The same of a file of which B is the backing, known to be in memory or not. */
static void answer_watched(struct call *call, struct backing *b, bool resident)
{
	under_way_watch(&call->below, b);
	answer(call, resident ? b : NULL);
}

/* ---- a read that goes to the disk ------------------------------------------------------- */

/* The client is to ask again later. */
static void answer_later(struct call *call)
{
	call_done(NULL, fsalstat(ERR_FSAL_DELAY, EAGAIN), call->read_arg, call);
}

/* Of one whose data should be in memory now; it has entered IO. */
static void answer_parked(struct call *call, struct export_io *io)
{
	struct backing *b = call->backing;

	if (device_joins_only(b->device))
		under_way_enter(&call->below, io);
	answer_watched(call, b, true);
}

/* On a dispatcher thread: the data should be in memory now; the sub-FSAL answers the client. */
static void demand_complete(struct sched_req *r)
{
	struct call *call = CONTAINER_OF(r, struct call, req);
	struct backing *b = call->backing;
	struct req_op_context ctx;
	struct export_io *io;

	if (!export_io_hurries(call->io) && walk_read_again(call))
		return;
	io = call_resume(call, &ctx);
	if (io == NULL) { /* nobody is there to be answered */
		backing_release(b);
		return;
	}
	if (call->refused || (!call->fetched && export_io_hurries(io)))
		answer_later(call);
	else if (call->told)
		answered_below(ra_sub_of(call->obj_hdl), call->status, call->read_arg, call);
	else
		answer_parked(call, io);
	backing_release(b);
	call_resumed(io);
}

static void demand_execute(struct dispatcher *d, struct sched_req *r)
{
	struct call *call = CONTAINER_OF(r, struct call, req);
	struct device *device = call->backing->device;
	struct device_crowd crowd = device_crowd(device);

	if (export_io_hurries(call->io))
		return;
	call->fetched = true;
	if (device_joins_only(device)) {
		read_below_of(call);
		return;
	}
	if (call->own && r->offset == call->read_arg->offset &&
	    r->io_len == call_length(call->read_arg)) {
		call->amount =
			demand_reply(d, call->backing, call->read_arg->iov,
				     call->read_arg->iov_count, r->offset, r->len, call->absent);
		call->own = false; /* nothing there, or a bad sector: not another try of ours */
	} else {
		/* more than its own, or less */
		demand_fetch(d, call->backing, r->offset, r->io_len);
	}
	r->crowded = device_was_crowded(device, &crowd);
}

static void demand_finish(struct dispatcher *d, struct sched_req *r)
{
	demand_complete(r);
}

static const struct sched_req_ops demand_ops = {
	.execute = demand_execute,
	.complete = demand_complete,
	.finish = demand_finish,
};

static void describe_demand(struct call *call, struct backing *b, const struct readahead_plan *plan)
{
	call->backing = backing_hold(b);
	call->fetched = call->absent = call->told = call->refused = false;
	call->due = 0;
	call->req = (struct sched_req){.ops = &demand_ops,
				       .class = SCHED_DEMAND,
				       .file = b->file,
				       .flow = ra_flow_of_op(call->came)};
	read_brings(&call->req, call->read_arg, b, plan, call->came);
	read_leaves_out(&call->req, b, plan);
	call->req.block = backing_block_if_few(b, call->req.offset);
}

/* How long a read may wait for room (ns): an export that goes waits for it in turn. */
static uint64_t room_wait_max(struct export_io *io)
{
	uint64_t wait = export_io_full_wait(io), drain = ra_io_drain_timeout() / 2;

	return wait < drain ? wait : drain;
}

/* What becomes of a read that was submitted. */
enum fate { READ_QUEUED, READ_NOW, READ_LATER };

/* READ_NOW: it must be answered by the caller, its I/O done or not. READ_LATER: the client must ask again. */
static enum fate demand_queue(struct call *call, struct export_io *io,
			      const struct readahead_plan *plan,
			      const struct readahead_tuning *tuning)
{
	struct dispatcher *d = &call->backing->device->dispatcher;
	bool far = device_joins_only(call->backing->device);
	/* now: CALL may be over once it is submitted */
	uint64_t offset = call->read_arg->offset, asked = call_length(call->read_arg);
	uint64_t along = call->req.len > asked ? call->req.len - asked : 0;
	enum sched_verdict verdict = far ? dispatcher_submit_or_pass(d, &call->req)
					 : dispatcher_submit_or_run(d, &call->req);

	if (far)
		far_write_reader(clock_now());
	if (verdict == SCHED_FULL) /* its client has too much there */
		verdict = dispatcher_wait_room(d, &call->req, room_wait_max(io));
	switch (verdict) {
	case SCHED_ADDED:
		demand_count(io, plan, tuning, offset, along);
		return READ_QUEUED;
	case SCHED_WAITS:
		demand_count_joined(io, plan, tuning);
		return READ_QUEUED;
	case SCHED_RUN:
		demand_count(io, plan, tuning, offset, along);
		call->past = far ? d : NULL;
		if (far)
			return READ_NOW;
		call->absent = true;
		demand_execute(d, &call->req);
		dispatcher_ran(d, &call->req);
		return READ_NOW;
	case SCHED_FULL:
		return READ_LATER;
	default: /* what it asks for has come meanwhile */
		return READ_NOW;
	}
}

/*
 * Queues the read, or does its I/O at once if the disk has nothing else to do, or refuses it; false: the
 * caller must answer it itself, now. Else the call, its read_arg and the export may be over at any time.
 */
static bool demand_submit(struct call *call, struct backing *b, const struct readahead_plan *plan,
			  const struct readahead_tuning *tuning, const struct walk_read *walk)
{
	struct export_io *io;
	enum fate fate;

	if (!call_park(call))
		return false;
	io = export_io_ref(call->io);
	describe_demand(call, b, plan);
	fate = !device_joins_only(b->device) && walk_read_waits(walk, call)
		       ? READ_QUEUED
		       : demand_queue(call, io, plan, tuning);
	if (fate != READ_QUEUED) {
		backing_release(call->backing);
		call_unpark(call);
	}
	export_io_put(io);
	if (fate == READ_LATER)
		answer_later(call);
	return fate != READ_NOW;
}

/* ---- every read ------------------------------------------------------------------------- */

/* What a client's read asks for. */
struct asked {
	uint64_t len, now; /* bytes, ns */
	uint32_t reader;
	bool own; /* it may be answered from our own descriptor */
};

/* ... as far as it is judged. */
struct read {
	struct asked asked;
	struct backing *backing; /* a use; NULL: just read */
	uint64_t prefetch_step;
	struct readahead_tuning tuning;
	struct readahead_plan plan;
	struct walk_read walk;
	bool resident;
	bool unasked;	       /* whether it is: it makes no difference */
	struct device *direct; /* of one at the disk past the queue, or NULL */
};

/* Tells the engine of the read. */
static void observe(struct read *read, struct ra_handle *hdl, struct export_io *io,
		    const struct fsal_io_arg *arg)
{
	struct readahead_read r = {.key = hdl->slot.key,
				   .key_len = hdl->slot.key_len,
				   .offset = arg->offset,
				   .len = (uint32_t)read->asked.len,
				   .now = read->asked.now,
				   .reader = read->asked.reader,
				   .account = io->export_id};

	read->prefetch_step = export_io_tuning(io, &read->tuning);
	if (read->tuning.heuristic->off || arg->info != NULL || !read->asked.len ||
	    read->asked.len > UINT32_MAX || !r.key_len)
		return;
	read->unasked = read_is_spared(hdl, io, &r);
	if (read->unasked)
		return;
	read->backing = backing_get(&hdl->slot, io, r.now);
	if (read->backing == NULL)
		return;
	if (!backing_prefetches(read->backing, r.now, read->asked.own))
		read->tuning.window_max = 0; /* for this read: nothing is planned */
	read_ask_device(&r, read->backing);
	readahead_observe(io->engine, &read->tuning, &io->counters, &r, &read->plan);
	prefetch_judge(&read->plan, read->backing);
}

/*
 * Whether the data is in memory. A file of which that is found again and again may be hot, but for one that
 * streams are fetched ahead in: the engine is to see their reads.
 */
static bool is_resident(struct read *read, struct ra_handle *hdl, struct readahead *engine,
			uint64_t offset)
{
	if (!read_is_known(&read->plan, read->backing) &&
	    !backing_resident(read->backing, offset, read->asked.len))
		return false;
	if (!read->plan.unread)
		backing_found_cached(&hdl->slot, read->backing, engine, read->asked.now);
	return true;
}

/* *P, or none, before the read is answered. */
static void submit_first(struct prefetch **p)
{
	prefetch_submit(*p);
	*p = NULL;
}

/* Whether the read waits for the disk in our queue, which answers it; it takes *P along. */
static bool goes_to_disk(struct call *call, struct read *read, struct prefetch **p)
{
	struct ra_handle *hdl = ra_handle_of(call->obj_hdl);
	struct backing *b = read->backing;
	uint64_t offset = call->read_arg->offset;

	if (!read->plan.known_resident && device_is_plain(b->device)) {
		read->unasked = true;
		if (backing_spared_on(&hdl->slot, offset))
			call->own = false;
		return false;
	}
	if (is_resident(read, hdl, call->exp->io->engine, offset)) {
		ra_count_resident(call->exp->io, read->asked.reader);
		read->resident = true;
		if (read->plan.offset <= offset)
			submit_first(p); /* it may be on its way only */
		return false;
	}
	if (!device_queues_demand(b->device) && !device_joins_only(b->device)) {
		read->direct = direct_read_begin(b, offset, read->asked.len);
		return false;
	}
	submit_first(p); /* so that the read can join it */
	return demand_submit(call, b, &read->plan, &read->tuning, &read->walk);
}

/* Where nobody asked whether the data was in memory, the time that the answer took says it. */
static void judge_time(const struct read *read, struct ra_handle *hdl, struct export_io *io)
{
	if (clock_now() - read->asked.now > QUICK + read->asked.len / QUICK_BYTES)
		return;
	ra_count_resident(io, read->asked.reader);
	if (read->backing != NULL && !read->plan.unread)
		backing_found_cached(&hdl->slot, read->backing, io->engine, read->asked.now);
}

/* Of a file that is in memory as a whole: answers at once, with nothing to note but that it was read. */
static bool answer_hot(struct ra_handle *hdl, const struct asked *asked, fsal_async_cb done_cb,
		       struct fsal_io_arg *arg, void *caller_arg)
{
	struct export_io *io = ra_export_of_op()->io;
	size_t got;

	if (!asked->own)
		return false;
	got = backing_read_hot(&hdl->slot, arg->iov, arg->iov_count, arg->offset, asked->len,
			       asked->now);
	if (got == 0)
		return false;
	readahead_count_read(&io->counters, asked->len);
	readers_count(readahead_readers(io->engine), asked->reader, READER_READS, 1);
	ra_count_resident(io, asked->reader);
	ra_prices_read(hdl->slot.file_hash, arg->offset, got);
	arg->io_amount = got;
	arg->end_of_file = false;
	done_cb(&hdl->obj_handle, fsalstat(ERR_FSAL_NO_ERROR, 0), arg, caller_arg);
	return true;
}

/* On this thread; the backing may want to know how long it took. */
static void answer_now(struct call *call, const struct read *read)
{
	struct backing *b = read->backing;

	if (b == NULL || !device_joins_only(b->device)) {
		answer(call, b);
		return;
	}
	under_way_time(&call->below, b, call->read_arg->offset, read->asked.len, read->resident);
	answer_watched(call, b, read->resident);
}

/*
 * The same where the FSAL below has no local file system: it may take long, and the FSAL must not go
 * meanwhile, so an export that ends waits for it: for the answer, and until its call has returned.
 */
static void answer_far(struct call *call, const struct read *read)
{
	struct export_io *io = export_io_ref(call->exp->io);
	bool entered = export_io_enter(io);

	if (entered)
		under_way_enter(&call->below, io);
	answer_now(call, read);
	if (entered)
		export_io_leave(io);
	export_io_put(io);
}

/* ... of any other. */
static void answer_or_queue(struct call *call, struct ra_handle *hdl, const struct asked *asked)
{
	struct read of = {.asked = *asked, .walk.reader = asked->reader}, *read = &of;
	struct export_io *io = call->exp->io;
	struct prefetch *p = NULL;
	bool queued = false;

	walk_read_begin(&read->walk, hdl, call->read_arg->offset, asked->now);
	observe(read, hdl, io, call->read_arg);
	call->own = read->asked.own;
	if (read->backing != NULL) {
		if (read->plan.len != 0)
			p = prefetch_new(io, read->backing, &read->plan, read->prefetch_step,
					 ra_flow_of_op(asked->now));
		queued = goes_to_disk(call, read, &p);
	}
	if (!queued && hdl->sub_handle->fs == NULL)
		answer_far(call, read);
	else if (!queued)
		answer_now(call, read);
	if (read->unasked)
		judge_time(read, hdl, io);
	read->walk.missing = read->resident || read->unasked ? 0 : read->asked.len;
	walk_read_end(&read->walk, read->backing, read->resident, read->asked.now);
	if (read->backing != NULL)
		backing_put(read->backing);
	if (queued)
		return;
	direct_read_end(read->direct);
	prefetch_submit(p); /* after the answer, which Ganesha sends when this returns */
}

static struct call *new_read(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb,
			     struct fsal_io_arg *read_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	call->read_arg = read_arg;
	call->amount = 0;
	call->again = false;
	call->past = NULL;
	under_way_init(&call->below);
	return call;
}

/* The FSAL below has asked for it: it is no new READ. */
static void resume(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
		   struct fsal_io_arg *read_arg, void *caller_arg)
{
	struct call *call = resume_taken(obj_hdl, read_arg, done_cb, caller_arg);

	if (call == NULL)
		call = new_read(obj_hdl, done_cb, read_arg, caller_arg);
	SUB_OBJ(obj_hdl, read2, bypass, answered_below, read_arg, call);
}

void ra_read2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *read_arg, void *caller_arg)
{
	struct ra_handle *hdl = ra_handle_of(obj_hdl);
	struct asked asked = {.len = call_length(read_arg),
			      .now = clock_now(),
			      .own = own_answer_allowed(hdl, bypass, read_arg)};
	struct call *call;

	if (ra_io_wants_resume(read_arg)) {
		resume(obj_hdl, bypass, done_cb, read_arg, caller_arg);
		return;
	}
	asked.reader = ra_reader_of_op(asked.now);
	if (answer_hot(hdl, &asked, done_cb, read_arg, caller_arg))
		return;
	call = new_read(obj_hdl, done_cb, read_arg, caller_arg);
	call->came = asked.now;
	call->bypass = bypass;
	answer_or_queue(call, hdl, &asked);
}
