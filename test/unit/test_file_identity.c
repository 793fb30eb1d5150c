/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A descriptor compared with the file it is for: device, inode, generation. */
#include "disk/file_identity.h"
#include "disk_host.h"

#include <sys/ioctl.h>

#include <linux/fs.h>

static struct host_file file;
static int fd;

static int start(void **state)
{
	host_make_dir();
	host_file_make(&file, "f", HOST_PAGE);
	fd = open(file.path, O_RDONLY | O_CLOEXEC);
	return fd < 0;
}

static int stop(void **state)
{
	close(fd);
	host_remove_dir();
	return 0;
}

static struct file_identity identity(void)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (struct file_identity){.dev = st.st_dev, .ino = st.st_ino};
}

static void test_the_file_itself(void **state)
{
	struct file_identity id = identity();

	assert_int_equal(file_identity_check(&id, fd), 0);
	assert_int_equal(file_identity_check_mount(&id, fd), 0);
}

static void test_another_file_system(void **state)
{
	struct file_identity id = identity();

	id.dev++;
	assert_int_equal(file_identity_check(&id, fd), EXDEV);
	assert_int_equal(file_identity_check_mount(&id, fd), EXDEV);
}

static void test_another_file(void **state)
{
	struct file_identity id = identity();

	id.ino++;
	assert_int_equal(file_identity_check(&id, fd), EUCLEAN);
	assert_int_equal(file_identity_check_mount(&id, fd), 0);
}

static void test_a_reused_inode(void **state)
{
	struct file_identity id = identity();
	long generation = 0;

	if (ioctl(fd, FS_IOC_GETVERSION, &generation) != 0)
		skip(); /* this file system tells none */
	id.has_generation = true;
	id.generation = (uint32_t)(int)generation;
	assert_int_equal(file_identity_check(&id, fd), 0);
	id.generation++;
	assert_int_equal(file_identity_check(&id, fd), EUCLEAN);
}

static void test_a_descriptor_that_is_none(void **state)
{
	struct file_identity id = identity();

	assert_int_equal(file_identity_check(&id, -1), EBADF);
	assert_int_equal(file_identity_check_mount(&id, -1), EBADF);
}

static void generation_of(struct file_identity *id, int type, const void *handle, unsigned int len)
{
	file_identity_generation(id, type, handle, len);
}

static void test_generations_out_of_handles(void **state)
{
	struct file_identity id = {.ino = 12};
	uint32_t ino32[] = {12, 77, 5, 6}, other[] = {77, 12};
	struct {
		uint64_t ino;
		uint32_t generation;
	} ino64 = {12, 78};

	generation_of(&id, 1, ino32, 8);
	assert_true(id.has_generation && id.generation == 77);
	generation_of(&id, 2, ino32, 16);
	assert_true(id.has_generation && id.generation == 77);
	generation_of(&id, 0x81, &ino64, 12);
	assert_true(id.has_generation && id.generation == 78);
	generation_of(&id, 1, ino32, 7);
	assert_false(id.has_generation);
	generation_of(&id, 0x81, &ino64, 11);
	assert_false(id.has_generation);
	generation_of(&id, 1, other, 8); /* tmpfs has the generation first */
	assert_false(id.has_generation);
	generation_of(&id, 0x4d, &ino64, 12);
	assert_false(id.has_generation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_file_itself),
		cmocka_unit_test(test_another_file_system),
		cmocka_unit_test(test_another_file),
		cmocka_unit_test(test_a_reused_inode),
		cmocka_unit_test(test_a_descriptor_that_is_none),
		cmocka_unit_test(test_generations_out_of_handles),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
