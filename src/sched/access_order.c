/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of pieces by what they took. See access_order.h. */
#include "sched/access_order.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* An average forgets at this rate. */
#define FORGET 4
/* What is not known counts as this share of what is, on average, if it is near; far ones are tried last. */
#define UNKNOWN	    0.7
#define UNKNOWN_FAR 1.5
#define NEAR	    12
/* The first piece that is left is passed over for one that takes this share: it must be come back for. */
#define WORTH 0.8
/* Pieces (ns) that no other order brings much faster: settling, waiting and reading take about that. */
#define FAST_ENOUGH 4e6
/* One that took longer than so many times what it does was held up, or the disk goes on elsewhere there. */
#define HELD_UP 2

/* Mean ns of the distances that were tried: what one that was not may be expected to take. */
static double tried(const struct access_order *a)
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < 2 * ACCESS_PIECES; i++) {
		sum += a->ns[i];
		n += a->ns[i] > 0;
	}
	return n ? sum / n : 0;
}

static double expected(const struct access_order *a, double unknown, int distance)
{
	double ns = a->ns[ACCESS_PIECES + distance];

	if (ns > 0)
		return ns;
	ns = access_phase_expect(&a->phase, distance);
	if (ns > 0)
		return ns;
	return (distance >= -NEAR && distance <= NEAR ? UNKNOWN : UNKNOWN_FAR) * unknown;
}

/* Whether piece TO, the one behind LAST, is fast as it is. */
static bool in_order(const struct access_order *a, unsigned int to, int last)
{
	float ns = a->ns[ACCESS_PIECES + 1];

	return (int)to == last + 1 && ns > 0 && (double)ns < FAST_ENOUGH;
}

unsigned int access_order_next(const struct access_order *a, uint64_t left, int last)
{
	unsigned int best = (unsigned int)__builtin_ctzll(left);
	double unknown = tried(a), least;

	assert(left);
	if (last < 0 || in_order(a, best, last))
		return best;
	least = WORTH * expected(a, unknown, (int)best - last);
	for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(rest);
		double ns = expected(a, unknown, (int)i - last);

		if (ns < least) {
			best = i;
			least = ns;
		}
	}
	return best;
}

void access_order_observe(struct access_order *a, uint64_t step, int from, int to, uint64_t took)
{
	float *ns = &a->ns[ACCESS_PIECES + to - from], counts = (float)took;

	assert(to != from && to - from < ACCESS_PIECES && from - to < ACCESS_PIECES);
	if (a->step != step)
		*a = (struct access_order){.step = step};
	if (access_phase_observe(&a->phase, to - from, took))
		memset(a->ns, 0, sizeof(a->ns));
	if (*ns > 0 && counts > HELD_UP * *ns)
		counts = HELD_UP * *ns;
	*ns += (counts - *ns) / (*ns > 0 ? FORGET : 1);
}
