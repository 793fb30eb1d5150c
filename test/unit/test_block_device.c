/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disk below a file whose device number is none: texts of mountinfo, handed in. */
#include "disk_host.h"

#include "disk/block_device.h"

static const char text[] =
	"22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
	"222 22 0:40 /@home /srv/home rw shared:9 master:2 - btrfs /dev/sdb1 rw,subvol=/@home\n"
	"61 22 0:41 / /srv/two rw - btrfs /dev/mapper/a\\040b rw\n"
	"62 22 0:42 / /tmp rw - tmpfs tmpfs rw\n"
	"63 22 0:43 / /odd rw shared:3\n"
	"64 22 0:44 / /pool - zfs\n"
	"65";

static bool source_is(uint64_t id, const char *wanted)
{
	char source[64];

	return mountinfo_source(text, id, source, sizeof(source)) && !strcmp(source, wanted);
}

static void test_sources(void **state)
{
	assert_true(source_is(22, "/dev/root"));
	assert_true(source_is(222, "/dev/sdb1"));
	assert_true(source_is(61, "/dev/mapper/a b"));
	assert_true(source_is(62, "tmpfs"));
}

static void test_lines_that_make_no_sense(void **state)
{
	char source[4];

	for (uint64_t id = 63; id < 67; id++)
		assert_false(mountinfo_source(text, id, source, sizeof(source)));
	assert_false(mountinfo_source(text, 22, source, sizeof(source))); /* too long */
	assert_false(mountinfo_source("", 1, source, sizeof(source)));
	assert_false(mountinfo_source("\n\n", 1, source, sizeof(source)));
}

/* Any cut of the text gives an answer or none, and nothing is read behind its end. */
static void test_every_cut(void **state)
{
	for (size_t n = 0; n < sizeof(text); n++) {
		char *cut = strndup(text, n), source[64];

		for (uint64_t id = 0; id < 70; id++)
			mountinfo_source(cut, id, source, sizeof(source));
		free(cut);
	}
}

static void test_a_block_device_is_itself(void **state)
{
	assert_true(block_device_of(-1, makedev(8, 1), 0) == makedev(8, 1));
}

static void test_what_has_no_block_device_keeps_its_number(void **state)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(block_device_of(fd, st.st_dev, SEC) == st.st_dev);
	assert_true(block_device_of(-1, st.st_dev, 2 * SEC) == st.st_dev); /* remembered */
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_lines_that_make_no_sense),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_a_block_device_is_itself),
		cmocka_unit_test(test_what_has_no_block_device_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
