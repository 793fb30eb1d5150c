/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A short run of a fuzzer as a unit test, the same each time: COUNT texts that SEEDS turn into by a
 * few bytes changed, left out or doubled. The long run is libFuzzer's, by hand.
 */
#ifndef TEST_FUZZ_TEXTS_H
#define TEST_FUZZ_TEXTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_TEXT 512 /* bytes at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds too. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static inline uint32_t fuzz_draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

static inline size_t fuzz_change(uint64_t *state, uint8_t *text, size_t length)
{
	static const char bytes[] = " \n\t\\-.:/,=09azAZ\"%\0\x7f\xff";
	const uint32_t at = fuzz_draw(state, (uint32_t)length + 1), how = fuzz_draw(state, 4);
	const size_t rest = length - at;

	if (how == 0 && rest) /* cut a piece out */
		return length - 1 - fuzz_draw(state, (uint32_t)rest);
	if (how == 1 && length + rest <= FUZZ_TEXT) { /* double the tail */
		memcpy(text + length, text + at, rest);
		return length + rest;
	}
	if (how == 2 && length < FUZZ_TEXT) {
		memmove(text + at + 1, text + at, rest);
		length++;
	}
	if (at < length)
		text[at] = (uint8_t)bytes[fuzz_draw(state, sizeof(bytes) - 1)];
	return length;
}

static inline void fuzz_texts(const char *const *seeds, unsigned int n, unsigned int count)
{
	uint64_t state = 1;
	uint8_t text[FUZZ_TEXT + 1];

	for (unsigned int i = 0; i < count; i++) {
		const char *seed = seeds[i % n];
		size_t length = strlen(seed);

		memcpy(text, seed, length);
		for (unsigned int j = fuzz_draw(&state, 8); j; j--)
			length = fuzz_change(&state, text, length);
		LLVMFuzzerTestOneInput(text, length);
	}
}

#endif
