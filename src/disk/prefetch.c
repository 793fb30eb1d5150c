/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bringing data into the page cache, ahead of a reader or for one. See prefetch.h. */
#include "disk/prefetch.h"

#include <assert.h>
#include <stdlib.h>

#include "common/container.h"
#include "disk/fetch.h"
#include "disk/scratch.h"

struct prefetch {
	struct sched_req req;
	struct export_io *io;
	struct backing *backing;
	struct readahead_plan plan;
	struct prefetch *next; /* what its stream wants behind it, not submitted yet; or NULL */
	uint64_t step;
	uint64_t upto; /* it is in memory as far as this offset */
	bool started;
	bool failed;
	bool together; /* it lies in pieces, and is no longer than a turn */
};

static const struct sched_req_ops prefetch_ops;

struct prefetch *prefetch_new(struct export_io *io, struct backing *b,
			      const struct readahead_plan *plan, uint64_t step, struct flow_id flow)
{
	struct prefetch *p = calloc(1, sizeof(*p));

	assert(step > 0 && step <= SCRATCH_MAX);
	if (p == NULL) {
		readahead_finished(io->engine, &io->counters, plan, plan->offset, false, true);
		return NULL;
	}
	p->io = export_io_ref(io);
	p->backing = backing_hold(b);
	p->plan = *plan;
	p->upto = plan->offset;
	p->step = step;
	p->req.flow = flow;
	return p;
}

static void prefetch_free(struct prefetch *p)
{
	readahead_finished(p->io->engine, &p->io->counters, &p->plan, p->upto, p->started,
			   p->failed);
	backing_release(p->backing);
	export_io_put(p->io);
	free(p);
}

/* Ends a prefetch that has entered its export. */
static void leave(struct prefetch *p)
{
	struct export_io *io = export_io_ref(p->io);

	prefetch_free(p);
	export_io_leave(io);
	export_io_put(io);
}

static uint64_t end_of(const struct prefetch *p)
{
	return p->plan.offset + p->plan.len;
}

/* Whether all of it is in memory already; else says where it is on the disk. With a use. */
static bool is_resident(struct prefetch *p)
{
	struct readahead *engine = p->io->engine;

	if (backing_resident(p->backing, p->plan.offset, p->plan.len)) {
		p->upto = end_of(p);
		readahead_already(engine, &p->io->counters, &p->plan, p->plan.offset, end_of(p));
		readahead_arrived(engine, &p->plan, p->upto,
				  dispatcher_now(&p->backing->device->dispatcher));
		return true;
	}
	p->req.block = backing_block(p->backing, p->plan.offset);
	return false;
}

/* Whether what it brings will be there for its reader. */
static bool is_worth(const struct prefetch *p)
{
	return backing_prefetches(p->backing, dispatcher_now(&p->backing->device->dispatcher),
				  true);
}

void prefetch_submit(struct prefetch *p)
{
	bool wanted = false;

	if (p == NULL)
		return;
	if (backing_use(p->backing)) {
		wanted = is_worth(p) && !is_resident(p);
		backing_unuse(p->backing);
	}
	if (!wanted || !export_io_enter(p->io)) {
		prefetch_free(p);
		return;
	}
	p->req.ops = &prefetch_ops;
	p->req.class = SCHED_PREFETCH;
	p->req.file = p->backing->file;
	p->req.offset = p->plan.offset;
	p->req.len = p->plan.len;
	p->req.one_step = p->plan.len <= p->step;
	p->req.record = p->plan.record;
	p->req.step = p->plan.step;
	p->req.begins = p->plan.begins;
	p->req.owner = p->plan.cursor.index + 1;
	if (dispatcher_submit(&p->backing->device->dispatcher, &p->req) != SCHED_ADDED)
		leave(p);
}

/* Slices that a turn may last of which the disk is asked for all at once: as seldom as that gaps open. */
#define TOGETHER_SLICES 2

/*
 * Bytes that P should have for its turn now. A turn is a time: of a file that lies in pieces, where others wait for
 * theirs, it has as many of these as the disk comes to meanwhile. Where that is mostly seeks they go *TOGETHER.
 */
static uint64_t turn_of(struct dispatcher *d, struct prefetch *p, bool *together)
{
	uint64_t turn = device_chunk(p->backing->device, dispatcher_chunk_of(d, &p->req)), reach;
	struct sched_limits limits;
	struct cost_model cost;
	uint64_t slice, seek;

	*together = false;
	if (p->plan.record || dispatcher_streams(d) < 2 ||
	    !device_queues_demand(p->backing->device))
		return turn;
	cost = dispatcher_cost(d);
	seek = cost_among_bytes(&cost);
	reach = backing_reach(p->backing, p->plan.offset, turn, seek);
	*together = reach <= turn / 2;
	limits = dispatcher_limits(d);
	slice = cost_slice_bytes(&cost, &limits.cost);
	if (*together && slice < turn)
		reach = backing_reach(p->backing, p->plan.offset, TOGETHER_SLICES * slice, seek);
	if (reach < limits.cost.chunk_min)
		reach = limits.cost.chunk_min;
	return reach < turn ? reach : turn;
}

/*
 * A chunk planned when few streams competed is too long a turn once there are many: what the disk
 * wants now counts, and what its client may have. The rest is planned anew behind it. One whose reader
 * wants its right end first, or has use for all of it only, stays as it is.
 */
static void shorten(struct dispatcher *d, struct prefetch *p)
{
	bool together;
	uint64_t turn = turn_of(d, p, &together), most = turn + turn / 2, len;

	if (p->plan.way == WAY_FORWARD && p->plan.len > most &&
	    readahead_may_shorten(p->io->engine, &p->plan)) {
		len = dispatcher_shorten(d, &p->req, turn);
		readahead_shorten(p->io->engine, &p->io->counters, &p->plan, len);
	}
	p->together = together && p->plan.len <= most;
}

static void submit_next(struct prefetch *p)
{
	struct prefetch *next = p->next;

	p->next = NULL;
	prefetch_submit(next);
}

/*
 * Tells the engine that the chunk goes to the disk, and queues what it wants behind it: but where others
 * write to the disk, and much is there at a time, the two would be there together, with a seek between
 * their steps. Then that comes with the last one.
 */
static void start(struct dispatcher *d, struct prefetch *p)
{
	struct readahead_read at = {.now = dispatcher_now(d),
				    .size = backing_refresh_size(p->backing),
				    .chunk = dispatcher_chunk(d),
				    .streams = dispatcher_streams(d),
				    .seek = dispatcher_seek_bytes(d),
				    .price = board_readahead_price(&p->backing->device->prices),
				    .file = p->backing->file,
				    .client = p->req.flow.client};
	struct readahead_tuning tuning;
	struct readahead_plan next;

	export_io_tuning(p->io, &tuning);
	readahead_started(p->io->engine, &tuning, &p->io->counters, &p->plan, &at, &next);
	p->started = true;
	if (next.len)
		p->next = prefetch_new(p->io, p->backing, &next, p->step, p->req.flow);
	if (!device_is_written(p->backing->device))
		submit_next(p);
}

/* The disk brought LEN bytes at OFFSET. */
static void fetched(const struct prefetch *p, uint64_t offset, uint64_t len)
{
	readahead_fetched(p->io->engine, &p->io->counters, &p->plan, offset, offset + len);
}

/* Brings N bytes from p->upto on into memory, if they are not; false: error or end of file. */
static bool step(struct dispatcher *d, struct prefetch *p, struct fetch_chunk *c, uint64_t n)
{
	struct readahead *engine = p->io->engine;
	bool already;
	ssize_t got = fetch_chunk_next(c, p->upto, n, &already);

	p->failed = got < 0;
	if (got <= 0)
		return false;
	if (already)
		readahead_already(engine, &p->io->counters, &p->plan, p->upto, p->upto + n);
	else
		fetched(p, p->upto, (uint64_t)got);
	p->upto += (uint64_t)got;
	readahead_arrived(engine, &p->plan, p->upto, dispatcher_now(d));
	dispatcher_progress(d, &p->req, p->upto);
	return true;
}

/* Whether anybody can still want the rest. */
static bool goes_on(const struct prefetch *p)
{
	return p->upto < end_of(p) && !atomic_load(&p->backing->gone) &&
	       !atomic_load(&p->io->closing) && is_worth(p);
}

/* All of it, in steps, in a turn whose present slice began at SLICE. */
static void bring_all(struct dispatcher *d, struct prefetch *p, uint64_t slice)
{
	uint64_t len = end_of(p) - p->upto;
	struct fetch_chunk chunk;

	if (p->together)
		fetch_chunk_together(&chunk, d, p->backing, p->upto, len);
	else
		fetch_chunk_begin(&chunk, d, p->backing, p->upto, len);
	while (goes_on(p)) {
		uint64_t left = end_of(p) - p->upto;

		if (left <= p->step)
			submit_next(p);
		if (!step(d, p, &chunk, left < p->step ? left : p->step))
			break;
		if (p->upto < end_of(p) && dispatcher_gap(d, &p->req, dispatcher_now(d) - slice)) {
			slice = dispatcher_now(d);
			fetch_chunk_disturbed(&chunk);
		}
	}
	fetch_chunk_end(&chunk);
}

/* ---- records a step apart ---------------------------------------------------------------- */

/* Up to ACCESS_PIECES records of a chunk, of which what lies between is left out. */
struct batch {
	uint64_t from;	  /* where record 0 is in the file */
	uint64_t left;	  /* bit i: record i is to come */
	uint64_t begun;	  /* ... the disk was asked for it */
	int last;	  /* the record that the disk read before; -1: something else */
	uint64_t slice;	  /* ns: when the turn's present slice began */
	uint64_t service; /* ns: what the records of a run took */
	uint32_t brought; /* ... how many came from the disk */
};

static uint64_t record_at(const struct prefetch *p, const struct batch *b, unsigned int i,
			  uint64_t *len)
{
	uint64_t offset = b->from + i * p->plan.step, left = end_of(p) - offset;

	*len = left < p->plan.record ? left : p->plan.record;
	return offset;
}

/* Whether it is in memory; then that is told. */
static bool is_already(struct prefetch *p, uint64_t offset, uint64_t len)
{
	if (!backing_resident(p->backing, offset, len))
		return false;
	readahead_already(p->io->engine, &p->io->counters, &p->plan, offset, offset + len);
	return true;
}

/* The record that costs least behind the last one. */
static unsigned int next_of(struct device *device, const struct batch *b)
{
	unsigned int next;

	lock_take(&device->evidence_lock);
	next = access_order_next(&device->records, b->left, b->last);
	lock_drop(&device->evidence_lock);
	return next;
}

static void observe_record(struct device *device, const struct prefetch *p, int last, int next,
			   uint64_t service)
{
	lock_take(&device->evidence_lock);
	access_order_observe(&device->records, p->plan.step, last, next, service);
	lock_drop(&device->evidence_lock);
}

/* That record, if it is not there; false: error or end of file. */
static bool bring_record(struct dispatcher *d, struct prefetch *p, struct batch *b)
{
	unsigned int next = next_of(p->backing->device, b);
	uint64_t begun = dispatcher_now(d), len, offset = record_at(p, b, next, &len), service;
	ssize_t got;

	b->left &= ~(UINT64_C(1) << next);
	if (is_already(p, offset, len))
		return true;
	got = b->last < 0 ? fetch_cache(d, p->backing, offset, len)
			  : fetch_piece(d, p->backing, offset, len);
	p->failed = got < 0;
	if (got <= 0)
		return false;
	fetched(p, offset, (uint64_t)got);
	service = dispatcher_now(d) - begun;
	if (b->last >= 0)
		observe_record(p->backing->device, p, b->last, (int)next, service);
	b->last = (int)next;
	b->service += service;
	b->brought++;
	return true;
}

/* Others' turn, if they wait and the slice is over. */
static void give_way(struct dispatcher *d, struct prefetch *p, struct batch *b)
{
	dispatcher_progress(d, &p->req, p->upto);
	if (b->left && dispatcher_gap(d, &p->req, dispatcher_now(d) - b->slice)) {
		b->slice = dispatcher_now(d);
		b->last = -1;
	}
}

/* N of them, one by one in the order in which they cost least; false: not all. */
static bool bring_alone(struct dispatcher *d, struct prefetch *p, struct batch *b, unsigned int n)
{
	while (n-- && b->left) {
		if (!goes_on(p) || !bring_record(d, p, b))
			return false;
		give_way(d, p, b);
	}
	return true;
}

/* The disk is asked for what is left, until MOST are under way. */
static void begin_records(struct prefetch *p, struct batch *b, int most)
{
	for (; b->left && __builtin_popcountll(b->begun) < most; b->left &= b->left - 1) {
		uint64_t len, offset = record_at(p, b, (unsigned)__builtin_ctzll(b->left), &len);

		if (is_already(p, offset, len))
			continue;
		fetch_begin(p->backing, offset, len);
		b->begun |= b->left & -b->left;
	}
}

/* Waits for the first N of those under way; false: not all of them came. */
static bool await_records(struct dispatcher *d, struct prefetch *p, struct batch *b, unsigned int n)
{
	bool all = true;

	for (; n && b->begun; n--, b->begun &= b->begun - 1) {
		uint64_t len, offset = record_at(p, b, (unsigned)__builtin_ctzll(b->begun), &len);
		ssize_t got = fetch_begun(d, p->backing, offset, len);

		p->failed |= got < 0;
		all &= got > 0;
		if (got > 0)
			fetched(p, offset, (uint64_t)got);
		b->brought++;
	}
	return all;
}

/*
 * A run of them, MOST under way at a time; false: not all. Those of the next runs are on their way when it
 * returns, and where others have their turn meanwhile.
 */
static bool bring_together(struct dispatcher *d, struct prefetch *p, struct batch *b, int most)
{
	uint64_t since = dispatcher_now(d);

	if (!goes_on(p))
		return false;
	begin_records(p, b, most);
	if (!await_records(d, p, b, ACCESS_RUN))
		return false;
	b->service += dispatcher_now(d) - since;
	b->last = -1;
	give_way(d, p, b);
	return true;
}

/* How the next N, a run or what is left of one, are brought; *TRIAL: that is tried only. */
static bool goes_together(struct prefetch *p, unsigned int n, bool *trial)
{
	struct device *device = p->backing->device;
	bool together, used;

	if (!backing_begins(p->backing))
		return *trial = false;
	lock_take(&device->evidence_lock);
	used = device->together.together;
	together = n < ACCESS_RUN ? used : access_together_next(&device->together, p->plan.step);
	lock_drop(&device->evidence_lock);
	*trial = together != used;
	return together;
}

static void observe_run(struct prefetch *p, const struct batch *b, bool together)
{
	struct device *device = p->backing->device;

	lock_take(&device->evidence_lock);
	access_together_observe(&device->together, p->plan.step, together, b->brought, b->service);
	lock_drop(&device->evidence_lock);
}

/* A run of them, in the way in which the device is faster; false: not all. */
static bool bring_run(struct dispatcher *d, struct prefetch *p, struct batch *b)
{
	unsigned int n = (unsigned int)__builtin_popcountll(b->left | b->begun);
	bool trial, together = goes_together(p, n, &trial), all;

	b->service = b->brought = 0;
	if (together)
		all = bring_together(d, p, b, trial ? ACCESS_RUN : ACCESS_UNDER_WAY);
	else
		all = await_records(d, p, b, ACCESS_PIECES) &&
		      bring_alone(d, p, b, n < ACCESS_RUN ? n : ACCESS_RUN);
	if (all && b->brought == ACCESS_RUN)
		observe_run(p, b, together);
	return all;
}

/* The records of a chunk, of which what lies between is left out. */
static void bring_records(struct dispatcher *d, struct prefetch *p, uint64_t slice)
{
	uint64_t step = p->plan.step, n = (p->plan.len + step - 1) / step;

	for (uint64_t i = 0; i < n; i += ACCESS_PIECES) {
		struct batch b = {.from = p->plan.offset + i * step, .last = -1, .slice = slice};

		b.left = n - i < ACCESS_PIECES ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0);
		while (b.left | b.begun)
			if (!bring_run(d, p, &b))
				return;
		slice = b.slice;
	}
	p->upto = end_of(p);
	readahead_arrived(p->io->engine, &p->plan, p->upto, dispatcher_now(d));
	dispatcher_progress(d, &p->req, p->upto);
}

/* ---- a turn ------------------------------------------------------------------------------ */

static void execute(struct dispatcher *d, struct sched_req *r)
{
	struct prefetch *p = CONTAINER_OF(r, struct prefetch, req);
	uint64_t slice = dispatcher_now(d); /* when the present one began */

	if (r->dropped || !backing_use(p->backing))
		return;
	shorten(d, p);
	device_began(p->backing->device, p->plan.len);
	start(d, p);
	if (p->plan.record)
		bring_records(d, p, slice);
	else
		bring_all(d, p, slice);
	backing_unuse(p->backing);
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	struct prefetch *p = CONTAINER_OF(r, struct prefetch, req);

	submit_next(p);
	leave(p);
}

static const struct sched_req_ops prefetch_ops = {
	.execute = execute,
	.finish = finish,
};
