/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The next chunk of a cursor. See plan.h. */
#include "readahead/plan.h"

#include "common/trace.h"
#include "readahead/beside.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/rules.h"
#include "readahead/run_lengths.h"
#include "readahead/way.h"
#include "readahead/window.h"
#include "readahead/young.h"

/* Reads that pass over as much each, and are not believed yet. */
#define PACES 8
/* Records of a chunk at least. */
#define RECORDS_MIN 64
/* ... of all streams that compete together, at a seek each: beyond 64 streams each has fewer. */
#define RECORDS_ALL 4096
/* ... of the first chunk, before any that was fetched was read: of readers who begin a step apart there may be many. */
#define RECORDS_FIRST 4
/* Bytes of a file that a window of records spans at most. */
#define SPACE_MAX (UINT64_C(1) << 31)
/* The last chunk of a backward reader is this part of one. */
#define TAIL_SHARE 8
/* Chunks of one cursor that wait in the queue at most. */
#define QUEUED_MAX 16
/* A file's rest that is fetched anyway, where it is not known what a seek costs. */
#define REST_MAX (UINT64_C(1) << 20)
/* No position. */
#define NOWHERE UINT64_MAX

/* A chunk as long as the disk wants it, or as what is left of the memory allows. */
static uint64_t chunk_now(const struct readahead *ra, const struct readahead_tuning *t,
			  const struct readahead_read *read)
{
	uint64_t room = budget_chunk(&ra->budget);

	if (room < t->chunk_min)
		room = t->chunk_min;
	return read->chunk < room ? read->chunk : room;
}

/*
 * Bytes that C comes to in half of the time for which what is fetched stays there: more ahead of it would be fetched in vain, and
 * again. Four requests in any case: a chunk is half of that, and so reaches beyond the READ that asks for it, for only what
 * is fetched and read then tells how fast C comes on.
 */
static uint64_t within_age(const struct cursor *c, const struct readahead_read *read)
{
	uint64_t bytes = cursor_comes_to(c, read->kept / 2), least = 4 * (uint64_t)read->len;

	if (read->kept == 0)
		return UINT64_MAX;
	return bytes > least ? bytes : least;
}

/* Whether more than C has come to waits for it already: until then nobody knows how long it will wait. */
static bool may_wait_long(const struct cursor *c, const struct readahead_read *read)
{
	return read->kept != 0 && c->ra_end - c->next > c->next - c->start;
}

/* The limits in force for one cursor now: its share of the memory bounds its window. */
static struct window_limits limits_now(struct readahead *ra, const struct readahead_tuning *t,
				       const struct cursor *c, const struct readahead_read *read)
{
	uint64_t share = budget_share(&ra->budget, c->reader), reach = within_age(c, read);
	struct window_limits l = {
		.init = t->window_init,
		.max = t->window_max < share ? t->window_max : share,
		.chunk = chunk_now(ra, t, read),
		.streams = read->streams,
	};

	if (l.max > reach)
		l.max = reach;
	if (l.chunk > reach / 2)
		l.chunk = reach / 2;
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

	if (!c->window && l->max)
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
 * Who has a floor is served little at a time, and often: chunks of L so long that two of his fit in what is GRANTED. Who
 * comes to the end of one before the next one waits has lost his turn.
 */
static void fit_two(const struct readahead_tuning *t, struct window_limits *l, uint64_t granted)
{
	uint64_t half = granted / 2 - granted / 2 % CHUNK_ALIGN;

	if (l->chunk > half && half >= t->chunk_min)
		l->chunk = half;
}

/* Whether C's reader has passed all from where what was asked for ends up to READ, its last: so little that it may come yet. */
static bool may_be_late(const struct cursor *c, const struct readahead_read *read)
{
	uint64_t passed = read->offset - c->ra_end, n = passed / read->len;
	uint32_t all;

	if (!c->ra_end || c->way != WAY_FORWARD || c->pace > 1 || read->offset <= c->ra_end ||
	    passed % read->len != 0 || n > CURSOR_LATE_MAX || c->next != read->offset + read->len ||
	    passed + read->len >= read->chunk)
		return false;
	all = (UINT32_C(1) << n) - 1;
	return (c->missing >> 1 & all) == all;
}

/*
 * Where C's next chunk begins when its reader is beyond what was asked for: where his run began, or
 * where he is. What was asked for once is not asked for again, nor is a seek worth the little that he left out. But what he
 * passed just behind it, of which nobody has asked yet, may only be late.
 */
static uint64_t begin_anew(const struct readahead_tuning *t, const struct cursor *c,
			   const struct readahead_read *read)
{
	bool left_out = c->pace && c->gap && cursor_gap_is_short(c, read->len);
	uint64_t from = c->ra_end || left_out ? read->offset : c->start;
	uint64_t young = PACES * (uint64_t)c->gap + heuristic_near(t, read->len);

	if (may_be_late(c, read))
		from = c->ra_end;
	if (from > read->offset || read->offset - from > young ||
	    (!c->missing && read->offset - from >= read->chunk)) /* it would not reach him */
		from = read->offset;
	return from > c->ra_end ? from : c->ra_end;
}

/* Whether what lies between C's records is left out. */
static bool is_sparse(const struct cursor *c)
{
	return way_is_stride(c->way) && c->record < c->step;
}

/*
 * Of single records as many as the disk can put in an order of its own (sched/access_order.h): windows
 * and chunks are the space that they lie in, and hold as many bytes as any others at most.
 */
static void widen(struct window_limits *l, const struct cursor *c)
{
	uint64_t records = RECORDS_ALL / (l->streams ? l->streams : 1);
	uint64_t pages = cursor_record_pages(c), known = RECORDS_FIRST + 2 * (c->taken / pages);
	uint64_t chunk, per = c->step / pages;

	l->max = l->max < SPACE_MAX / per ? l->max * per : SPACE_MAX;
	records = records > RECORDS_MIN	    ? RECORDS_MIN
		  : records < RECORDS_FIRST ? RECORDS_FIRST
					    : records;
	chunk = records * c->step;
	l->chunk = l->chunk > chunk ? l->chunk : chunk;
	if (known < RECORDS_MIN && l->chunk > known * c->step)
		l->chunk = known * c->step;
	if (l->chunk > l->max / 2)
		l->chunk = l->max / 2;
	l->init = 2 * l->chunk;
}

/* LEN bytes from FROM on end between two of C's records, or, where none lies before its step, at END. */
static uint64_t whole_records(const struct cursor *c, uint64_t from, uint64_t len, uint64_t end)
{
	uint64_t rest = (from + len - c->phase) % c->step;

	if (!len || (c->way == WAY_STRIDE && from + len >= end))
		return len;
	return rest < len ? len - rest : 0;
}

/* Where the step of C that has AT begins, or the first one that is not before BEGIN. */
static uint64_t step_begin(const struct cursor *c, uint64_t at, uint64_t begin)
{
	uint64_t in = (at - c->phase) % c->step;

	return at - in >= begin ? at - in : at - in + c->step;
}

/* The length of a chunk at FROM that would be LEN: up to NEXT, if that is about there and not beyond the file's END. */
static uint64_t reach(uint64_t from, uint64_t len, uint64_t next, uint64_t end)
{
	if (len && next > from && next <= end && next - from < len + len / 2)
		return next - from;
	return len;
}

/*
 * The same where LEFT is all that there is before a reader who goes backward: he begins with a chunk when all
 * of it is there, so that the disk stands still for as long as he needs for his last one. That is short.
 */
static uint64_t without_tail(const struct window_limits *l, uint64_t len, uint64_t left)
{
	return len == left && len > l->chunk / 2 ? len - l->chunk / TAIL_SHARE : len;
}

/*
 * LEN bytes from FROM on, but no more than is worth fetching by how far C's reader went in other runs; and the rest of the
 * file where that is not worth a seek.
 */
static uint64_t as_far_as_worth(struct readahead *ra, const struct cursor *c,
				const struct readahead_read *read, uint64_t from, uint64_t len)
{
	uint64_t reach = run_lengths_reach(ra->lengths, c->reader, c->next - c->start, read->seek);
	uint64_t end = c->start + reach, seek = read->seek ? read->seek : REST_MAX;

	if (reach == UINT64_MAX || end >= read->size || read->size - end <= seek)
		return len;
	return end <= from ? 0 : len < end - from ? len : end - from;
}

/* C's window at least: of records one beyond that which is read, or a penalty, which ends with what is used, would have no end. */
static uint64_t window_least(const struct cursor *c)
{
	return is_sparse(c) ? 2 * (uint64_t)c->step : 0;
}

/* The length of the chunk at FROM, behind which others asked for what is at NEXT; 0: none now. */
static uint64_t length(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, struct cursor *c,
		       const struct readahead_read *read, uint64_t from, uint64_t next)
{
	struct window_limits l = limits_now(ra, t, c, read);
	uint64_t end = way_end(c->way, read->size), window, granted, len;

	if (is_sparse(c))
		widen(&l, c);
	else
		young_chunk(ra, &l, t, c, read, from);
	window = t->rules->window ? t->rules->window(&l, c) : window_learnt(&l, c);
	if (window < window_least(c))
		window = window_least(c);
	granted = grant(ra, t, c, read->price, &l, window);
	if (c->has_floor)
		fit_two(t, &l, granted);
	len = granted ? window_next_chunk(&l, granted, c->next, from, end) : 0;
	if (c->way == WAY_FORWARD && t->rules->lengths)
		len = as_far_as_worth(ra, c, read, from, len);
	if (way_is_stride(c->way))
		len = whole_records(c, from, len, end);
	if (c->way == WAY_BACKWARD)
		len = without_tail(&l, len, end - from);
	len = reach(from, len, next, end);
	if (granted < window && (len || !granted))
		readahead_count(counters, READAHEAD_CURBED, 1);
	if (from + len > c->next)
		return len;
	c->withheld |= is_sparse(c) && granted < window; /* less than a record is left */
	return 0;
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

/*
 * Where C's next chunk begins that otherwise would at FROM: behind what was asked for for others, who reach
 * to *NEXT again; or, if it is the first of C's run, right there, for who is in between will want that too.
 * What C has asked for itself must have been read then. NOWHERE: it has not.
 */
static uint64_t pass_others(const struct readahead_tuning *t, const struct cursor *c, uint64_t from,
			    const struct readahead_read *read, uint64_t *next)
{
	const struct cursor *below = TAILQ_PREV(c, cursor_list, order);
	uint64_t at, before;

	*next = UINT64_MAX;
	if (!t->rules->beside || !c->file->beside)
		return from;
	at = beside_skip(c, from, read->now, next);
	if (at != from)
		return c->read_end >= c->ra_end || c->ra_end < c->next ? at : NOWHERE;
	before = c->ra_end ? 0 : beside_before(c, from, read->now);
	if (before && below && below->way == c->way && below->next > before &&
	    from - before < read->chunk / 2)
		return before;
	return from;
}

/* Whether what C asks for first is for its reader alone, who may want no more: others of the file would go on in it. */
static bool is_young(const struct readahead *ra, const struct readahead_tuning *t,
		     const struct cursor *c)
{
	return cursor_is_first(c) && c->file->set.n == 1 && young_is_unknown(ra, t, c);
}

/* C asks for LEN bytes from FROM on; ANEW: its reader is beyond what it asked for. */
static void ask(const struct readahead_tuning *t, struct cursor *c, uint64_t from, uint64_t len,
		bool anew, bool apart, uint64_t now)
{
	if (anew) {
		c->read_end = c->next;
		/* what its reader left out before was not brought */
		c->own = cursor_is_first(c) ? from : 0;
		c->credited = 0;
	}
	if (anew && !c->queued)
		c->done_end = from;
	if (apart)
		c->own = from;
	if (apart && c->read_end < from)
		c->read_end = from;
	c->ra_end = from + len;
	c->queued++;
	cursor_check(c);
	if (t->rules->beside)
		beside_note(c, from, c->ra_end, now);
}

/*
 * Whether C's reader, who leaves nothing out, is beyond what waits in the queue for him: he has more outstanding
 * than that, as with large requests. What he asks for next would go to the disk by single requests, each with
 * the seek that the chunk was to save.
 */
static bool outruns(const struct readahead_tuning *t, const struct cursor *c,
		    const struct readahead_read *read)
{
	return c->queued < QUEUED_MAX && c->way == WAY_FORWARD && c->ra_end < c->next &&
	       read->offset <= c->ra_end + heuristic_near(t, read->len);
}

void plan_chunk(struct readahead *ra, const struct readahead_tuning *t,
		struct readahead_counters *counters, struct cursor *c,
		const struct readahead_read *read, struct readahead_plan *plan)
{
	bool anew = c->ra_end < c->next; /* the reader is beyond it */
	uint64_t own = anew ? begin_anew(t, c, read) : c->ra_end, from, next;
	uint64_t begin = way_begin(c->way, read->size);
	uint64_t read_end = anew ? c->next : c->read_end, len, unread, bytes;

	if (young_is_early(ra, t, c, read) || (c->queued && !outruns(t, c, read)))
		return;
	if (!anew && (young_has_enough(ra, t, c, read) || may_wait_long(c, read)))
		return;
	if (own < begin)
		own = begin; /* the file has become smaller */
	if (c->way == WAY_STRIDE_BACK)
		own = step_begin(c, own, begin);
	else if (is_sparse(c)) /* the last chunk may have ended where the file did */
		own = step_begin(c, own, own);
	from = pass_others(t, c, own, read, &next);
	len = from != NOWHERE ? length(ra, t, counters, c, read, from, next) : 0;
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
	c->file->held = read->now;
	plan->begins = cursor_is_first(c) && c->way == WAY_FORWARD;
	plan->whole = plan->begins && from + len >= read->size && len <= read->chunk;
	plan->young = is_young(ra, t, c);
	ask(t, c, from, len, anew, from > own, read->now);
	describe(ra, c, read, from, len, unread, plan);
	run_lengths_fetched_at(ra->lengths, c->reader, plan->cursor.index);
	readahead_count(counters, READAHEAD_CHUNKS, 1);
	readahead_count(counters, READAHEAD_PLANNED, bytes);
}
