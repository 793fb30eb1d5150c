/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is fetched first in a run. See young.h. */
#include "readahead/young.h"

#include "readahead/engine.h"
#include "readahead/first_read.h"
#include "readahead/rules.h"
#include "readahead/run_lengths.h"
#include "readahead/way.h"
#include "readahead/window.h"

/*
 * Of a reader whose runs do not mostly go on where they have come to so many bytes: the first chunk of a run is this part
 * of one, or that where no more streams than a few compete, of which he is not the only one; and until he has come so far
 * the next waits until all but this part of what was asked for has been read. Among many streams each chunk costs a seek:
 * there the first one is whole, and ends where its reader stops (readahead_reads_on).
 */
#define SHORT_RUN	  (UINT64_C(1) << 20)
#define FIRST_SHARE	  16
#define FIRST_SHARE_FEW	  4
#define YOUNG_SHARE	  2
#define YOUNG_SHARE_ALONE 4
#define STREAMS_FEW	  2
/*
 * The first chunk of a backward reader who is alone is this part of one, and each further one is longer by that part of
 * all before it: each costs a seek, so that doubled ones would come late again and again, and a whole one comes late once.
 */
#define BACKWARD_FIRST 3
#define BACKWARD_SHARE 4
/* Up to here (bytes of a run) the kernel's own read-ahead does, where nothing seeks. */
#define KERNEL_RUN (UINT64_C(512) << 10)

bool young_is_unknown(const struct readahead *ra, const struct readahead_tuning *t,
		      const struct cursor *c)
{
	return t->rules->lengths && c->way == WAY_FORWARD && c->reader &&
	       !run_lengths_go_on(ra->lengths, c->reader, SHORT_RUN);
}

/* ... and it is worth a seek more. Not among several streams, where each chunk costs one. */
static bool may_be_short(const struct readahead *ra, const struct readahead_tuning *t,
			 const struct cursor *c, const struct readahead_read *read)
{
	return read->streams <= STREAMS_FEW && young_is_unknown(ra, t, c);
}

/* Whether C's reader goes backward in what his first READ brought of the file's end. */
static bool is_in_tail(const struct cursor *c, const struct readahead_read *read)
{
	return c->file->end.whole &&
	       way_offset(c->way, c->next, c->next) + read->tail >= read->size;
}

bool young_is_early(const struct readahead *ra, const struct readahead_tuning *t,
		    const struct cursor *c, const struct readahead_read *read)
{
	if (!cursor_is_first(c))
		return false;
	if (c->way == WAY_BACKWARD)
		return read->tail && is_in_tail(c, read);
	return read->direct && read->brings && c->file->set.n == 1 &&
	       c->next - c->start < KERNEL_RUN && young_is_unknown(ra, t, c);
}

/* Whether what is fetched for C grows with what it has come to: backward, where nothing seeks. */
static bool grows(const struct cursor *c, const struct readahead_read *read)
{
	return read->direct && c->way == WAY_BACKWARD && c->next - c->start < SHORT_RUN;
}

/* Whether nothing else is fetched in between, for anybody: then a chunk behind another costs no seek. */
static bool is_alone(const struct readahead *ra, const struct cursor *c,
		     const struct readahead_read *read)
{
	uint32_t at = heur_cursor_ref(&ra->table, c).index;

	return read->streams <= 1 && (!c->ra_end || run_lengths_stays(ra->lengths, c->reader, at));
}

/* Whether others compete, but no more than a few. */
static bool is_among_few(const struct readahead *ra, const struct cursor *c,
			 const struct readahead_read *read)
{
	return read->streams <= STREAMS_FEW && !is_alone(ra, c, read);
}

bool young_has_enough(const struct readahead *ra, const struct readahead_tuning *t,
		      const struct cursor *c, const struct readahead_read *read)
{
	uint64_t asked = c->ra_end - c->start, come = c->next - c->start, rest;

	if (grows(c, read))
		return asked - come > come;
	if (!young_is_unknown(ra, t, c))
		return false;
	/* a first chunk that was cut to it: it may be all that he wants, and who goes beyond it is known by that */
	if (asked <= FIRST_READS && asked < t->chunk_min)
		return true;
	if (read->streams > STREAMS_FEW &&
	    (c->file->set.n == 1 ? come >= SHORT_RUN : asked > read->chunk / 2))
		return false;
	rest = asked / (is_alone(ra, c, read) ? YOUNG_SHARE_ALONE : YOUNG_SHARE);
	return come < asked - rest;
}

/* What a chunk at FROM must be longer than to bring anything that C's reader does not ask for himself. */
static uint64_t least_chunk(const struct cursor *c, const struct readahead_read *read,
			    uint64_t from)
{
	return 2 * ((from < c->next ? c->next - from : 0) + read->len);
}

/* Chunks of L are of CHUNK bytes, or the least that is worth while, as far as that is no more than MOST. */
static void cut(struct window_limits *l, const struct readahead_tuning *t, const struct cursor *c,
		const struct readahead_read *read, uint64_t from, uint64_t chunk, uint64_t most)
{
	uint64_t least = least_chunk(c, read, from);

	if (chunk < t->chunk_min)
		chunk = t->chunk_min;
	if (chunk < least)
		chunk = least;
	if (chunk <= most)
		l->chunk = chunk;
}

/*
 * The first chunk of a run that may be short is that too; and alone the others grow with it, none longer than all before it.
 * But for a reader who is half through with that already.
 */
static void shorten(const struct readahead *ra, struct window_limits *l,
		    const struct readahead_tuning *t, const struct cursor *c,
		    const struct readahead_read *read, uint64_t from)
{
	uint64_t share = is_among_few(ra, c, read) ? FIRST_SHARE_FEW : FIRST_SHARE;

	if (cursor_is_first(c))
		cut(l, t, c, read, from, l->chunk / share, l->chunk / FIRST_SHARE_FEW);
	else if (is_alone(ra, c, read))
		cut(l, t, c, read, from, c->ra_end - c->start, l->chunk);
}

/* A lone backward reader's chunks begin short, and grow. */
static void begin_backward(struct window_limits *l, const struct readahead_tuning *t,
			   const struct cursor *c, const struct readahead_read *read, uint64_t from)
{
	uint64_t asked = c->ra_end > c->start ? c->ra_end - c->start : 0;

	cut(l, t, c, read, from, l->chunk / BACKWARD_FIRST + asked / BACKWARD_SHARE, l->chunk);
}

void young_chunk(const struct readahead *ra, struct window_limits *l,
		 const struct readahead_tuning *t, const struct cursor *c,
		 const struct readahead_read *read, uint64_t from)
{
	uint64_t come = c->next - c->start + (from < c->next ? c->next - from : 0);

	if (grows(c, read))
		l->chunk = come < l->chunk ? come : l->chunk;
	else if (may_be_short(ra, t, c, read))
		shorten(ra, l, t, c, read, from);
	else if (c->way == WAY_BACKWARD && c->reader && is_alone(ra, c, read))
		begin_backward(l, t, c, read, from);
}
