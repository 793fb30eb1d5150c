/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The layout formula of content.h, and its comparison. */
#include "content.h"
#include "prng.h"

#include <string.h>

#define STEP UINT64_C(0x9E3779B97F4A7C15)

uint64_t content_start(uint64_t seed, uint32_t file)
{
	struct prng prng;

	prng_init(&prng, seed * 65536 + file);
	return prng_next(&prng);
}

uint64_t content_generation(uint64_t seed, uint32_t file, uint64_t generation)
{
	return content_start(seed + (generation << 32), file);
}

void content_fill(uint64_t start, uint64_t offset, void *buf, size_t len)
{
	uint64_t word = start + offset / 8 * STEP;
	char *p = buf;
	size_t i;

	for (i = 0; i < len / 8; i++) {
		memcpy(p + 8 * i, &word, 8);
		word += STEP;
	}
	memcpy(p + 8 * i, &word, len % 8);
}

/* Only asks whether anything differs: this is the path that must be fast. */
__attribute__((optimize("O3"))) static int equal(uint64_t word, const char *p, size_t words)
{
	uint64_t differs = 0;
	size_t i;

	for (i = 0; i < words; i++) {
		uint64_t have;

		memcpy(&have, p + 8 * i, 8);
		differs |= have ^ (word + i * STEP);
	}
	return differs == 0;
}

int content_is(uint64_t start, uint64_t offset, const void *buf, size_t len)
{
	uint64_t word = start + offset / 8 * STEP;

	return len % 8 == 0 && (len < 8 || memcmp(buf, &word, 8) == 0) && equal(word, buf, len / 8);
}

size_t content_differences(uint64_t start, uint64_t offset, const void *buf, size_t len)
{
	uint64_t word = start + offset / 8 * STEP;
	const char *p = buf;
	size_t words = len / 8, count = 0, i;

	if (!equal(word, p, words)) {
		for (i = 0; i < words; i++) {
			uint64_t want = word + i * STEP;

			count += memcmp(p + 8 * i, &want, 8) != 0;
		}
	}
	if (len % 8) {
		uint64_t want = word + words * STEP;

		count += memcmp(p + 8 * words, &want, len % 8) != 0;
	}
	return count;
}
