/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The length that a cluster's requests are best with. See step_search.h. */
#include "sched/step_search.h"

#include <stddef.h>

/* A trial in which one of both has come so many times as often as it ever has to, and the other has not, is over. */
#define MISSING 2

/* What is tried, or would be. */
static uint32_t other(const struct step_search *s)
{
	return s->down ? step_search_used(s) / 2 : step_search_used(s) * 2;
}

static void begin_trial(struct step_search *s)
{
	s->turn = 0;
	s->as_used = s->tried = (struct step_times){.n = 0};
}

uint32_t step_search_next(struct step_search *s, uint32_t max)
{
	uint32_t steps;

	if (s->quiet == 0 && (other(s) == 0 || other(s) > max))
		s->down = !s->down;
	steps = s->quiet == 0 && s->turn++ % 2 != 0 ? other(s) : step_search_used(s);
	return steps == 0 ? 1 : steps < max ? steps : max;
}

static void won(struct step_search *s)
{
	s->told = true;
	s->used = other(s);
	s->lost = 0;
	if (other(s) == 0 || other(s) > STEP_MAX)
		s->quiet = STEP_QUIET;
	begin_trial(s);
}

static void lost(struct step_search *s)
{
	s->told = true;
	s->quiet = STEP_QUIET;
	for (uint32_t i = 0; i < s->lost; i++)
		s->quiet *= STEP_BACK_OFF;
	if (s->lost < STEP_BACK_OFF_MAX)
		s->lost++;
	s->down = !s->down;
	begin_trial(s);
}

static double rate(const struct step_times *t)
{
	return t->ns ? (double)t->bytes / (double)t->ns : 0;
}

/* Whether it can be told by now; both have N requests at least. */
static bool is_clear(uint32_t n, double ratio, double limit)
{
	return n >= STEP_PAIRS * STEP_LONGER ||
	       (n >= STEP_PAIRS && (ratio < limit - STEP_NEAR || ratio > limit + STEP_NEAR));
}

static void judge(struct step_search *s)
{
	const struct step_times *a = &s->as_used, *b = &s->tried;
	double limit = s->down ? STEP_KEEP : STEP_GAIN, ratio = a->n ? rate(b) / rate(a) : 0;

	if (is_clear(a->n < b->n ? a->n : b->n, ratio, limit)) {
		if (ratio > limit)
			won(s);
		else
			lost(s);
	} else if ((a->n > b->n ? a->n : b->n) >= MISSING * STEP_PAIRS * STEP_LONGER) {
		lost(s);
	}
}

void step_search_came(struct step_search *s, uint32_t steps, uint64_t bytes, uint64_t ns)
{
	struct step_times *t = steps == step_search_used(s) ? &s->as_used
			       : steps == other(s)	    ? &s->tried
							    : NULL;

	if (s->quiet) {
		s->quiet--;
	} else if (t) {
		t->n++;
		t->bytes += bytes;
		t->ns += ns;
		judge(s);
	}
}

void step_search_small(struct step_search *s, uint64_t took, uint64_t now)
{
	uint64_t from = now - took;

	if (s->told || took < STEP_LOCAL || now <= s->small_upto)
		return;
	s->small_busy += now - (from > s->small_upto ? from : s->small_upto);
	s->small_upto = now;
	if (++s->smalls < STEP_SMALLS || (double)s->small_busy >= STEP_CHEAP * s->smalls)
		return;
	s->told = true;
	s->used = STEP_MAX;
	s->down = true;
	s->quiet = STEP_QUIET;
	begin_trial(s);
}
