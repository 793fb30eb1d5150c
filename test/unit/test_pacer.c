/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How much is dirty, out of texts of /proc/vmstat; and the thread that holds replies back. */
#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"
#include "support.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacer.h"

static void feed(uint64_t dirty, uint64_t writing, uint64_t written, uint64_t now)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "nr_free 5\nnr_dirty %llu\nnr_writeback %llu\nnr_written %llu\n"
		 "nr_dirty_threshold 9\nnr_dirty_background_threshold 4000\n",
		 (unsigned long long)dirty, (unsigned long long)writing,
		 (unsigned long long)written);
	dirty_memory_feed(text, now);
}

static void test_the_level_is_against_the_budget(void **state)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	dirty_memory_start(0);
	assert_int_equal(dirty_memory_budget(), 0);
	assert_true(dirty_memory_level() == 0);
	feed(1000, 500, 0, SEC);
	assert_int_equal(dirty_memory_budget(), 3000 * page);
	assert_true(dirty_memory_level() == 0.5);
	dirty_memory_wrote(1500 * page); /* between two looks */
	assert_true(dirty_memory_level() == 1);
	feed(0, 0, 0, 2 * SEC);
	assert_true(dirty_memory_level() == 0);
	dirty_memory_stop();

	dirty_memory_start(1000 * page); /* as configured */
	feed(100, 0, 0, SEC);
	assert_true(dirty_memory_level() == 0.1);
	dirty_memory_set_budget(500 * page); /* and changed */
	feed(100, 0, 0, SEC);
	assert_true(dirty_memory_level() == 0.2);
	dirty_memory_feed("nonsense", 2 * SEC);
	assert_true(dirty_memory_level() == 0);
	dirty_memory_sample(3 * SEC); /* this machine's: any number */
	dirty_memory_stop();
	dirty_memory_sample(4 * SEC);
	assert_true(dirty_memory_level() == 0);
}

static void test_the_rate_is_learnt_while_enough_waits(void **state)
{
	double page = (double)sysconf(_SC_PAGESIZE), first;

	dirty_memory_start(0);
	first = dirty_memory_rate();
	feed(10, 0, 0, SEC);
	for (uint64_t i = 1; i < 20; i++)
		feed(10, 0, 1000 * i, SEC + i * 200 * MSEC); /* little waits: says nothing */
	assert_true(dirty_memory_rate() == first);
	for (uint64_t i = 1; i < 40; i++)
		feed(3000, 0, 20000 + 1000 * i, 5 * SEC + i * 200 * MSEC);
	assert_true(dirty_memory_rate() > 0.99 * 5000 * page);
	assert_true(dirty_memory_rate() < 1.01 * 5000 * page);
	for (uint64_t i = 1; i < 100; i++)
		feed(3000, 0, 100000, 20 * SEC + i * 200 * MSEC); /* a disk that stopped */
	assert_true(dirty_memory_rate() == 1e6);
	dirty_memory_stop();
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct paced *answered[8];
	unsigned int n;
} answers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0};

static void answer(struct paced *p)
{
	pthread_mutex_lock(&answers.lock);
	answers.answered[answers.n++] = p;
	pthread_cond_signal(&answers.changed);
	pthread_mutex_unlock(&answers.lock);
}

static void await(unsigned int n)
{
	pthread_mutex_lock(&answers.lock);
	while (answers.n < n)
		pthread_cond_wait(&answers.changed, &answers.lock);
	pthread_mutex_unlock(&answers.lock);
}

static void name_thread(const char *name)
{
	assert_string_equal(name, "ra_pacer");
}

static void test_replies_and_their_bytes_are_bounded(void **state)
{
	const struct pacer_limits limits = {.replies = 3, .bytes = 10 * MIB};
	struct paced p[4] = {{.elsewhere = false}};
	struct pacer_stats s;

	answers.n = 0;
	assert_false(pacer_hold(&p[0], 1, SEC, answer)); /* not started */
	assert_int_equal(pacer_start(&limits), 0);
	assert_true(pacer_hold(&p[0], 6 * MIB, 3600 * SEC, answer));
	assert_false(pacer_hold(&p[1], 5 * MIB, 3600 * SEC, answer)); /* too many bytes */
	assert_true(pacer_hold(&p[1], MIB, 3600 * SEC, answer));
	assert_true(pacer_hold(&p[2], MIB, 3600 * SEC, answer));
	assert_false(pacer_hold(&p[3], MIB, 3600 * SEC, answer)); /* too many */
	pacer_stats(&s);
	assert_int_equal(s.held, 3);
	assert_int_equal(s.bytes, 8 * MIB);
	assert_int_equal(s.refused, 2);
	pacer_set_room(4, 10 * MIB);
	assert_true(pacer_hold(&p[3], MIB, 3600 * SEC, answer));
	pacer_stop(); /* answers them all */
	assert_int_equal(answers.n, 4);
	pacer_stats(&s);
	assert_int_equal(s.held, 0);
	assert_int_equal(s.bytes, 0);
	pacer_stop();
}

static void test_the_next_one_due_goes_first(void **state)
{
	const struct pacer_limits limits = {.replies = 8, .bytes = MIB, .name_thread = name_thread};
	struct paced p[4] = {{.elsewhere = false}};
	struct pacer_stats s;

	answers.n = 0;
	assert_int_equal(pacer_start(&limits), 0);
	assert_true(pacer_hold(&p[0], 1, 3600 * SEC, answer));
	assert_true(pacer_hold(&p[1], 1, 3602 * SEC, answer));
	assert_true(pacer_hold(&p[2], 1, 3601 * SEC, answer));
	assert_true(pacer_hold(&p[3], 1, 0, answer));
	await(1);
	assert_ptr_equal(answers.answered[0], &p[3]);
	pacer_stop();
	assert_ptr_equal(answers.answered[1], &p[0]);
	assert_ptr_equal(answers.answered[2], &p[2]);
	assert_ptr_equal(answers.answered[3], &p[1]);
	pacer_stats(&s);
	assert_int_equal(s.replies, 4);
	assert_true(s.delay_max == 3602 * SEC);
}

/* A fast disk has emptied a small budget: as many are answered as there is room for, those due first. */
static void test_replies_go_when_there_is_room_again(void **state)
{
	const struct pacer_limits limits = {.replies = 8, .bytes = 64 * MIB};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct paced p[4] = {{.elsewhere = true}};
	struct pacer_stats s;

	answers.n = 0;
	dirty_memory_start(0);
	feed(2900, 0, 0, SEC);
	assert_int_equal(pacer_start(&limits), 0);
	pacer_relax(SEC); /* nobody waits */
	for (unsigned int i = 0; i < 4; i++)
		assert_true(pacer_hold(&p[i], 100 * page, (3600 + i) * SEC, answer));
	pacer_relax(SEC); /* nothing is out */
	feed(2300, 0, 0, SEC);
	pacer_relax(SEC); /* of 3000: above the setpoint */
	pacer_stats(&s);
	assert_int_equal(s.held, 4);
	feed(2100, 0, 0, SEC);
	pacer_relax(SEC); /* 2250 is the setpoint: 150 have room, and who goes beyond it goes too */
	await(2);
	assert_ptr_equal(answers.answered[0], &p[1]); /* the first one waits for a cluster */
	assert_ptr_equal(answers.answered[1], &p[2]);
	for (int i = 0; i < 3; i++) {
		feed(2100, 0, 0, SEC);
		pacer_relax(SEC); /* it is promised to them */
	}
	pacer_stats(&s);
	assert_int_equal(s.held, 2);
	assert_true(s.delay < 2 * 3604 * SEC); /* those two were not held for as long */
	(void)pacer_delay(1, 200 * page, SEC); /* they have sent it */
	feed(0, 0, 0, SEC);
	pacer_relax(SEC);
	await(3);
	assert_ptr_equal(answers.answered[2], &p[3]);
	pacer_stats(&s);
	assert_int_equal(s.held, 1);
	feed(2900, 0, 0, SEC); /* room that is left over is nobody's */
	assert_true(pacer_hold(&p[1], page, 3600 * SEC, answer));
	assert_true(pacer_hold(&p[2], page, 0, answer));
	await(4);
	assert_ptr_equal(answers.answered[3], &p[2]);
	pacer_stop();
	assert_int_equal(answers.n, 6);
	dirty_memory_stop();
}

static void test_writers_are_delayed_once_much_is_dirty(void **state)
{
	const struct pacer_limits limits = {.replies = 8, .bytes = MIB};

	dirty_memory_start(0);
	feed(2900, 0, 0, SEC);
	assert_int_equal(pacer_delay(1, MIB, 200 * MSEC), 0); /* not started */
	assert_int_equal(pacer_start(&limits), 0);
	assert_true(pacer_delay(1, MIB, 200 * MSEC) > 0);
	assert_true(pacer_delay(1, 100 * MIB, 200 * MSEC) <= 200 * MSEC);
	assert_int_equal(pacer_delay(1, MIB, 0), 0);
	feed(100, 0, 0, 2 * SEC);
	assert_int_equal(pacer_delay(1, MIB, 200 * MSEC), 0);
	pacer_stop();
	dirty_memory_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_level_is_against_the_budget),
		cmocka_unit_test(test_the_rate_is_learnt_while_enough_waits),
		cmocka_unit_test(test_replies_and_their_bytes_are_bounded),
		cmocka_unit_test(test_the_next_one_due_goes_first),
		cmocka_unit_test(test_replies_go_when_there_is_room_again),
		cmocka_unit_test(test_writers_are_delayed_once_much_is_dirty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
