/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files that are in memory as a whole, read without a lock and without a use. */
#include <pthread.h>
#include <sys/uio.h>

#include "backing_host.h"

static size_t read_hot(struct host_file *f, uint64_t offset, uint64_t len, uint64_t now)
{
	char buffer[4 * HOST_PAGE];
	struct iovec iov[2] = {{buffer, len / 2}, {buffer + len / 2, len - len / 2}};
	size_t got = backing_read_hot(&f->slot, iov, 2, offset, len, now);

	for (size_t i = 0; i < got; i++)
		assert_int_equal(buffer[i], 'x');
	return got;
}

static void make_cached(struct host_file *f, const char *name, size_t pages)
{
	char page[HOST_PAGE];
	int fd;

	memset(page, 'x', sizeof(page));
	host_file_make(f, name, 0);
	fd = open(f->path, O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < pages; i++)
		assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	close(fd);
}

static void find_cached(struct host_file *f, struct backing *b, uint64_t now)
{
	for (unsigned int i = 0; i < HOT_READS; i++)
		backing_found_cached(&f->slot, b, io->engine, now);
}

static void test_a_hot_file_is_read_without_a_use(void **state)
{
	struct host_file f;
	struct backing *b;

	make_cached(&f, "a", 4);
	b = get(&f, SEC);
	assert_int_equal(read_hot(&f, 0, HOST_PAGE, SEC), 0);
	find_cached(&f, b, SEC);
	backing_put(b);
	assert_int_equal(read_hot(&f, HOST_PAGE, 2 * HOST_PAGE, SEC), 2 * HOST_PAGE);
	assert_int_equal(b->used, SEC);
	assert_int_equal(read_hot(&f, 3 * HOST_PAGE + 1, 2 * HOST_PAGE, SEC), HOST_PAGE - 1);
	assert_int_equal(read_hot(&f, 4 * HOST_PAGE, HOST_PAGE, SEC),
			 0); /* the FSAL below says so */
	assert_int_equal(read_hot(&f, 0, HOST_PAGE, SEC), 0);
	backing_slot_fini(&f.slot);
}

/* -1 is the descriptor's position to preadv2(): a client may ask for it. */
static void test_offsets_beyond_files(void **state)
{
	static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 8, UINT64_C(1) << 63,
					   INT64_MAX};
	struct host_file f;
	struct backing *b;

	make_cached(&f, "a", 4);
	b = get(&f, SEC);
	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		hot_looked(&b->hot, false, 0, SEC);
		find_cached(&f, b, (2 + i) * SEC);
		assert_int_equal(read_hot(&f, offsets[i], 100, (2 + i) * SEC), 0);
	}
	backing_put(b);
	backing_slot_fini(&f.slot);
}

/* The read begins to bring what it does not find: a quick disk on a busy machine has it there in time. */
static bool evicted_when_read(struct host_file *f, struct backing *b)
{
	for (int i = 0; i < 100; i++) {
		host_file_evict(f);
		if (!backing_resident(b, 0, HOST_PAGE) && read_hot(f, 0, HOST_PAGE, SEC) == 0)
			return true;
	}
	return false;
}

static void test_what_was_evicted_is_not_hot(void **state)
{
	struct host_file f;
	struct backing *b;

	make_cached(&f, "a", 4);
	b = get(&f, SEC);
	find_cached(&f, b, SEC);
	assert_int_equal(read_hot(&f, 0, HOST_PAGE, SEC), HOST_PAGE);
	if (!evicted_when_read(&f, b)) {
		backing_put(b);
		backing_slot_fini(&f.slot);
		skip(); /* a file system in memory */
	}
	assert_false(hot_is(&b->hot, SEC));
	find_cached(&f, b, 2 * SEC); /* and is found out */
	assert_false(hot_is(&b->hot, 2 * SEC));
	backing_put(b);
	backing_slot_fini(&f.slot);
}

static void test_a_file_that_shrank_is_not_hot(void **state)
{
	struct host_file f;
	struct backing *b;

	make_cached(&f, "a", 4);
	b = get(&f, SEC);
	find_cached(&f, b, SEC);
	assert_int_equal(truncate(f.path, HOST_PAGE), 0);
	assert_int_equal(read_hot(&f, 0, 2 * HOST_PAGE, SEC), HOST_PAGE);
	assert_int_equal(read_hot(&f, 2 * HOST_PAGE, HOST_PAGE, SEC), 0);
	backing_put(b);
	backing_drop(&f.slot);
	assert_int_equal(read_hot(&f, 0, HOST_PAGE, SEC), 0); /* it is closed */
	backing_slot_fini(&f.slot);
}

static atomic_bool hot_over;
static struct host_file hot_file;

static void *read_hot_always(void *arg)
{
	(void)arg;
	while (!atomic_load(&hot_over))
		read_hot(&hot_file, 0, HOST_PAGE, SEC);
	return NULL;
}

/* Readers without a use meet the end of what they read: the descriptor is closed behind them. */
static void test_hot_readers_meet_a_drop(void **state)
{
	pthread_t thread[2];

	make_cached(&hot_file, "a", 1);
	atomic_store(&hot_over, false);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, read_hot_always, NULL);
	for (int i = 0; i < 100; i++) {
		struct backing *b = get(&hot_file, SEC);

		find_cached(&hot_file, b, SEC);
		backing_put(b);
		backing_drop(&hot_file.slot);
	}
	atomic_store(&hot_over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	backing_slot_fini(&hot_file.slot);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_a_hot_file_is_read_without_a_use),
		TEST(test_offsets_beyond_files),
		TEST(test_what_was_evicted_is_not_hot),
		TEST(test_a_file_that_shrank_is_not_hot),
		TEST(test_hot_readers_meet_a_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
