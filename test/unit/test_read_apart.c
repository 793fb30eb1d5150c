/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READs beside a bad sector, on a disk that fails and a clock of ours: what is tried again, for how long, and who
 * waits for whom.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/uio.h>
#include <time.h>

#include "backing_host.h"

#define FOLIO (8 * HOST_PAGE)

/* ---- the disk and the clock --------------------------------------------------------------- */

static _Atomic uint64_t now, slept;
static _Atomic int bad_fd; /* reads of it fail, as long as there is bad_left of it */
static _Atomic int bad_left, reads;
static _Atomic uint64_t takes; /* ns: one that fails */
/* The first thread that reads after such a one is kept there, where asked. */
static atomic_bool keeps;
static sem_t kept, over;
static void (*on_sleep)(void);
static struct backing *dropped_by_another; /* when the second read fails */

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t t = atomic_load(&now);

	*ts = (struct timespec){.tv_sec = (time_t)(t / SEC), .tv_nsec = (long)(t % SEC)};
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	uint64_t ns = (uint64_t)t->tv_sec * SEC + (uint64_t)t->tv_nsec;

	atomic_fetch_add(&now, ns);
	atomic_fetch_add(&slept, ns);
	if (on_sleep)
		on_sleep();
	return 0;
}

ssize_t __real_preadv64(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t __wrap_preadv64(int fd, const struct iovec *iov, int n, off_t offset)
{
	if (fd != atomic_load(&bad_fd) || atomic_load(&bad_left) == 0)
		return __real_preadv64(fd, iov, n, offset);
	atomic_fetch_sub(&bad_left, 1);
	atomic_fetch_add(&now, atomic_load(&takes));
	if (atomic_load(&reads) == 1 && dropped_by_another)
		backing_evict(dropped_by_another, 0, FOLIO);
	if (atomic_fetch_add(&reads, 1) > 0 && atomic_exchange(&keeps, false)) {
		sem_post(&kept);
		sem_wait(&over);
	}
	errno = EIO;
	return -1;
}

/* ---- files -------------------------------------------------------------------------------- */

/* One that is kept in folios of FOLIO bytes. */
static struct backing *open_one(struct host_file *f, const char *name)
{
	struct backing *b;

	host_file_make(f, name, FOLIO);
	b = get(f, SEC);
	atomic_store(&b->folio, FOLIO);
	atomic_store(&b->reply_fd, dup(b->fd));
	return b;
}

static void close_one(struct host_file *f, struct backing *b)
{
	backing_put(b);
	backing_slot_fini(&f->slot);
}

/* N reads of B fail, each in NS. */
static void spoil(struct backing *b, int n, uint64_t ns)
{
	atomic_store(&bad_fd, atomic_load(&b->reply_fd));
	atomic_store(&bad_left, n);
	atomic_store(&takes, ns);
	atomic_store(&reads, 0);
	atomic_store(&slept, 0);
}

/* Its errno, 0: it was read. */
static int read_one(struct backing *b)
{
	char page[HOST_PAGE];
	struct iovec iov = {page, sizeof(page)};

	errno = 0;
	return backing_read(b, &iov, 1, 0) == (ssize_t)sizeof(page) ? 0 : errno;
}

/* ... and a READ of it ends with ERR, after so many that FAILED. */
static void assert_read(struct backing *b, int n, uint64_t ns, int err, int failed)
{
	spoil(b, n, ns);
	assert_int_equal(read_one(b), err);
	assert_int_equal(atomic_load(&reads), failed);
}

/* ---- one READ ------------------------------------------------------------------------------ */

/* Nothing of the folio can be read until it is dropped. */
static void test_what_shares_a_folio_is_read_without_it(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");

	assert_read(b, 4, MSEC, 0, 4);
	assert_int_equal(atomic_load(&b->dropped), 2);
	close_one(&f, b);
}

/* ... also if who fetches ahead drops it, after the READ has failed. */
static void test_what_another_drops_meanwhile_is_read(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");

	dropped_by_another = b;
	assert_read(b, 2, MSEC, 0, 2);
	dropped_by_another = NULL;
	close_one(&f, b);
}

static void test_what_is_bad_itself_is_not_tried_again(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");

	assert_read(b, 1, 7 * SEC, EIO, 1);
	close_one(&f, b);
}

/* Else each look at it would be one more READ's time at the disk, on a thread of Ganesha's. */
static void test_what_a_drive_tries_for_seconds_is_tried_once_more(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");

	assert_read(b, 1000, 7 * SEC, EIO, 3);
	spoil(b, 2, 7 * SEC); /* it was the folio */
	assert_int_equal(read_one(b), 0);
	close_one(&f, b);
}

/* ---- several ------------------------------------------------------------------------------- */

static void *read_it(void *arg)
{
	return (void *)(intptr_t)read_one(arg);
}

/* Another thread's READ of B, which is held up while it looks at the folio. */
static pthread_t read_and_keep(struct backing *b)
{
	pthread_t t;

	sem_init(&kept, 0, 0);
	sem_init(&over, 0, 0);
	atomic_store(&keeps, true);
	assert_int_equal(pthread_create(&t, NULL, read_it, b), 0);
	sem_wait(&kept);
	return t;
}

static int end_of(pthread_t t)
{
	void *err;

	pthread_join(t, &err);
	return (int)(intptr_t)err;
}

/* One disk's bad sector is no other's. */
static void test_another_files_read_waits_for_nobody(void **state)
{
	struct host_file f, g;
	struct backing *a = open_one(&f, "a"), *b = open_one(&g, "b");
	pthread_t t;

	spoil(a, 1000, MSEC);
	t = read_and_keep(a);
	spoil(b, 4, MSEC);
	assert_int_equal(read_one(b), 0);
	assert_int_equal(atomic_load(&slept), 0);
	sem_post(&over);
	end_of(t);
	close_one(&f, a);
	close_one(&g, b);
}

/* ... and who waits for one of the same file waits for two seconds. */
static void test_who_waits_for_a_slow_one_has_its_error(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");
	pthread_t t;

	spoil(b, 1000, MSEC);
	t = read_and_keep(b);
	assert_int_equal(read_one(b), EIO);
	assert_in_range(atomic_load(&slept), 1, 2 * SEC + 10 * MSEC);
	sem_post(&over);
	assert_int_equal(end_of(t), EIO);
	close_one(&f, b);
}

static pthread_t first;

static void first_ends(void)
{
	on_sleep = NULL;
	atomic_store(&bad_left, 2); /* parts of the folio that it looks at still */
	sem_post(&over);
	assert_int_equal(end_of(first), 0);
}

/* What another has dropped meanwhile need not be dropped again. */
static void test_who_waited_reads_what_the_other_dropped(void **state)
{
	struct host_file f;
	struct backing *b = open_one(&f, "a");
	uint32_t dropped = atomic_load(&b->dropped);

	spoil(b, 1000, MSEC);
	first = read_and_keep(b);
	atomic_store(&bad_left, 1);
	on_sleep = first_ends;
	assert_int_equal(read_one(b), 0);
	assert_null(on_sleep);
	assert_in_range(atomic_load(&b->dropped) - dropped, 0, 2);
	close_one(&f, b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_what_shares_a_folio_is_read_without_it),
		TEST(test_what_another_drops_meanwhile_is_read),
		TEST(test_what_is_bad_itself_is_not_tried_again),
		TEST(test_what_a_drive_tries_for_seconds_is_tried_once_more),
		TEST(test_who_waited_reads_what_the_other_dropped),
		TEST(test_another_files_read_waits_for_nobody),
		TEST(test_who_waits_for_a_slow_one_has_its_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
