/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A prefetch: one chunk of a file, read into the page cache by a dispatcher thread.
 *
 * It is read in steps with pread into a buffer that is thrown away, through a descriptor without
 * kernel read-ahead: that brings exactly these bytes, and says when they are there, which
 * readahead(2) does not. Readers waiting for a step are answered at once. The plan behind a chunk is
 * queued when the chunk starts, so that a stream has one chunk at the disk and one behind it.
 *
 * A failed prefetch is counted and forgotten; the reader meets the error itself, as without us.
 */
#include <errno.h>
#include <unistd.h>

#include "io.h"
#include "ra_methods.h"

struct chunk {
	struct sched_req req;
	struct export_io *io;
	struct backing *backing;
	struct readahead_plan plan;
	uint64_t step;
	bool started;
	bool failed;
	uint64_t upto;
};

static const struct sched_req_ops chunk_ops;

struct chunk *chunk_new(struct export_io *io, struct backing *b, const struct readahead_plan *plan,
			uint64_t step)
{
	struct chunk *c = gsh_calloc(1, sizeof(*c));

	c->io = export_io_ref(io);
	c->backing = backing_hold(b);
	c->plan = *plan;
	c->upto = plan->offset;
	c->step = step;
	return c;
}

static void chunk_free(struct chunk *c)
{
	readahead_finished(ra_engine, &c->io->counters, &c->plan, c->upto, c->started, c->failed);
	backing_release(c->backing);
	export_io_put(c->io);
	gsh_free(c);
}

/* Ends a chunk that has entered its export. */
static void chunk_leave(struct chunk *c)
{
	struct export_io *io = export_io_ref(c->io);

	chunk_free(c);
	export_io_leave(io);
	export_io_put(io);
}

static uint64_t end_of(const struct chunk *c)
{
	return c->plan.offset + c->plan.len;
}

/* Whether all of it is in memory already; else says where it is on the disk. With a use. */
static bool chunk_resident(struct chunk *c)
{
	if (backing_resident(c->backing, c->plan.offset, c->plan.len)) {
		c->upto = end_of(c);
		readahead_already(ra_engine, &c->io->counters, &c->plan, c->plan.offset, end_of(c));
		readahead_arrived(ra_engine, &c->plan, c->upto, clock_now());
		return true;
	}
	c->req.block = backing_block(c->backing, c->plan.offset);
	return false;
}

void chunk_submit(struct chunk *c)
{
	struct dispatcher *d = &c->backing->device->dispatcher;
	bool wanted = false;

	if (backing_use(c->backing)) {
		wanted = !chunk_resident(c);
		backing_unuse(c->backing);
	}
	if (!wanted || !export_io_enter(c->io)) {
		chunk_free(c);
		return;
	}
	c->req.ops = &chunk_ops;
	c->req.class = SCHED_PREFETCH;
	c->req.file = c->backing->file;
	c->req.offset = c->plan.offset;
	c->req.len = c->plan.len;
	c->req.owner = c->plan.cursor.index + 1;
	if (dispatcher_submit(d, &c->req) != SCHED_ADDED)
		chunk_leave(c);
}

/*
 * A chunk planned when few streams competed is too long a turn once there are many: what the disk
 * wants now counts. The rest is planned anew behind it.
 */
static void shorten(struct dispatcher *d, struct chunk *c)
{
	uint64_t turn = dispatcher_chunk(d), len;

	if (c->plan.len <= turn + turn / 2)
		return;
	len = dispatcher_shorten(d, &c->req, turn);
	readahead_shorten(ra_engine, &c->io->counters, &c->plan, len);
}

/* Tells the engine that the chunk goes to the disk, and queues what it wants behind it. */
static void start(struct dispatcher *d, struct chunk *c)
{
	struct readahead_read at = {.now = clock_now(),
				    .size = backing_refresh_size(c->backing),
				    .chunk = dispatcher_chunk(d),
				    .streams = dispatcher_streams(d),
				    .price = board_readahead_price(&c->backing->device->prices)};
	struct readahead_tuning tuning;
	struct readahead_plan next;

	export_io_tuning(c->io, &tuning);
	readahead_started(ra_engine, &tuning, &c->io->counters, &c->plan, &at, &next);
	c->started = true;
	if (next.len)
		chunk_submit(chunk_new(c->io, c->backing, &next, c->step));
}

static void chunk_execute(struct dispatcher *d, struct sched_req *r)
{
	struct chunk *c = container_of(r, struct chunk, req);
	char *buffer = ra_scratch(c->step);
	uint64_t slice = clock_now(); /* when the present one began */

	if (r->dropped || buffer == NULL || !backing_use(c->backing))
		return;
	shorten(d, c);
	start(d, c);
	while (c->upto < end_of(c) && !atomic_load(&c->backing->gone) &&
	       !atomic_load(&c->io->closing)) {
		uint64_t left = end_of(c) - c->upto, begun, n = left < c->step ? left : c->step;
		ssize_t got;

		if (!backing_resident(c->backing, c->upto, n)) {
			begun = clock_now();
			got = pread(c->backing->fd, buffer, n, (off_t)c->upto);
			if (got < 0)
				c->failed = true;
			if (got <= 0)
				break;
			dispatcher_observe(d, r->block + (c->upto - r->offset), (uint64_t)got,
					   clock_now() - begun);
			n = (uint64_t)got;
		} else {
			readahead_already(ra_engine, &c->io->counters, &c->plan, c->upto,
					  c->upto + n);
		}
		c->upto += n;
		readahead_arrived(ra_engine, &c->plan, c->upto, clock_now());
		dispatcher_progress(d, r, c->upto);
		if (c->upto < end_of(c) && dispatcher_gap(d, clock_now() - slice)) {
			buffer = ra_scratch(c->step); /* a demand read may have had it replaced */
			slice = clock_now();
		}
	}
	backing_unuse(c->backing);
}

static void chunk_finish(struct dispatcher *d, struct sched_req *r)
{
	struct chunk *c = container_of(r, struct chunk, req);

	device_learn(c->backing->device);
	chunk_leave(c);
}

static const struct sched_req_ops chunk_ops = {
	.execute = chunk_execute,
	.finish = chunk_finish,
};
