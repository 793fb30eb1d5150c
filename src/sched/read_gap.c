/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The time without reads. See read_gap.h. */
#include "sched/read_gap.h"

#include <math.h>

/* Weights of the last gap, as of a round trip's (Jacobson 1988). */
#define MEAN_PART 8
#define DEV_PART  4
/* Deviations after which it is late. */
#define LATE_DEVS 4

void read_gap_begins(struct read_gap *g, uint64_t now)
{
	g->since = now;
}

static void count(struct read_gap *g, double took)
{
	double off = took - g->mean;

	if (!g->n) {
		g->mean = took;
		g->dev = took / 2;
	} else {
		g->mean += off / MEAN_PART;
		g->dev += (fabs(off) - g->dev) / DEV_PART;
	}
	g->n += g->n < READ_GAP_SURE;
}

void read_gap_ends(struct read_gap *g, uint64_t now)
{
	double took = (double)(now - g->since);
	bool pause = g->n && took > READ_GAP_PAUSE * (g->mean + g->dev);

	if (!g->since)
		return;
	g->since = 0;
	if (!pause || g->paused)
		count(g, took < 2.0 * READ_GAP_MAX ? took : 2.0 * READ_GAP_MAX);
	g->paused = pause && !g->paused;
}

uint64_t read_gap_usual(const struct read_gap *g)
{
	if (g->n < READ_GAP_SURE || g->mean > (double)READ_GAP_MAX || g->dev >= g->mean)
		return 0;
	return (uint64_t)(g->mean - g->dev);
}

uint64_t read_gap_late(const struct read_gap *g)
{
	return g->since + (uint64_t)(g->mean + LATE_DEVS * g->dev);
}
