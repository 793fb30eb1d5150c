/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * turns: N-step C-SCAN's fairness at the elevator's throughput.
 *
 *   scan of chunks    | A....... | d d | B....... | d | C....... | ...
 *                       a turn     gap   a turn   gap   a turn
 *
 * Streams take turns: a scan holds one chunk of each, frozen and sorted by disk address, and a
 * chunk is sized (cost.h) so that the seek before it is a small share of the turn. Ellard &
 * Seltzer's N-step C-SCAN paid half the bandwidth for fairness because a turn was one small read.
 *
 * Streams are fair by bytes, as in start-time fair queueing: a chunk is tagged with what its stream
 * had before it, a stream new to the queue starts level with the scan under way, and a scan takes
 * the chunks of the streams furthest behind, up to half a chunk. So the stream that came first, or
 * was given a longer chunk, is not ahead for good, and idleness earns nothing. A scan takes the level
 * on by what it had for each chunk that it began with: streams that are new again and again would
 * keep away those that go on.
 *
 * The first chunk of a stream joins the scan under way, so that its first bytes wait for a part of a scan and not for a
 * whole one; no more of them than it began with, for the others wait meanwhile. Those that come together have every
 * second scan for themselves.
 *
 * Small demand reads (of no stream, or of one too young for read-ahead) are served in gaps, between
 * chunks and, after a slice of time, within them: all that wait when the gap opens, as a frozen
 * batch in scan order, so that none of them starves another; then the turn goes on, so that they do
 * not starve the streams. Where nobody has broken in for long the gap is at once, not after a slice, and for
 * those that come once in a while as long as they have credit (gap_credit.h). While some of it are at a drive that takes
 * several, and reads with which files begin wait, what waits goes on in it, for a slice: a long chunk has no place there until
 * these have ended, and with each that ends the drive has less to choose from.
 */
#include "sched/parts.h"
#include "sched/policy.h"

#define TURNS_STREAMS 1024

struct turns {
	struct order next;    /* chunks after the present scan, by what their streams have had */
	struct order current; /* chunks of the present scan, by address */
	struct order_batches small; /* reads, by address: of the present gap, and those that wait */
	bool gap_used;
	uint64_t gap_ends; /* ns: the present gap has been open for a slice */
	uint32_t firsts;   /* of the small reads those with which files begin */
	bool first_only; /* the present scan has only first chunks of streams, and those that joined it */
	uint32_t joined; /* first chunks that joined the present scan */
	uint64_t level;	 /* what the streams of the present scan have had, bytes */
	uint64_t bytes;	 /* of the chunks of the present scan */
	uint32_t n;	 /* it began with so many */
};

/* What streams have had, of all flows: as far as there is room. */
struct turns_streams {
	struct {
		uint64_t owner, had;	/* bytes */
		const struct turns *of; /* ... as counted in this flow: others are elsewhere */
	} stream[TURNS_STREAMS];
};

/* What its stream had before the chunk R, which it now has too. */
static uint64_t had_before(const struct turns *t, struct turns_streams *s,
			   const struct sched_req *r)
{
	uint64_t slot = r->owner % TURNS_STREAMS, had = t->level;

	if (s->stream[slot].owner == r->owner && s->stream[slot].of == t &&
	    s->stream[slot].had > had)
		had = s->stream[slot].had;
	s->stream[slot].owner = r->owner;
	s->stream[slot].had = had + r->len;
	s->stream[slot].of = t;
	return had;
}

/* What was taken from R its stream has not had. */
static void shortened(void *state, void *shared, const struct sched_req *r, uint64_t less)
{
	struct turns_streams *s = shared;
	struct turns *t = state;
	uint64_t slot = r->owner % TURNS_STREAMS;

	if (t->bytes >= less)
		t->bytes -= less;
	if (s->stream[slot].owner == r->owner && s->stream[slot].of == state &&
	    s->stream[slot].had >= less)
		s->stream[slot].had -= less;
}

/* The chunk R, in no order, is one of the present scan. */
static void into_scan(struct turns *t, struct sched_req *r)
{
	order_insert(&t->current, &r->order, r->block, r->sequence);
	t->bytes += r->len;
}

static void add(void *state, void *shared, struct sched_req *r)
{
	struct turns *t = state;

	if (r->class == SCHED_DEMAND) {
		order_batch_insert(&t->small, &r->order, r->block, r->sequence);
		t->firsts += r->brings_more;
		return;
	}
	r->tag = had_before(t, shared, r);
	if (r->begins && t->current.n && t->joined < t->n) {
		t->joined++;
		into_scan(t, r);
		return;
	}
	order_insert(&t->next, &r->order, r->tag, r->sequence);
}

/* Freezes the chunks of NEXT that their streams had up to UPTO for; of first ones only, or of all. */
static void freeze(struct turns *t, uint64_t upto, bool first_only)
{
	struct order_node *at = order_first(&t->next), *after;

	for (; at && ordered_req(at)->tag <= upto; at = after) {
		struct sched_req *r = ordered_req(at);

		after = order_next(at);
		if (first_only && !r->begins)
			continue;
		order_remove(at);
		into_scan(t, r);
		t->n++;
	}
}

/* Freezes the next scan: the chunks of the streams furthest behind. */
static void next_scan(struct turns *t, const struct sched_queue *q)
{
	uint64_t least = ordered_req(order_first(&t->next))->tag, upto;
	bool was_first_only = t->first_only;

	t->level += t->n ? t->bytes / t->n : 0;
	if (t->level < least)
		t->level = least;
	t->joined = t->n = 0;
	t->bytes = 0;
	t->first_only = false;
	upto = t->level + sched_chunk(q) / 2;
	if (!was_first_only)
		freeze(t, upto, true);
	if (t->n)
		t->first_only = true;
	else
		freeze(t, upto, false);
}

static void remove_req(void *state, struct sched_req *r)
{
	struct turns *t = state;

	if (r->class != SCHED_DEMAND)
		t->gap_used = false; /* a chunk goes: the next gap may open after it */
	else
		t->firsts -= r->brings_more;
	order_remove(&r->order);
}

/* Whether the present gap goes on with what waits: reads with which files begin, a few of each, are among that. */
static bool gap_goes_on(const struct turns *t, const struct sched_queue *q)
{
	return t->firsts && q->scattered_only && !q->at_hand && q->flows.now < t->gap_ends;
}

static struct sched_req *pick(void *state, const struct sched_queue *q)
{
	struct turns *t = state;
	bool chunks = t->current.n || t->next.n;

	if (!t->gap_used || !chunks || gap_goes_on(t, q))
		order_batch_freeze(&t->small);
	if (order_batch(&t->small)->n) {
		if (!t->gap_used)
			t->gap_ends = q->flows.now + flow_slice(q);
		t->gap_used = true;
		return ordered_req(order_scan(order_batch(&t->small), q->head));
	}
	if (!t->current.n && t->next.n)
		next_scan(t, q);
	return ordered_req(order_scan(&t->current, q->head));
}

static struct sched_req *gap(void *state, const struct sched_queue *q, bool first)
{
	struct turns *t = state;

	if (first)
		order_batch_freeze(&t->small);
	return ordered_req(order_scan(order_batch(&t->small), q->head));
}

/* As if it had been picked: that was a gap. */
static void passed(void *state)
{
	struct turns *t = state;

	t->gap_used = true;
}

const struct sched_policy sched_turns = {
	.name = "turns",
	.size = sizeof(struct turns),
	.shared = sizeof(struct turns_streams),
	.add = add,
	.remove = remove_req,
	.pick = pick,
	.gap = gap,
	.shortened = shortened,
	.passed = passed,
};
