/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inodes ahead of a listing: each block of them once, in the disk's order; of large directories only. */
#include "disk/tree_listing.h"

#include <fcntl.h>

#include "disk/tree_blocks.h"
#include "disk/tree_dir.h"
#include "disk/tree_inodes.h"
#include "disk_host.h"

#define LARGE 2000
#define SMALL 20

static struct readahead *engine;
static struct export_io *io;
static char dir[96];
static uint64_t asked[LARGE];
static atomic_int n_asked;
static _Atomic uint64_t later, takes; /* ns: the clock is so much ahead; each look brings it on */

static uint64_t now(void)
{
	return clock_now() + atomic_load(&later);
}

static bool asks_on;
static atomic_bool held; /* the first look waits as long */

static uint64_t id_of_dir(void)
{
	struct stat st;

	assert_int_equal(stat(dir, &st), 0);
	return tree_id(st.st_dev, st.st_ino);
}

bool __real_tree_dir_look(const struct tree_dir *at, const char *name);
bool __wrap_tree_dir_look(const struct tree_dir *at, const char *name);
int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);

bool __wrap_tree_dir_look(const struct tree_dir *at, const char *name)
{
	struct stat st;

	while (atomic_load(&held))
		sched_yield();
	assert_int_equal(fstatat(at->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	atomic_fetch_add(&later, takes);
	if (asks_on)
		tree_listing_goes_on(id_of_dir(), now());
	if (atomic_load(&n_asked) < LARGE)
		asked[atomic_fetch_add(&n_asked, 1)] = st.st_ino;
	return __real_tree_dir_look(at, name);
}

/* Whatever the handle: not every file system has any. */
int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int start(void **state)
{
	struct readahead_limits limits = host_limits();
	static const struct dispatcher_ops ops = {.now = now};
	struct export_settings s = host_settings(1);

	host_make_dir();
	device_start(&ops, NULL);
	engine = readahead_create(&limits);
	s.tuning.priced = true;
	io = export_io_new(7, engine, &s);
	atomic_store(&n_asked, 0);
	atomic_store(&takes, 0);
	atomic_store(&held, false);
	asks_on = false;
	return 0;
}

static int stop(void **state)
{
	atomic_store(&held, false);
	assert_int_equal(export_io_drain(io, 30 * SEC), 0);
	export_io_put(io);
	device_stop_all();
	readahead_destroy(engine);
	host_remove_dir();
	return 0;
}

static void make_files(int n)
{
	char path[160];

	snprintf(dir, sizeof(dir), "%s/list", host_dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/file-with-a-long-name-%06d", dir, i);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
}

static void submit(uint64_t client)
{
	static const struct dir_handle handle = {.type = 1, .len = 8};
	const struct flow_id flow = {.client = client, .export_id = 7};

	tree_listing_submit(&handle, -1, io, flow, now());
}

static void list(void)
{
	submit(3);
	while (atomic_load(&io->pending) != 0)
		sched_yield();
}

/* What it counts as: blocks of inodes, and the directory's own; not as long as a chunk for each turn. */
static void assert_counted(void)
{
	struct dispatcher_stats s;
	struct stat st;

	assert_int_equal(stat(dir, &st), 0);
	dispatcher_stats(&device_nth(0)->dispatcher, &s);
	assert_in_range(s.counted.bytes[SCHED_PREFETCH], 4096 * (uint64_t)atomic_load(&n_asked),
			4096 * (uint64_t)atomic_load(&n_asked) + (uint64_t)st.st_size);
	assert_int_equal(readahead_counted(&io->counters, READAHEAD_PREFETCHED),
			 s.counted.bytes[SCHED_PREFETCH]);
}

/* With windows: test_tree_inodes. */
static bool has_windows(void)
{
	struct tree_dir d = {.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	bool windows = tree_blocks_windows(&d);

	close(d.fd);
	return windows;
}

static void test_inodes_come_in_order(void **state)
{
	uint64_t last = 0;

	make_files(LARGE);
	list();
	assert_true(atomic_load(&n_asked) >= LARGE / TREE_INODES_BLOCK);
	for (int i = 0; i < atomic_load(&n_asked); i++) {
		assert_true(asked[i] / TREE_INODES_BLOCK + 1 > last || has_windows());
		last = asked[i] / TREE_INODES_BLOCK + 1;
	}
	assert_counted();
}

/* While the disk costs the highest price nothing is fetched, where the export obeys prices. */
static void test_a_listing_obeys_the_price(void **state)
{
	struct price_snapshot dear = {.write = 1, .readahead = 1, .time = 1};

	make_files(LARGE);
	list();
	assert_true(atomic_load(&n_asked) > 0);
	atomic_store(&n_asked, 0);
	board_publish(&device_nth(0)->prices, &dear);
	list();
	assert_int_equal(atomic_load(&n_asked), 0);
	assert_int_equal(readahead_counted(&io->counters, READAHEAD_CURBED), 1);
}

/* Who asks for the beginning and for nothing more gets no more than that is worth; who goes on, all. */
static void test_a_listing_ends_with_its_client(void **state)
{
	int all;

	make_files(LARGE);
	list();
	all = atomic_exchange(&n_asked, 0);
	atomic_store(&takes, TREE_LISTING_IDLE / 4);
	list();
	assert_in_range(atomic_exchange(&n_asked, 0), 1, 5);
	assert_true(all > 10);
	asks_on = true;
	list();
	assert_int_equal(atomic_load(&n_asked), all);
}

/* One client has half of the places at most: there are some for another one. */
static void test_listings_of_one_client(void **state)
{
	make_files(LARGE);
	atomic_store(&held, true);
	for (int i = 0; i < TREE_LISTINGS_MAX + 1; i++)
		submit(3);
	assert_int_equal(atomic_load(&io->pending), TREE_LISTINGS_MAX / 2);
	submit(4);
	assert_int_equal(atomic_load(&io->pending), TREE_LISTINGS_MAX / 2 + 1);
	assert_true(tree_listing_any());
	atomic_store(&held, false);
	while (atomic_load(&io->pending) != 0)
		sched_yield();
	assert_false(tree_listing_any());
	list(); /* the places are free again */
	assert_true(atomic_load(&n_asked) > 0);
}

static void test_a_small_directory_is_left_alone(void **state)
{
	make_files(SMALL);
	list();
	assert_int_equal(atomic_load(&n_asked), 0);
}

static void test_an_export_that_goes(void **state)
{
	make_files(LARGE);
	export_io_close(io);
	list();
	assert_int_equal(atomic_load(&n_asked), 0);
}

/* Its blocks: no more than it has; none where they are not to be had. */
static void test_blocks_of_a_directory(void **state)
{
	struct tree_dir d = {.fd = -1};
	struct stat st;
	int device;

	assert_int_equal(tree_blocks_open(&d), -1);
	assert_int_equal(tree_blocks_start(&d, -1), 0);
	make_files(LARGE);
	d.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fstat(d.fd, &st), 0);
	d.dev = st.st_dev;
	device = tree_blocks_open(&d);
	assert_true(tree_blocks_start(&d, device) <= (uint64_t)st.st_size);
	close(device);
	close(d.fd);
}

static unsigned int lines;
static char said[256];

static void keep_line(enum log_level level, const char *format, va_list args)
{
	(void)level;
	lines++;
	vsnprintf(said, sizeof(said), format, args);
}

/* Of each device, up to so many, it is said once why it cannot be opened. */
static void test_devices_that_cannot_be_opened(void **state)
{
	(void)state;
	lines = 0;
	log_set_writer(keep_line);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tree_blocks_open_device(makedev(250, 77)), -1);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(said, "device 250:77: /dev/"));
	assert_non_null(strstr(said, "(No such file or directory)"));
	for (unsigned int n = 0; n < 2 * TREE_BLOCKS_TOLD_MAX; n++)
		assert_int_equal(tree_blocks_open_device(makedev(251, n)), -1);
	assert_int_equal(lines, TREE_BLOCKS_TOLD_MAX);
	log_set_writer(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_devices_that_cannot_be_opened), /* first: nothing was said yet */
		cmocka_unit_test_setup_teardown(test_inodes_come_in_order, start, stop),
		cmocka_unit_test_setup_teardown(test_a_listing_obeys_the_price, start, stop),
		cmocka_unit_test_setup_teardown(test_a_listing_ends_with_its_client, start, stop),
		cmocka_unit_test_setup_teardown(test_listings_of_one_client, start, stop),
		cmocka_unit_test_setup_teardown(test_a_small_directory_is_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(test_an_export_that_goes, start, stop),
		cmocka_unit_test_setup_teardown(test_blocks_of_a_directory, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
