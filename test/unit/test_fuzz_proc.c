/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A short run of fuzz_proc.c, the same each time. */
#include "fuzz_texts.h"
#include "support.h"

static void test_any_text(void **state)
{
	static const char *const texts[] = {
		"cpu  130 0 130 840 5 0 3 2 0 0\ncpu0 65 0 65 420 5 0 3 2 0 0\nintr "
		"1\nprocs_running 3\n",
		"0::/system.slice/ganesha.service\n",
		"50000 100000\n",
		"usage_usec 1000000\nuser_usec 600000\nsystem_usec 400000\n",
		"Inter-|   Receive                |  Transmit\n face |bytes packets errs drop fifo "
		"frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n"
		"  eth0: 1000000 1000 0 0 0 0 0 0 2000000 2000 0 0 0 0 0 0\n",
		"1000\n",
		"up\n",
		"nr_free_pages 100\nnr_dirty 7\nnr_writeback 2\nnr_dirty_threshold 1000\n"
		"nr_dirty_background_threshold 500\nnr_file_pages 5000\nnr_written 90\n",
		"   8      16 sdb 100 0 800 50 200 0 1600 70 3 110 120 0 0 0 0 0 0\n",
		"       3        4\n",
		"18446744073709551615 18446744073709551616 -1 1e308 0x10\n",
	};

	fuzz_texts(texts, sizeof(texts) / sizeof(texts[0]), 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
