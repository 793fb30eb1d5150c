/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The next chunk of a cursor. See plan.h. */
#include "readahead/plan.h"

#include "common/trace.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/rules.h"
#include "readahead/way.h"
#include "readahead/window.h"

/* The limits in force for one cursor now: its share of the memory bounds its window. */
static struct window_limits limits_now(struct readahead *ra, const struct readahead_tuning *t,
				       const struct readahead_read *read)
{
	uint64_t share = budget_share(&ra->budget);
	struct window_limits l = {
		.init = t->window_init,
		.max = t->window_max < share ? t->window_max : share,
		.chunk = read->chunk,
		.streams = read->streams,
	};

	if (l.init < 2 * l.chunk)
		l.init = 2 * l.chunk; /* one chunk in flight, one behind it */
	if (l.init > l.max)
		l.init = l.max;
	return l;
}

/*
 * C's window now, as learnt. Chunks may have grown since it opened: room for two, unless its file
 * wasted some.
 */
static uint64_t window_learnt(const struct window_limits *l, struct cursor *c)
{
	uint64_t window;

	if (!c->window)
		c->window = (uint32_t)window_open(l, c->file->penalty);
	window = c->window;
	if (!c->file->penalty && window < 2 * l->chunk)
		window = 2 * l->chunk;
	return window < l->max ? window : l->max;
}

/*
 * What the price leaves of WINDOW; 0: too little to be worth a seek. A chunk of L is cut to it.
 */
static uint64_t grant(struct readahead *ra, const struct readahead_tuning *t, struct cursor *c,
		      double price, struct window_limits *l, uint64_t window)
{
	double share;

	c->withheld = false;
	if (!t->priced || price <= 0)
		return window;
	share = effectiveness_share(price, evidence_effectiveness(ra, c->file));
	if (share >= 1)
		return window;
	window = (uint64_t)((double)window * share);
	if (window < t->chunk_min) {
		c->withheld = true;
		return 0;
	}
	if (l->chunk > window)
		l->chunk = window;
	return window;
}

/*
 * Where C's next chunk begins when its reader is beyond what was asked for: where his run began, or
 * where he is. What was asked for once is not asked for again.
 */
static uint64_t begin_anew(const struct readahead_tuning *t, const struct cursor *c,
			   const struct readahead_read *read)
{
	uint64_t from = c->ra_end ? read->offset : c->start;

	if (from > read->offset || read->offset - from > heuristic_near(t, read->len))
		from = read->offset;
	return from > c->ra_end ? from : c->ra_end;
}

/* The length of the chunk at FROM, 0: none now. */
static uint64_t length(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, struct cursor *c,
		       const struct readahead_read *read, uint64_t from)
{
	struct window_limits l = limits_now(ra, t, read);
	uint64_t window = t->rules->window ? t->rules->window(&l, c) : window_learnt(&l, c);
	uint64_t granted = grant(ra, t, c, read->price, &l, window);
	uint64_t len = granted ? window_next_chunk(&l, granted, c->next, from,
						   way_end(c->backward, read->size))
			       : 0;

	if (granted < window && (len || !granted))
		readahead_count(counters, READAHEAD_CURBED, 1);
	return from + len > c->next ? len : 0;
}

void plan_chunk(struct readahead *ra, const struct readahead_tuning *t,
		struct readahead_counters *counters, struct cursor *c,
		const struct readahead_read *read, struct readahead_plan *plan)
{
	bool anew = c->ra_end < c->next; /* the reader is beyond it */
	uint64_t from = anew ? begin_anew(t, c, read) : c->ra_end;
	uint64_t begin = way_begin(c->backward, read->size);
	uint64_t read_end = anew ? c->next : c->read_end, len, unread;

	if (c->queued)
		return;
	if (from < begin)
		from = begin; /* the file has become smaller */
	len = length(ra, t, counters, c, read, from);
	if (!len)
		return;
	/* some of it may have been read already, past a chunk that was cut short */
	unread = read_end > from ? read_end : from;
	unread = from + len > unread ? from + len - unread : 0;
	if (!budget_charge(&ra->budget, c, unread)) {
		readahead_count(counters, READAHEAD_REFUSED, 1);
		return;
	}
	c->read_end = read_end;
	if (anew)
		c->done_end = from;
	c->ra_end = from + len;
	c->queued = true;
	cursor_check(c);
	plan->cursor = heur_cursor_ref(&ra->table, c);
	plan->run = c->run;
	plan->backward = c->backward;
	plan->offset = way_from(c->backward, from, from + len);
	plan->len = len;
	plan->ahead = unread;
	trace(TRACE_PLAN, read->file, plan->offset, len, unread, c->window);
	readahead_count(counters, READAHEAD_CHUNKS, 1);
	readahead_count(counters, READAHEAD_PREFETCHED, unread);
}
