/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A short run of fuzz_trace.c, the same each time. */
#include "fuzz_texts.h"
#include "support.h"

static void test_any_text(void **state)
{
	static const char *const texts[] = {
		"nfs-trace 1\ndir a\nfile a/b 100\n0 c lookup a/b\n0.5 c read a/b 0 10 took=5\n",
		"nfs-trace 1\n0 c create x\n0 d write x 0 10 stable=file\n1 c remove x\n"
		"1.000001 d lookup x status=2\n",
		"nfs-trace 1\nfile x 4\n0 a rename x y\n0 b read y 0 4\n0 a create x\n0 b rename "
		"x y\n2 b setattr y 9\n3 a commit y 0 0\n",
		"nfs-trace 1\n0 a mkdir d\n0 b create d/f # made\n0 b remove d/f\n0 a rmdir d\n0 "
		"a mkdir d\n9 a readdirplus d 4096\n9 a fsstat .\n",
		"nfs-trace 1\n0 c getattr .\n31622400 c access .\n",
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
