/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A drive's queue as a made-up sysfs states it: disks, parts of them, devices upon others. */
#include "disk/block_disks.h"
#include "disk/drive_queue.h"
#include "disk_host.h"

static void in_sysfs(char *path, size_t size, const char *name)
{
	assert_true((size_t)snprintf(path, size, "%s/%s", host_dir, name) < size);
}

static void make_dir(const char *name)
{
	char path[256];

	in_sysfs(path, sizeof(path), name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void says(const char *name, const char *text)
{
	char path[256];

	in_sysfs(path, sizeof(path), name);
	host_write_text(path, text);
}

/* A disk without anything but the kernel's own queue. */
static void make_disk(const char *name, const char *requests)
{
	char path[128];

	make_dir(name);
	snprintf(path, sizeof(path), "%s/queue", name);
	make_dir(path);
	snprintf(path, sizeof(path), "%s/queue/nr_requests", name);
	says(path, requests);
}

static void make_scsi(const char *name, const char *depth)
{
	char path[128];

	make_disk(name, "256\n");
	snprintf(path, sizeof(path), "%s/device", name);
	make_dir(path);
	snprintf(path, sizeof(path), "%s/device/queue_depth", name);
	says(path, depth);
}

static void make_link(const char *to, const char *name)
{
	char path[256];

	in_sysfs(path, sizeof(path), name);
	assert_int_equal(symlink(to, path), 0);
}

static void states(unsigned int minor, uint32_t stated, uint32_t bound)
{
	struct drive_queue q = drive_queue_of(host_dir, makedev(8, minor));

	assert_int_equal(q.stated, stated);
	assert_int_equal(q.bound, bound);
}

static int setup(void **state)
{
	host_make_dir();
	return 0;
}

static int teardown(void **state)
{
	host_remove_dir();
	return 0;
}

static void test_a_disk_states_its_own(void **state)
{
	make_scsi("8:0", "31\n");
	states(0, 31, 31);
	make_scsi("8:16", "1\n"); /* switched off */
	states(16, 1, 1);
	make_scsi("8:32", "254\n");
	states(32, 254, DRIVE_QUEUE_MAX);
}

static void test_a_part_has_that_of_its_disk(void **state)
{
	make_scsi("sda", "31\n");
	make_dir("sda/sda1");
	make_link("sda/sda1", "8:1");
	states(1, 31, 31);
}

/* A volume upon a RAID of two disks and a part of flash. */
static void test_spindles(void **state)
{
	make_scsi("sda", "31\n");
	says("sda/queue/rotational", "1\n");
	make_scsi("sdb", "31\n");
	says("sdb/queue/rotational", "1\n");
	make_dir("sdb/sdb1");
	make_disk("nvme", "64\n");
	says("nvme/queue/rotational", "0\n");
	make_disk("md0", "128\n");
	says("md0/queue/rotational", "1\n");
	make_dir("md0/slaves");
	make_link("../../sda", "md0/slaves/sda");
	make_link("../../sdb/sdb1", "md0/slaves/sdb1");
	make_link("../../nvme", "md0/slaves/nvme");
	make_disk("dm-0", "128\n");
	make_dir("dm-0/slaves");
	make_link("../../md0", "dm-0/slaves/md0");
	make_link("dm-0", "8:0");
	make_link("sda", "8:16");
	make_link("nvme", "8:32");
	assert_int_equal(drive_queue_of(host_dir, makedev(8, 0)).spindles, 2);
	assert_int_equal(drive_queue_of(host_dir, makedev(8, 16)).spindles, 1);
	assert_int_equal(drive_queue_of(host_dir, makedev(8, 32)).spindles, 0);
}

static bool shared(unsigned int a, unsigned int b, unsigned int *disk)
{
	dev_t of = 0;
	bool found = block_disks_shared(host_dir, makedev(8, a), makedev(8, b), &of);

	*disk = minor(of);
	return found;
}

/* Parts of one, and a volume upon one of them; another disk has nothing to do with it. */
static void test_a_disk_in_common(void **state)
{
	unsigned int disk;

	make_scsi("sda", "31\n");
	says("sda/dev", "8:0\n");
	make_dir("sda/sda1");
	make_dir("sda/sda2");
	make_link("sda/sda1", "8:1");
	make_link("sda/sda2", "8:2");
	make_scsi("8:16", "31\n");
	says("8:16/dev", "8:16\n");
	make_disk("8:40", "128\n");
	make_dir("8:40/slaves");
	make_link("../../sda/sda2", "8:40/slaves/sda2");
	assert_true(shared(1, 2, &disk) && disk == 0);
	assert_true(shared(1, 40, &disk) && disk == 0);
	assert_false(shared(1, 16, &disk));
	assert_false(shared(16, 40, &disk));
	assert_false(shared(7, 9, &disk)); /* of which nothing is known */
}

static void test_without_a_statement_the_kernels_is_the_bound(void **state)
{
	make_disk("8:0", "128\n");
	states(0, 0, DRIVE_QUEUE_MAX);
	make_disk("8:16", "2\n");
	states(16, 0, 2);
}

static void test_nothing_is_known(void **state)
{
	states(7, 0, 1);
	make_disk("8:0", "many\n");
	states(0, 0, 1);
}

static void test_members_are_summed(void **state)
{
	make_scsi("sda", "4\n");
	make_scsi("sdb", "3\n");
	make_dir("sdb/sdb2");
	make_disk("8:9", "128\n");
	make_dir("8:9/slaves");
	make_link("../../sda", "8:9/slaves/sda");
	make_link("../../sdb/sdb2", "8:9/slaves/sdb2");
	states(9, 7, 7);
	/* one upon that */
	make_disk("8:10", "128\n");
	make_dir("8:10/slaves");
	make_link("../../8:9", "8:10/slaves/md9");
	states(10, 7, 7);
}

static void test_a_circle_ends(void **state)
{
	make_disk("8:9", "128\n");
	make_dir("8:9/slaves");
	make_link("../../8:9", "8:9/slaves/itself");
	states(9, 0, DRIVE_QUEUE_MAX);
}

static void test_a_disk_without_members_has_an_empty_list(void **state)
{
	make_scsi("8:0", "31\n");
	make_dir("8:0/slaves");
	states(0, 31, 31);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_disk_states_its_own),
		TEST(test_a_part_has_that_of_its_disk),
		TEST(test_without_a_statement_the_kernels_is_the_bound),
		TEST(test_nothing_is_known),
		TEST(test_members_are_summed),
		TEST(test_spindles),
		TEST(test_a_disk_in_common),
		TEST(test_a_circle_ends),
		TEST(test_a_disk_without_members_has_an_empty_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
