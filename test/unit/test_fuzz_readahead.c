/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * test_fuzz_readahead [ROUNDS [SEED]]: a run of the fuzzer with numbers of its own, every time the
 * same; a short one without arguments.
 */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS 1500
#define LENGTH 2048

static unsigned long rounds = ROUNDS;
static uint64_t seed = 14;

static void test_any_sequence(void **state)
{
	static uint8_t data[LENGTH];

	for (unsigned long n = 0; n < rounds; n++) {
		size_t len = 64 + random_below(&seed, LENGTH - 64);

		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)random_next(&seed);
		assert_int_equal(LLVMFuzzerTestOneInput(data, len), 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_sequence),
	};

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
