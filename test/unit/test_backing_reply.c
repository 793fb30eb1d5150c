/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The descriptor of clients' own reads: whether the kernel reads ahead of it follows the device's queue. */
#include <sys/resource.h>
#include <sys/uio.h>

#include "backing_host.h"
#include "disk/prefetch.h"

/* What the kernel was told of the descriptor WATCHED, and how often. */
static int watched, advice, advised;

int __real_posix_fadvise64(int fd, off_t offset, off_t len, int what);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int what);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int what)
{
	if (fd == watched) {
		advice = what;
		advised++;
	}
	return __real_posix_fadvise64(fd, offset, len, what);
}

/* A read of B, where reads QUEUE or not. */
static void read_one(struct backing *b, bool queue)
{
	char page[HOST_PAGE];
	struct iovec iov = {page, sizeof(page)};

	atomic_store(&b->device->queues, queue);
	assert_int_equal(backing_read(b, &iov, 1, 0), sizeof(page));
	assert_int_equal(page[0], 'x');
}

static struct backing *open_one(struct host_file *f)
{
	struct backing *b;

	host_file_make(f, "a", 2 * HOST_PAGE);
	b = get(f, SEC);
	watched = dup(b->fd); /* the next one's number */
	close(watched);
	advised = 0;
	return b;
}

static void test_what_is_queued_is_not_read_ahead_of(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f);

	read_one(b, true);
	assert_int_equal(atomic_load(&b->reply_fd), watched);
	assert_int_equal(advice, POSIX_FADV_RANDOM);
	read_one(b, true);
	assert_int_equal(advised, 1); /* once */
	backing_put(b);
	backing_slot_fini(&f.slot);
}

static void test_past_the_queue_the_kernel_does_what_it_would(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f);

	read_one(b, false);
	assert_int_equal(atomic_load(&b->reply_fd), watched);
	assert_int_equal(advised, 0);
	read_one(b, true); /* the device is another than it seemed */
	assert_int_equal(advice, POSIX_FADV_RANDOM);
	read_one(b, false);
	assert_int_equal(advice, POSIX_FADV_NORMAL);
	assert_int_equal(advised, 2);
	backing_put(b);
	backing_slot_fini(&f.slot);
}

/* No descriptor is left for a while: then there is one again, and who reads meanwhile has had his turn. */
static void test_want_of_descriptors_passes(void **state)
{
	struct rlimit was, none;
	struct host_file f;
	struct backing *b = open_one(&f);
	char page[HOST_PAGE];
	struct iovec iov = {page, sizeof(page)};

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)watched, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED);
	assert_int_equal(demand_reply(&b->device->dispatcher, b, &iov, 1, 0, sizeof(page), false),
			 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(backing_resident(b, 0, sizeof(page)));
	assert_int_equal(backing_read(b, &iov, 1, 0), -1); /* it is not asked for each time */
	atomic_store(&b->reply_again, 0);
	read_one(b, true);
	backing_put(b);
	backing_slot_fini(&f.slot);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_queued_is_not_read_ahead_of),
		TEST(test_past_the_queue_the_kernel_does_what_it_would),
		TEST(test_want_of_descriptors_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
