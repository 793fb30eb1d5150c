/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A small pseudo-random generator (splitmix64): repeatable from its seed, the same everywhere. */
#ifndef NFSBENCH_PRNG_H
#define NFSBENCH_PRNG_H

#include <stdint.h>

struct prng {
	uint64_t state;
};

static inline void prng_init(struct prng *prng, uint64_t seed)
{
	prng->state = seed;
}

static inline uint64_t prng_next(struct prng *prng)
{
	uint64_t z = prng->state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* A number below `bound` (at most 2^32, not 0), by multiplication instead of division. */
static inline uint32_t prng_below(struct prng *prng, uint64_t bound)
{
	return (uint32_t)(((prng_next(prng) >> 32) * bound) >> 32);
}

#endif
