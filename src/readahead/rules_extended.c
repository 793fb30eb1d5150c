/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The extended rules (rules.h): which cursor a read belongs to, and whether what that cursor follows
 * is a stream.
 *
 *   read --> nearest cursor of its file?  -- none --> a new one, count 1
 *              |
 *            how does it stand to it?  (heuristic.h)
 *              exact    count + 1, on to its end
 *              repeat   nothing, or on to its end
 *              near     count as it is; on to its end, unless it lags behind
 *              jump     what was fetched is wasted; the cursor starts anew here
 *
 * A young run is believed too when its first Seq_Threshold requests have all come, in any order. One
 * whose requests come below each other instead goes backward (backward.h). One that passes over about as
 * much each time is a run as well, where it costs no more to read that too (keeps_pace). One that leaves out more than a
 * seek is worth goes elsewhere, in a file where such gaps are not filled later (skips).
 */
#include "readahead/backward.h"
#include "readahead/follow.h"
#include "readahead/rules.h"
#include "readahead/stride.h"

/* Below this share of exact matches, in 1/65536, runs of a file are seldom more than chance. */
#define MATCHES_FEW (65536 / 8 * 3)
/*
 * ... and of those that continue a run or come late for it: two thirds to three quarters where any of the next two to eight
 * requests of each run comes; up to 3/8 where reads come at random within a window of so many.
 */
#define IN_RUNS_FEW (65536 / 16 * 9)

/* What is no more than so many bytes is as soon read through as left out, whatever the device. */
#define GAP_LEAST (UINT64_C(1) << 20)
/* From this share of far gaps on that nobody fills, in 1/65536, who leaves one goes elsewhere. */
#define SKIPS_MANY 32768
/* It is averaged over about so many such gaps, and is forgotten after about so many reads: powers of 2. */
#define SKIPS_SHIFT 2
#define SKIPS_FADE  9

/* Reads in a row that pass over as much as the one before, for a run to be believed; of short gaps Seq_Threshold. */
#define PACE_MIN 2

/* The run of C may have begun N requests before the one seen first. */
static bool begin_earlier(struct cursor *c, uint64_t offset)
{
	uint64_t distance = c->start - offset, n = distance / c->unit;

	if (n >= 64 || distance % c->unit)
		return false;
	c->seen <<= n;
	c->start = c->read_end = offset;
	return true;
}

/*
 * Marks the read among the first of its run. True when the first Seq_Threshold of them are all
 * there.
 */
static bool all_there(const struct readahead_tuning *t, struct cursor *c,
		      const struct readahead_read *read)
{
	uint64_t first = t->seq_threshold < 64 ? (UINT64_C(1) << t->seq_threshold) - 1 : ~0ull;

	if (!c->unit)
		c->unit = read->len;
	if (read->offset < c->start && !c->ra_end && !begin_earlier(c, read->offset))
		return false;
	c->seen |= follow_bit(c, read->offset);
	return t->seq_threshold <= 64 && (c->seen & first) == first;
}

static struct cursor *begin(struct readahead *ra, const struct readahead_tuning *t,
			    struct heur_file *f, const struct readahead_read *read)
{
	struct cursor *c;

	follow_note(f, HEURISTIC_JUMP, false);
	c = cursor_new(&ra->pool, f, read->offset, read->now);
	if (!c)
		return NULL;
	cursor_set_move(&f->set, c, read->offset + read->len);
	cursor_set_use(&f->set, c, t->heuristic->count(t, 0, HEURISTIC_EXACT), read->now);
	all_there(t, c, read);
	return c;
}

/* On to the read's end, but never backwards: laggards are jitter. Nor with one far ahead. */
static void advance(struct readahead *ra, struct cursor *c, const struct readahead_read *read,
		    uint64_t near)
{
	uint64_t end = read->offset + read->len;

	if (end <= c->next || (read->offset > c->next && read->offset - c->next > near))
		return;
	follow_move(ra, c, end);
}

/* C goes on with READ, which is at its `next` or near it. */
static void go_on(struct readahead *ra, const struct readahead_tuning *t, struct cursor *c,
		  const struct readahead_read *read, uint64_t near)
{
	bool young = c->count < t->seq_threshold && t->heuristic->jitter && t->rules->any_order;

	if (young)
		backward_note(c, read);
	advance(ra, c, read, near);
	if (!young || !all_there(t, c, read))
		return;
	if (!t->rules->backward || !t->heuristic->cursors || !backward_may_be(c))
		cursor_set_use(&c->file->set, c, t->seq_threshold, read->now);
	else if (backward_is(t, c))
		backward_turn(t, c, read);
}

/* Whether C has kept its pace for long enough, of requests of LEN bytes. */
static bool is_paced(const struct readahead_tuning *t, const struct cursor *c, uint32_t len)
{
	return c->pace >= (cursor_gap_is_short(c, len) ? t->seq_threshold : PACE_MIN);
}

/* Whether READ, which overlaps what C read last, is of more behind that: a retransmission is not. */
static bool goes_on_from_within(const struct cursor *c, const struct readahead_read *read)
{
	return 2 * (read->offset + read->len - c->next) >= read->len;
}

/*
 * Whether READ, a little ahead of what C expects, passes over as much as those before, give or take a
 * request, and that costs less to read than to leave out: rows of a tile, one of many clients that take a
 * request of each of their parts in turn, or who leaves out less than he reads, or overlaps a little and so
 * passes over nothing. *ALIKE: to the byte as the one before, which says as much of the file as a read that
 * goes on; but for short gaps.
 */
static bool keeps_pace(const struct readahead_tuning *t, struct cursor *c, enum heuristic_match how,
		       const struct readahead_read *read, bool *alike)
{
	bool on = how == HEURISTIC_REPEAT && goes_on_from_within(c, read);
	uint64_t gap = on ? 0 : read->offset - c->next, was = c->gap;

	*alike = false;

	if (!t->rules->strides || !t->heuristic->cursors || (how != HEURISTIC_NEAR && !on))
		return false;
	if (!on && read->offset < c->next) {
		c->pace = 0;
		return false;
	}
	c->gap = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
	if (gap > stride_through(read) || gap > was + read->len || was > gap + read->len)
		c->pace = 0;
	else if (c->pace < UINT8_MAX)
		c->pace++;
	*alike = c->pace && gap == was && !cursor_gap_is_short(c, read->len);
	return is_paced(t, c, read->len);
}

/*
 * The cursor that keeps a pace in F and that READ, which it does not expect now, comes early or late for, by no more steps
 * than requests may; NULL: none. Such a one would be lost with the first two that change places, for they are farther from
 * each other than those of who leaves nothing out.
 */
static struct cursor *out_of_step(const struct readahead_tuning *t, const struct heur_file *f,
				  const struct readahead_read *read)
{
	uint64_t most = t->match_requests * (stride_through(read) + read->len), step, expected, off;
	struct cursor *c = t->rules->strides && t->heuristic->cursors
				   ? cursor_set_match(&f->set, read->offset, most)
				   : NULL;

	if (!c || c->way != WAY_FORWARD || !is_paced(t, c, read->len))
		return NULL;
	step = (uint64_t)c->gap + read->len;
	expected = c->next + c->gap;
	off = read->offset > expected ? read->offset - expected : expected - read->offset;
	return off && off <= t->match_requests * step && off % step == 0 ? c : NULL;
}

/* C, which keeps its pace, has followed READ, which came early or late: that is jitter. */
static struct cursor *follow_out_of_step(struct readahead *ra, const struct readahead_tuning *t,
					 struct readahead_counters *counters, struct cursor *c,
					 const struct readahead_read *read)
{
	uint64_t end = read->offset + read->len;

	follow_note(c->file, HEURISTIC_NEAR, false);
	follow_use(c, t->heuristic->count(t, c->count, HEURISTIC_NEAR), read,
		   end > c->next || end > c->read_end);
	if (end > c->next)
		follow_move(ra, c, end);
	evidence_used(ra, counters, c, end);
	return c;
}

/* C goes on with READ, which is as far ahead as it expects or a little farther: requests in between are missing. */
static void note_missing(struct cursor *c, const struct readahead_read *read)
{
	uint64_t gap = read->offset - c->next, n = gap / read->len;

	if (gap % read->len || n > CURSOR_LATE_MAX)
		c->missing = ~UINT32_C(1); /* all */
	else
		c->missing = (c->missing << n | ((UINT32_C(1) << n) - 1)) << 1;
}

/*
 * Whether READ was missing in the run of C, in which nothing else was but among the last CURSOR_LATE_MAX requests. Of reads at random
 * within a window some fill what others left out too, but more is missing.
 */
static bool was_missing(struct cursor *c, const struct readahead_read *read)
{
	uint64_t behind = c->next - (read->offset + read->len), n = behind / read->len;
	bool dense = c->missing >> (CURSOR_LATE_MAX + 1) == 0;

	if (behind % read->len || n >= 32 || !(c->missing >> n & 1))
		return false;
	c->missing -= UINT32_C(1) << n;
	return dense;
}

/* Whether READ, which C goes on with, comes late for its run. */
static bool came_late(const struct readahead_tuning *t, struct cursor *c,
		      const struct readahead_read *read, uint64_t near)
{
	if (read->offset == c->next) /* most are */
		c->missing <<= 1;
	else if (!t->rules->any_order || !t->heuristic->cursors)
		return false;
	else if (read->offset > c->next && read->offset - c->next <= near)
		note_missing(c, read);
	else if (read->offset + read->len <= c->next)
		return was_missing(c, read);
	return false;
}

/* C, which READ stands to as HOW says, has followed it. */
static struct cursor *follow_one(struct readahead *ra, const struct readahead_tuning *t,
				 struct readahead_counters *counters, struct cursor *c,
				 enum heuristic_match how, const struct readahead_read *read,
				 uint64_t near)
{
	bool alike, paced = keeps_pace(t, c, how, read, &alike);
	enum heuristic_match as = paced ? HEURISTIC_EXACT : how;
	uint32_t count = t->heuristic->count(t, c->count, as);
	uint64_t end = read->offset + read->len;
	struct heur_file *f = c->file;

	follow_note(f, alike ? HEURISTIC_EXACT : as, came_late(t, c, read, near));
	if (paced && count < t->seq_threshold)
		count = t->seq_threshold;
	follow_use(c, count, read,
		   how == HEURISTIC_JUMP || follow_goes_on(t, c, read->offset, end, near));
	if (how == HEURISTIC_JUMP)
		follow_elsewhere(ra, counters, c, read);
	else
		go_on(ra, t, c, read, near);
	evidence_used(ra, counters, c, end);
	return c;
}

/*
 * Whether READ leaves out more than a seek is worth, and more than a request or two that may still come. Of large requests
 * much more than that may be late: so what is late, and what is left out, a file has to show.
 */
static bool leaves_a_gap(const struct cursor *c, const struct readahead_read *read, uint64_t near)
{
	uint64_t least = read->seek > GAP_LEAST ? read->seek : GAP_LEAST;

	return read->offset > c->next + least && read->offset > c->next + 2 * (uint64_t)read->len &&
	       read->offset - c->next <= near;
}

/* C goes on beyond a gap: whether what was left out by earlier ones has come. */
static void note_gap(struct cursor *c)
{
	struct heur_file *f = c->file;

	f->skips -= f->skips >> SKIPS_SHIFT;
	if (c->missing >> (CURSOR_LATE_MAX + 1))
		f->skips += 65535 >> SKIPS_SHIFT;
}

/* Whether READ, a little ahead of what C expects, is no request of its run that came early, but skips. Else its gap is noted. */
static bool skips(const struct readahead_tuning *t, struct cursor *c,
		  const struct readahead_read *read, uint64_t near)
{
	if (!t->heuristic->cursors || c->way != WAY_FORWARD || is_paced(t, c, read->len) ||
	    !leaves_a_gap(c, read, near))
		return false;
	if (c->file->skips > SKIPS_MANY)
		return true;
	note_gap(c);
	return false;
}

/* READ, which no cursor of F expects exactly, belongs to C as HOW says, or to none. */
static struct cursor *follow_roughly(struct readahead *ra, const struct readahead_tuning *t,
				     struct readahead_counters *counters, struct heur_file *f,
				     struct cursor *c, enum heuristic_match how,
				     const struct readahead_read *read, uint64_t near)
{
	bool ahead = c && read->offset > c->next;
	bool before = c && c->count < t->seq_threshold && read->offset + read->len < c->start;
	bool anew = !c || how == HEURISTIC_JUMP || before ||
		    (ahead && (c->count < t->seq_threshold || read->offset - c->next > near));
	struct cursor *records;

	c = c ? follow_one(ra, t, counters, c, how, read, near) : begin(ra, t, f, read);
	if (!anew || !t->rules->strides || !t->heuristic->cursors)
		return c;
	records = stride_follow(ra, t, counters, f, read);
	if (records && c && c != records)
		c->quiet = read->offset + records->record;
	return records ? records : c;
}

static struct cursor *follow(struct readahead *ra, const struct readahead_tuning *t,
			     struct readahead_counters *counters, struct heur_file *f,
			     const struct readahead_read *read)
{
	uint64_t near = heuristic_near(t, read->len);
	struct cursor *c = follow_match(ra, t, f, read, near), *early;

	if (f->skips) /* it may be read otherwise by now */
		f->skips -= (f->skips >> SKIPS_FADE) + 1;
	if (c && read->offset == c->next) /* most are */
		return follow_one(ra, t, counters, c, HEURISTIC_EXACT, read, near);
	if (f->set.n_backward) {
		struct cursor *back = backward_match(&f->set, read, near, c);

		if (back)
			return backward_follow(ra, t, counters, back, read);
	}
	early = out_of_step(t, f, read);
	if (early)
		return follow_out_of_step(ra, t, counters, early, read);
	if (c && skips(t, c, read, near))
		c = NULL;
	return follow_roughly(
		ra, t, counters, f, c,
		c ? heuristic_classify(t, c, read->offset, read->len) : HEURISTIC_JUMP, read, near);
}

/*
 * Chance puts some reads of a random reader behind earlier ones, the more often the more cursors
 * there are: that many halvings longer must the streak be.
 */
static bool on_a_streak(const struct readahead_tuning *t, const struct heur_file *f)
{
	uint32_t chance = 31 - (uint32_t)__builtin_clz(f->set.n);

	return t->rules->streaks && f->streak >= t->seq_threshold + chance;
}

/*
 * The count of C says so; or, for a young cursor, that the last reads of the file all continued one
 * or another: a stride reader need not prove each cursor anew. And where a file's reads seldom
 * continue a cursor, a run must be four times as long before it is believed.
 */
static bool sequential(const struct readahead_tuning *t, const struct heur_file *f,
		       const struct cursor *c)
{
	uint32_t needed = t->seq_threshold;

	if (way_is_stride(c->way))
		return c->count >= needed;
	if (c->next <= c->quiet)
		return false;
	if (f->set.n > 1 && f->matches < MATCHES_FEW && f->in_runs < IN_RUNS_FEW)
		needed = needed * 4 < t->seq_max ? needed * 4 : t->seq_max;
	return c->count >= needed || (c->count >= 2 && on_a_streak(t, f));
}

/* What is said of each is what it does of all this. */
#define EXTENDED(its_name, ...)                                                                    \
	{                                                                                          \
		.name = its_name, .follow = follow, .sequential = sequential, __VA_ARGS__          \
	}

const struct readahead_rules rules_extended =
	EXTENDED("extended", .any_order = true, .streaks = true, .backward = true, .strides = true,
		 .lengths = true, .beside = true);
const struct readahead_rules rules_apart =
	EXTENDED("apart", .any_order = true, .streaks = true, .backward = true, .strides = true,
		 .lengths = true);
const struct readahead_rules rules_endless =
	EXTENDED("endless", .any_order = true, .streaks = true, .backward = true, .strides = true,
		 .beside = true);
const struct readahead_rules rules_forward =
	EXTENDED("forward", .any_order = true, .streaks = true, .lengths = true);
const struct readahead_rules rules_ordered =
	EXTENDED("ordered", .streaks = true, .strides = true, .lengths = true, .beside = true);
const struct readahead_rules rules_streakless =
	EXTENDED("streakless", .any_order = true, .backward = true, .strides = true,
		 .lengths = true, .beside = true);
