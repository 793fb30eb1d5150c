/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Streams that go towards the beginning of their file. See backward.h. */
#include "readahead/backward.h"

#include "readahead/follow.h"
#include "readahead/way.h"

/* So many reads in a row must have come below a run, and as many be there as make a run and one more. */
#define DOWN_MIN 3

void backward_note(struct cursor *c, const struct readahead_read *read)
{
	if (read->offset + read->len > c->next)
		c->down = 0;
	else if (read->offset < c->start && c->down < UINT8_MAX)
		c->down++;
}

bool backward_may_be(const struct cursor *c)
{
	return c->start > 0 && !c->ra_end && c->down;
}

bool backward_is(const struct readahead_tuning *t, const struct cursor *c)
{
	return c->down >= DOWN_MIN && (uint32_t)__builtin_popcountll(c->seen) > t->seq_threshold;
}

void backward_turn(const struct readahead_tuning *t, struct cursor *c,
		   const struct readahead_read *read)
{
	struct cursor_set *set = &c->file->set;
	uint64_t from = way_from(WAY_BACKWARD, c->start, c->next),
		 to = way_to(WAY_BACKWARD, c->start, c->next);

	cursor_end_run(c);
	c->start = c->read_end = from;
	cursor_set_turn(set, c, WAY_BACKWARD, to);
	cursor_set_use(set, c, t->seq_threshold, read->now);
}

/* The distance of READ, seen in the mirror, from where C expects it. */
static uint64_t away(uint64_t at, const struct cursor *c)
{
	return at > c->next ? at - c->next : c->next - at;
}

struct cursor *backward_match(const struct cursor_set *set, const struct readahead_read *read,
			      uint64_t near, const struct cursor *c)
{
	uint64_t at = way_from(WAY_BACKWARD, read->offset, read->offset + read->len);
	struct cursor *back = cursor_set_match(set, at, near);

	if (!back || back->way != WAY_BACKWARD)
		return NULL;
	if (!c || away(at, back) < away(read->offset, c))
		return back;
	return NULL;
}

struct cursor *backward_follow(struct readahead *ra, const struct readahead_tuning *t,
			       struct readahead_counters *counters, struct cursor *c,
			       const struct readahead_read *read)
{
	uint64_t at = way_from(WAY_BACKWARD, read->offset, read->offset + read->len),
		 end = at + read->len;
	enum heuristic_match how = heuristic_classify(t, c, at, read->len);

	follow_note(c->file, how, false);
	follow_use(c, t->heuristic->count(t, c->count, how), read,
		   follow_goes_on(t, c, at, end, heuristic_near(t, read->len)));
	if (end > c->next && (at <= c->next || at - c->next <= heuristic_near(t, read->len)))
		follow_move(ra, c, end);
	evidence_used(ra, counters, c, end);
	return c;
}
