/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel counts of mounts, as the agent reads it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <string.h>

#include "fuzz_texts.h"
#include "mountstats.h"

#define HEAD "device proc mounted on /proc with fstype proc\n"
#define MOUNT(path)                                                                                \
	"device s:/e mounted on " path " with fstype nfs statvers=1.1\n"                           \
	"\topts:\trw,vers=3,rsize=1048576\n\tage:\t7\n\tevents:\t1 2 3 4 55 6\n"
#define BYTES "\tbytes:\t100 20 3 4 50000 600 16 2 \n"
#define OPS                                                                                        \
	"\tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n"                               \
	"\t        READ: 12 12 0 1632 50000 1 9 11 0\n\t       WRITE: 5 5 0 900 800 0 3 3 0\n"     \
	"\tREADDIRPLUS: 9 9 0 1 1 0 0 0 0\n"

static const char *const paths[] = {"/mnt/n", "/mnt/a b"};
static struct mountstats found[2];

static void read_text(const char *text)
{
	FILE *in = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(in);
	mountstats_read(in, paths, 2, found);
	fclose(in);
}

static void test_counters(void **state)
{
	read_text(HEAD MOUNT("/mnt/n") BYTES OPS HEAD MOUNT("/mnt/other") BYTES);
	assert_true(found[0].there);
	assert_int_equal(found[0].programs_read, 103);
	assert_int_equal(found[0].programs_written, 24);
	assert_int_equal(found[0].server_read, 50000);
	assert_int_equal(found[0].server_written, 600);
	assert_int_equal(found[0].reads, 12);
	assert_int_equal(found[0].writes, 5);
	assert_int_equal(found[0].opens, 55);
	assert_int_equal(found[0].age, 7);
	assert_false(found[1].there);
	assert_int_equal(found[1].server_read, 0);
}

static void test_names_are_escaped(void **state)
{
	read_text(MOUNT("/mnt/a\\040b") BYTES);
	assert_true(!found[0].there && found[1].there);
	assert_int_equal(found[1].server_read, 50000);
}

static void test_of_two_the_one_on_top(void **state)
{
	read_text(MOUNT("/mnt/n") BYTES OPS MOUNT("/mnt/n") "\tbytes:\t1 0 0 0 2 0 0 0\n");
	assert_int_equal(found[0].server_read, 2);
	assert_int_equal(found[0].reads, 0);
}

static void test_what_is_cut_short(void **state)
{
	read_text(MOUNT("/mnt/n") "\tbytes:\t1 2 3\n");
	assert_true(found[0].there);
	assert_int_equal(found[0].programs_read, 0);
	read_text("device s:/e mounted on /mnt/n with fstype ext4\n" BYTES);
	assert_false(found[0].there);
	read_text("device s:/e mounted on /mnt/n");
	assert_false(found[0].there);
}

static void test_the_fuzzers_short_run(void **state)
{
	static const char *const texts[] = {MOUNT("/mnt/n") BYTES, MOUNT("/mnt/a\\040b") OPS,
					    HEAD BYTES OPS};

	fuzz_texts(texts, sizeof(texts) / sizeof(texts[0]), 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_names_are_escaped),
		cmocka_unit_test(test_of_two_the_one_on_top),
		cmocka_unit_test(test_what_is_cut_short),
		cmocka_unit_test(test_the_fuzzers_short_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
