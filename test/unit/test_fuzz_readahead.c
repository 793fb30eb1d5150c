/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A short run of the fuzzer with numbers of its own: every time the same. */
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUTS 1500
#define LENGTH 2048

static void test_any_sequence(void **state)
{
	static uint8_t data[LENGTH];
	uint64_t seed = 14;

	for (int n = 0; n < INPUTS; n++) {
		size_t len = 64 + random_below(&seed, LENGTH - 64);

		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)random_next(&seed);
		assert_int_equal(LLVMFuzzerTestOneInput(data, len), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
