/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The rules of Ellard & Seltzer 2003 and nothing else (rules.h).
 *
 *   read --> the cursor of its file; of several the nearest, within the approximate match
 *              |                 -- none: a new one, count 1; at Cursors_Per_File the least
 *              |                    recently used is that one
 *            distance from where the last read ended
 *              0          count + 1
 *              near       as the heuristic has it: default resets, slowdown leaves the count
 *              beyond it  default resets, slowdown halves
 *              |
 *            the next read is expected where this one ends, whatever it was
 *
 * A read of what was read before counts as it stands there, and is no use of what was asked for behind it: cluster_read does
 * not read ahead for a block that it finds, and who reads one block now and then would have memory for ever.
 */
#include "readahead/follow.h"
#include "readahead/rules.h"
#include "readahead/window.h"

static enum heuristic_match stands(const struct cursor *c, uint64_t offset, uint64_t near)
{
	uint64_t distance = offset > c->next ? offset - c->next : c->next - offset;

	if (!distance)
		return HEURISTIC_EXACT;
	return distance <= near ? HEURISTIC_NEAR : HEURISTIC_JUMP;
}

/* What was seen of C before means nothing: it begins at READ. */
static void begin_at(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		     const struct readahead_read *read)
{
	follow_elsewhere(ra, counters, c, read);
	c->unit = read->len;
}

static struct cursor *begin(struct readahead *ra, const struct readahead_tuning *t,
			    struct readahead_counters *counters, struct heur_file *f,
			    const struct readahead_read *read)
{
	struct cursor *c = f->set.n < ra->pool.per_file
				   ? cursor_new(&ra->pool, f, read->offset, read->now)
				   : cursor_set_least_recent(&f->set);

	if (!c)
		return NULL;
	begin_at(ra, counters, c, read);
	cursor_set_use(&f->set, c, t->heuristic->count(t, 0, HEURISTIC_EXACT), read->now);
	return c;
}

static struct cursor *follow(struct readahead *ra, const struct readahead_tuning *t,
			     struct readahead_counters *counters, struct heur_file *f,
			     const struct readahead_read *read)
{
	uint64_t near = heuristic_near(t, read->len);
	struct cursor *c = follow_match(ra, t, f, read, near);
	enum heuristic_match how = c ? stands(c, read->offset, near) : HEURISTIC_JUMP;
	bool anew;

	if (!c || (how == HEURISTIC_JUMP && t->heuristic->cursors))
		return begin(ra, t, counters, f, read);
	anew = how == HEURISTIC_JUMP || read->offset < c->start;
	follow_use(c, t->heuristic->count(t, c->count, how), read,
		   anew || read->offset + read->len > c->read_end);
	if (anew)
		begin_at(ra, counters, c, read);
	else
		follow_move(ra, c, read->offset + read->len);
	evidence_used(ra, counters, c, read->offset + read->len);
	return c;
}

static bool sequential(const struct readahead_tuning *t, const struct heur_file *f,
		       const struct cursor *c)
{
	(void)f;
	return c->count >= t->seq_threshold;
}

static uint64_t window(const struct window_limits *l, const struct cursor *c)
{
	uint64_t bytes = (uint64_t)c->count * c->unit;

	return bytes < l->max ? bytes : l->max;
}

const struct readahead_rules rules_paper = {
	.name = "paper",
	.follow = follow,
	.sequential = sequential,
	.window = window,
};
