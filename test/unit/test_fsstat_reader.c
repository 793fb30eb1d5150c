/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a client knows of a mount's prices, as the installed library has it: age and pace over the
 * vectors that others test their implementation with (doc/fsstat-prices.vectors).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fsstat_reader.h"

#define MS UINT64_C(1000000) /* ns */

/* A reply of this turn, '1' to '3'; '0': without prices. */
static bool reply(struct fsstat_reader *r, uint64_t asked, char turn)
{
	struct fsstat_files f = {6553600, 6000000, 6000000};
	struct fsstat_prices p = {.write = 0.5, .readahead = 0.25}, got = {0};

	for (; turn != '0' && got.turn != (uint32_t)(turn - '0'); p.turn++) {
		f = (struct fsstat_files){6553600, 6000000, 6000000};
		assert_true(fsstat_price_encode(&f, &p) && fsstat_price_decode(&f, &got));
	}
	return fsstat_reader_reply(r, asked, f.total, f.avail);
}

/* "600:3" or "600?y". */
static void event(struct fsstat_reader *r, const char *text)
{
	struct fsstat_prices p = {.write = 2};
	uint64_t ms;
	char kind, what;
	bool counts;

	assert_int_equal(sscanf(text, "%" SCNu64 "%c%c", &ms, &kind, &what), 3);
	if (kind == ':') {
		reply(r, ms * MS, what);
		return;
	}
	counts = fsstat_reader_prices(r, ms * MS, &p);
	assert_int_equal(counts, what == 'y');
	assert_true(counts ? p.write > 0.49 && p.write < 0.51 : p.write == 2);
}

static void test_age(void **state)
{
	char line[512], *rest, *word;
	unsigned int vectors = 0;
	FILE *file = fopen(VECTORS, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct fsstat_reader r = {0};

		line[strcspn(line, "#\n")] = '\0';
		rest = line;
		if (strncmp(line, "age ", 4) != 0)
			continue;
		strsep(&rest, " ");
		while ((word = strsep(&rest, " ")))
			if (*word)
				event(&r, word);
		vectors++;
	}
	fclose(file);
	assert_true(vectors >= 5);
}

static void test_wait(void **state)
{
	char line[512], replies[64];
	uint64_t interval, wanted;
	unsigned int vectors = 0;
	uint16_t random;
	FILE *file = fopen(VECTORS, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct fsstat_reader r = {0};

		if (sscanf(line, "wait %63s %" SCNu64 " %" SCNu16 " %" SCNu64, replies, &interval,
			   &random, &wanted) != 4)
			continue;
		for (const char *turn = replies; *turn && *turn != '-'; turn++)
			reply(&r, 0, *turn);
		assert_int_equal(fsstat_reader_wait(&r, interval, random), wanted);
		vectors++;
	}
	fclose(file);
	assert_true(vectors >= 10);
}

/* Whatever is wanted and drawn: four a second at most, and no later than wanted. */
static void test_pace(void **state)
{
	const struct fsstat_reader r = {0};

	for (uint64_t interval = 0; interval < 20000 * MS; interval += 37 * MS)
		for (unsigned int random = 0; random <= UINT16_MAX; random += 771) {
			const uint64_t wait = fsstat_reader_wait(&r, interval, (uint16_t)random);

			assert_true(wait >= FSSTAT_WAIT_MIN);
			assert_true(wait <= interval || wait == FSSTAT_WAIT_MIN);
			assert_true(wait >= interval / 4 * 3);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
