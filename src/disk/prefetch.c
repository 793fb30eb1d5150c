/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bringing data into the page cache, ahead of a reader or for one. See prefetch.h. */
#include "disk/prefetch.h"

#include <assert.h>
#include <stdlib.h>

#include "common/container.h"
#include "disk/prefetch_parts.h"
#include "disk/scratch.h"
#include "readahead/first_read.h"

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

/*
 * Whether a drive that takes several requests in an order of its own should have P's pieces together with those of other
 * streams: where seeks take a quarter of its time. Of one stream's pieces there is ever less to choose from, and its seeks
 * become longer than those of readers who ask by themselves. IF_FEW: as for is_resident(). With a use.
 */
static bool is_in_pieces(struct prefetch *p, bool if_few)
{
	struct dispatcher *d = &p->backing->device->dispatcher;
	struct cost_model cost;
	uint64_t seek, time, reach;

	if (p->plan.record || p->plan.way != WAY_FORWARD || dispatcher_streams(d) < 2 ||
	    !device_queues_demand(p->backing->device))
		return false;
	cost = dispatcher_cost(d);
	seek = cost_among_bytes(&cost);
	time = p->plan.len + seek;
	reach = if_few ? backing_reach_if_few(p->backing, p->plan.offset, time, seek)
		       : backing_reach(p->backing, p->plan.offset, time, seek);
	return reach <= time - time / 4;
}

/* Of what lies in one place a turn would have twice the bytes at least that it has, REACH of TURN. */
static bool is_mostly_seeks(uint64_t reach, uint64_t turn)
{
	return reach <= turn / 2;
}

bool prefetch_whole_begins(const struct readahead_plan *plan, struct backing *b)
{
	struct cost_model cost;
	uint64_t seek;
	bool begins;

	if (!plan->young || !device_queues_demand(b->device) || !backing_use(b))
		return false;
	cost = dispatcher_cost(&b->device->dispatcher);
	seek = cost_among_bytes(&cost);
	begins = !backing_resident(b, plan->offset, plan->len) &&
		 is_mostly_seeks(backing_reach_if_few(b, plan->offset, plan->len, seek), plan->len);
	backing_unuse(b);
	return begins;
}

/*
 * Whether all of it is in memory already; else says where it is on the disk; IF_FEW: as far as that is known, where many
 * threads ask the file system. With a use.
 */
static bool is_resident(struct prefetch *p, bool if_few)
{
	struct readahead *engine = p->io->engine;

	if (backing_resident(p->backing, p->plan.offset, p->plan.len)) {
		p->upto = prefetch_end(p);
		readahead_already(engine, &p->io->counters, &p->plan, p->plan.offset,
				  prefetch_end(p));
		readahead_arrived(engine, &p->plan, p->upto,
				  dispatcher_now(&p->backing->device->dispatcher));
		return true;
	}
	p->req.block = if_few ? backing_block_if_few(p->backing, p->plan.offset)
			      : backing_block(p->backing, p->plan.offset);
	p->req.pieces = is_in_pieces(p, if_few);
	return false;
}

/*
 * Whether P's reader, who has not asked for all of its beginning yet, may want no more than that, and the rest is worth a turn
 * of its own, should he: it takes longer than the seek to it.
 */
static bool may_be_beginning(const struct prefetch *p)
{
	uint64_t rest = p->plan.len > FIRST_READS ? p->plan.len - FIRST_READS : 0;
	uint64_t asked = p->plan.len - p->plan.ahead;

	return p->plan.young && p->plan.way == WAY_FORWARD && asked < FIRST_READS &&
	       rest > dispatcher_seek_bytes(&p->backing->device->dispatcher);
}

/* IF_FEW: by a thread that is not to wait for the disk itself. */
static void submit(struct prefetch *p, bool if_few)
{
	bool wanted = false;

	if (p == NULL)
		return;
	if (backing_use(p->backing)) {
		wanted = prefetch_is_worth(p) && !is_resident(p, if_few);
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
	p->req.young = may_be_beginning(p);
	if (p->plan.begins && p->plan.offset == 0 && !device_joins_only(p->backing->device))
		p->req.by_reads = FIRST_READS_OWN;
	p->req.owner = p->plan.cursor.index + 1;
	if (dispatcher_submit(&p->backing->device->dispatcher, &p->req) != SCHED_ADDED)
		leave(p);
}

void prefetch_submit(struct prefetch *p)
{
	submit(p, true);
}

/* Slices of which the disk is asked for all at once: as seldom as that gaps open. */
#define TOGETHER_SLICES 2

/*
 * Bytes that P should have for its turn now. A turn is a time: of a file that lies in pieces, where others wait for
 * theirs, it has as many of these as the disk comes to meanwhile. Where that is mostly seeks it is asked for together.
 */
static uint64_t turn_of(struct dispatcher *d, struct prefetch *p)
{
	uint64_t turn = device_chunk(p->backing->device, dispatcher_chunk_of(d, &p->req), p->step),
		 reach;
	struct sched_limits limits;
	struct cost_model cost;
	uint64_t slices;

	p->in_pieces = false;
	p->together = 0;
	if (p->plan.record || !device_queues_demand(p->backing->device))
		return turn;
	cost = dispatcher_cost(d);
	limits = dispatcher_limits(d);
	slices = TOGETHER_SLICES * cost_slice_bytes(&cost, &limits.cost);
	p->seek = cost_among_bytes(&cost);
	reach = backing_reach(p->backing, p->plan.offset, turn, p->seek);
	p->in_pieces = is_mostly_seeks(reach, turn);
	/* beside others' chunks theirs would come between steps */
	if (p->req.pieces || (p->in_pieces && (!p->plan.young || dispatcher_streams(d) > 1)))
		p->together = slices;
	if (dispatcher_streams(d) < 2)
		return turn;
	if (p->in_pieces && slices < TOGETHER_SLICES * turn)
		reach = backing_reach(p->backing, p->plan.offset, slices, p->seek);
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
	uint64_t turn = turn_of(d, p), most = turn + turn / 2, len;

	if (p->plan.way == WAY_FORWARD && p->plan.len > most &&
	    readahead_may_shorten(p->io->engine, &p->plan)) {
		len = dispatcher_shorten(d, &p->req, turn);
		readahead_shorten(p->io->engine, &p->io->counters, &p->plan, len);
	}
}

/* By the dispatcher's thread that has P, which may ask: who reads on finds the map that it fills. */
static void submit_next(struct prefetch *p)
{
	struct prefetch *next = p->next;

	p->next = NULL;
	submit(next, false);
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
				    .client = p->req.flow.client,
				    .has_floor = p->req.has_floor};
	struct readahead_tuning tuning;
	struct readahead_plan next;

	export_io_tuning(p->io, &tuning);
	prefetch_ask_device(&at, p->backing);
	if (p->for_others)
		tuning.window_max = 0; /* nothing is planned behind it */
	readahead_started(p->io->engine, &tuning, &p->io->counters, &p->plan, &at, &next);
	p->started = true;
	if (next.len)
		p->next = prefetch_new(p->io, p->backing, &next, p->step, p->req.flow);
	if (!device_is_written(p->backing->device))
		submit_next(p);
}

/*
 * Brings up to N bytes from p->upto on into memory, if they are not: a request of STEPS, or of any length, 0. False: error or
 * end of file.
 */
static bool step(struct dispatcher *d, struct prefetch *p, struct fetch_chunk *c, uint64_t n,
		 uint32_t steps)
{
	struct readahead *engine = p->io->engine;
	uint64_t begun = steps ? dispatcher_now(d) : 0;
	bool already;
	ssize_t got = fetch_chunk_next(c, p->upto, n, &already);

	p->failed = got < 0;
	if (got <= 0)
		return false;
	if (steps && c->pure && (uint64_t)got == n)
		device_stepped(p->backing->device, steps, n, dispatcher_now(d) - begun);
	if (already)
		readahead_already(engine, &p->io->counters, &p->plan, p->upto,
				  p->upto + (uint64_t)got);
	else
		prefetch_fetched(p, p->upto, (uint64_t)got);
	p->upto += (uint64_t)got;
	readahead_arrived(engine, &p->plan, p->upto, dispatcher_now(d));
	dispatcher_progress(d, &p->req, p->upto);
	return true;
}

/*
 * Whether its reader has stopped, who may have wanted no more than he had: he has asked for nothing since the step before
 * the last one was there, at SINCE (0: there is none). What the disk was asked for comes, and counts, all the same.
 */
static bool has_stopped(const struct prefetch *p, uint64_t since)
{
	return p->plan.young && since &&
	       !readahead_reads_on(p->io->engine, &p->plan, since, UINT64_MAX);
}

/* Whether its reader goes on, as far as is known: behind two steps his silence would have shown (bring()). */
static bool is_sure(const struct prefetch *p)
{
	return !p->plan.young || p->upto - p->plan.offset >= 2 * p->step;
}

/*
 * How much of the LEFT bytes of P comes next: where the file lies in pieces, whole ones. Of one that is asked for in two
 * steps the drive would read the second part first, or another piece in between. *STEPS: a request of so many; 0: it is of
 * any length.
 */
static uint64_t step_of(struct prefetch *p, uint64_t left, uint32_t *steps)
{
	uint64_t step = p->step, most, len;

	*steps = 0;
	if (p->in_pieces && p->plan.young) /* it should be seen soon that he has stopped */
		return left < p->step ? left : p->step;
	if (is_sure(p))
		step = device_step(p->backing->device, p->step, steps);
	most = step + step / 2;
	if (left <= most)
		most = left;
	len = backing_whole(p->backing, p->upto, most);
	if (len >= most && most != left)
		return step;
	if (len != step)
		*steps = 0;
	return len;
}

/* What is behind p->upto, in steps, asked for as C says, in a turn whose present slice began at *SLICE. */
static void bring(struct dispatcher *d, struct prefetch *p, struct fetch_chunk *c, uint64_t end,
		  uint64_t *slice)
{
	uint64_t there = 0;

	while (p->upto < end && prefetch_goes_on(p)) {
		uint32_t steps;
		uint64_t next = step_of(p, end - p->upto, &steps);

		if (next == prefetch_end(p) - p->upto && fetch_chunk_is_asked(c))
			submit_next(p);
		if (!step(d, p, c, next, steps))
			break;
		if (p->upto < end && has_stopped(p, there) && !fetch_chunk_comes(c, p->upto)) {
			if (prefetch_cut(d, p, p->upto))
				break;
			if (end > prefetch_end(p))
				end = prefetch_end(p);
		}
		there = dispatcher_now(d);
		if (p->upto < prefetch_end(p) && dispatcher_gap_since(d, &p->req, slice))
			fetch_chunk_disturbed(c);
	}
	fetch_chunk_end(c);
}

/* ---- for a reader who may want no more than he has asked for (prefetch_young.c) ----------- */

/*
 * The disk is asked for LEN bytes; how many are to come. What so few take says little of the disk: who learnt from them how
 * long a seek takes would make chunks too short.
 */
static uint64_t begin_some(struct dispatcher *d, struct prefetch *p, struct fetch_chunk *c,
			   uint64_t len)
{
	if (len > prefetch_end(p) - p->upto)
		len = prefetch_end(p) - p->upto;
	fetch_chunk_short(c, d, p->backing, p->upto, len);
	return len;
}

/*
 * The beginning; false: that is all, for he is silent. Where others write to the disk, theirs would come between the steps,
 * with two seeks: there it is as any chunk. So it is of a FSAL that can only be asked and waited for.
 */
static bool bring_young(struct dispatcher *d, struct prefetch *p, uint64_t *slice)
{
	uint64_t begin = p->upto, most;
	struct fetch_chunk chunk;

	if (device_is_written(p->backing->device) || !backing_begins(p->backing))
		return true;
	most = prefetch_young_first(d, p);
	while (most != 0 && p->upto < begin + PREFETCH_YOUNG && prefetch_goes_on(p)) {
		uint64_t from = p->upto, begun = dispatcher_now(d);
		uint64_t len = begin_some(d, p, &chunk, most);

		bring(d, p, &chunk, from + len, slice);
		if (p->upto < from + len || prefetch_young_ends(d, p, from, begun))
			return false;
		most = prefetch_young_next(p, len);
	}
	return true;
}

/* ---- a chunk ----------------------------------------------------------------------------- */

/* All of it, in a turn whose present slice began at SLICE. */
static void bring_all(struct dispatcher *d, struct prefetch *p, uint64_t slice)
{
	struct fetch_chunk chunk;
	uint64_t len;

	if (p->plan.young && !bring_young(d, p, &slice))
		return;
	len = prefetch_end(p) - p->upto;
	if (len == 0)
		return;
	if (p->together)
		fetch_chunk_together(&chunk, d, p->backing, p->upto, len, p->together, p->seek);
	else
		fetch_chunk_begin(&chunk, d, p->backing, p->upto, len);
	if (p->req.scattered)
		fetch_chunk_beside(&chunk);
	bring(d, p, &chunk, prefetch_end(p), &slice);
}

/* ---- a turn ------------------------------------------------------------------------------ */

static void execute(struct dispatcher *d, struct sched_req *r)
{
	struct prefetch *p = CONTAINER_OF(r, struct prefetch, req);
	uint64_t slice = dispatcher_now(d); /* when the present one began */

	if (r->dropped || !backing_use(p->backing))
		return;
	if (!prefetch_is_over(d, p)) {
		shorten(d, p);
		device_began(p->backing->device, p->plan.len);
		start(d, p);
		if (p->plan.record)
			prefetch_records(d, p, slice);
		else
			bring_all(d, p, slice);
	}
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
