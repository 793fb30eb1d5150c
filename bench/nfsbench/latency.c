/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The latency histogram of latency.h. */
#include "latency.h"

#include <math.h>

static unsigned int bucket_of(uint32_t us)
{
	unsigned int shift;

	if (us < 2 * LATENCY_SUB)
		return us;
	shift = 25 - (unsigned int)__builtin_clz(us); /* leaves a value of 64 … 127 */
	return LATENCY_SUB * shift + (us >> shift);
}

/* The largest value that falls into the bucket. */
static uint32_t bucket_top(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * LATENCY_SUB)
		return bucket;
	shift = bucket / LATENCY_SUB - 1;
	return (uint32_t)((((uint64_t)bucket - LATENCY_SUB * shift + 1) << shift) - 1);
}

void latency_add(struct latency *l, uint64_t us)
{
	uint32_t v = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;

	l->count++;
	l->sum += v;
	l->bucket[bucket_of(v)]++;
	if (v > l->max)
		l->max = v;
}

void latency_merge(struct latency *into, const struct latency *from)
{
	into->count += from->count;
	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint32_t latency_percentile(const struct latency *l, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)l->count), seen = 0;

	if (!l->count)
		return 0;
	if (rank < 1)
		rank = 1;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		seen += l->bucket[i];
		if (seen >= rank)
			return bucket_top(i) < l->max ? bucket_top(i) : l->max;
	}
	return l->max;
}

double latency_error(const struct latency *l)
{
	double n = (double)l->count, mean = l->count ? (double)l->sum / n : 0, squares = 0;

	if (l->count < 2)
		return 0;
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		double off = (double)bucket_top(i) - mean;

		squares += (double)l->bucket[i] * off * off;
	}
	return sqrt(squares / (n - 1) / n);
}
