/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One hop; see hop.h. The generator is splitmix64, of the public domain's constants. */
#include "hop.h"

#include <math.h>

#define NS 1e9

static uint64_t draw(struct hop *h)
{
	uint64_t z = h->random += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* From 0 up to 1, 1 excluded. */
static double fraction(struct hop *h)
{
	return (double)(draw(h) >> 11) * 0x1p-53;
}

static uint64_t gap(struct hop *h)
{
	const struct hop_params *p = &h->params;
	double mean = NS * 8.0 * CROSS_BYTES * p->burst / (p->cross * p->rate);

	return (uint64_t)(-mean * log(1 - fraction(h)));
}

static bool has_others(const struct hop *h)
{
	return h->params.cross > 0 && h->params.rate > 0;
}

void hop_init(struct hop *h, const struct hop_params *params, uint64_t seed, uint64_t now)
{
	*h = (struct hop){.params = *params, .random = seed, .busy_until = now};
	h->next_burst = has_others(h) ? now + gap(h) : UINT64_MAX;
}

/* Puts a packet into the queue; false: there is no room. */
static bool enqueue(struct hop *h, uint32_t bytes, uint64_t now)
{
	const struct hop_params *p = &h->params;
	uint64_t begins = h->busy_until > now ? h->busy_until : now;
	double waiting = (double)(begins - now) * p->rate / 8 / NS;

	if (waiting + bytes > (double)p->queue || (p->slots && h->left[h->oldest] > now))
		return false;
	h->busy_until = begins + (uint64_t)(8.0 * bytes / p->rate * NS);
	if (p->slots) {
		h->left[h->oldest] = h->busy_until;
		h->oldest = (h->oldest + 1) % p->slots;
	}
	return true;
}

/* What the others sent until now. */
static void others_until(struct hop *h, uint64_t now)
{
	while (h->next_burst <= now) {
		for (uint32_t i = 0; i < h->params.burst; i++)
			h->others += enqueue(h, CROSS_BYTES, h->next_burst);
		h->next_burst += gap(h);
	}
}

bool hop_pass(struct hop *h, uint32_t bytes, uint64_t now, uint64_t *leaves)
{
	h->packets++;
	others_until(h, now);
	if (h->params.loss > 0 && fraction(h) < h->params.loss) {
		h->lost_by_chance++;
		return false;
	}
	*leaves = now + h->params.delay;
	if (h->params.rate <= 0)
		return true;
	if (!enqueue(h, bytes, now)) {
		h->lost_in_queue++;
		return false;
	}
	*leaves = h->busy_until + h->params.delay;
	return true;
}
