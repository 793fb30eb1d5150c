/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A histogram of latencies in microseconds, of fixed size: 64 buckets to each power of two, so
 * that a percentile is exact to 1/64 (values below 128 µs are exact), from 0 to 2^32 µs.
 */
#ifndef NFSBENCH_LATENCY_H
#define NFSBENCH_LATENCY_H

#include <stdint.h>

#define LATENCY_SUB	64
#define LATENCY_BUCKETS (LATENCY_SUB * 28)

struct latency {
	uint64_t count;
	uint64_t sum; /* µs */
	uint32_t max; /* µs, exact */
	uint64_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, uint64_t us);
void latency_merge(struct latency *into, const struct latency *from);

/* The smallest value that at least `fraction` (0 … 1) of the samples do not exceed; 0 if none. */
uint32_t latency_percentile(const struct latency *l, double fraction);

/*
 * The standard error of the mean (µs): so far from it the mean of other samples of the kind may well be. 0 of
 * fewer than two.
 */
double latency_error(const struct latency *l);

#endif
