/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Descriptors of our own: references, the bound, closing, what fails and when it is tried again. */
#include <pthread.h>

#include "backing_host.h"
#include "faults.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* ---- references -------------------------------------------------------------------------- */

static void test_one_descriptor_a_slot(void **state)
{
	struct host_file f;
	struct backing *b;

	host_file_make(&f, "a", 3 * HOST_PAGE);
	b = get(&f, SEC);
	assert_int_equal(atomic_load(&b->size), 3 * HOST_PAGE);
	assert_ptr_equal(get(&f, 2 * SEC), b);
	assert_int_equal(f.opened, 1);
	assert_int_equal(backing_count(), 1);
	assert_int_equal(b->used, 2 * SEC);
	assert_true(b->device != NULL && b->file != 0);
	assert_int_equal(b->device->backings, 1);
	backing_put(b);
	backing_put(b);
	assert_true(is_open(b->fd)); /* the slot's */
	backing_slot_fini(&f.slot);
	assert_int_equal(backing_count(), 0);
	assert_int_equal(device_nth(0)->backings, 0);
}

/* Where write-back is the kernel's a file that is written needs none at all. */
static void test_a_write_past_the_turns_needs_none(void **state)
{
	struct host_file f;
	struct device *d;
	dev_t dev;

	assert_false(backing_write_spared(io, 0)); /* no device is known */
	host_file_make(&f, "a", HOST_PAGE);
	backing_put(get(&f, SEC));
	d = device_nth(0);
	dev = atomic_load(&d->dev);
	atomic_store(&d->own_queues, true);
	assert_false(backing_write_spared(io, dev)); /* there are turns */
	atomic_store(&d->own_queues, false);
	assert_true(backing_write_spared(io, dev));
	assert_false(backing_write_spared(io, dev + 1)); /* elsewhere: who knows? */
	backing_slot_fini(&f.slot);
}

/* Small files on flash are read once, and a descriptor for that would cost as much again. */
static void test_the_first_read_past_the_queue_needs_none(void **state)
{
	struct host_file f, g;
	struct device *d;
	dev_t dev;

	host_file_make(&f, "a", HOST_PAGE);
	host_file_make(&g, "b", HOST_PAGE);
	assert_false(backing_spared(&g.slot, io, 0, 0, 100)); /* no device is known */
	backing_slot_fini(&g.slot);
	host_file_make(&g, "b", HOST_PAGE);
	backing_put(get(&g, SEC));
	d = device_nth(0);
	dev = atomic_load(&d->dev);
	assert_false(backing_spared(&f.slot, io, dev, 0, 100)); /* it queues there */
	backing_slot_fini(&f.slot);
	host_file_make(&f, "a", HOST_PAGE);
	atomic_store(&d->queues, false);
	atomic_store(&d->learns, DEVICE_LEARNS_NOTHING);
	assert_true(backing_spared(&f.slot, io, dev, 0, 100));
	assert_true(backing_spared(&f.slot, io, dev, 100, BACKING_SPARED - 101));
	assert_false(backing_spared_on(&f.slot, 0));
	assert_true(backing_spared(&f.slot, io, dev, BACKING_SPARED - 1, 100));
	assert_false(backing_spared(&f.slot, io, dev, BACKING_SPARED + 99, 100)); /* a long file */
	assert_true(backing_spared_on(&f.slot, BACKING_SPARED + 99));
	assert_false(backing_spared_on(&f.slot, 0));
	assert_false(backing_spared_on(&f.slot, BACKING_SPARED_ON));
	assert_false(backing_spared_on(&f.slot, BACKING_SPARED + 99)); /* it is read again */
	backing_slot_fini(&f.slot);
	host_file_make(&f, "a", HOST_PAGE);
	assert_true(backing_spared(&f.slot, io, dev, 0, 100));
	assert_false(backing_spared(&f.slot, io, dev, 0, 100)); /* again */
	assert_false(backing_spared(&f.slot, io, dev, 100, 100));
	assert_false(backing_spared_on(&f.slot, BACKING_SPARED));
	backing_slot_fini(&f.slot);
	host_file_make(&f, "a", HOST_PAGE);
	assert_false(backing_spared(&f.slot, io, dev, HOST_PAGE, 100)); /* not from the beginning */
	assert_false(backing_spared(&f.slot, io, dev, 0, 100));
	backing_slot_fini(&f.slot);
	host_file_make(&f, "a", HOST_PAGE);
	assert_false(backing_spared(&f.slot, io, dev + 1, 0, 100)); /* elsewhere: who knows? */
	backing_slot_fini(&f.slot);
	host_file_make(&f, "a", HOST_PAGE);
	atomic_store(&d->learns, DEVICE_LEARNS_DEAR);
	assert_false(backing_spared(&f.slot, io, dev, 0, 100)); /* its READs are evidence */
	backing_slot_fini(&f.slot);
	backing_slot_fini(&g.slot);
}

static void test_a_hold_keeps_no_descriptor(void **state)
{
	struct host_file f;
	struct backing *b;
	int fd;

	host_file_make(&f, "a", HOST_PAGE);
	assert_null(backing_peek(&f.slot));
	backing_put(get(&f, SEC));
	b = backing_peek(&f.slot);
	fd = b->fd;
	assert_true(backing_use(b));
	backing_drop(&f.slot);
	assert_true(is_open(fd)); /* the use */
	assert_true(atomic_load(&b->gone));
	backing_unuse(b);
	assert_false(is_open(fd));
	assert_false(backing_use(b));
	backing_release(b);
	backing_drop(&f.slot); /* nothing left */
	backing_put(get(&f, SEC));
	assert_int_equal(f.opened, 2);
	backing_slot_fini(&f.slot);
}

/* ---- the bound --------------------------------------------------------------------------- */

static void test_the_least_recently_used_goes(void **state)
{
	struct host_file f[4];
	char name[16];

	backing_set_limits(3, 30 * SEC);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		host_file_make(&f[i], name, HOST_PAGE);
	}
	backing_put(get(&f[0], 3 * SEC));
	backing_put(get(&f[1], 1 * SEC));
	backing_put(get(&f[2], 2 * SEC));
	backing_put(get(&f[3], 4 * SEC));
	assert_int_equal(backing_count(), 3);
	assert_null(f[1].slot.backing);
	backing_set_limits(1, 30 * SEC); /* a smaller bound holds from the next one on */
	backing_put(get(&f[1], 5 * SEC));
	assert_int_equal(backing_count(), 1);
	assert_null(f[3].slot.backing);
	for (int i = 0; i < 4; i++)
		backing_slot_fini(&f[i].slot);
}

static void test_many_files_and_few_descriptors(void **state)
{
	enum { FILES = 300 };
	static struct host_file f[FILES];
	char name[16];

	backing_set_limits(100, 30 * SEC);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		host_file_make(&f[i], name, 0);
		backing_put(get(&f[i], (uint64_t)(i + 1) * SEC));
		assert_true(backing_count() <= 100);
	}
	backing_sweep(1000 * SEC, false);
	assert_int_equal(backing_count(), 0);
	for (int i = 0; i < FILES; i++)
		backing_slot_fini(&f[i].slot);
}

/* ---- closing ----------------------------------------------------------------------------- */

static void test_idle_ones_are_closed(void **state)
{
	struct host_file a, b;

	host_file_make(&a, "a", HOST_PAGE);
	host_file_make(&b, "b", HOST_PAGE);
	backing_put(get(&a, SEC));
	backing_put(get(&b, 20 * SEC));
	backing_sweep(31 * SEC, false);
	assert_int_equal(backing_count(), 2); /* just not beyond the time */
	backing_sweep(31 * SEC + 1, false);
	assert_null(a.slot.backing);
	assert_non_null(b.slot.backing);
	backing_slot_fini(&a.slot);
	backing_slot_fini(&b.slot);
}

static void test_removed_ones_are_closed_at_once(void **state)
{
	struct host_file a, b;
	struct backing *held;
	int fd;

	host_file_make(&a, "a", HOST_PAGE);
	host_file_make(&b, "b", HOST_PAGE);
	backing_put(get(&a, SEC));
	backing_put(get(&b, SEC));
	held = backing_peek(&a.slot);
	fd = held->fd;
	assert_int_equal(rename(b.path, a.path), 0); /* a's file has lost its name */
	backing_sweep(SEC + 1, false);
	assert_null(a.slot.backing);
	assert_false(is_open(fd));
	assert_non_null(b.slot.backing);
	backing_release(held);
	backing_slot_fini(&a.slot);
	backing_slot_fini(&b.slot);
}

static struct host_file beside;
static int asked;

/* A file is opened and published, which takes the list's lock. */
static void use_the_list(int fd)
{
	on_fstat = NULL;
	asked++;
	backing_put(get(&beside, SEC));
	backing_drop(&beside.slot);
	on_fstat = use_the_list;
}

/* However many descriptors there are: a sweep waits for the kernel, and others do not wait for it. */
static void test_a_sweep_asks_the_kernel_without_a_lock(void **state)
{
	enum { FILES = 200 };
	static struct host_file f[FILES];
	char name[16];

	backing_set_limits(FILES + 8, 30 * SEC);
	host_file_make(&beside, "beside", HOST_PAGE);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		host_file_make(&f[i], name, 0);
		backing_put(get(&f[i], SEC));
	}
	asked = 0;
	on_fstat = use_the_list;
	backing_sweep(2 * SEC, false);
	on_fstat = NULL;
	assert_int_equal(asked, FILES);
	assert_int_equal(backing_count(), FILES);
	for (int i = 0; i < FILES; i++)
		backing_slot_fini(&f[i].slot);
	backing_slot_fini(&beside.slot);
}

/* ---- what fails -------------------------------------------------------------------------- */

static void test_an_fsal_without_descriptors_is_asked_once(void **state)
{
	struct host_file f, g;

	host_file_make(&f, "f", HOST_PAGE);
	host_file_make(&g, "g", HOST_PAGE);
	f.error = g.error = EOPNOTSUPP;
	assert_null(backing_get(&f.slot, io, SEC));
	assert_null(backing_get(&f.slot, io, 1000000 * SEC));
	assert_int_equal(f.opened, 1);
	assert_null(backing_get(&g.slot, io, SEC));
	assert_int_equal(host_log_lines, 1); /* once an export */
	assert_non_null(strstr(host_log, "export 7: no file descriptor (the FSAL below is not"));
	backing_slot_fini(&f.slot);
	backing_slot_fini(&g.slot);
}

static void fails_and_recovers(int error, const char *cause)
{
	struct host_file f;

	host_file_make(&f, "f", HOST_PAGE);
	host_log_lines = 0;
	f.error = error;
	assert_null(backing_get(&f.slot, io, SEC));
	assert_null(backing_get(&f.slot, io, SEC + 1)); /* not at every read */
	assert_int_equal(f.opened, 1);
	assert_int_equal(host_log_lines, cause != NULL);
	if (cause != NULL)
		assert_non_null(strstr(host_log, cause));
	f.error = 0;
	backing_put(get(&f, 2 * SEC));
	backing_slot_fini(&f.slot);
}

static void test_an_error_that_passes_is_no_verdict(void **state)
{
	fails_and_recovers(EMFILE, "Too many open files");
	fails_and_recovers(EXDEV, "another file system is mounted over its own");
	fails_and_recovers(EUCLEAN, "a handle leads to another file");
	fails_and_recovers(EIO, "Input/output error");
	fails_and_recovers(ESTALE, NULL); /* removed meanwhile: not worth a line */
}

static void test_a_full_table_of_devices_is_named(void **state)
{
	struct export_settings s = host_settings(1);
	_Atomic uint64_t others = 0;
	struct host_file f;
	int err = 0;

	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		assert_non_null(device_use(makedev(251, i), &s.device, &others, &err));
	host_file_make(&f, "f", HOST_PAGE);
	assert_null(backing_get(&f.slot, io, SEC));
	assert_non_null(strstr(host_log, "the table of devices is full"));
	assert_int_equal(backing_count(), 0);
	device_unuse(atomic_load(&others)); /* an export went */
	backing_put(get(&f, 2 * SEC));
	backing_slot_fini(&f.slot);
}

static void test_no_memory(void **state)
{
	struct host_file f;

	host_file_make(&f, "f", HOST_PAGE);
	backing_put(get(&f, SEC)); /* the device is there */
	backing_drop(&f.slot);
	atomic_store(&fail_calloc, 1);
	assert_null(backing_get(&f.slot, io, 2 * SEC));
	assert_non_null(strstr(host_log, "Cannot allocate memory"));
	backing_put(get(&f, 3 * SEC));
	backing_slot_fini(&f.slot);
}

static void test_no_thread_for_a_device(void **state)
{
	struct host_file f;

	host_file_make(&f, "f", HOST_PAGE);
	atomic_store(&fail_pthread_create, 1);
	assert_null(backing_get(&f.slot, io, SEC));
	assert_non_null(strstr(host_log, "Resource temporarily unavailable"));
	assert_null(device_nth(0));
	backing_put(get(&f, 2 * SEC));
	backing_slot_fini(&f.slot);
}

static void test_only_files_have_one(void **state)
{
	struct host_file f;
	uint8_t key[BACKING_KEY_MAX + 1] = {0};

	host_file_make(&f, "f", HOST_PAGE);
	snprintf(f.path, sizeof(f.path), "%s", host_dir);
	assert_null(backing_get(&f.slot, io, SEC)); /* a directory */
	assert_null(backing_get(&f.slot, io, 10 * SEC));
	assert_int_equal(f.opened, 1);
	backing_slot_fini(&f.slot);
	backing_slot_init(&f.slot, host_open, NULL, 0);
	assert_null(backing_get(&f.slot, io, SEC));
	backing_slot_fini(&f.slot);
	backing_slot_init(&f.slot, host_open, key, sizeof(key));
	assert_int_equal(f.slot.key_len, 0);
	assert_null(backing_get(&f.slot, io, SEC));
	backing_slot_fini(&f.slot);
}

/* ---- races ------------------------------------------------------------------------------- */

/* backing_drop() has taken the backing from its slot and not yet from the list. */
static void *drop_and_pause(void *arg)
{
	pause_at(2);
	backing_drop(arg);
	return NULL;
}

static void test_a_sweep_meets_a_drop(void **state)
{
	struct host_file f;
	pthread_t thread;
	int fd;

	host_file_make(&f, "f", HOST_PAGE);
	backing_put(get(&f, SEC));
	fd = f.slot.backing->fd;
	pause_reset();
	pthread_create(&thread, NULL, drop_and_pause, &f.slot);
	pause_wait();
	backing_sweep(1000 * SEC, false); /* idle, but not ours to close any more */
	backing_sweep(1000 * SEC, true);
	assert_true(is_open(fd));
	assert_int_equal(backing_count(), 1);
	pause_end();
	pthread_join(thread, NULL);
	assert_false(is_open(fd));
	assert_int_equal(backing_count(), 0);
	backing_slot_fini(&f.slot);
}

/* backing_get() has opened a file and not yet published it. */
static _Thread_local bool pauses;

static void pause_when_opened(void)
{
	if (pauses)
		pause_here();
}

static void *get_and_pause(void *arg)
{
	struct host_file *f = arg;

	pauses = true;
	return backing_get(&f->slot, io, SEC);
}

static void test_two_open_at_once(void **state)
{
	struct host_file f;
	struct backing *b;
	pthread_t thread;
	void *theirs;

	host_file_make(&f, "f", HOST_PAGE);
	backing_put(get(&f, SEC)); /* the device is there */
	backing_drop(&f.slot);
	pause_reset();
	f.opening = pause_when_opened;
	pthread_create(&thread, NULL, get_and_pause, &f);
	pause_wait();
	b = get(&f, SEC);
	pause_end();
	pthread_join(thread, &theirs);
	assert_ptr_equal(theirs, b); /* the faster one's */
	assert_int_equal(backing_count(), 1);
	assert_int_equal(b->device->backings, 1);
	backing_put(b);
	backing_put(theirs);
	backing_slot_fini(&f.slot);
}

enum { RACERS = 4, ROUNDS = 300 };
static struct host_file raced[3];

static void *race(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct host_file *f = &raced[random_below(&seed, 3)];
		struct backing *b;

		switch (random_below(&seed, 4)) {
		case 0:
			backing_drop(&f->slot);
			break;
		case 1:
			backing_sweep(random_below(&seed, 100) * SEC, false);
			break;
		case 2:
			backing_invalidate(&f->slot, 0, UINT64_MAX);
			break;
		default:
			b = backing_get(&f->slot, io, random_below(&seed, 50) * SEC);
			if (b != NULL && random_below(&seed, 2))
				backing_resident(b, 0, HOST_PAGE);
			if (b != NULL)
				backing_put(b);
		}
	}
	return NULL;
}

static void test_many_at_once(void **state)
{
	pthread_t thread[RACERS];
	char name[16];

	backing_set_limits(2, 10 * SEC);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		host_file_make(&raced[i], name, HOST_PAGE);
	}
	for (uintptr_t i = 0; i < RACERS; i++)
		pthread_create(&thread[i], NULL, race, (void *)(i + 1));
	for (int i = 0; i < RACERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++)
		backing_slot_fini(&raced[i].slot);
	assert_int_equal(backing_count(), 0);
	assert_int_equal(device_nth(0)->backings, 0);
}

/* ---- the file ---------------------------------------------------------------------------- */

static void test_size_and_place(void **state)
{
	struct host_file f;
	struct backing *b;
	uint64_t first;

	host_file_make(&f, "f", 4 * HOST_PAGE);
	b = get(&f, SEC);
	assert_int_equal(truncate(f.path, 8 * HOST_PAGE), 0);
	assert_int_equal(backing_refresh_size(b), 8 * HOST_PAGE);
	/* mapped or not, file order is kept within the file */
	first = backing_block(b, 0);
	assert_int_equal(backing_block(b, HOST_PAGE / 2), first + HOST_PAGE / 2);
	assert_true(backing_place(b, 0) == first);
	/* behind the end there is no place: it goes behind the byte before, or keeps file order */
	assert_true(backing_place(b, 4 * HOST_PAGE) != 0);
	backing_invalidate(&f.slot, 0, UINT64_MAX);
	assert_int_equal(backing_block(b, 0), first);
	backing_put(b);
	backing_drop(&f.slot);
	backing_invalidate(&f.slot, 0, UINT64_MAX); /* there is none */
	backing_slot_fini(&f.slot);
}

/* What is read as a signed number, and tells subvolumes apart. */
static void test_names(void **state)
{
	uint64_t high = UINT64_C(0xfedcba9876543210);

	assert_int_equal(backing_file_name(260, makedev(8, 1), true), 260);
	assert_true(backing_file_name(260, 57, false) != backing_file_name(260, 58, false));
	for (dev_t dev = 50; dev < 60; dev++) {
		assert_true(backing_file_name(high, dev, false) <= INT64_MAX);
		/* who cannot say the highest bit finds it too */
		assert_int_equal(backing_file_name(high, dev, false),
				 backing_file_name(high & INT64_MAX, dev, false));
	}
}

/* Also where it is opened meanwhile. */
static void test_a_change_under_way_is_known(void **state)
{
	struct host_file f;
	struct backing *b;

	host_file_make(&f, "f", HOST_PAGE);
	backing_change_begins(&f.slot, 0, 1);
	backing_change_begins(&f.slot, 0, 1);
	b = get(&f, SEC);
	assert_int_equal(b->extents.changes, 2);
	assert_false(b->extents.valid);
	(void)backing_block(b, 0);
	assert_false(b->extents.valid);
	backing_change_ends(&f.slot, 0, 1);
	(void)backing_block(b, 0);
	assert_false(b->extents.valid);
	backing_change_ends(&f.slot, 0, 1);
	assert_int_equal(b->extents.changes, 0);
	backing_put(b);
	backing_drop(&f.slot);
	backing_slot_fini(&f.slot);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_one_descriptor_a_slot),
		TEST(test_the_first_read_past_the_queue_needs_none),
		TEST(test_a_write_past_the_turns_needs_none),
		TEST(test_a_hold_keeps_no_descriptor),
		TEST(test_the_least_recently_used_goes),
		TEST(test_many_files_and_few_descriptors),
		TEST(test_idle_ones_are_closed),
		TEST(test_removed_ones_are_closed_at_once),
		TEST(test_a_sweep_asks_the_kernel_without_a_lock),
		TEST(test_an_fsal_without_descriptors_is_asked_once),
		TEST(test_an_error_that_passes_is_no_verdict),
		TEST(test_a_full_table_of_devices_is_named),
		TEST(test_no_memory),
		TEST(test_no_thread_for_a_device),
		TEST(test_only_files_have_one),
		TEST(test_a_sweep_meets_a_drop),
		TEST(test_two_open_at_once),
		TEST(test_many_at_once),
		TEST(test_size_and_place),
		TEST(test_names),
		TEST(test_a_change_under_way_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
