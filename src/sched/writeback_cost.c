/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The observed cost of write-backs. See writeback_cost.h. */
#include "sched/writeback_cost.h"

/* A step is a power of two, so that turns go on where commands of the kernel begin. */
#define STEP_MIN (UINT64_C(64) << 10)
#define STEP_MAX (UINT64_C(1) << 20)
/* A turn is made of so many steps at least, where they may be so small. */
#define STEPS 4
/* Turns of less than this are all seek (bytes). */
#define TURN_LEAST (UINT64_C(256) << 10)
/* A sum forgets this share with each turn. */
#define FORGETS 0.125

static void add(struct writeback_sum *sum, double bytes, double ns)
{
	sum->ns += ns - sum->ns * FORGETS;
	sum->bytes += bytes - sum->bytes * FORGETS;
}

void writeback_cost_turn(struct writeback_cost *c, uint64_t bytes, uint64_t ns)
{
	c->fresh = bytes >= TURN_LEAST;
	c->bytes = bytes;
	c->ns = ns;
	if (c->fresh)
		add(&c->rough, (double)bytes, (double)ns);
}

uint64_t writeback_cost_read(struct writeback_cost *c, uint64_t ns, double expected, bool alone)
{
	/* one may also be faster than most: only the mean says what the drive does */
	double drain = (double)ns - expected;

	if (!c->fresh)
		return 0;
	c->fresh = false;
	if (!alone)
		return 0;
	add(&c->whole, (double)c->bytes, (double)c->ns + drain);
	return drain > 0 ? (uint64_t)drain : 0;
}

/* ns for a byte; 0: not known. */
static double price(const struct writeback_cost *c)
{
	const struct writeback_sum *sum = c->whole.bytes > 0 ? &c->whole : &c->rough;

	return sum->bytes > 0 && sum->ns > 0 ? sum->ns / sum->bytes : 0;
}

uint64_t writeback_cost_bytes(const struct writeback_cost *c, uint64_t slice)
{
	double bytes = price(c) > 0 ? (double)slice / price(c) : 1e18;

	return bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX;
}

uint64_t writeback_cost_step(const struct writeback_cost *c, uint64_t slice)
{
	uint64_t step = STEP_MAX, bytes = writeback_cost_bytes(c, slice);

	while (step > STEP_MIN && step > bytes / STEPS)
		step /= 2;
	return step;
}
