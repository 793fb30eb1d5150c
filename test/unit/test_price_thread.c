/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The thread: it turns the loop until it is stopped, and obeys new settings at once. */
#include <errno.h>
#include <pthread.h>

#include "faults.h"
#include "pricing/price_thread.h"
#include "support_price.h"

/* Each turn asks for the devices: that many times it has. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned int turns;
	char name[16];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static bool count_turns(void *arg, unsigned int n, struct priced_device *d)
{
	if (n == 0) {
		pthread_mutex_lock(&seen.lock);
		seen.turns++;
		pthread_cond_signal(&seen.more);
		pthread_mutex_unlock(&seen.lock);
	}
	return fake_device(arg, n, d);
}

/* Until N turns have begun since the thread was started: those before the last one are over. */
static void wait_for_turns(unsigned int n)
{
	pthread_mutex_lock(&seen.lock);
	while (seen.turns < n)
		pthread_cond_wait(&seen.more, &seen.lock);
	pthread_mutex_unlock(&seen.lock);
}

static unsigned int turns_now(void)
{
	unsigned int n;

	pthread_mutex_lock(&seen.lock);
	n = seen.turns;
	pthread_mutex_unlock(&seen.lock);
	return n;
}

static struct fixture *make_counted(void)
{
	struct fixture *f = make(1);

	seen.turns = 0;
	f->table.device = count_turns;
	return f;
}

static void keep_name(const char *name)
{
	snprintf(seen.name, sizeof(seen.name), "%s", name);
}

static void test_its_life(void **state)
{
	struct price_settings s = usual_settings();
	struct fixture *f = make_counted();
	struct price_thread *t;
	struct price_snapshot first, second;
	double k[PRICE_RESOURCES];
	int err = -1;

	s.sample = MS;
	s.interval = 3600 * SECOND;
	t = price_thread_start(&s, &f->table, &f->source.source, NULL, keep_name, &err);
	assert_non_null(t);
	assert_int_equal(err, 0);
	wait_for_turns(3);
	assert_string_equal(seen.name, "ra_prices");
	board_read(&f->hosts.boards[0], &first);
	assert_true(first.time != 0);
	price_thread_k(t, k);
	assert_true(k[PRICE_DISK] == 100);
	assert_true(price_thread_length(t, 0) == 0 && price_thread_length(t, 5) == 0);

	s.k[PRICE_DISK] = 7;
	price_thread_set(t, &s); /* the next price would be due in an hour */
	wait_for_turns(turns_now() + 3);
	board_read(&f->hosts.boards[0], &second);
	assert_true(second.time > first.time);
	price_thread_k(t, k);
	assert_true(k[PRICE_DISK] == 7);
	price_thread_stop(t);
	destroy(f);
}

/* It is asleep for an hour when it is told to end. */
static void test_it_ends_at_once(void **state)
{
	struct price_settings s = usual_settings();
	struct fixture *f = make_counted();
	struct price_thread *t;
	int err;

	s.sample = s.interval = 3600 * SECOND;
	t = price_thread_start(&s, &f->table, &f->source.source, NULL, NULL, &err);
	assert_non_null(t);
	wait_for_turns(1);
	price_thread_stop(t);
	price_thread_stop(NULL);
	destroy(f);
}

static void test_no_thread_to_be_had(void **state)
{
	struct price_settings s = usual_settings();
	struct fixture *f = make_counted();
	int err = 0;

	fail_pthread_create = 1;
	assert_null(price_thread_start(&s, &f->table, &f->source.source, NULL, NULL, &err));
	assert_int_equal(err, EAGAIN);
	fail_calloc = 1;
	assert_null(price_thread_start(&s, &f->table, &f->source.source, NULL, NULL, &err));
	assert_int_equal(err, ENOMEM);
	assert_int_equal(turns_now(), 0);
	destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_life),
		cmocka_unit_test(test_it_ends_at_once),
		cmocka_unit_test(test_no_thread_to_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
