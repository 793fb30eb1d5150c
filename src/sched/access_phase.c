/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Turns of a disk by times. See access_phase.h. */
#include "sched/access_phase.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ns of a revolution. */
static const float periods[PHASE_PERIODS] = {60e9f / 7200,  60e9f / 5400, 60e9f / 10000,
					     60e9f / 15000, 60e9f / 5900, 60e9f / 10500};

/* What was observed before counts this much with each that is. */
#define FORGET 0.9f
/* Pieces, as far as they count, that are enough; and how well they must agree: 1 all, 0 as by chance. */
#define ENOUGH 2.5f
#define AGREED 0.5f
/*
 * What an arm needs before anything is known of it (ns), and how that grows with the root of the distance, as arms that
 * speed up and brake need: taken for faster than it is, it costs a revolution at each distance that is tried first.
 */
#define LEAST	   1.3e6f
#define LEAST_ROOT 0.2e6f
/*
 * What is had by so little may be missed the next time: parts of a revolution. Pieces are so far from where their distance
 * alone puts them: tracks are set off against each other, by what it takes to change them, a tenth of one.
 */
#define NEAR 0.12
/* An arm that was late needs so much longer than was thought. */
#define LATER 0.08f
/* What comes so far from where it was expected is a surprise; with so many of them the pieces lie elsewhere. */
#define SURPRISE      0.15
#define SURPRISES_TOO 5

/* Parts of a revolution that DISTANCE steps are, 0 to below 1. */
static double phase(const struct access_phase *p, int distance)
{
	return (double)(uint8_t)(distance * p->turn) / PHASE_BINS;
}

/* What is taken for granted of an arm that nothing is known of. */
static void begin(struct access_phase *p)
{
	for (int i = 0; i < PHASE_DISTANCES; i++)
		p->least[i] = LEAST + LEAST_ROOT * sqrtf((float)i);
}

/* All that are as far away or farther need that much. */
static void needs_more(struct access_phase *p, int distance, float ns)
{
	for (int i = abs(distance); i < PHASE_DISTANCES; i++)
		if (p->least[i] < ns)
			p->least[i] = ns;
}

static void needs_less(struct access_phase *p, int distance, float ns)
{
	for (int i = abs(distance); i >= 0; i--)
		if (p->least[i] > ns)
			p->least[i] = ns;
}

/* What this piece, which took TURNS revolutions more than it makes, says of the arm. */
static void learn_least(struct access_phase *p, int distance, float took, double turns)
{
	float period = periods[p->period], reached = (float)phase(p, distance) * period;
	float least = p->least[abs(distance)], more = least + LATER * period;

	if (turns > 1 - SURPRISE && turns < 1 + SURPRISE && reached >= least)
		needs_more(p, distance, more < reached + 1 ? more : reached + 1);
	else if (took < least)
		needs_less(p, distance, took);
}

/* Whether what was known is wrong by now: TURNS should be none, or whole ones. */
static bool is_elsewhere(struct access_phase *p, double turns)
{
	double off = turns - (double)(int)(turns + 0.5);

	if (off > SURPRISE || off < -SURPRISE)
		p->surprises += 2;
	else if (p->surprises > 0)
		p->surprises--;
	if (p->surprises < SURPRISES_TOO)
		return false;
	p->surprises = 0;
	return true;
}

/* The pair of a period and a turn that agrees best now. */
static void agree(struct access_phase *p, int distance, float took)
{
	float best = -1;

	p->weight = p->weight * FORGET + 1;
	for (int i = 0; i < PHASE_PERIODS; i++) {
		float turns = took / periods[i];
		uint8_t at = (uint8_t)((turns - (float)(int)turns) * PHASE_BINS);

		for (int turn = 0; turn < PHASE_BINS; turn++) {
			int off = (int8_t)(uint8_t)(at - distance * turn);
			float *score = &p->score[i][turn];

			*score = *score * FORGET + 1 - (float)abs(off) / (PHASE_BINS / 4);
			if (*score > best) {
				best = *score;
				p->period = (uint8_t)i;
				p->turn = (uint8_t)turn;
			}
		}
	}
	p->known = p->weight >= ENOUGH && best >= AGREED * p->weight;
}

bool access_phase_observe(struct access_phase *p, int distance, uint64_t took)
{
	bool elsewhere = false;

	assert(distance != 0 && abs(distance) < PHASE_DISTANCES);
	if (p->weight <= 0)
		begin(p);
	if (p->known) {
		double turns = (double)((float)took / periods[p->period]) - phase(p, distance);

		learn_least(p, distance, (float)took, turns);
		elsewhere = is_elsewhere(p, turns);
	}
	agree(p, distance, (float)took);
	return elsewhere;
}

double access_phase_expect(const struct access_phase *p, int distance)
{
	double period = (double)periods[p->period], ns = phase(p, distance) * period;
	double spare = ns - (double)p->least[abs(distance)];

	if (!p->known)
		return 0;
	if (spare < 0)
		return ns + period;
	return spare < NEAR * period ? ns + (1 - spare / (NEAR * period)) * period / 2 : ns;
}
