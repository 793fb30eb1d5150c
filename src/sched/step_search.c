/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The length that a cluster's requests are best with. See step_search.h. */
#include "sched/step_search.h"

/* What is tried, or would be. */
static uint32_t other(const struct step_search *s)
{
	return s->down ? step_search_used(s) / 2 : step_search_used(s) * 2;
}

/* Whether there is nothing on that side. */
static bool is_at_end(const struct step_search *s)
{
	return other(s) == 0 || other(s) > STEP_MAX;
}

static void begin_trial(struct step_search *s)
{
	s->turn = 0;
	s->unit = 0;
	s->as_used = s->tried = (struct step_times){.n = 0};
}

static void won(struct step_search *s)
{
	s->used = other(s);
	s->lost = 0;
	if (is_at_end(s))
		s->quiet = STEP_QUIET;
	begin_trial(s);
}

static void lost(struct step_search *s)
{
	s->quiet = STEP_QUIET;
	for (uint32_t i = 0; i < s->lost; i++)
		s->quiet *= STEP_BACK_OFF;
	if (s->lost < STEP_BACK_OFF_MAX)
		s->lost++;
	s->down = !s->down;
	begin_trial(s);
}

uint32_t step_search_next(struct step_search *s, uint32_t max)
{
	uint32_t steps = step_search_used(s);

	if (s->quiet) {
		s->quiet--;
	} else if (s->turn == STEP_PATIENCE) {
		lost(s);
	} else {
		if (s->turn == 0 && is_at_end(s))
			s->down = !s->down;
		if (s->turn++ % 2 != 0 && other(s) <= max)
			steps = other(s);
	}
	return steps < max ? steps : max;
}

/* What one takes (ns): the mean of the half in the middle. */
static double usual(const struct step_times *t)
{
	uint32_t from = t->n / 4, upto = t->n - from;
	double sum = 0;

	for (uint32_t i = from; i < upto; i++)
		sum += (double)t->ns[i];
	return sum / (upto - from);
}

/* Whether it can be told by now; both have N requests at least. */
static bool is_clear(uint32_t n, double ratio, double limit)
{
	return n >= STEP_TIMES || ratio < limit - STEP_NEAR || ratio > limit + STEP_NEAR;
}

/* True: the challenger has won. */
static bool judge(struct step_search *s)
{
	const struct step_times *a = &s->as_used, *b = &s->tried;
	uint32_t n = a->n < b->n ? a->n : b->n;
	double limit = s->down ? STEP_KEEP : STEP_GAIN, ratio;

	if (n < STEP_PAIRS)
		return false;
	ratio = usual(a) * other(s) / (usual(b) * step_search_used(s));
	if (!is_clear(n, ratio, limit))
		return false;
	s->told = true;
	if (ratio > limit)
		won(s);
	else
		lost(s);
	return ratio > limit;
}

static void add(struct step_times *t, uint64_t ns)
{
	uint32_t i;

	if (t->n == STEP_TIMES)
		return;
	for (i = t->n++; i > 0 && t->ns[i - 1] > ns; i--)
		t->ns[i] = t->ns[i - 1];
	t->ns[i] = ns;
}

bool step_search_came(struct step_search *s, uint32_t steps, uint64_t bytes, uint64_t ns)
{
	if (s->quiet || !steps || !ns || (steps != step_search_used(s) && steps != other(s)))
		return false;
	if (!s->unit)
		s->unit = bytes / steps;
	if (bytes != s->unit * steps)
		return false; /* of another export, whose steps are not as long */
	add(steps == other(s) ? &s->tried : &s->as_used, ns);
	return judge(s);
}

bool step_search_small(struct step_search *s, uint64_t took, uint64_t now)
{
	uint64_t from = now - took;
	bool longer;

	if (s->told || took < STEP_LOCAL || now <= s->small_upto)
		return false;
	s->small_busy += now - (from > s->small_upto ? from : s->small_upto);
	s->small_upto = now;
	if (++s->smalls < STEP_SMALLS || (double)s->small_busy >= STEP_CHEAP * s->smalls)
		return false;
	longer = step_search_used(s) != STEP_MAX;
	s->told = true;
	s->used = STEP_MAX;
	s->down = true;
	s->quiet = STEP_QUIET;
	begin_trial(s);
	return longer;
}
