/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What readers who are silent, or slow, have to give up: looked for about once a second. See readahead.h.
 *
 *   of a cursor that holds some       given up
 *   silent for Cursor_Idle            all
 *   silent for a second, and short    all that has come
 *   slow, and others want it          what it does not come to within Cursor_Idle, and its reader has too much
 *
 * It gives up the claim on memory: what has come may well be there yet, and its run goes on in it.
 */
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/readahead.h"

/*
 * All that C holds is given up. What has come may be in memory yet, and is read there when its reader goes on, or found gone
 * (readahead_lost); what is still to come means nothing to him any more.
 */
static void give_up(struct readahead *ra, struct cursor *c)
{
	if (c->done_end >= c->ra_end) {
		evidence_idle(ra, c);
		return;
	}
	evidence_wasted(ra, NULL, c);
	cursor_end_run(c);
	c->start = c->read_end = c->next;
	cursor_check(c);
}

/*
 * Of a cursor that holds unread bytes. Where memory is short, what is doubted is given up at once. To end its run for that would
 * have each READ of one who is slow begin anew, behind what he was given, and say that his runs are short.
 */
static void judge(struct readahead *ra, struct cursor *c, bool is_short, uint64_t now)
{
	evidence_doubted(c, now);
	if (c->queued)
		return;
	if (elapsed(c->used, now) > ra->idle_time)
		give_up(ra, c);
	else if (is_short && c->doubted)
		evidence_unwanted(ra, c);
}

/* PASSED ms later. */
static void fade(struct cursor *c, uint64_t passed)
{
	if (passed > CURSOR_FADE)
		passed = CURSOR_FADE;
	c->lately -= (uint32_t)(c->lately * passed / CURSOR_FADE);
}

/*
 * Bytes that C comes to before it would be idle. A page in any case: it is one of its reader's streams still, and the others'
 * windows grow no larger for it.
 */
static uint64_t comes_to(const struct readahead *ra, const struct cursor *c)
{
	return cursor_comes_to(c, atomic_load(&ra->idle_time));
}

/*
 * C's reader is to give up what he has too much, as far as C would hold it for long. It is not forgotten that it was asked
 * for: it is in memory still, or is read when he comes to it, and who is slow has no more fetched instead.
 */
static void share(struct readahead *ra, struct cursor *c)
{
	uint64_t surplus = budget_surplus(&ra->budget, c->payer), use = comes_to(ra, c);

	if (surplus && c->charged > use)
		evidence_surplus(ra, c, surplus < c->charged - use ? surplus : c->charged - use);
}

void readahead_collect(struct readahead *ra, uint16_t account, struct readahead_counters *counters)
{
	given_up_collect(&ra->given_up[account], counters);
}

void readahead_sweep(struct readahead *ra, uint64_t now)
{
	bool is_short = budget_is_short(&ra->budget);
	uint64_t before = atomic_exchange(&ra->swept, now);
	uint64_t passed = before ? elapsed(before, now) / CLOCK_MS : 0;

	run_lengths_sweep(ra, now);
	budget_look(&ra->budget);
	for (uint32_t i = budget_holder(&ra->budget, 0); i < ra->pool.size;
	     i = budget_holder(&ra->budget, i + 1)) {
		struct cursor *c = heur_cursor_nth(&ra->table, i);

		if (!c)
			continue;
		fade(c, passed);
		if (c->charged)
			judge(ra, c, is_short, now);
		if (c->charged)
			share(ra, c);
		heur_file_put(c->file);
	}
}
