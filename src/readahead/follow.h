/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The steps by which any rules (rules.h) bring a read to its cursor. All with the file's lock.
 *
 *   read --> follow_match: a cursor of its file?  -- none --> a new one
 *              |
 *            how does the read stand to it?  (the rules; heuristic.h: what that does to its count)
 *              |
 *            goes on with it: follow_move      is elsewhere: follow_elsewhere
 */
#ifndef READAHEAD_FOLLOW_H
#define READAHEAD_FOLLOW_H

#include "readahead/engine.h"
#include "readahead/evidence.h"

/*
 * The cursor that READ may belong to, NULL: none. Where the heuristic has no cursors, the only one.
 */
static inline struct cursor *follow_match(struct readahead *ra, const struct readahead_tuning *t,
					  struct heur_file *f, const struct readahead_read *read,
					  uint64_t near)
{
	if (t->heuristic->cursors)
		return cursor_set_match(&f->set, read->offset, near);
	if (f->set.n > 1 || f->set.n_backward || f->set.n_strided)
		cursor_release_all(&ra->pool, f); /* the heuristic was changed: one stream again */
	return f->set.root;
}

/* C expects NEXT from now on; where its read-ahead was withheld, it would have been read. */
static inline void follow_move(struct readahead *ra, struct cursor *c, uint64_t next)
{
	if (next > c->next && c->withheld && c->next >= c->ra_end)
		evidence_missed(ra, c->file, cursor_bytes(c, c->next, next));
	cursor_set_move(&c->file->set, c, next);
}

/* The bit in C's `seen` of the request at AT; 0: it has none. */
static inline uint64_t follow_bit(const struct cursor *c, uint64_t at)
{
	uint64_t n = c->unit && at >= c->start ? (at - c->start) / c->unit : 64;

	return n < 64 && (at - c->start) % c->unit == 0 ? UINT64_C(1) << n : 0;
}

/* Whether a read of C from AT to END, which may come NEAR where that is expected, says that C goes on. */
static inline bool follow_goes_on(const struct readahead_tuning *t, const struct cursor *c,
				  uint64_t at, uint64_t end, uint64_t near)
{
	if (!c->ra_end &&
	    c->count < t->seq_threshold) /* it may be one of the first, in any order */
		return end > c->next || !(c->seen & follow_bit(c, at));
	return end > c->read_end || (end > c->next && (at <= c->next || at - c->next <= near));
}

/*
 * READ belongs to C, whose count is COUNT now. Where C does not go ON it only repeats what was read before: then what C holds
 * gets no younger, and no more is fetched, or who reads one block now and then would have memory for ever.
 */
static inline void follow_use(struct cursor *c, uint32_t count, const struct readahead_read *read,
			      bool on)
{
	uint64_t before = c->used;

	cursor_set_use(&c->file->set, c, count, read->now);
	c->repeats = !on;
	if (!on)
		c->used = before;
}

/* The run of C is over, and what it asked for of no use any more: a new one begins with READ. */
static inline void follow_elsewhere(struct readahead *ra, struct readahead_counters *counters,
				    struct cursor *c, const struct readahead_read *read)
{
	evidence_wasted(ra, counters, c);
	cursor_end_run(c);
	c->start = c->read_end = read->offset;
	c->seen = c->unit = 0;
	c->down = 0;
	c->quiet = 0;
	c->gap = c->pace = 0;
	c->missing = 0;
	cursor_set_straighten(&c->file->set, c);
	cursor_set_move(&c->file->set, c, read->offset + read->len);
}

/* The share of exact matches of a file is averaged over about this many reads, as a power of 2. */
#define FOLLOW_MATCH_SHIFT 5

/*
 * Averages over F's reads whether each continued a cursor exactly, or came LATE: others of its run had passed it. A repetition is
 * no evidence.
 */
static inline void follow_note(struct heur_file *f, enum heuristic_match match, bool late)
{
	f->matches -= f->matches >> FOLLOW_MATCH_SHIFT;
	f->in_runs -= f->in_runs >> FOLLOW_MATCH_SHIFT;
	if (late || match == HEURISTIC_EXACT)
		f->in_runs += 65535 >> FOLLOW_MATCH_SHIFT;
	if (match == HEURISTIC_EXACT) {
		f->matches += 65535 >> FOLLOW_MATCH_SHIFT;
		f->streak++;
	} else if (match != HEURISTIC_REPEAT) {
		f->streak = 0;
	}
}

#endif
