/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A chunk of records a step apart, of which what lies between is left out: one after the other in the order in which
 * they cost the disk least (sched/access_order.h), or many under way, where it is faster so (sched/access_together.h).
 *
 *   disk     | 9 ....... | 6 ....... | 3 ...
 *   asked    9, 6        3           0           the one behind is at the disk before the first has come: no time is
 *                                                lost between them, and the disk turns no further meanwhile
 */
#include "disk/prefetch_parts.h"

/* Up to ACCESS_PIECES records of a chunk, of which what lies between is left out. */
struct batch {
	uint64_t from;	  /* where record 0 is in the file */
	uint64_t left;	  /* bit i: record i is to come */
	uint64_t begun;	  /* ... the disk was asked for it */
	int last;	  /* the record that the disk read before; -1: something else */
	int behind;	  /* ... that it reads next, by the order; -1: none was asked for */
	bool shared;	  /* others had their turn in between */
	uint64_t came;	  /* ns: when the last one came */
	uint64_t slice;	  /* ns: when the turn's present slice began */
	uint64_t service; /* ns: what the records of a run took */
	uint32_t brought; /* ... how many came from the disk */
};

static uint64_t record_at(const struct prefetch *p, const struct batch *b, unsigned int i,
			  uint64_t *len)
{
	uint64_t offset = b->from + i * p->plan.step, left = prefetch_end(p) - offset;

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

/* The record that costs least behind LAST. */
static unsigned int next_of(struct device *device, const struct batch *b, int last)
{
	unsigned int next;

	lock_take(&device->evidence.lock);
	next = access_order_next(&device->evidence.records, b->left, last);
	lock_drop(&device->evidence.lock);
	return next;
}

static void observe_record(struct device *device, const struct prefetch *p, int last, int next,
			   uint64_t took)
{
	lock_take(&device->evidence.lock);
	access_order_observe(&device->evidence.records, p->plan.step, last, next, took);
	lock_drop(&device->evidence.lock);
}

/* The one behind LAST, by the order, that is not there: it is not left any more. -1: none is. */
static int take_next(struct prefetch *p, struct batch *b, int last)
{
	while (b->left) {
		unsigned int next = next_of(p->backing->device, b, last);
		uint64_t len, offset = record_at(p, b, next, &len);

		b->left &= ~(UINT64_C(1) << next);
		if (!is_already(p, offset, len))
			return (int)next;
	}
	return -1;
}

/* The disk is asked for record I. */
static void begin_record(struct prefetch *p, struct batch *b, unsigned int i)
{
	uint64_t len, offset = record_at(p, b, i, &len);

	fetch_begin(p->backing, offset, len);
	b->begun |= UINT64_C(1) << i;
}

/*
 * The disk is asked for record I and for the one behind it. Not where what I takes is a seek from something else, and
 * observed as that; nor where others wait for their turns, who would wait for one more.
 */
static void begin_two(struct prefetch *p, struct batch *b, int i)
{
	b->behind = -1;
	if (b->last < 0 || b->shared || !backing_begins(p->backing))
		return;
	if (!(b->begun >> i & 1))
		begin_record(p, b, (unsigned int)i);
	b->behind = take_next(p, b, i);
	if (b->behind >= 0)
		begin_record(p, b, (unsigned int)b->behind);
}

/* Waits for record I, or brings it. As fetch_piece(). */
static ssize_t fetch_record(struct dispatcher *d, struct prefetch *p, struct batch *b, int i)
{
	uint64_t len, offset = record_at(p, b, (unsigned int)i, &len);
	ssize_t got;

	if (b->begun >> i & 1)
		got = fetch_begun(d, p->backing, offset, len);
	else if (b->last < 0)
		got = fetch_cache(d, p->backing, offset, len);
	else
		got = fetch_piece(d, p->backing, offset, len);
	b->begun &= ~(UINT64_C(1) << i);
	if (got > 0)
		prefetch_fetched(p, offset, (uint64_t)got);
	return got;
}

/* The next one that is not there; false: error or end of file. */
static bool bring_record(struct dispatcher *d, struct prefetch *p, struct batch *b)
{
	int next = b->behind >= 0 ? b->behind : take_next(p, b, b->last);
	uint64_t begun = dispatcher_now(d), now;
	ssize_t got;

	if (next < 0)
		return true;
	begin_two(p, b, next);
	got = fetch_record(d, p, b, next);
	p->failed = got < 0;
	if (got <= 0)
		return false;
	now = dispatcher_now(d);
	if (b->last >= 0)
		observe_record(p->backing->device, p, b->last, next, now - b->came);
	b->last = next;
	b->came = now;
	b->service += now - begun;
	b->brought++;
	return true;
}

/* Who waits for one before the first that is missing has it now. */
static void tell_arrived(struct dispatcher *d, struct prefetch *p, const struct batch *b)
{
	uint64_t missing = b->left | b->begun;
	unsigned int there = missing ? (unsigned int)__builtin_ctzll(missing) : ACCESS_PIECES;
	uint64_t upto = b->from + there * p->plan.step;

	if (upto > prefetch_end(p))
		upto = prefetch_end(p);
	if (upto > p->upto) {
		p->upto = upto;
		readahead_arrived(p->io->engine, &p->plan, upto, dispatcher_now(d));
	}
	dispatcher_progress(d, &p->req, p->upto);
}

/* Others' turn, if they wait and the slice is over. */
static void give_way(struct dispatcher *d, struct prefetch *p, struct batch *b)
{
	tell_arrived(d, p, b);
	if (b->left && dispatcher_gap_since(d, &p->req, &b->slice)) {
		b->last = -1;
		b->shared = true;
	}
}

/* N of them, one after the other in the order in which they cost least; false: not all. */
static bool bring_alone(struct dispatcher *d, struct prefetch *p, struct batch *b, unsigned int n)
{
	while (n-- && (b->left | b->begun)) {
		if (!prefetch_goes_on(p) || !bring_record(d, p, b))
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
		begin_record(p, b, (unsigned)__builtin_ctzll(b->left));
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
			prefetch_fetched(p, offset, (uint64_t)got);
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

	if (!prefetch_goes_on(p))
		return false;
	begin_records(p, b, most);
	b->behind = -1;
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
	lock_take(&device->evidence.lock);
	used = device->evidence.together.together;
	together = n < ACCESS_RUN ? used
				  : access_together_next(&device->evidence.together, p->plan.step);
	lock_drop(&device->evidence.lock);
	*trial = together != used;
	return together;
}

static void observe_run(struct prefetch *p, const struct batch *b, bool together)
{
	struct device *device = p->backing->device;

	lock_take(&device->evidence.lock);
	access_together_observe(&device->evidence.together, p->plan.step, together, b->brought,
				b->service);
	lock_drop(&device->evidence.lock);
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
		all = (b->behind >= 0 || await_records(d, p, b, ACCESS_PIECES)) &&
		      bring_alone(d, p, b, n < ACCESS_RUN ? n : ACCESS_RUN);
	if (all && b->brought == ACCESS_RUN)
		observe_run(p, b, together);
	return all;
}

void prefetch_records(struct dispatcher *d, struct prefetch *p, uint64_t slice)
{
	uint64_t step = p->plan.step, n = (p->plan.len + step - 1) / step;

	for (uint64_t i = 0; i < n; i += ACCESS_PIECES) {
		struct batch b = {.from = p->plan.offset + i * step,
				  .last = -1,
				  .behind = -1,
				  .slice = slice};

		b.left = n - i < ACCESS_PIECES ? (UINT64_C(1) << (n - i)) - 1 : ~UINT64_C(0);
		while (b.left | b.begun)
			if (!bring_run(d, p, &b))
				return;
		slice = b.slice;
		tell_arrived(d, p, &b);
	}
}
