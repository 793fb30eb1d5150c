/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The next chunk of a cursor. See plan.h. */
#include "readahead/plan.h"

#include "common/trace.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/rules.h"
#include "readahead/way.h"
#include "readahead/window.h"

/* Reads that pass over as much each, and are not believed yet. */
#define PACES 8
/* Records of a chunk at least. */
#define RECORDS_MIN 32
/* Bytes of a file that a window of records spans at most. */
#define SPACE_MAX (UINT64_C(1) << 31)

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
	uint64_t young = PACES * (uint64_t)c->gap + heuristic_near(t, read->len);

	if (from > read->offset || read->offset - from > young)
		from = read->offset;
	return from > c->ra_end ? from : c->ra_end;
}

/* Whether what lies between C's records is left out. */
static bool is_sparse(const struct cursor *c)
{
	return c->way == WAY_STRIDE && c->record < c->step;
}

/*
 * Of single records as many as the disk can put in an order of its own (sched/access_order.h): windows
 * and chunks are the space that they lie in, and hold as many bytes as any others at most.
 */
static void widen(struct window_limits *l, const struct cursor *c)
{
	uint64_t chunk = RECORDS_MIN * c->step, per = c->step / c->record;

	l->max = l->max < SPACE_MAX / per ? l->max * per : SPACE_MAX;
	l->chunk = l->chunk > chunk ? l->chunk : chunk;
	if (l->chunk > l->max / 2)
		l->chunk = l->max / 2;
	l->init = 2 * l->chunk;
}

/* LEN bytes from FROM on end between two of C's records, or at END. */
static uint64_t whole_records(const struct cursor *c, uint64_t from, uint64_t len, uint64_t end)
{
	uint64_t rest = (from + len - c->phase) % c->step;

	if (!len || from + len >= end)
		return len;
	return rest < len ? len - rest : 0;
}

/* The length of the chunk at FROM, 0: none now. */
static uint64_t length(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, struct cursor *c,
		       const struct readahead_read *read, uint64_t from)
{
	struct window_limits l = limits_now(ra, t, read);
	uint64_t end = way_end(c->way, read->size), window, granted, len;

	if (is_sparse(c))
		widen(&l, c);
	window = t->rules->window ? t->rules->window(&l, c) : window_learnt(&l, c);
	granted = grant(ra, t, c, read->price, &l, window);
	len = granted ? window_next_chunk(&l, granted, c->next, from, end) : 0;
	if (c->way == WAY_STRIDE)
		len = whole_records(c, from, len, end);
	if (granted < window && (len || !granted))
		readahead_count(counters, READAHEAD_CURBED, 1);
	return from + len > c->next ? len : 0;
}

/* *PLAN is to fetch C's LEN bytes from FROM on, of which UNREAD are ahead of its reader. */
static void describe(struct readahead *ra, const struct cursor *c,
		     const struct readahead_read *read, uint64_t from, uint64_t len,
		     uint64_t unread, struct readahead_plan *plan)
{
	plan->cursor = heur_cursor_ref(&ra->table, c);
	plan->run = c->run;
	plan->way = c->way;
	plan->offset = way_offset(c->way, from, from + len);
	plan->len = len;
	plan->ahead = unread;
	if (is_sparse(c)) {
		plan->record = c->record;
		plan->step = c->step;
	}
	trace(TRACE_PLAN, read->file, read->client, plan->offset, len, unread, c->window);
}

void plan_chunk(struct readahead *ra, const struct readahead_tuning *t,
		struct readahead_counters *counters, struct cursor *c,
		const struct readahead_read *read, struct readahead_plan *plan)
{
	bool anew = c->ra_end < c->next; /* the reader is beyond it */
	uint64_t from = anew ? begin_anew(t, c, read) : c->ra_end;
	uint64_t begin = way_begin(c->way, read->size);
	uint64_t read_end = anew ? c->next : c->read_end, len, unread, bytes;

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
	bytes = cursor_bytes(c, from + len - unread, from + len);
	if (!budget_charge(&ra->budget, c, bytes)) {
		readahead_count(counters, READAHEAD_REFUSED, 1);
		return;
	}
	c->read_end = read_end;
	if (anew)
		c->done_end = from;
	c->ra_end = from + len;
	c->queued = true;
	cursor_check(c);
	describe(ra, c, read, from, len, unread, plan);
	readahead_count(counters, READAHEAD_CHUNKS, 1);
	readahead_count(counters, READAHEAD_PREFETCHED, bytes);
}
