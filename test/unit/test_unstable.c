/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was written to a cluster and is not stable: what is counted, when a file is due. */
#include "remote/unstable.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/clock.h"
#include "support.h"

#define MAX (16 * MIB)

static struct unstable u;
static struct unstable_file a, b;

static int begin(void **state)
{
	u = (struct unstable)UNSTABLE_INITIALIZER(u);
	a = b = (struct unstable_file){0};
	unstable_set_max(&u, MAX);
	unstable_read(&u, SEC);
	return 0;
}

/* As a client does: what is due is made stable in TOOK ns. True: it was. */
static bool writes(struct unstable_file *f, uint64_t bytes, uint64_t took)
{
	bool due = unstable_is_due(&u, f, SEC);

	if (due)
		unstable_end(&u, f, unstable_begin(&u, f), true, true, took);
	unstable_wrote(&u, f, bytes, SEC);
	return due;
}

static void test_a_greedy_writer_is_bounded(void **state)
{
	unsigned int due = 0;

	for (int i = 0; i < 1024; i++) {
		due += writes(&a, MIB, 10 * MSEC);
		assert_in_range(unstable_bytes(&u, SEC), MIB, MAX);
	}
	assert_in_range(due, 1024 / 13, 1024 / 11);
}

static void test_many_files_share_the_bound(void **state)
{
	struct unstable_file files[8] = {0};

	for (int i = 0; i < 1024; i++) {
		writes(&files[i % 8], MIB / 4, 10 * MSEC);
		assert_in_range(unstable_bytes(&u, SEC), 0, MAX);
	}
	assert_int_equal(u.files, 8);
	for (int i = 0; i < 8; i++)
		unstable_forget(&u, &files[i]);
	assert_int_equal(u.files, 0);
	assert_int_equal(unstable_bytes(&u, SEC), 0);
}

/* ... but not in pieces of which each is a seek for nothing. */
static void test_of_many_files_each_has_enough(void **state)
{
	struct unstable_file files[32] = {0};
	unsigned int due = 0;
	double rate;

	for (int i = 0; i < 4096; i++) {
		due += writes(&files[i % 32], MIB / 4, 10 * MSEC);
		assert_in_range(unstable_bytes(&u, SEC), 0, 32 * UNSTABLE_FILE);
		assert_true(unstable_level(&u, SEC, &rate) <= 1);
	}
	assert_in_range(due, 1, 1024 * MIB / (UNSTABLE_FILE / 4 * 3));
}

static void test_who_commits_is_never_due(void **state)
{
	for (int i = 0; i < 100; i++) {
		assert_false(writes(&a, 8 * MIB, 0));
		unstable_end(&u, &a, unstable_begin(&u, &a), true, false, 10 * MSEC);
		assert_int_equal(unstable_bytes(&u, SEC), 0);
	}
}

/* What was written after one began is not stable by it, whichever ends first. */
static void test_commits_that_overlap(void **state)
{
	uint64_t first, second;

	unstable_wrote(&u, &a, 4 * MIB, SEC);
	first = unstable_begin(&u, &a);
	unstable_wrote(&u, &a, MIB, SEC);
	second = unstable_begin(&u, &a);
	unstable_wrote(&u, &a, 2 * MIB, SEC);
	unstable_end(&u, &a, second, true, false, MSEC);
	assert_int_equal(unstable_bytes(&u, SEC), 2 * MIB);
	unstable_end(&u, &a, first, true, false, MSEC);
	assert_int_equal(unstable_bytes(&u, SEC), 2 * MIB);
}

static void test_one_at_a_time_and_again_when_it_failed(void **state)
{
	uint64_t begun;

	unstable_wrote(&u, &a, 13 * MIB, SEC);
	assert_true(unstable_is_due(&u, &a, SEC));
	begun = unstable_begin(&u, &a);
	assert_false(unstable_is_due(&u, &a, SEC)); /* it is under way */
	unstable_end(&u, &a, begun, false, true, MSEC);
	assert_int_equal(unstable_bytes(&u, SEC), 13 * MIB);
	assert_true(unstable_is_due(&u, &a, SEC));
}

static void test_the_rate_is_that_of_commits(void **state)
{
	double rate;

	for (int i = 0; i < 32; i++) {
		unstable_wrote(&u, &a, 10 * MIB, SEC);
		unstable_end(&u, &a, unstable_begin(&u, &a), true, false, SEC);
	}
	assert_true(unstable_level(&u, SEC, &rate) == 0);
	assert_in_range((uint64_t)rate, 10 * MIB, 11 * MIB);
	unstable_wrote(&u, &a, 100, SEC); /* of so little nothing is learnt */
	unstable_end(&u, &a, unstable_begin(&u, &a), true, false, SEC);
	unstable_level(&u, SEC, &rate);
	assert_in_range((uint64_t)rate, 10 * MIB, 11 * MIB);
}

static void test_without_a_bound(void **state)
{
	double rate;

	unstable_set_max(&u, 0);
	unstable_wrote(&u, &a, 1000 * MIB, SEC);
	assert_false(unstable_is_due(&u, &a, SEC));
	assert_true(unstable_level(&u, SEC, &rate) == 0);
}

/* Who writes alone is held up by nothing; what he has piled up is due as soon as somebody reads. */
static void test_no_bound_without_readers(void **state)
{
	static const uint64_t later = SEC + UNSTABLE_READERS;
	double rate;

	unstable_wrote(&u, &a, 100 * MIB, SEC);
	assert_true(unstable_level(&u, later - 1, &rate) > 1);
	assert_true(unstable_level(&u, later, &rate) == 0);
	assert_false(unstable_is_due(&u, &a, later));
	unstable_read(&u, later);
	assert_true(unstable_level(&u, later - SEC, &rate) > 1); /* by another thread's clock */
	assert_true(unstable_is_due(&u, &a, later));
	u = (struct unstable)UNSTABLE_INITIALIZER(u); /* nobody has read yet */
	b = (struct unstable_file){0};
	unstable_set_max(&u, MAX);
	unstable_wrote(&u, &b, 100 * MIB, SEC);
	assert_false(unstable_is_due(&u, &b, 1));
}

/* Who holds his writes back for the price of what he wrote waits for 5 s, not until that counts no more. */
static void test_prices_forget_soon(void **state)
{
	static const uint64_t later = SEC + UNSTABLE_PRICED;
	double rate;

	assert_true(unstable_priced(&u, SEC) == 0);
	unstable_wrote(&u, &a, MAX / 2, SEC);
	assert_true(unstable_priced(&u, SEC) == 0.5);
	unstable_read(&u, later);
	assert_true(unstable_priced(&u, later - 1) == 0.5);
	assert_true(unstable_priced(&u, later) == 0);
	assert_true(unstable_level(&u, later, &rate) == 0.5); /* it paces writers all the same */
	unstable_wrote(&u, &b, 1, later);
	assert_true(unstable_priced(&u, later) >= 0.5);
}

/* ---- who writes no more ---------------------------------------------------------------------- */

/* What a writer has left behind that never COMMITs holds up nobody for long. */
static void test_what_was_left_counts_no_more(void **state)
{
	uint64_t now = SEC + UNSTABLE_AGE;
	double rate;

	unstable_wrote(&u, &a, 200 * MIB, SEC);
	unstable_wrote(&u, &b, MIB, SEC + 5);
	unstable_read(&u, now);
	assert_true(unstable_level(&u, now - 1, &rate) > 12);
	assert_true(unstable_level(&u, now, &rate) < 0.1);
	assert_int_equal(unstable_bytes(&u, SEC), MIB);
	assert_int_equal(u.files, 1);
	assert_false(unstable_is_due(&u, &a, now));
	assert_true(unstable_level(&u, now + 5, &rate) == 0);
	unstable_wrote(&u, &a, 13 * MIB, now + 5); /* he is back: that counts, and no more */
	assert_int_equal(unstable_bytes(&u, SEC), 13 * MIB);
	assert_true(unstable_is_due(&u, &a, now + 5));
	unstable_end(&u, &a, unstable_begin(&u, &a), true, true, MSEC);
	assert_int_equal(unstable_bytes(&u, SEC), 0);
	assert_int_equal(u.files, 0);
}

/* A COMMIT that had begun before its bytes were left counts nothing twice. */
static void test_a_commit_of_what_was_left(void **state)
{
	uint64_t begun;
	double rate;

	unstable_wrote(&u, &a, 4 * MIB, SEC);
	begun = unstable_begin(&u, &a);
	unstable_level(&u, SEC + UNSTABLE_AGE, &rate);
	unstable_wrote(&u, &a, MIB, SEC + UNSTABLE_AGE);
	unstable_end(&u, &a, begun, true, false, 40 * SEC);
	assert_int_equal(unstable_bytes(&u, SEC), MIB);
	unstable_forget(&u, &a);
	assert_int_equal(u.files, 0);
	assert_true(TAILQ_EMPTY(&u.by_age));
}

static void test_who_goes_on_counts(void **state)
{
	double rate;

	for (uint64_t now = SEC; now < 10 * UNSTABLE_AGE; now += UNSTABLE_AGE - 1) {
		unstable_wrote(&u, &a, MIB, now);
		unstable_wrote(&u, &b, 1, now); /* the order is that of the last WRITE */
	}
	unstable_wrote(&u, &a, 0, 20 * UNSTABLE_AGE); /* that was none */
	assert_int_equal(u.files, 2);
	assert_true(unstable_bytes(&u, SEC) > 10 * MIB);
	unstable_level(&u, 20 * UNSTABLE_AGE, &rate);
	assert_int_equal(unstable_bytes(&u, SEC), 0);
}

/* Of many that were left a WRITE pays for a few. */
static void test_so_many_at_a_time(void **state)
{
	static struct unstable_file files[100];
	double rate;

	for (int i = 0; i < 100; i++)
		unstable_wrote(&u, &files[i], MIB, SEC);
	for (uint32_t left = 100; left > UNSTABLE_AGED; left -= UNSTABLE_AGED) {
		assert_int_equal(u.files, left);
		unstable_level(&u, 2 * UNSTABLE_AGE, &rate);
	}
	unstable_level(&u, 2 * UNSTABLE_AGE, &rate);
	assert_int_equal(u.files, 0);
}

/* ---- errors that ours may have been told ------------------------------------------------------ */

/* A COMMIT of a client that has been told of no error, and waits until UNTIL. */
struct commit {
	pthread_t thread;
	uint64_t until;
	bool over; /* what it was told of ours */
	atomic_bool answered;
};

static void *commits(void *arg)
{
	struct commit *c = arg;
	uint64_t begun = unstable_begin(&u, &a);

	c->over = unstable_wait_ours(&u, &a, c->until);
	unstable_end(&u, &a, begun, true, false, MSEC);
	atomic_store(&c->answered, true);
	return NULL;
}

/* N of them are found to wait; false: one has been answered before. */
static bool wait_begun(const struct commit *c, int n)
{
	struct unstable_wait *w;
	int waiting = 0;

	while (waiting < n && !atomic_load(&c->answered)) {
		usleep(1000);
		lock_take(&u.lock);
		waiting = 0;
		for (w = LIST_FIRST(&a.waits); w != NULL; w = LIST_NEXT(w, link))
			waiting++;
		lock_drop(&u.lock);
	}
	return waiting == n;
}

static void begin_commit(struct commit *c, uint64_t until)
{
	*c = (struct commit){.until = until};
	assert_int_equal(pthread_create(&c->thread, NULL, commits, c), 0);
}

/* What the cluster's client has told ours it tells nobody else: no COMMIT is answered before that is recorded. */
static void test_a_commit_waits_for_ours(void **state)
{
	struct commit c[2];
	uint64_t ours;

	unstable_wrote(&u, &a, 13 * MIB, SEC);
	assert_true(unstable_is_due(&u, &a, SEC));
	ours = unstable_begin(&u, &a);
	begin_commit(&c[0], clock_now() + 100 * SEC);
	begin_commit(&c[1], clock_now() + 100 * SEC);
	assert_true(wait_begun(&c[0], 2));
	assert_false(atomic_load(&c[0].answered) || atomic_load(&c[1].answered));
	unstable_end(&u, &a, ours, true, true, MSEC); /* the error was recorded before */
	unstable_wrote(&u, &a, 13 * MIB, SEC);
	assert_true(unstable_is_due(&u, &a, SEC)); /* it waits for no later one */
	for (int i = 0; i < 2; i++) {
		pthread_join(c[i].thread, NULL);
		assert_true(c[i].over);
	}
	assert_null(LIST_FIRST(&a.waits));
	unstable_end(&u, &a, 0, false, true, MSEC);
}

static void test_a_commit_waits_for_nothing_else(void **state)
{
	unstable_wrote(&u, &a, 13 * MIB, SEC);
	unstable_wrote(&u, &b, 13 * MIB, SEC);
	assert_true(unstable_is_due(&u, &b, SEC)); /* another file's */
	unstable_begin(&u, &a);			   /* another client's */
	assert_true(unstable_wait_ours(&u, &a, 0));
}

/* Where ours hangs, nobody knows: the client is to ask again. */
static void test_ours_that_hangs_holds_nobody_for_ever(void **state)
{
	struct commit c;

	unstable_wrote(&u, &a, 13 * MIB, SEC);
	assert_true(unstable_is_due(&u, &a, SEC));
	begin_commit(&c, clock_now() + 20 * MSEC);
	pthread_join(c.thread, NULL);
	assert_false(c.over);
	assert_null(LIST_FIRST(&a.waits));
	unstable_end(&u, &a, 0, false, true, MSEC);
	assert_true(unstable_wait_ours(&u, &a, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_greedy_writer_is_bounded, begin),
		cmocka_unit_test_setup(test_many_files_share_the_bound, begin),
		cmocka_unit_test_setup(test_of_many_files_each_has_enough, begin),
		cmocka_unit_test_setup(test_who_commits_is_never_due, begin),
		cmocka_unit_test_setup(test_commits_that_overlap, begin),
		cmocka_unit_test_setup(test_one_at_a_time_and_again_when_it_failed, begin),
		cmocka_unit_test_setup(test_the_rate_is_that_of_commits, begin),
		cmocka_unit_test_setup(test_without_a_bound, begin),
		cmocka_unit_test_setup(test_no_bound_without_readers, begin),
		cmocka_unit_test_setup(test_prices_forget_soon, begin),
		cmocka_unit_test_setup(test_what_was_left_counts_no_more, begin),
		cmocka_unit_test_setup(test_a_commit_of_what_was_left, begin),
		cmocka_unit_test_setup(test_who_goes_on_counts, begin),
		cmocka_unit_test_setup(test_so_many_at_a_time, begin),
		cmocka_unit_test_setup(test_a_commit_waits_for_ours, begin),
		cmocka_unit_test_setup(test_a_commit_waits_for_nothing_else, begin),
		cmocka_unit_test_setup(test_ours_that_hangs_holds_nobody_for_ever, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
