/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes used, wasted, doubted and lost. See evidence.h. */
#include "readahead/evidence.h"

#include "readahead/engine.h"

/* Windows of a file that wastes are halved at most this often. */
#define PENALTY_MAX 6
/*
 * What is unread after its reader was silent for this long (ns) is taken for wasted, as evidence.
 */
#define DOUBT_AFTER 1000000000u

/*
 * What became of bytes that were read ahead in F, or would have been. The first evidence on each
 * file, as far as it weighs, also tells what to expect of files not known yet.
 */
static void learn(struct readahead *ra, struct heur_file *f, uint64_t used, uint64_t wasted)
{
	uint64_t known = (uint64_t)f->effectiveness.used + f->effectiveness.wasted;

	if (known < EFFECTIVENESS_WEIGHT) {
		uint64_t room = EFFECTIVENESS_WEIGHT - known;
		struct effectiveness old = atomic_load(&ra->newcomers), new;

		do {
			new = old;
			effectiveness_add(&new, used < room ? used : room,
					  wasted < room ? wasted : room);
		} while (!atomic_compare_exchange_weak(&ra->newcomers, &old, new));
	}
	effectiveness_add(&f->effectiveness, used, wasted);
}

/*
 * WASTED bytes of C are given up, for its reader went elsewhere. Those doubted are known already.
 */
static void learn_waste(struct readahead *ra, struct cursor *c, uint64_t wasted)
{
	if (wasted > c->doubted)
		learn(ra, c->file, 0, wasted - c->doubted);
	c->doubted = 0;
}

/* Releases all that C holds; returns how many bytes. Its file gets smaller windows for them. */
static uint64_t give_up(struct readahead *ra, struct cursor *c)
{
	uint64_t wasted = budget_discharge(&ra->budget, c, c->charged);

	if (wasted && c->file->penalty < PENALTY_MAX)
		c->file->penalty++;
	return wasted;
}

void evidence_missed(struct readahead *ra, struct heur_file *f, uint64_t used)
{
	learn(ra, f, used, 0);
}

void evidence_used(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		   uint64_t end)
{
	uint64_t upto = end < c->ra_end ? end : c->ra_end, used;

	if (upto <= c->read_end)
		return;
	used = budget_discharge(&ra->budget, c, cursor_bytes(c, c->read_end, upto));
	readahead_count(counters, READAHEAD_USED, used);
	c->read_end = upto;
	if (c->doubted)
		effectiveness_take_back(&c->file->effectiveness, c->doubted);
	c->doubted = 0;
	if (used)
		learn(ra, c->file, used, 0);
	if (c->file->penalty && c->read_end == c->ra_end)
		c->file->penalty--;
}

void evidence_wasted(struct readahead *ra, struct readahead_counters *counters, struct cursor *c)
{
	uint64_t wasted = give_up(ra, c);

	readahead_count(counters, READAHEAD_WASTED, wasted);
	learn_waste(ra, c, wasted);
}

void evidence_lost(struct readahead *ra, struct readahead_counters *counters, struct cursor *c)
{
	readahead_count(counters, READAHEAD_WASTED, give_up(ra, c));
	c->doubted = 0;
}

void evidence_doubted(struct readahead *ra, struct cursor *c, uint64_t now)
{
	uint64_t arrived =
		c->done_end > c->read_end ? cursor_bytes(c, c->read_end, c->done_end) : 0;

	if (arrived > c->charged)
		arrived = c->charged;
	if (arrived <= c->doubted || elapsed(c->used, now) < DOUBT_AFTER ||
	    elapsed(c->done_time, now) < DOUBT_AFTER)
		return;
	learn(ra, c->file, 0, arrived - c->doubted);
	c->doubted = arrived;
}

void evidence_retired(void *arg, struct cursor *c)
{
	struct readahead *ra = arg;
	uint64_t wasted = give_up(ra, c);

	learn_waste(ra, c, wasted);
	atomic_fetch_add_explicit(&ra->retired_unread, wasted, memory_order_relaxed);
}

double evidence_effectiveness(struct readahead *ra, const struct heur_file *f)
{
	struct effectiveness newcomers = atomic_load_explicit(&ra->newcomers, memory_order_relaxed);

	return effectiveness_of(&f->effectiveness, effectiveness_of(&newcomers, 1));
}
