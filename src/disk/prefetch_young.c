/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The first chunk of a reader of whom it is not known how far he goes: it ends where he stops.
 *
 *   in one place   |#|#|#|#|#|#|#|#|###########...   short steps; behind one he is silent: that is all
 *   in pieces      |##|####|########|##########...   as much as goes by itself at once (first_read.h), then twice as much each:
 *                                                    pieces are worth the more the more are asked for together. But for what he
 *                                                    has asked for already, that is all: it costs him one turn more, beside the
 *                                                    seeks that a chunk in pieces has anyway
 *
 *   beside others  |##|                              as much as goes by itself at once, in one request; who reads on has a turn
 *                                                    for himself then (sched/flow_begin.c)
 *
 * Whose first READs brought all that he asked for, and who is silent when the chunk's turn comes, has none: once in a run, for
 * what he asks for then he has shown to want. Others may wait for a part of it: up to there it comes.
 */
#include "disk/prefetch_parts.h"
#include "readahead/first_read.h"
#include "sched/place.h"

_Static_assert(SHORT_CHUNK_MAX == FIRST_READS, "a beginning is what first READs bring");

#define YOUNG_STEP (UINT64_C(128) << 10)
/* The first step has as many bytes as take so long (ns). */
#define YOUNG_TIME UINT64_C(1000000)
/* Who has been silent for no longer than this (ns) may be about to ask. */
#define SILENCE_MIN UINT64_C(500000)
/* ... before his turn: that part of the time for which he waited for it, or this. */
#define SILENCE_SHARE	   16
#define SILENCE_BEFORE_MIN UINT64_C(2000000)

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t short_step(const struct prefetch *p)
{
	return p->step < YOUNG_STEP ? p->step : YOUNG_STEP;
}

/*
 * Not much longer than it takes to see whether he goes on. But of several disks side by side some would stand still, for each
 * seeks by itself: before it is known how fast they are it is half as long as any.
 */
static uint64_t first_in_place(struct dispatcher *d, const struct prefetch *p)
{
	struct cost_model cost = dispatcher_cost(d);
	uint64_t bytes = cost_run_bytes(&cost, YOUNG_TIME), least = short_step(p);

	if (bytes == 0)
		return longer(p->step / 2, least);
	if (bytes >= p->step)
		return 0;
	return bytes < least ? least : bytes - bytes % least;
}

uint64_t prefetch_young_first(struct dispatcher *d, const struct prefetch *p)
{
	return p->in_pieces || place_is_beginning(&p->req) ? FIRST_READS : first_in_place(d, p);
}

uint64_t prefetch_young_next(const struct prefetch *p, uint64_t len)
{
	return p->in_pieces ? 2 * len : short_step(p);
}

bool prefetch_cut(struct dispatcher *d, struct prefetch *p, uint64_t upto)
{
	uint64_t len = dispatcher_shorten(d, &p->req, upto - p->plan.offset);

	readahead_shorten(p->io->engine, &p->io->counters, &p->plan, len);
	return prefetch_end(p) <= upto;
}

/* Whether its reader has asked for nothing behind UPTO, nor for anything since SINCE. */
static bool is_silent(const struct prefetch *p, uint64_t since, uint64_t upto)
{
	return !readahead_reads_on(p->io->engine, &p->plan, since, upto);
}

bool prefetch_young_ends(struct dispatcher *d, struct prefetch *p, uint64_t from, uint64_t begun)
{
	uint64_t now = dispatcher_now(d), silence = longer((now - begun) / 2, SILENCE_MIN);

	if (p->upto == prefetch_end(p))
		return false;
	/* nobody waits for the disk behind who is alone, and on his way */
	if (p->in_pieces && dispatcher_streams(d) > 1)
		return is_silent(p, now, p->upto) && prefetch_cut(d, p, p->upto);
	return from > p->plan.offset && is_silent(p, now - silence, from) &&
	       prefetch_cut(d, p, p->upto);
}

/*
 * Whether the READs by which P's reader has come UPTO are answered, and he has been silent for a part of the time for which P
 * waited. One is on its way, or was a moment ago: he may be about to ask.
 */
static bool has_gone(struct dispatcher *d, const struct prefetch *p, uint64_t upto)
{
	uint64_t now = dispatcher_now(d), waited = now - p->req.submitted, since;

	since = now - longer(waited / SILENCE_SHARE, SILENCE_BEFORE_MIN);
	return atomic_load_explicit(&p->backing->demands, memory_order_acquire) == 0 &&
	       atomic_load_explicit(&p->backing->demand_end, memory_order_relaxed) <= since &&
	       is_silent(p, since, upto);
}

bool prefetch_is_over(struct dispatcher *d, struct prefetch *p)
{
	struct readahead *engine = p->io->engine;
	uint64_t there;

	if (!p->plan.young || !device_queues_demand(p->backing->device))
		return false;
	there = fetch_there_upto(p->backing, p->upto, p->plan.len);
	if (there == p->upto || there == prefetch_end(p) || !has_gone(d, p, there))
		return false;
	p->for_others = !prefetch_cut(d, p, there);
	if (p->for_others)
		return false;
	readahead_already(engine, &p->io->counters, &p->plan, p->upto, there);
	readahead_arrived(engine, &p->plan, there, dispatcher_now(d));
	p->upto = there;
	return true;
}
