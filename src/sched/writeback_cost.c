/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The observed cost of write-backs. See writeback_cost.h. */
#include "sched/writeback_cost.h"

/* A step is a power of two, so that turns go on where commands of the kernel begin. */
#define STEP_MIN (UINT64_C(64) << 10)
#define STEP_MAX (UINT64_C(1) << 20)
/* A turn is made of so many steps at least, where they may be so small. */
#define STEPS 3
/* Turns of less than this are all seek (bytes). */
#define TURN_LEAST (UINT64_C(256) << 10)
/* No disk takes so many bytes in a ns, nor does a drive's cache: nothing was written, the kernel had done it before. */
#define RATE_MOST 10
/* A sum forgets this share with each turn. */
#define FORGETS 0.125

static void add(struct writeback_sum *sum, double ns, double bytes)
{
	sum->ns += ns - sum->ns * FORGETS;
	sum->bytes += bytes - sum->bytes * FORGETS;
}

/* The last turn is over, and cost DRAIN (ns) more than it took; of one that nobody read after, 0. */
static void add_last(struct writeback_cost *c, double drain)
{
	if (!c->fresh)
		return;
	c->fresh = false;
	add(&c->all, (double)c->last_ns + drain, (double)c->last_bytes);
	add(&c->alone, (double)c->last_ns + drain, (double)c->last_bytes);
}

/* ns for a byte; 0: not known. */
static double price_by(const struct writeback_sum *sum)
{
	return sum->bytes > 0 && sum->ns > 0 ? sum->ns / sum->bytes : 0;
}

static double price(const struct writeback_cost *c)
{
	if (c->all.bytes > 0)
		return price_by(&c->all);
	return c->fresh ? (double)c->last_ns / (double)c->last_bytes : 0;
}

static bool was_clean(uint64_t bytes, uint64_t ns)
{
	return bytes / RATE_MOST > ns;
}

void writeback_cost_turn(struct writeback_cost *c, uint64_t bytes, uint64_t ns)
{
	if (was_clean(bytes, ns))
		return;
	add_last(c, 0);
	c->fresh = bytes >= TURN_LEAST;
	c->last_bytes = bytes;
	c->last_ns = ns;
}

uint64_t writeback_cost_read(struct writeback_cost *c, uint64_t ns, double expected, bool alone)
{
	/* one may also be faster than most: only the mean says what the drive does */
	double drain = c->fresh && alone ? (double)ns - expected : 0;

	if (c->fresh && alone)
		c->drain += ((drain > 0 ? drain : 0) - c->drain) * FORGETS;
	add_last(c, drain);
	return drain > 0 ? (uint64_t)drain : 0;
}

void writeback_cost_crowded(struct writeback_cost *c, uint64_t bytes, uint64_t ns)
{
	double most, cost = (double)ns + c->drain; /* a read beside them shows none */

	if (was_clean(bytes, ns))
		return;
	add_last(c, 0);
	most = price_by(&c->alone) * (double)bytes;
	if (bytes >= TURN_LEAST && most > 0)
		add(&c->all, cost < most ? cost : most, (double)bytes);
}

uint64_t writeback_cost_of(const struct writeback_cost *c, uint64_t bytes)
{
	return (uint64_t)(price(c) * (double)bytes);
}

uint64_t writeback_cost_bytes(const struct writeback_cost *c, uint64_t slice)
{
	double bytes = price(c) > 0 ? (double)slice / price(c) : 1e18;

	return bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX;
}

uint64_t writeback_cost_turn_bytes(const struct writeback_cost *c, uint64_t slice)
{
	uint64_t bytes = writeback_cost_bytes(c, slice);

	return bytes > TURN_LEAST ? bytes : TURN_LEAST;
}

uint64_t writeback_cost_step(const struct writeback_cost *c, uint64_t slice)
{
	uint64_t step = STEP_MAX, bytes = writeback_cost_bytes(c, slice);

	while (step > STEP_MIN && step > bytes / STEPS)
		step /= 2;
	return step;
}
