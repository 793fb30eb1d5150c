/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Remote backings whose FSAL keeps nothing: what is fetched ahead is given once, while it is vouched for. */
#include "cluster_host.h"

#include <pthread.h>
#include <time.h>

#include "disk/prefetch.h"
#include "remote/use_once.h"

#define FILE_SIZE (4 * MIB)

static int begin(void **state)
{
	int err = cluster_start(state, FILE_SIZE);

	(void)get; /* of local ones */
	cluster.keep = use_once_new(2 * MIB, 30 * SEC);
	return err;
}

static int end(void **state)
{
	cluster_close_file();
	assert_int_equal(use_once_held(cluster.keep), 0); /* a file that is closed keeps nothing */
	use_once_free(cluster.keep);
	return stop(state);
}

/* Whether a READ is answered; with the version WANTED. */
static bool reads(struct backing *b, uint64_t offset, size_t len, int wanted)
{
	static char reply[MIB];
	struct iovec iov = {reply, len};
	size_t got = cached_reply(b, &iov, 1, offset);

	for (size_t i = 0; i < got; i++)
		assert_int_equal(reply[i], wanted);
	assert_true(got == 0 || got == len);
	return got != 0;
}

static void test_given_once(void **state)
{
	struct backing *b = get_remote();

	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_int_equal(b->kept_for, 30 * SEC);
	assert_true(backing_resident(b, 0, MIB));
	assert_true(reads(b, 0, 64 * KIB, 7));
	assert_false(backing_resident(b, 0, 64 * KIB));
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_true(reads(b, 64 * KIB, 64 * KIB, 7));
	assert_int_equal(cluster.reads, 1);
	assert_int_equal(cluster.changes, 1); /* in this second */
	backing_put(b);
}

static void test_the_end_is_the_fsals_to_tell(void **state)
{
	struct backing *b = get_remote();

	assert_int_equal(fetch(b, FILE_SIZE - MIB, MIB), MIB);
	assert_false(reads(b, FILE_SIZE - 64 * KIB, 64 * KIB, 7));
	assert_false(reads(b, FILE_SIZE - 32 * KIB, 64 * KIB, 7));
	assert_false(reads(b, FILE_SIZE + MIB, 64 * KIB, 7));
	assert_true(reads(b, FILE_SIZE - 128 * KIB, 64 * KIB, 7));
	backing_put(b);
}

static void test_our_own_write(void **state)
{
	struct backing *b = get_remote();

	fetch(b, 0, MIB);
	cluster.change = 8;
	backing_invalidate(&cluster.slot, 0, 64 * KIB);
	assert_false(reads(b, 0, 64 * KIB, 8));
	fetch(b, 0, 64 * KIB);
	assert_true(reads(b, 0, 64 * KIB, 8));
	backing_put(b);
}

/* A copy to the end of its source has a count of 0, and drops what it may write over. */
static void test_a_copy_to_the_end(void **state)
{
	struct backing *b = get_remote();

	fetch(b, 0, MIB);
	backing_invalidate(&cluster.slot, 64 * KIB, backing_copy_len(0, 0));
	assert_true(reads(b, 0, 64 * KIB, 7));
	assert_false(reads(b, 64 * KIB, 64 * KIB, 7));
	assert_false(reads(b, MIB - 64 * KIB, 64 * KIB, 7));
	assert_true(backing_copy_len(0, MIB) == UINT64_MAX);
	assert_int_equal(backing_copy_len(MIB, 0), MIB);
	assert_int_equal(backing_copy_len(MIB, 4 * KIB), MIB);
	assert_int_equal(backing_copy_len(MIB, 2 * MIB), 2 * MIB);
	backing_put(b);
}

/* Cut off under a name, through a handle of its own, as the core does where it knows no entry of that name. */
static void test_cut_off_through_another_handle(void **state)
{
	struct backing *b = get_remote();
	struct backing_slot second, other;

	backing_slot_init(&second, NULL, cluster.slot.key, cluster.slot.key_len);
	backing_slot_init(&other, NULL, "other", 5);
	fetch(b, 0, MIB);
	backing_drop_others(&other);
	backing_drop_others(&cluster.slot); /* its own it drops by itself */
	assert_false(atomic_load(&b->gone));
	assert_true(reads(b, 0, 64 * KIB, 7));
	backing_drop_others(&second);
	assert_true(atomic_load(&b->gone));
	backing_put(b);
	assert_int_equal(use_once_held(cluster.keep), 0);
	b = get_remote();
	assert_false(reads(b, 64 * KIB, 64 * KIB, 7));
	backing_put(b);
	backing_slot_fini(&second);
	backing_slot_fini(&other);
}

static void test_nobody_vouches(void **state)
{
	struct backing *b;

	cluster.silent = true;
	b = get_remote();
	assert_int_equal(fetch(b, 0, MIB), 0);
	assert_false(backing_resident(b, 0, MIB));
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_int_equal(cluster.reads, 0); /* nothing is moved for nobody */
	assert_int_equal(cluster.changes, 1);
	assert_false(backing_prefetches(b, clock_now(), true));
	assert_true(backing_prefetches(b, clock_now() + 6 * SEC, true));
	assert_non_null(strstr(host_log, "the change attribute of file 17 does not come"));
	backing_put(b);
}

/* One whose READs go the FSAL's way would have all moved twice. */
static void test_a_reader_who_does_not_take_it(void **state)
{
	struct backing *b = get_remote();

	assert_true(backing_prefetches(b, clock_now(), true));
	assert_false(backing_prefetches(b, clock_now(), false));
	backing_put(b);
}

static void nap(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / SEC), .tv_nsec = (long)(ns % SEC)};

	nanosleep(&t, NULL);
}

static struct backing *asked_about;

static void take_long(void)
{
	assert_true(backing_prefetches(asked_about, clock_now(), true));
	nap(300 * MSEC);
	assert_false(backing_prefetches(asked_about, clock_now(), true));
	assert_false(backing_resident(asked_about, 2 * MIB, KIB)); /* nobody else asks */
}

/* Above 250 ms what is kept could not be given until the next answer: it is not fetched. */
static void test_answers_that_are_late(void **state)
{
	struct backing *b = asked_about = get_remote();

	fetch(b, 0, MIB);
	assert_true(reads(b, 0, 64 * KIB, 7));
	cluster.while_change = take_long;
	nap(USE_ONCE_ASKS);
	assert_int_equal(fetch(b, MIB, MIB), 0);
	assert_int_equal(cluster.reads, 1);
	assert_int_equal(cluster.changes, 2);
	assert_int_equal(use_once_held(cluster.keep), 0);
	assert_false(backing_prefetches(b, clock_now(), true));
	assert_false(reads(b, 64 * KIB, 64 * KIB, 7));
	assert_int_equal(cluster.changes, 2); /* nor does a READ wait for another */
	assert_non_null(strstr(host_log, "does not come within 250 ms"));
	backing_put(b);
}

static void test_a_read_that_finds_nothing_does_not_ask(void **state)
{
	struct backing *b = get_remote();

	assert_false(backing_resident(b, 0, MIB));
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_int_equal(cluster.changes, 0);
	backing_put(b);
}

/* It is for the readers of the next second, and is not there after it. */
static void test_what_an_unsettled_change_vouches_for(void **state)
{
	struct backing *b = get_remote();

	cluster.unsettled = true;
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_true(reads(b, 0, 64 * KIB, 7));
	cluster.change = 8; /* nobody can tell by what it says */
	nap(USE_ONCE_ASKS);
	assert_false(reads(b, 64 * KIB, 64 * KIB, 8));
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_true(reads(b, 0, 64 * KIB, 8));
	assert_true(backing_prefetches(b, clock_now(), true));
	backing_put(b);
}

/* Records of any length at any place: what was fetched of one is given, at its beginning and at its end. */
static void test_records_between_units(void **state)
{
	struct backing *b = get_remote();

	assert_int_equal(fetch(b, 100000, 10000), 10000);
	assert_true(backing_resident(b, 100000, 10000));
	assert_true(reads(b, 100000, 10000, 7));
	assert_int_equal(fetch(b, FILE_SIZE - 10000, 5000), 5000);
	assert_int_equal(fetch(b, FILE_SIZE - 5000, 10000), 5000);
	assert_true(reads(b, FILE_SIZE - 10000, 9999, 7));
	backing_put(b);
}

/* What was read to the end that somebody asked for goes, wherever that is. */
static void test_records_that_were_read_go(void **state)
{
	struct backing *b = get_remote();

	fetch(b, 100000, 10000);
	assert_true(reads(b, 100000, 9000, 7)); /* some of its last unit is to come */
	assert_true(reads(b, 109000, 1000, 7));
	assert_int_equal(use_once_held(cluster.keep), 0);
	for (uint64_t step = 20000; step <= 100000; step *= 5) { /* several of a block, or one */
		for (uint64_t n = 0; n < 40; n++)
			fetch(b, n * step, 5000);
		for (uint64_t n = 0; n < 40; n++)
			assert_true(reads(b, n * step, 5000, 7));
		assert_int_equal(use_once_held(cluster.keep), 0);
	}
	backing_put(b);
}

/* A client is shown attributes of the version CHANGE, through the handle of SLOT. */
static void show(struct backing_slot *slot, uint64_t change, bool settled)
{
	struct use_once_attrs a = {
		.change = change, .settled = settled, .stamp = change + 1, .asked = clock_now()};

	backing_shown(slot, &a);
}

/* Who has seen that the file changed would have what was read before for good: nothing tells him once more. */
static void test_nothing_older_than_what_clients_were_shown(void **state)
{
	struct backing *b = get_remote();

	fetch(b, 0, MIB);
	show(&cluster.slot, 7, true);
	assert_true(reads(b, 0, 64 * KIB, 7));
	cluster.change = 8;
	show(&cluster.slot, 8, true);
	assert_false(reads(b, 64 * KIB, 64 * KIB, 8));
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_true(reads(b, 64 * KIB, 64 * KIB, 8));
	assert_int_equal(cluster.changes, 1); /* what was shown answers the question */
	backing_put(b);
}

/* As a LOOKUP finds them, for the core's entry of the file, which is another handle. */
static void test_what_is_shown_through_another_handle(void **state)
{
	struct backing *b = get_remote();
	struct backing_slot second;

	backing_slot_init(&second, NULL, cluster.slot.key, cluster.slot.key_len);
	fetch(b, 0, MIB);
	cluster.change = 8;
	show(&second, 8, true);
	assert_false(reads(b, 0, 64 * KIB, 8));
	backing_slot_fini(&second);
	backing_put(b);
}

static struct backing_slot *seen_through;

/* Another gateway's client wrote, and a LOOKUP finds it, when the bytes of before are on their way. */
static void is_written(void)
{
	cluster.while_read = NULL;
	show(seen_through, 8, true);
}

static void test_what_is_shown_while_the_first_bytes_are_under_way(void **state)
{
	struct backing *b = get_remote();
	struct backing_slot second;

	backing_slot_init(&second, NULL, cluster.slot.key, cluster.slot.key_len);
	seen_through = &second;
	cluster.while_read = is_written;
	assert_int_equal(use_once_held(cluster.keep), 0);
	fetch(b, 0, MIB);
	cluster.change = 8;
	assert_false(reads(b, 0, 64 * KIB, 8));
	backing_slot_fini(&second);
	backing_put(b);
}

/* Another slot of a made-up cluster's file called KEY. */
static void slot_of(struct backing_slot *slot, const void *key, size_t len)
{
	backing_slot_init(slot, no_descriptor, key, len);
	backing_slot_set_remote(slot, open_cluster);
}

/* Two exports have it open. */
static void test_all_that_have_it_open_are_told(void **state)
{
	struct backing_slot second, third;
	struct backing *b = get_remote(), *c;

	slot_of(&second, cluster.slot.key, cluster.slot.key_len);
	slot_of(&third, cluster.slot.key, cluster.slot.key_len);
	c = backing_get(&second, io, clock_now());
	fetch(b, 0, MIB);
	fetch(c, 0, MIB);
	cluster.change = 8;
	show(&third, 8, true);
	assert_false(reads(b, 0, 64 * KIB, 8));
	assert_false(reads(c, 0, 64 * KIB, 8));
	backing_put(b);
	backing_put(c);
	backing_slot_fini(&second);
	backing_slot_fini(&third);
}

#define OPEN  4000
#define SHOWN 1000

/* The least of some tries (ns of this thread). */
static uint64_t time_to_show(struct backing_slot *slots)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct timespec begun, over;
		uint64_t took;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
		for (int n = 0; n < SHOWN; n++)
			show(&slots[n], 8, true);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &over);
		took = (uint64_t)(over.tv_sec - begun.tv_sec) * SEC + (uint64_t)over.tv_nsec -
		       (uint64_t)begun.tv_nsec;
		least = took < least ? took : least;
	}
	return least;
}

/* As a listing of files that are not: each takes about as long as where few others are open. */
static void test_files_that_are_shown_beside_many_open_ones(void **state)
{
	struct backing_slot *slots = calloc(OPEN + SHOWN, sizeof(*slots));
	uint64_t few;

	backing_set_limits(2 * OPEN, 30 * SEC);
	for (int n = 0; n < OPEN + SHOWN; n++)
		slot_of(&slots[n], &n, sizeof(n));
	backing_put(get_remote());
	few = time_to_show(slots);
	for (int n = SHOWN; n < OPEN + SHOWN; n++)
		backing_put(backing_get(&slots[n], io, clock_now()));
	assert_int_equal(backing_count(), OPEN + 1);
	assert_in_range(time_to_show(slots), 1, 20 * few);
	for (int n = 0; n < OPEN + SHOWN; n++)
		backing_slot_fini(&slots[n]);
	free(slots);
}

static _Thread_local unsigned int locks; /* taken by the thread that asks */

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_lock(pthread_mutex_t *m);

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	locks++;
	return __real_pthread_mutex_lock(m);
}

/* Locks that are taken while a client is shown SLOT's file. */
static unsigned int locks_for(struct backing_slot *slot)
{
	unsigned int before = locks;

	show(slot, 8, true);
	return locks - before;
}

/* As of each entry of a listing: the lock of all that are open is not taken for a file of which none is. */
static void test_files_that_nobody_has_open_are_shown(void **state)
{
	struct backing *b = get_remote();
	struct backing_slot second, other;

	backing_slot_init(&second, NULL, cluster.slot.key, cluster.slot.key_len);
	backing_slot_init(&other, NULL, "other", 5);
	assert_int_equal(locks_for(&other), 1); /* its own */
	assert_true(locks_for(&second) >= 2);
	backing_put(b);
	backing_drop(&cluster.slot);
	assert_int_equal(locks_for(&second), 1);
	backing_slot_fini(&second);
	backing_slot_fini(&other);
}

void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
static _Thread_local size_t most; /* bytes asked for at a time */

void *__wrap_calloc(size_t n, size_t size)
{
	most = n * size > most ? n * size : most;
	return __real_calloc(n, size);
}

/* What the FSAL's cache has is remembered where it has one: an open file is small here. */
static void test_what_an_open_file_takes(void **state)
{
	backing_put(get_remote()); /* with the device */
	backing_drop(&cluster.slot);
	most = 0;
	backing_put(get_remote());
	assert_in_range(most, 1, 4 * KIB);
}

/* A file that was written to a moment ago: only attributes that are others than before tell anything. */
static void test_unsettled_attributes_that_are_shown(void **state)
{
	struct backing *b = get_remote();

	cluster.unsettled = true;
	fetch(b, 0, MIB);
	show(&cluster.slot, 0, false);
	assert_int_equal(fetch(b, 0, MIB), MIB);
	show(&cluster.slot, 0, false);
	assert_true(reads(b, 0, 64 * KIB, 7));
	cluster.change = 8;
	show(&cluster.slot, 8, false);
	assert_false(reads(b, 64 * KIB, 64 * KIB, 8));
	backing_put(b);
}

static void test_what_is_kept_is_bounded(void **state)
{
	struct backing *b = get_remote();

	assert_int_equal(fetch(b, 0, FILE_SIZE), FILE_SIZE);
	assert_in_range(use_once_held(cluster.keep), MIB, 2 * MIB);
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_true(reads(b, FILE_SIZE - MIB, 64 * KIB, 7));
	backing_put(b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_given_once),
		TEST(test_the_end_is_the_fsals_to_tell),
		TEST(test_our_own_write),
		TEST(test_a_copy_to_the_end),
		TEST(test_cut_off_through_another_handle),
		TEST(test_nobody_vouches),
		TEST(test_a_reader_who_does_not_take_it),
		TEST(test_answers_that_are_late),
		TEST(test_a_read_that_finds_nothing_does_not_ask),
		TEST(test_what_an_unsettled_change_vouches_for),
		TEST(test_records_between_units),
		TEST(test_records_that_were_read_go),
		TEST(test_nothing_older_than_what_clients_were_shown),
		TEST(test_what_is_shown_through_another_handle),
		TEST(test_what_is_shown_while_the_first_bytes_are_under_way),
		TEST(test_all_that_have_it_open_are_told),
		TEST(test_files_that_are_shown_beside_many_open_ones),
		TEST(test_files_that_nobody_has_open_are_shown),
		TEST(test_what_an_open_file_takes),
		TEST(test_unsettled_attributes_that_are_shown),
		TEST(test_what_is_kept_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
