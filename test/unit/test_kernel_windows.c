/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is asked of the kernel's read-ahead for a chunk: here it is a made-up one, at preadv2(), which
 * brings windows as versions of the kernel do, or fails.
 */
#include "disk/kernel_windows.h"

#include "disk/arrival.h"
#include "disk/fetch.h"
#include "disk_host.h"

#define WINDOW	 (128 * KIB)
#define FROM	 (MIB)
#define FILE_LEN (16 * MIB)

static struct export_io *io;
static struct host_file file;
static struct backing *b;

/* The made-up kernel's: where in a stream's first window the mark is, and what it answers instead. */
static uint64_t first_mark;
static int refuses; /* an errno; 0: none */
static bool idle;   /* it starts nothing */
static bool ended;  /* the file, before what is read */
static uint64_t
	rounded; /* a window ends at a multiple of it, which grows up to the largest folio; 0: anywhere */

static uint64_t folio;	  /* of the window that was brought last */
static uint64_t marks[2]; /* of the first window, and of those behind; UINT64_MAX: none */
static uint64_t reached;  /* brought so far */
static uint64_t stream;	  /* what was read last ended here */
static unsigned int touches, windows;

/* Brings LEN bytes at OFFSET, as the kernel does, by reading. */
static void bring(uint64_t offset, uint64_t len)
{
	static char buffer[WINDOW];
	int fd = open(file.path, O_RDONLY | O_CLOEXEC);

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	assert_true(pread(fd, buffer, len, (off_t)offset) > 0);
	close(fd);
}

static void bring_window(void)
{
	uint64_t end = reached + WINDOW;

	if (rounded) {
		folio = rounded;
		end -= end % folio;
		rounded = 4 * rounded < WINDOW ? 4 * rounded : WINDOW;
	}
	bring(reached, end - reached);
	reached = end;
	windows++;
}

/* Nothing of [at, at + len) is there: a stream begins, or it is a single read. */
static void miss(uint64_t at, uint64_t len)
{
	marks[0] = marks[1] = UINT64_MAX;
	if (at != stream && at != 0) {
		bring(at, len);
		return;
	}
	reached = at;
	bring_window();
	marks[0] = at + first_mark;
}

/* A mark is a folio's: any of its pages will do. */
static void pass_marks(uint64_t at)
{
	for (int i = 0; i < 2; i++)
		if (at / folio == marks[i] / folio) {
			marks[i] = UINT64_MAX;
			marks[1] = reached;
			bring_window();
		}
}

ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int n, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	uint64_t at = (uint64_t)offset, len = 0;
	bool there = backing_resident(b, at, 1);

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	touches++;
	errno = refuses ? refuses : EAGAIN;
	if (refuses)
		return -1;
	if (ended)
		return 0;
	if (!idle && !there)
		miss(at, len);
	if (!idle)
		pass_marks(at);
	if (!there && flags == RWF_NOWAIT)
		return -1;
	stream = at + 1;
	return 1;
}

/* By a mapping of a chunk's descriptor marks are passed too, and nobody has read. */
bool __real_arrival_await(struct arrival *a, uint64_t offset);
bool __wrap_arrival_await(struct arrival *a, uint64_t offset);
bool __wrap_arrival_await(struct arrival *a, uint64_t offset)
{
	if (a->fd != b->fd) {
		touches++;
		if (!idle)
			pass_marks(offset);
	}
	return __real_arrival_await(a, offset);
}

static int start(void **state)
{
	struct export_settings s = host_settings(1);
	int fd;

	host_make_dir();
	log_set_writer(host_log_write);
	device_start(&host_dispatcher_ops, host_dir);
	backing_set_limits(8, 30 * SEC);
	io = export_io_new(7, NULL, &s);
	host_file_make(&file, "f", 0);
	fd = open(file.path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, FILE_LEN), 0); /* a hole: nothing of it is in memory */
	close(fd);
	b = backing_get(&file.slot, io, SEC);
	assert_non_null(b);
	atomic_store(&b->device->window, WINDOW / 2); /* fadvise doubles it */
	atomic_store(&b->device->next_window, UINT64_MAX);
	first_mark = touches = windows = 0;
	marks[0] = marks[1] = stream = UINT64_MAX;
	refuses = 0;
	idle = ended = false;
	rounded = 0;
	folio = HOST_PAGE;
	bring(FROM - 1, 1); /* the stream's end so far */
	return 0;
}

static int stop(void **state)
{
	backing_put(b);
	backing_slot_fini(&file.slot);
	export_io_put(io);
	device_stop_all();
	log_set_writer(NULL);
	host_remove_dir();
	return 0;
}

static bool resident(uint64_t from, uint64_t end)
{
	return backing_resident(b, from, end - from);
}

static bool nothing_at(uint64_t offset)
{
	return !backing_resident(b, offset, 1);
}

/* ---- windows ----------------------------------------------------------------------------- */

/* Step by step to the end of a chunk of LEN bytes, and not a page further. */
static void expect_a_chunk_and_no_more(uint64_t len)
{
	struct kernel_windows w;
	uint64_t end = FROM + len;

	kernel_windows_open(&w, b, FROM, end, SEC);
	assert_true(w.fd >= 0);
	for (uint64_t upto = FROM + 512 * KIB; w.begun < end; upto += 512 * KIB) {
		kernel_windows_start(&w, b, upto < end ? upto : end);
		assert_true(w.begun >= (upto < end ? upto : end));
		assert_true(w.begun <= upto + 2 * WINDOW);
	}
	assert_int_equal(w.begun, end);
	assert_true(reached < end); /* the tail has no mark */
	assert_true(nothing_at((end + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE));
	kernel_windows_close(&w);
	assert_int_equal(w.fd, -1);
}

static void test_whole_windows(void **state)
{
	expect_a_chunk_and_no_more(2 * MIB);
}

static void test_a_chunk_that_ends_within_a_window(void **state)
{
	expect_a_chunk_and_no_more(2 * MIB + 40 * KIB + 1);
}

static void test_the_smallest_chunk(void **state)
{
	expect_a_chunk_and_no_more(KERNEL_WINDOWS_MIN * WINDOW);
}

static void test_a_mark_in_the_middle_of_the_first_window(void **state)
{
	first_mark = WINDOW / 2;
	expect_a_chunk_and_no_more(2 * MIB);
}

/* A touch for each window, one for the byte before the chunk, no more. */
static void test_few_calls(void **state)
{
	expect_a_chunk_and_no_more(4 * MIB);
	assert_true(touches <= 4 * MIB / WINDOW + 1);
}

/*
 * A client's READ has brought LEN bytes at OFFSET: what is taken for begun afterwards is there. (In the plugin a hole is
 * read in small parts, and taken for a sign that WILLNEED's pieces are too large.)
 */
static void expect_no_holes_beside(uint64_t offset, uint64_t len)
{
	struct kernel_windows w;

	bring(offset, len);
	kernel_windows_open(&w, b, FROM, FROM + 4 * MIB, SEC);
	for (uint64_t upto = FROM + 256 * KIB; w.fd >= 0 && upto < FROM + 4 * MIB;
	     upto += 256 * KIB) {
		kernel_windows_start(&w, b, upto);
		assert_true(resident(FROM, w.begun));
	}
	kernel_windows_close(&w);
}

static void test_reads_of_clients_beside(void **state)
{
	for (uint64_t at = FROM; at < FROM + 8 * WINDOW; at += WINDOW / 4)
		for (uint64_t mark = 0; mark < WINDOW; mark += WINDOW / 2) {
			stop(state);
			start(state);
			first_mark = mark;
			expect_no_holes_beside(at, 32 * KIB);
		}
}

/* A kernel whose windows end where a folio can: of a chunk that begins elsewhere they all go on, without a hole. */
static void test_a_chunk_that_begins_within_a_folio(void **state)
{
	static const uint64_t begins[] = {4 * KIB, 12 * KIB, 32 * KIB, 64 * KIB, 100 * KIB};

	for (unsigned int i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		for (uint64_t mark = 0; mark < WINDOW; mark += WINDOW / 2) {
			uint64_t from = FROM + begins[i], end = from + 2 * MIB;
			struct kernel_windows w;

			stop(state);
			start(state);
			rounded = 16 * KIB;
			first_mark = mark;
			bring(from - 1, 1);
			kernel_windows_open(&w, b, from, end, SEC);
			for (uint64_t upto = from; upto <= end; upto += 256 * KIB) {
				kernel_windows_start(&w, b, upto);
				assert_true(w.begun >= upto);
				assert_true(w.begun == from || resident(from, w.begun));
			}
			assert_int_equal(w.begun, end);
			kernel_windows_close(&w);
		}
}

/* ---- where it cannot be had -------------------------------------------------------------- */

static void expect_none(uint64_t from, uint64_t end)
{
	struct kernel_windows w;

	kernel_windows_open(&w, b, from, end, SEC);
	assert_int_equal(w.fd, -1);
	kernel_windows_start(&w, b, end);
	assert_int_equal(w.begun, from);
	kernel_windows_close(&w);
}

static void test_a_chunk_too_small(void **state)
{
	expect_none(FROM, FROM + KERNEL_WINDOWS_MIN * WINDOW - 1);
	expect_none(FROM, FROM);
	expect_none(FROM, FROM - 1);
	assert_int_equal(touches, 0);
}

static void test_no_windows_or_too_large_ones(void **state)
{
	atomic_store(&b->device->window, 0);
	expect_none(FROM, FROM + 8 * MIB);
	atomic_store(&b->device->window, UINT32_MAX);
	expect_none(FROM, FROM + 8 * MIB);
	atomic_store(&b->device->window, WINDOW / 2); /* fadvise doubles it */
	b->own_queue = false;
	expect_none(FROM, FROM + 8 * MIB);
}

static void test_calls_that_are_refused(void **state)
{
	refuses = EOPNOTSUPP;
	expect_none(FROM, FROM + 2 * MIB);
	assert_int_equal(touches, 1);
}

/* Of a file that ends before it now, whatever an earlier call has left in errno. */
static void test_a_file_cut_short(void **state)
{
	ended = true;
	expect_none(FROM, FROM + 2 * MIB);
	assert_int_equal(touches, 1);
}

/* What a kernel does not begin is left to others, at once. */
static void test_a_kernel_that_begins_nothing(void **state)
{
	struct kernel_windows w;

	idle = true;
	kernel_windows_open(&w, b, FROM, FROM + 2 * MIB, SEC);
	kernel_windows_start(&w, b, FROM + 512 * KIB);
	assert_false(w.going);
	assert_int_equal(w.begun, FROM);
	assert_true(nothing_at(FROM));
	kernel_windows_close(&w);
}

/* ---- a chunk ----------------------------------------------------------------------------- */

/* Whatever the kernel does, all of it comes, and bytes under way are not taken for found ones. */
static void expect_a_chunk_fetched(void)
{
	struct fetch_chunk c;
	bool already;

	fetch_chunk_begin(&c, &b->device->dispatcher, b, FROM, 2 * MIB);
	for (uint64_t at = FROM; at < FROM + 2 * MIB; at += 256 * KIB) {
		assert_int_equal(fetch_chunk_next(&c, at, 256 * KIB, &already), 256 * KIB);
		assert_false(already);
		assert_true(resident(at, at + 256 * KIB));
	}
	fetch_chunk_end(&c);
	assert_true(nothing_at(FROM + 2 * MIB));
	fetch_chunk_begin(&c, &b->device->dispatcher, b, FROM, MIB);
	assert_int_equal(fetch_chunk_next(&c, FROM, MIB, &already), MIB);
	assert_true(already);
	fetch_chunk_end(&c);
}

static void test_a_chunk_by_windows(void **state)
{
	expect_a_chunk_fetched();
	assert_true(touches > 4);
}

static void test_a_chunk_without_windows(void **state)
{
	refuses = EOPNOTSUPP;
	expect_a_chunk_fetched();
}

static void test_a_chunk_that_windows_leave(void **state)
{
	idle = true;
	expect_a_chunk_fetched();
}

/* A chunk of 2 MiB in steps. */
static void fetch_two_mib(void)
{
	struct fetch_chunk c;
	bool already;

	fetch_chunk_begin(&c, &b->device->dispatcher, b, FROM, 2 * MIB);
	for (uint64_t at = FROM; at < FROM + 2 * MIB; at += 256 * KIB)
		assert_int_equal(fetch_chunk_next(&c, at, 256 * KIB, &already), 256 * KIB);
	fetch_chunk_end(&c);
	assert_true(resident(FROM, FROM + 2 * MIB));
}

/* What is before it is still on its way: it has windows behind its first step, but for the tail. */
static void test_a_chunk_behind_one_that_is_under_way(void **state)
{
	atomic_store(&b->device->queues, false);
	posix_fadvise(b->fd, 0, FROM, POSIX_FADV_DONTNEED);
	assert_true(nothing_at(FROM - 1));
	fetch_two_mib();
	assert_int_equal(windows, (2 * MIB - 256 * KIB) / WINDOW - 1);
}

/* Where reads wait for their turn it is over: what could not begin does not. */
static void test_a_chunk_of_a_device_with_a_queue(void **state)
{
	posix_fadvise(b->fd, 0, FROM, POSIX_FADV_DONTNEED);
	fetch_two_mib();
	assert_int_equal(windows, 0);
}

/* A client's READs, or what the kernel reads ahead for them, are in its way. */
static void test_a_chunk_that_meets_a_reader(void **state)
{
	atomic_store(&b->device->queues, false);
	bring(FROM, 64 * KIB);
	bring(FROM + MIB, 32 * KIB);
	fetch_two_mib();
	assert_in_range(windows, (2 * MIB - 2 * 256 * KIB) / WINDOW - 4, 2 * MIB / WINDOW);
	assert_true(nothing_at(FROM + 2 * MIB));
}

/* Of a window that is there in part nothing is begun: the kernel would bring the rest in a way of its own. */
static void test_a_window_that_is_there_in_part(void **state)
{
	struct kernel_windows w;

	bring(FROM, 32 * KIB);
	kernel_windows_open(&w, b, FROM, FROM + 4 * MIB, SEC);
	assert_true(w.going);
	kernel_windows_start(&w, b, FROM + 256 * KIB);
	assert_false(w.going);
	assert_int_equal(w.begun, FROM);
	assert_true(nothing_at(FROM + 32 * KIB));
	kernel_windows_close(&w);
}

/* A kernel whose windows end where it likes is not asked again: its marks may be anywhere. */
static void test_a_kernel_that_goes_its_own_way(void **state)
{
	struct kernel_windows w;

	kernel_windows_open(&w, b, FROM, FROM + 4 * MIB, SEC);
	kernel_windows_start(&w, b, FROM + 256 * KIB);
	assert_true(w.going);
	marks[1] = UINT64_MAX;
	kernel_windows_start(&w, b, FROM + 512 * KIB);
	assert_int_equal(w.fd, -1);
	touches = 0;
	kernel_windows_go_on(&w, FROM + 512 * KIB);
	assert_int_equal(touches, 0);
	assert_false(w.going);
}

/* ---- the device -------------------------------------------------------------------------- */

/* Where the kernel tells of a block device. */
static void sysfs_write(dev_t dev, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "mkdir -p %s/%u:%u/queue", host_dir, major(dev), minor(dev));
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/%u:%u/queue/%s", host_dir, major(dev), minor(dev), name);
	host_write_text(path, text);
}

static void test_the_window_is_the_devices(void **state)
{
	struct device *d = b->device;
	dev_t dev = atomic_load(&d->dev);

	atomic_store(&d->next_window, 0);
	assert_int_equal(device_window(d, 10 * SEC), 0); /* it does not say */
	sysfs_write(dev, "read_ahead_kb", "256\n");
	assert_int_equal(device_window(d, 10 * SEC + MSEC), 0);
	assert_int_equal(device_window(d, 11 * SEC), 256 * KIB);
	sysfs_write(dev, "read_ahead_kb", "4294967295\n");
	assert_int_equal(device_window(d, 12 * SEC), UINT32_MAX);
	sysfs_write(dev, "read_ahead_kb", "none\n");
	assert_int_equal(device_window(d, 13 * SEC), 0);
}

/* Who comes while another thread asks for it for the first time is not told that there is none. */
static void test_a_new_device_has_its_window(void **state)
{
	struct export_settings s = host_settings(1);
	_Atomic uint64_t devices = 0;
	struct device *d;
	int err;

	sysfs_write(makedev(250, 7), "read_ahead_kb", "512\n");
	d = device_use(makedev(250, 7), &s.device, &devices, &err);
	assert_non_null(d);
	atomic_store(&d->next_window, UINT64_MAX);
	assert_int_equal(device_window(d, SEC), 512 * KIB);
	device_unuse(atomic_load(&devices));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole_windows),
		TEST(test_a_chunk_that_ends_within_a_window),
		TEST(test_the_smallest_chunk),
		TEST(test_a_mark_in_the_middle_of_the_first_window),
		TEST(test_few_calls),
		TEST(test_reads_of_clients_beside),
		TEST(test_a_chunk_that_begins_within_a_folio),
		TEST(test_a_chunk_too_small),
		TEST(test_no_windows_or_too_large_ones),
		TEST(test_calls_that_are_refused),
		TEST(test_a_file_cut_short),
		TEST(test_a_kernel_that_begins_nothing),
		TEST(test_a_chunk_by_windows),
		TEST(test_a_chunk_without_windows),
		TEST(test_a_chunk_that_windows_leave),
		TEST(test_a_chunk_behind_one_that_is_under_way),
		TEST(test_a_chunk_of_a_device_with_a_queue),
		TEST(test_a_chunk_that_meets_a_reader),
		TEST(test_a_window_that_is_there_in_part),
		TEST(test_a_kernel_that_goes_its_own_way),
		TEST(test_the_window_is_the_devices),
		TEST(test_a_new_device_has_its_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
