/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data path of one client read, and of one write.
 *
 *   READ -> tell the engine (readahead/), which may plan a prefetch
 *     in memory?  -> the sub-FSAL answers at once, on this thread; then the prefetch is queued
 *     not?        -> the prefetch is queued, then the read: it joins a chunk or goes by itself; a
 *                    dispatcher thread answers through the sub-FSAL, with an op context of its own
 *
 *   WRITE -> the sub-FSAL puts it into the page cache; write-back is told, and the reply may be held
 *            back a little while too much is dirty (writeback/pacer.h)
 *
 * The bytes always come from the sub-FSAL, out of the page cache: nothing here can be stale.
 *
 * A call record stands in for the caller's argument while the sub-FSAL works, since the sub-FSAL
 * completes with its own handle. Records come from a small free list per thread: no malloc per read
 * once a thread has warmed up.
 */
#include "io.h"

#include <unistd.h>

#include <urcu-bp.h>

#include "writeback/pacer.h"
#include "stats.h"
#include "subcall.h"
#include "writeback.h"

/* Records that a thread keeps. */
#define CALLS_KEPT 64

struct call {
	struct call *next;
	struct ra_export *exp;
	struct fsal_obj_handle *obj_hdl;
	fsal_async_cb done_cb;
	void *caller_arg;
	/* Only of a read that is queued: */
	struct sched_req req;
	struct gsh_export *gsh_export; /* referenced; passed to the op context */
	struct export_io *io;
	struct backing *backing;
	struct user_cred creds;
	struct fsal_io_arg *read_arg;
	bool bypass;
	/* Only of a write: */
	struct fsal_io_arg *write_arg;
	bool stable;
	fsal_status_t status;
	struct paced paced;
};

struct call_list {
	struct call *head;
	unsigned int kept;
};

static pthread_key_t list_key;
static bool list_key_made;
static _Thread_local struct call_list *my_list;

static void call_list_free(void *arg)
{
	struct call_list *list = arg;

	while (list->head != NULL) {
		struct call *call = list->head;

		list->head = call->next;
		gsh_free(call);
	}
	gsh_free(list);
	my_list = NULL;
}

static struct call_list *this_threads_list(void)
{
	if (my_list == NULL) {
		my_list = gsh_calloc(1, sizeof(*my_list));
		pthread_setspecific(list_key, my_list);
	}
	return my_list;
}

static struct call *call_get(void)
{
	struct call_list *list = this_threads_list();
	struct call *call = list->head;

	if (call == NULL)
		return gsh_malloc(sizeof(*call));
	list->head = call->next;
	list->kept--;
	return call;
}

static void call_put(struct call *call)
{
	struct call_list *list = this_threads_list();

	if (list->kept >= CALLS_KEPT) {
		gsh_free(call);
		return;
	}
	call->next = list->head;
	list->head = call;
	list->kept++;
}

int ra_calls_start(void)
{
	int err = list_key_made ? 0 : pthread_key_create(&list_key, call_list_free);

	list_key_made = err == 0;
	return err;
}

void ra_calls_stop(void)
{
	if (my_list != NULL)
		call_list_free(my_list);
	if (list_key_made)
		pthread_key_delete(list_key);
	list_key_made = false;
}

static void done(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
		 void *caller_data)
{
	struct call *call = caller_data;
	struct ra_export *exp = call->exp;
	struct fsal_obj_handle *obj_hdl = call->obj_hdl;
	fsal_async_cb done_cb = call->done_cb;
	void *caller_arg = call->caller_arg;

	/* Before the callback: afterwards the request, and with it the context, may be gone. */
	call_put(call);
	SUPERCALL(exp, done_cb(obj_hdl, status, obj_data, caller_arg));
}

static struct call *call_new(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb,
			     void *caller_arg)
{
	struct call *call = call_get();

	call->exp = ra_export_of_op();
	call->obj_hdl = obj_hdl;
	call->done_cb = done_cb;
	call->caller_arg = caller_arg;
	return call;
}

static size_t length_of(const struct fsal_io_arg *arg)
{
	size_t len = 0;

	for (int i = 0; i < arg->iov_count; i++)
		len += arg->iov[i].iov_len;
	return len;
}

/* ---- a read that goes to the disk ------------------------------------------------------- */

/* On a dispatcher thread: the data should be in memory now; the sub-FSAL answers the client. */
static void demand_complete(struct sched_req *r)
{
	struct call *call = container_of(r, struct call, req);
	struct export_io *io = call->io;
	struct backing *b = call->backing;
	struct req_op_context ctx;

	init_op_context_simple(&ctx, call->gsh_export, &call->exp->export);
	ctx.creds = call->creds;
	SUB_OBJ(call->obj_hdl, read2, call->bypass, done, call->read_arg, call);
	backing_release(b);
	export_io_leave(io); /* before the export's reference goes */
	export_io_put(io);
	release_op_context();
}

/*
 * Brings the range into the page cache without kernel read-ahead, which would ask the disk for more
 * behind the scheduler's back. Errors are left for the sub-FSAL to meet.
 */
static void demand_execute(struct dispatcher *d, struct sched_req *r)
{
	struct call *call = container_of(r, struct call, req);
	char *buffer = ra_scratch(r->io_len);
	uint64_t begun = clock_now();
	ssize_t got;

	if (buffer == NULL || !backing_use(call->backing))
		return;
	got = pread(call->backing->fd, buffer, r->io_len, (off_t)r->offset);
	if (got > 0)
		dispatcher_observe(d, r->block, (uint64_t)got, clock_now() - begun);
	backing_unuse(call->backing);
	device_learn(call->backing->device);
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

/*
 * Queues the read, or does its I/O at once if the disk has nothing else to do; false: the caller must
 * answer it itself, now.
 */
static bool demand_submit(struct call *call, struct backing *b, const struct readahead_plan *plan,
			  const struct readahead_tuning *tuning)
{
	struct fsal_io_arg *arg = call->read_arg;
	struct export_io *io = call->exp->io;
	struct dispatcher *d = &b->device->dispatcher;
	struct sched_req *r = &call->req;
	enum sched_verdict verdict;
	struct cursor_ref cursor = plan->cursor;
	bool planned = plan->len != 0, followed = plan->count != 0;
	uint64_t offset = arg->offset;

	if (!export_io_enter(io))
		return false;
	*r = (struct sched_req){.ops = &demand_ops,
				.class = SCHED_DEMAND,
				.file = b->file,
				.offset = offset,
				.len = length_of(arg),
				.block = backing_block(b, offset)};
	call->io = export_io_ref(io);
	call->backing = backing_hold(b);
	call->creds = op_ctx->creds;
	call->gsh_export = op_ctx->ctx_export;
	get_gsh_export_ref(call->gsh_export);
	/* Once submitted, the call may be over before dispatcher_submit() returns. */
	verdict = dispatcher_submit_or_run(d, r);
	switch (verdict) {
	case SCHED_ADDED:
	case SCHED_RUN:
		readahead_count(&io->counters, READAHEAD_DEMAND, 1);
		if (followed && !planned)
			readahead_lost(ra_engine, tuning, &io->counters, &cursor, offset);
		if (verdict == SCHED_ADDED)
			return true;
		demand_execute(d, r);
		dispatcher_ran(d, r);
		break;
	case SCHED_WAITS:
		readahead_count(&io->counters, READAHEAD_JOINED, 1);
		if (!planned) {
			readahead_count(&io->counters, READAHEAD_LATE, 1);
			readahead_late(ra_engine, tuning, &cursor);
		}
		return true;
	default:
		break;
	}
	put_gsh_export(call->gsh_export);
	backing_release(call->backing);
	export_io_leave(io);
	export_io_put(io);
	return false;
}

/* ---- every read ------------------------------------------------------------------------- */

/* Tells the engine of the read; returns the backing it can be judged by, or NULL: just read. */
static struct backing *observe(struct ra_handle *hdl, struct ra_export *exp,
			       const struct fsal_io_arg *arg, uint64_t len,
			       struct readahead_tuning *tuning, struct readahead_plan *plan)
{
	struct readahead_read read = {.key = hdl->slot.key,
				      .key_len = hdl->slot.key_len,
				      .offset = arg->offset,
				      .len = (uint32_t)len,
				      .now = clock_now()};
	struct backing *b;

	export_io_tuning(exp->io, tuning);
	if (tuning->heuristic->off || arg->info != NULL || !len || len > UINT32_MAX ||
	    !read.key_len)
		return NULL;
	b = backing_get(hdl, read.now);
	if (b == NULL)
		return NULL;
	read.size = atomic_load_explicit(&b->size, memory_order_relaxed);
	if (read.offset + len > read.size)
		read.size = backing_refresh_size(b);
	read.chunk = dispatcher_chunk(&b->device->dispatcher);
	read.streams = dispatcher_streams(&b->device->dispatcher);
	read.price = board_readahead_price(&b->device->prices);
	readahead_observe(ra_engine, tuning, &exp->io->counters, &read, plan);
	return b;
}

void ra_read2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *read_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);
	struct readahead_plan plan = {0};
	struct readahead_tuning tuning;
	struct chunk *chunk = NULL;
	struct export_io *io = call->exp->io;
	uint64_t len = length_of(read_arg);
	struct backing *b =
		observe(ra_handle_of(obj_hdl), call->exp, read_arg, len, &tuning, &plan);

	ra_prices_read(ra_handle_of(obj_hdl)->slot.file_hash, read_arg->offset, len);
	if (b != NULL) {
		bool resident = plan.known_resident || backing_resident(b, read_arg->offset, len);

		if (plan.len)
			chunk = chunk_new(io, b, &plan, call->exp->params.prefetch_step);
		if (resident) {
			readahead_count(&io->counters, READAHEAD_RESIDENT, 1);
		} else if (read_arg->state == NULL && device_queues_demand(b->device)) {
			if (chunk != NULL)
				chunk_submit(chunk); /* first, so that the read can join it */
			chunk = NULL;
			call->read_arg = read_arg;
			call->bypass = bypass;
			if (demand_submit(call, b, &plan, &tuning)) {
				backing_put(b);
				return;
			}
		}
		backing_put(b);
	}
	SUB_OBJ(obj_hdl, read2, bypass, done, read_arg, call);
	if (chunk != NULL)
		chunk_submit(chunk); /* after the answer: a resident read waits for nothing */
}

/* ---- every write ------------------------------------------------------------------------ */

/* Answers a write whose reply has been held back. */
static void write_answer(struct paced *p)
{
	struct call *call = container_of(p, struct call, paced);
	struct export_io *io = call->io;
	struct req_op_context ctx;

	init_op_context_simple(&ctx, call->gsh_export, &call->exp->export);
	ctx.creds = call->creds;
	done(NULL, call->status, call->write_arg, call);
	export_io_leave(io);
	export_io_put(io);
	release_op_context();
}

/* Holds the reply of CALL back for DELAY ns; false: it is to be answered now. */
static bool write_hold(struct call *call, fsal_status_t status, uint64_t delay)
{
	struct export_io *io = call->exp->io;

	if (!export_io_enter(io))
		return false;
	call->io = export_io_ref(io);
	call->status = status;
	call->creds = op_ctx->creds;
	call->gsh_export = op_ctx->ctx_export;
	get_gsh_export_ref(call->gsh_export);
	if (pacer_hold(&call->paced, length_of(call->write_arg), delay, write_answer))
		return true;
	put_gsh_export(call->gsh_export);
	export_io_leave(io);
	export_io_put(io);
	return false;
}

/* CALL's write has succeeded: its ranges are dirty. For how long (ns) to hold back the reply. */
static uint64_t account(struct call *call)
{
	struct ra_handle *hdl = ra_handle_of(call->obj_hdl);
	struct fsal_io_arg *arg = call->write_arg;

	ra_io_handle_changed(hdl, arg->offset, arg->io_amount);
	if (call->stable || !writeback_wrote(hdl, call->exp, arg->offset, arg->io_amount))
		return 0;
	return pacer_delay((uint64_t)(uintptr_t)op_ctx->client, arg->io_amount,
			   call->exp->params.write_delay_max * CLOCK_MS);
}

/* The data of a write is in the page cache, or on the disk if it was to be stable. */
static void written(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
		    void *caller_data)
{
	struct call *call = caller_data;
	uint64_t delay = 0;

	if (!FSAL_IS_ERROR(status))
		delay = SUPERCALL(call->exp, account(call));
	if (!delay || !write_hold(call, status, delay))
		done(sub, status, obj_data, caller_data);
}

void ra_write2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *write_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	call->write_arg = write_arg;
	call->stable = write_arg->fsal_stable;
	ra_io_handle_changed(ra_handle_of(obj_hdl), write_arg->offset, length_of(write_arg));
	SUB_OBJ(obj_hdl, write2, bypass, written, write_arg, call);
}

/* ---- the dispatchers' threads ----------------------------------------------------------- */

static void thread_start(unsigned int n)
{
	char name[16];

	snprintf(name, sizeof(name), "ra_disk_%u", n);
	SetNameFunction(name);
}

const struct dispatcher_ops ra_dispatcher_ops = {
	.now = clock_now,
	.thread_start = thread_start,
};
