/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the queue promises under any load and every policy: a COMMIT's share of the disk, the scan's
 * throughput, bounds on what is queued and joined.
 */
#include "closed_loop.h"

/* A load that the scan bears within Max_Wait, and some beyond it. */
#define BELOW 128
static const unsigned int beyond[] = {300, 1024, 4096};

#define SHARE 0.82

static struct sched_limits limits(void)
{
	struct sched_limits l = default_limits();

	l.queue_max = 8192;
	l.queue_bytes = 1024 * MIB;
	l.writeback_share = SHARE;
	l.writeback_turn = 130 * MSEC;
	l.writeback_idle = 20 * MSEC;
	return l;
}

/*
 * The bound: the request that is on the disk, and the rest of the pause after the write-back
 * before; of a share s, one of length t is followed by a pause of t (1 - s) / s.
 */
static void test_a_commit_gets_its_share_under_any_load(void **state)
{
	struct sched_limits lim = limits();

	for (unsigned int p = 0; sched_policy_nth(p); p++)
		for (int n = 0; n < 3; n++) {
			const char *name = sched_policy_nth(p)->name;
			struct loop l;
			uint64_t bound;
			double share;

			loop_init(&l, name, beyond[n], &lim);
			loop_run(&l, 30 * SEC, false); /* overdue reads all over */
			l.served = 0;
			loop_run(&l, 20 * SEC, true);
			bound = 50 * MSEC +
				(uint64_t)((double)l.write_length * (1 - SHARE) / SHARE);
			share = (double)(l.commits * l.write_length) / (20.0 * SEC);
			print_message(
				"%-8s %4u readers: a COMMIT waits %.0f ms at most, has %.2f\n",
				name, beyond[n], (double)l.commit_wait_max / 1e6, share);
			assert_true(l.commits > 0 && l.commit_wait_max <= bound);
			assert_true(share > SHARE - 0.05 && share < SHARE + 0.03);
			assert_true(l.served > 0);
			loop_fini(&l);
		}
}

static void test_an_earned_share_is_had_under_any_load(void **state)
{
	struct sched_limits lim = limits();

	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		struct loop l;
		double share;

		loop_init(&l, sched_policy_nth(p)->name, 1024, &lim);
		l.unasked = true;
		sched_set_writeback_share(l.q, 0.2);
		loop_run(&l, 30 * SEC, false);
		loop_run(&l, 20 * SEC, true);
		share = (double)(l.commits * l.write_length) / (20.0 * SEC);
		assert_true(share > 0.18 && share < 0.22);
		loop_fini(&l);
	}
}

static double rate(const char *policy, unsigned int readers, uint64_t *wait_max)
{
	struct sched_limits lim = limits();
	struct loop l;

	loop_init(&l, policy, readers, &lim);
	loop_run(&l, 60 * SEC, false); /* all start at once: let that pass */
	l.served = l.read_wait_max = 0;
	loop_run(&l, 60 * SEC, false);
	*wait_max = l.read_wait_max;
	loop_fini(&l);
	return (double)l.served / 60;
}

static void test_overdue_reads_do_not_end_the_scan(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		const char *name = sched_policy_nth(p)->name;
		uint64_t wait;
		double below = rate(name, BELOW, &wait);

		print_message("%-8s %4d readers: %.0f reads/s, longest wait %.1f s\n", name, BELOW,
			      below, (double)wait / 1e9);
		for (int n = 0; n < 3; n++) {
			double r = rate(name, beyond[n], &wait);

			print_message("%-8s %4u readers: %.0f reads/s, longest wait %.1f s\n", name,
				      beyond[n], r, (double)wait / 1e9);
			assert_true(r >= 0.9 * below);
		}
	}
}

/* A million reads of one block that a chunk will bring. */
static void test_joined_reads_are_bounded(void **state)
{
	struct sched_limits lim = limits();
	struct sched_queue *q;
	struct sched_req c = {.class = SCHED_PREFETCH, .file = 1, .len = 4 * MIB}, reads[17], *r;
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int joined = 0, back = 0;

	lim.queue_max = 16;
	q = queue_new(&sched_turns, &lim);
	assert_int_equal(sched_submit(q, &c, 1), SCHED_ADDED);
	assert_ptr_equal(sched_next(q, 2), &c);
	for (int i = 0; i < 1000000; i++) {
		r = &reads[joined];
		*r = (struct sched_req){.class = SCHED_DEMAND, .file = 1, .len = 4096};
		joined += sched_submit(q, r, 3) == SCHED_WAITS;
	}
	assert_int_equal(joined, 16);
	assert_int_equal(q->stats.refused, 1000000 - 16);
	sched_done(q, &c, 4, &woken);
	for (; (r = TAILQ_FIRST(&woken)); back++)
		TAILQ_REMOVE(&woken, r, link);
	assert_int_equal(back, 16);
	assert_null(sched_check(q));
	queue_free(q);
}

/* Bytes count wherever the read is: queued, merged into another, running, being answered. */
static void test_bytes_of_replies_are_bounded(void **state)
{
	struct sched_limits lim = limits();
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_queue *q;
	struct sched_req r[5];

	lim.queue_bytes = 3 * MIB;
	q = queue_new(&sched_turns, &lim);
	for (uint64_t i = 0; i < 5; i++)
		r[i] = (struct sched_req){
			.class = SCHED_DEMAND, .file = i / 2, .offset = i % 2 * MIB, .len = MIB};
	r[0].len = 4 * MIB; /* one goes in, however long */
	assert_int_equal(sched_submit(q, &r[0], 1), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &r[2], 1), SCHED_FULL);
	assert_ptr_equal(sched_next(q, 2), &r[0]);
	assert_int_equal(sched_submit(q, &r[2], 3), SCHED_FULL);
	sched_done(q, &r[0], 4, &woken);
	for (int i = 2; i < 5; i++)
		assert_int_equal(sched_submit(q, &r[i], 5), SCHED_ADDED);
	assert_int_equal(sched_submit(q, &r[1], 5), SCHED_FULL);
	assert_int_equal(q->held, 3 * MIB);
	assert_non_null(sched_next(q, 6));
	sched_answer_later(q, &r[2]); /* as if one more were on its way to its client */
	assert_int_equal(sched_submit(q, &r[1], 7), SCHED_FULL);
	sched_answered(q, r[2].in, MIB);
	assert_null(sched_check(q));
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_commit_gets_its_share_under_any_load),
		cmocka_unit_test(test_an_earned_share_is_had_under_any_load),
		cmocka_unit_test(test_overdue_reads_do_not_end_the_scan),
		cmocka_unit_test(test_joined_reads_are_bounded),
		cmocka_unit_test(test_bytes_of_replies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
