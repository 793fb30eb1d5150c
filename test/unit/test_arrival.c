/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Pages that are waited for: errors are noticed; and what was fetched ahead and read once is not among what the kernel
 * keeps longest, by /proc/kpageflags.
 */
#include "disk/arrival.h"

#include <sys/mman.h>

#include "backing_host.h"
#include "disk/fetch.h"
#include "disk/tree_pieces.h"

#define FILE_LEN   (8 * MIB)
#define STEP	   (512 * KIB)
#define READ_LEN   (32 * KIB)
#define NEW_ADVICE 23 /* MADV_POPULATE_WRITE */

/* Of /proc/pid/pagemap and /proc/kpageflags. */
#define PFN_MASK   ((UINT64_C(1) << 55) - 1)
#define KPF_ACTIVE 6

static struct host_file file;
static struct backing *b;
static int populate_error; /* an errno; 0: as the kernel does */

int __real_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice)
{
	if (advice != NEW_ADVICE || populate_error == 0)
		return __real_madvise(at, len, advice);
	errno = populate_error;
	return -1;
}

/* Without holes, whatever a block is. */
static void fill(void)
{
	static const char bytes[MIB] = {1};
	int fd = open(file.path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (uint64_t at = 0; at < FILE_LEN; at += MIB)
		assert_int_equal(pwrite(fd, bytes, MIB, (off_t)at), MIB);
	close(fd);
}

static int begin(void **state)
{
	populate_error = 0;
	residency_start("auto");
	if (start(state))
		return -1;
	host_file_make(&file, "f", 0);
	fill();
	host_file_evict(&file);
	b = get(&file, SEC);
	return 0;
}

static int end(void **state)
{
	backing_put(b);
	backing_slot_fini(&file.slot);
	return stop(state);
}

/* ---- what was read once ------------------------------------------------------------------ */

static bool evicted(void)
{
	return !backing_resident(b, 0, HOST_PAGE) && !backing_resident(b, FILE_LEN / 2, HOST_PAGE);
}

/* Whether this kernel can wait so. */
static bool populates(void)
{
	void *page =
		mmap(NULL, HOST_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can;

	assert_true(page != MAP_FAILED);
	can = !__real_madvise(page, HOST_PAGE, NEW_ADVICE);
	munmap(page, HOST_PAGE);
	return can;
}

/* Flags of the page that is mapped at AT; 0: nobody says so. */
static uint64_t flags_at(int map_of, int flags_of, const volatile char *at)
{
	uint64_t entry = 0, flags = 0;

	(void)*at;
	if (pread(map_of, &entry, sizeof(entry), (off_t)((uintptr_t)at / HOST_PAGE * 8)) != 8 ||
	    (entry & PFN_MASK) == 0 ||
	    pread(flags_of, &flags, sizeof(flags), (off_t)((entry & PFN_MASK) * 8)) != 8)
		return 0;
	return flags;
}

/* What is marked is sorted later, by dozens: now, where a page cannot be dropped, as one that is mapped at AT. */
static void sort_pages(const volatile char *at)
{
	(void)*at;
	posix_fadvise(b->fd, 0, HOST_PAGE, POSIX_FADV_DONTNEED);
}

/* How many of its first LEN bytes' pages the kernel keeps longest; -1: it does not say. */
static int active_pages(uint64_t len)
{
	int map_of = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int flags_of = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC), active = 0;
	char *map = mmap(NULL, len, PROT_READ, MAP_SHARED, b->fd, 0);

	assert_true(map != MAP_FAILED);
	sort_pages(map);
	for (uint64_t at = 0; at < len && active >= 0; at += HOST_PAGE) {
		uint64_t flags = flags_at(map_of, flags_of, map + at);

		active = flags == 0 ? -1 : active + (int)(flags >> KPF_ACTIVE & 1);
	}
	munmap(map, len);
	close(map_of);
	close(flags_of);
	return active;
}

/* By a client, once. */
static void read_once(uint64_t from, uint64_t upto)
{
	static char buffer[READ_LEN];
	struct iovec iov = {buffer, READ_LEN};

	for (uint64_t at = from; at < upto; at += READ_LEN)
		assert_int_equal(backing_read(b, &iov, 1, at), READ_LEN);
}

static void expect_inactive(uint64_t len)
{
	int active = active_pages(len);

	if (active >= 0)
		assert_in_range(active, 0, len / HOST_PAGE / 50);
}

/* A chunk, of large folios where the kernel has them and its windows are small enough, by a device with a queue or without one. */
static void expect_a_chunk_inactive(bool queues)
{
	struct fetch_chunk c;
	bool already;

	atomic_store(&b->device->queues, queues);
	fetch_chunk_begin(&c, &b->device->dispatcher, b, 0, FILE_LEN);
	for (uint64_t at = 0; at < FILE_LEN; at += STEP)
		assert_int_equal(fetch_chunk_next(&c, at, STEP, &already), STEP);
	fetch_chunk_end(&c);
	assert_true(backing_resident(b, 0, FILE_LEN));
	read_once(0, FILE_LEN);
	expect_inactive(FILE_LEN);
}

static void test_a_chunk_read_once_is_not_kept_longest(void **state)
{
	if (!evicted() || !populates())
		skip();
	expect_a_chunk_inactive(true);
}

static void test_nor_is_one_of_a_device_without_a_queue(void **state)
{
	if (!evicted() || !populates())
		skip();
	expect_a_chunk_inactive(false);
}

/* By single pages. */
static void test_nor_is_what_is_fetched_for_a_read(void **state)
{
	if (!evicted() || !populates())
		skip();
	assert_int_equal(fetch_cache(&b->device->dispatcher, b, 0, MIB), MIB);
	read_once(0, MIB);
	expect_inactive(MIB);
}

static void test_nor_is_a_file_of_a_tree(void **state)
{
	struct tree_pieces p = {.spoilt = &b->device->spoilt};
	struct tree_file of_tree = {.name = "f"};
	struct tree_dir dir = {.fd = open(host_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct stat st;

	assert_int_equal(fstat(dir.fd, &st), 0);
	dir.dev = st.st_dev;
	assert_int_equal(fstat(b->fd, &st), 0);
	of_tree.dir = &dir;
	of_tree.inode = st.st_ino;
	assert_int_equal(truncate(file.path, MIB), 0);
	if (evicted() && populates()) {
		(void)tree_pieces_add(&p, &of_tree, 0);
		while (tree_pieces_next(&p, &of_tree) != NULL)
			continue;
		read_once(0, MIB);
		expect_inactive(MIB);
	}
	tree_pieces_fini(&p);
	tree_dir_close(&dir);
}

/* ---- one by one -------------------------------------------------------------------------- */

static void test_what_is_awaited_is_there(void **state)
{
	struct arrival a;
	atomic_bool spoilt = false;

	arrival_begin(&a, b->fd, HOST_PAGE + 1, 3 * HOST_PAGE, &spoilt);
	assert_true(arrival_await(&a, 3 * HOST_PAGE - 1));
	assert_true(arrival_await(&a, HOST_PAGE + 1));
	assert_true(arrival_is_there(&a, 3 * HOST_PAGE - 1));
	assert_true(arrival_is_there(&a, HOST_PAGE + 1));
	arrival_end(&a);
	assert_true(backing_resident(b, HOST_PAGE, HOST_PAGE));
	assert_true(backing_resident(b, 2 * HOST_PAGE, HOST_PAGE));
}

/* And no more: what is behind it nobody asked for. */
static void test_what_is_not_awaited_is_not_fetched(void **state)
{
	struct arrival a;
	atomic_bool spoilt = false;

	if (!evicted())
		skip();
	arrival_begin(&a, b->fd, 0, MIB, &spoilt);
	assert_false(arrival_is_there(&a, MIB / 2));
	assert_true(arrival_await(&a, MIB / 2));
	assert_false(arrival_is_there(&a, MIB / 2 - 1));
	assert_false(arrival_is_there(&a, MIB / 2 + HOST_PAGE));
	arrival_end(&a);
}

/* A file that ends before it is no bad disk. */
static void test_behind_the_end(void **state)
{
	struct arrival a;
	atomic_bool spoilt = false;

	assert_int_equal(truncate(file.path, 2 * HOST_PAGE), 0);
	arrival_begin(&a, b->fd, 0, 4 * HOST_PAGE, &spoilt);
	assert_true(arrival_await(&a, 2 * HOST_PAGE - 1));
	assert_false(arrival_await(&a, 3 * HOST_PAGE));
	arrival_end(&a);
	assert_false(spoilt);
}

/* Whether the second byte comes where populating its page fails by ERROR. */
static bool comes_by_read(int error, atomic_bool *spoilt)
{
	struct arrival a;
	bool comes;

	populate_error = error;
	arrival_begin(&a, b->fd, 0, MIB, spoilt);
	comes = arrival_await(&a, 1);
	arrival_end(&a);
	return comes;
}

/* After a page that cannot be read they are read, of that device. */
static void test_a_bad_page(void **state)
{
	struct arrival a;
	atomic_bool spoilt = false;

	assert_false(comes_by_read(EFAULT, &spoilt));
	assert_true(spoilt);
	arrival_begin(&a, b->fd, 0, MIB, &spoilt);
	assert_null(a.map);
	assert_true(arrival_await(&a, 1));
	assert_false(arrival_is_there(&a, 1));
	arrival_end(&a);
}

static void test_a_kernel_that_cannot(void **state)
{
	atomic_bool spoilt = false;

	assert_true(comes_by_read(EINVAL, &spoilt));
	assert_false(spoilt);
	assert_true(backing_resident(b, 0, 1));
}

/* What cannot be mapped is read. */
static void test_no_mapping(void **state)
{
	struct arrival a;
	atomic_bool spoilt = false;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	arrival_begin(&a, fds[0], 0, MIB, &spoilt);
	assert_null(a.map);
	assert_false(arrival_await(&a, 1)); /* as pread() does there */
	arrival_end(&a);
	close(fds[0]);
	close(fds[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_chunk_read_once_is_not_kept_longest),
		TEST(test_nor_is_one_of_a_device_without_a_queue),
		TEST(test_nor_is_what_is_fetched_for_a_read),
		TEST(test_nor_is_a_file_of_a_tree),
		TEST(test_what_is_awaited_is_there),
		TEST(test_what_is_not_awaited_is_not_fetched),
		TEST(test_behind_the_end),
		TEST(test_a_bad_page),
		TEST(test_a_kernel_that_cannot),
		TEST(test_no_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
