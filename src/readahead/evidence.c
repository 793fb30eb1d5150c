/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes used, wasted, doubted and lost. See evidence.h. */
#include "readahead/evidence.h"

#include "readahead/beside.h"
#include "readahead/engine.h"
#include "readahead/way.h"

/* Windows of a file that wastes are halved at most this often. */
#define PENALTY_MAX 6
/* What came in vain counts for that from this part on of what its reader took: less is what remains of any run. */
#define PENALTY_PART 8

/* Bytes of evidence on a file that tell what to expect of new ones, if KNOWN are there. */
static uint64_t weight_left(uint64_t known)
{
	return known < EFFECTIVENESS_WEIGHT ? EFFECTIVENESS_WEIGHT - known : 0;
}

/* The first evidence on each file, of which KNOWN bytes are there, as far as it weighs, tells what to expect of new files. */
static void learn_new(struct readahead *ra, uint64_t known, uint64_t used, uint64_t wasted)
{
	uint64_t room = weight_left(known);
	struct effectiveness old = atomic_load(&ra->newcomers), new;

	if (!room)
		return;
	do {
		new = old;
		effectiveness_add(&new, used < room ? used : room, wasted < room ? wasted : room);
	} while (!atomic_compare_exchange_weak(&ra->newcomers, &old, new));
}

/* WASTED bytes that were learnt so were not. */
static void unlearn_new(struct readahead *ra, uint64_t known, uint64_t wasted)
{
	uint64_t room = weight_left(known);
	struct effectiveness old = atomic_load(&ra->newcomers), new;

	do {
		new = old;
		effectiveness_take_back(&new, wasted < room ? wasted : room);
	} while (!atomic_compare_exchange_weak(&ra->newcomers, &old, new));
}

static uint64_t known_of(const struct heur_file *f)
{
	return (uint64_t)f->effectiveness.used + f->effectiveness.wasted;
}

/* The same of C's, without what C is doubted for. */
static uint64_t known_but_doubt(const struct cursor *c)
{
	uint64_t known = known_of(c->file);

	return known > c->doubted ? known - c->doubted : 0;
}

/* USED bytes were read ahead in F, or would have been, and were read. */
static void learn(struct readahead *ra, struct heur_file *f, uint64_t used)
{
	learn_new(ra, known_of(f), used, 0);
	effectiveness_add(&f->effectiveness, used, 0);
}

static void forget_doubt(struct cursor *c)
{
	c->doubted = 0;
	c->example = c->fined = false;
}

/*
 * WASTED bytes of C are given up, for its reader went elsewhere. Of those doubted its file knows already; an example they are
 * only now, for what may be read yet says nothing of others.
 */
static void learn_waste(struct readahead *ra, struct cursor *c, uint64_t wasted)
{
	struct heur_file *f = c->file;

	learn_new(ra, known_but_doubt(c), 0, wasted);
	if (wasted > c->doubted)
		effectiveness_add(&f->effectiveness, 0, wasted - c->doubted);
	forget_doubt(c);
}

/* Bytes from the position FROM on that were asked for ahead of C, where that is before their end. */
static uint64_t asked_from(const struct cursor *c, uint64_t from)
{
	return c->ra_end > from ? cursor_bytes(c, from, c->ra_end) : 0;
}

/*
 * Bytes that C holds of what is before the position AT, which is not before its read_end: those beyond all that was asked
 * for from there on. What was given up, or counted when another one read it, lies there still and is not held. Where some
 * of what is to come was in memory before, they are more than this says, until it has come.
 */
static uint64_t held_before(const struct cursor *c, uint64_t at)
{
	uint64_t behind = asked_from(c, at);

	return c->charged > behind ? c->charged - behind : 0;
}

/* Of the bytes that C holds those that have come. */
static uint64_t arrived(const struct cursor *c)
{
	uint64_t come = c->done_end > c->read_end ? c->done_end : c->read_end;
	uint64_t there = asked_from(c, c->read_end) - asked_from(c, come);
	uint64_t held = held_before(c, come);

	return there < held ? there : held;
}

/* C gave up bytes that CAME, and some that were still COMING. */
static void count_given_up(struct readahead *ra, struct readahead_counters *counters,
			   const struct cursor *c, uint64_t came, uint64_t coming)
{
	given_up_add(ra->given_up, counters, c->account, came, coming);
	readers_count(ra->readers, c->reader, READER_WASTED, came);
}

/* C's file gets smaller windows for what CAME and was not read, if that is much. False: it does not. */
static bool fine(struct cursor *c, uint64_t came)
{
	if (came <= c->taken / PENALTY_PART || c->file->penalty == PENALTY_MAX)
		return false;
	c->file->penalty++;
	return true;
}

/*
 * Releases all that C holds, of which *CAME did; returns how many bytes. Who waits for what is still to come has not
 * wasted it.
 */
static uint64_t give_up(struct readahead *ra, struct cursor *c, uint64_t *came)
{
	uint64_t held;

	*came = arrived(c);
	held = budget_discharge(&ra->budget, c, c->charged);
	fine(c, *came);
	return held;
}

/* The same, counted: in COUNTERS, or where that is NULL for C's account. */
static uint64_t give_up_counted(struct readahead *ra, struct readahead_counters *counters,
				struct cursor *c)
{
	uint64_t came, held = give_up(ra, c, &came);

	if (held == 0)
		return 0;
	count_given_up(ra, counters, c, came, held - came);
	return held;
}

void evidence_missed(struct readahead *ra, struct heur_file *f, uint64_t used)
{
	learn(ra, f, used);
}

/* Of the next BYTES of C so many were counted when another one read them, who has passed there. */
static uint64_t counted_before(struct cursor *c, uint64_t bytes)
{
	uint64_t n = bytes < c->credited ? bytes : c->credited, room;

	if (!n || !beside_passed(c, NULL, c->read_end))
		return 0;
	room = cursor_bytes(c, c->read_end, c->ra_end) - c->charged;
	n = n < room ? n : room;
	c->credited -= n;
	return n;
}

/* BYTES of what was asked for ahead of C were read, whether they are still held or not. */
static void note_lately(struct cursor *c, uint64_t bytes)
{
	c->lately = bytes < UINT32_MAX - c->lately ? c->lately + (uint32_t)bytes : UINT32_MAX;
}

/* C's reader reads on: he was doubted wrongly. */
static void end_doubt(struct readahead *ra, struct cursor *c)
{
	if (c->example)
		unlearn_new(ra, known_but_doubt(c), c->doubted);
	if (c->doubted)
		effectiveness_take_back(&c->file->effectiveness, c->doubted);
	if (c->fined && c->file->penalty)
		c->file->penalty--;
	forget_doubt(c);
}

/* USED bytes of C were read. */
static void learn_use(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		      uint64_t used)
{
	c->taken += used;
	if (used)
		c->file->held = c->used;
	readahead_count(counters, READAHEAD_USED, used);
	readers_count(ra->readers, c->reader, READER_USED, used);
	end_doubt(ra, c);
	if (used)
		learn(ra, c->file, used);
}

void evidence_used(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		   uint64_t end)
{
	uint64_t upto = end < c->ra_end ? end : c->ra_end, bytes, held;

	if (upto <= c->read_end)
		return;
	bytes = cursor_bytes(c, c->read_end, upto);
	bytes -= counted_before(c, bytes);
	c->read_end = upto;
	note_lately(c, bytes);
	/* not what is to come behind it: of what was given up nothing is held */
	held = held_before(c, upto > c->done_end ? upto : c->done_end);
	bytes = bytes < held ? bytes : held;
	learn_use(ra, counters, c, budget_discharge(&ra->budget, c, bytes));
	if (c->file->penalty && c->read_end == c->ra_end)
		c->file->penalty--;
}

void evidence_used_beside(struct readahead *ra, struct readahead_counters *counters,
			  const struct cursor *c, const struct readahead_read *read)
{
	uint64_t end = read->offset + read->len, at = way_from(c->way, read->offset, end), from, to;
	struct cursor *o;

	if (at >= c->start && at >= c->own && at < c->ra_end)
		return; /* its own */
	o = beside_owner(c, read->offset);
	if (!o || beside_passed(c, o, at))
		return;
	from = way_from(o->way, read->offset, end);
	to = way_to(o->way, read->offset, end);
	from = from > o->read_end ? from : o->read_end;
	to = to < o->ra_end ? to : o->ra_end;
	if (from >= to)
		return;
	to = budget_discharge(&ra->budget, o, to - from);
	o->credited += to;
	note_lately(o, to);
	cursor_set_use(&o->file->set, o, o->count, read->now);
	learn_use(ra, counters, o, to);
}

void evidence_wasted(struct readahead *ra, struct readahead_counters *counters, struct cursor *c)
{
	learn_waste(ra, c, give_up_counted(ra, counters, c));
}

void evidence_surplus(struct readahead *ra, struct cursor *c, uint64_t most)
{
	uint64_t came = arrived(c);

	came = budget_discharge(&ra->budget, c, came < most ? came : most);
	count_given_up(ra, NULL, c, came, 0);
}

void evidence_unwanted(struct readahead *ra, struct cursor *c)
{
	if (!c->example)
		learn_new(ra, known_but_doubt(c), 0, c->doubted);
	c->example = true;
	evidence_surplus(ra, c, c->charged);
}

void evidence_lost(struct readahead *ra, struct readahead_counters *counters, struct cursor *c)
{
	give_up_counted(ra, counters, c);
	forget_doubt(c);
}

static void doubt(struct cursor *c, uint64_t came)
{
	if (came <= c->doubted)
		return;
	effectiveness_add(&c->file->effectiveness, 0, came - c->doubted);
	c->doubted = came;
}

void evidence_idle(struct readahead *ra, struct cursor *c)
{
	uint64_t came = arrived(c);

	doubt(c, came);
	c->fined |= fine(c, came);
	evidence_unwanted(ra, c);
}

void evidence_doubted(struct cursor *c, uint64_t now)
{
	if (elapsed(c->used, now) >= READER_SILENT && elapsed(c->done_time, now) >= READER_SILENT)
		doubt(c, arrived(c));
}

void evidence_retired(void *arg, struct cursor *c)
{
	evidence_wasted(arg, NULL, c);
}

double evidence_effectiveness(struct readahead *ra, const struct heur_file *f)
{
	struct effectiveness newcomers = atomic_load_explicit(&ra->newcomers, memory_order_relaxed);

	return effectiveness_of(&f->effectiveness, effectiveness_of(&newcomers, 1));
}
