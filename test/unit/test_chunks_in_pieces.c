/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Chunks of files that lie in pieces, which go to a drive together: but not where small reads come again and again. */
#include "disk.h"
#include "sched/drive_reads.h"
#include "sched/parts.h"

#define DEPTH 8
/* As many as it takes to know, either way. */
#define CHUNKS 20

static struct sched_queue *q;
static struct drive_reads drive;
static struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
static uint64_t now;

static struct sched_req request(enum sched_class class, uint64_t client, uint64_t at, uint64_t len)
{
	return (struct sched_req){.class = class,
				  .file = client,
				  .offset = at,
				  .len = len,
				  .block = client * 1024 * MIB + at,
				  .flow = {.client = client},
				  .pieces = class == SCHED_PREFETCH};
}

/* It is known of the drive that several are faster. */
static void start(void)
{
	struct sched_limits l = default_limits();

	now = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	learn_disk(&q->cost);
	drive_reads_init(&drive);
	drive_reads_set_max(&drive, DEPTH);
	drive.evidence.probing = false;
	drive.evidence.together = true;
	drive.evidence.quiet = 1000000;
}

static void stop(void)
{
	assert_null(sched_check(q));
	assert_int_equal(q->queued + q->running, 0);
	queue_free(q);
}

/* R is submitted, and goes, beside what is there. */
static void go(struct sched_req *r)
{
	assert_int_equal(sched_submit(q, r, now += MSEC), SCHED_ADDED);
	q->short_too = drive_reads_takes_chunks(&drive, q);
	q->pieces_too = drive_reads_takes_pieces(&drive, q);
	q->scattered_only = q->running != 0;
	assert_ptr_equal(sched_next(q, now += MSEC), r);
	drive_reads_to(&drive, r, now);
}

static void end(struct sched_req *r)
{
	drive_reads_from(&drive, r, now);
	sched_done(q, r, now += MSEC, &woken);
}

/* One chunk after the other, each with a small read beside it or without. */
static void read_on(bool with_small_reads)
{
	for (unsigned int i = 0; i < CHUNKS; i++) {
		struct sched_req chunk = request(SCHED_PREFETCH, 1, i * MIB, MIB);
		struct sched_req small = request(SCHED_DEMAND, 2, (CHUNKS - i) * 9 * MIB, 8 * KIB);

		go(&chunk);
		if (with_small_reads && chunk.scattered)
			go(&small);
		end(&chunk);
		if (small.state == REQ_RUNNING)
			end(&small);
	}
}

static void test_a_few_go_together(void **state)
{
	struct sched_req chunk[4], fifth = request(SCHED_PREFETCH, 5, 0, MIB);

	(void)state;
	start();
	for (unsigned int i = 0; i < 4; i++) {
		chunk[i] = request(SCHED_PREFETCH, 1 + i, 0, MIB);
		assert_true(drive_reads_takes_pieces(&drive, q));
		go(&chunk[i]);
		assert_true(chunk[i].scattered);
	}
	assert_false(drive_reads_takes_pieces(&drive, q));
	assert_true(drive_reads_takes_chunks(&drive, q)); /* short ones still do */
	q->pieces_too = false;
	assert_int_equal(sched_submit(q, &fifth, now), SCHED_ADDED);
	assert_null(sched_next(q, now));
	for (unsigned int i = 0; i < 4; i++)
		end(&chunk[i]);
	q->scattered_only = false;
	assert_ptr_equal(sched_next(q, now), &fifth);
	assert_false(fifth.scattered); /* as it was found: it has the drive for itself, and gaps */
	end(&fifth);
	stop();
}

static void test_none_beside_another_where_small_reads_come(void **state)
{
	(void)state;
	start();
	read_on(false);
	assert_true(drive_reads_takes_pieces(&drive, q));
	read_on(true);
	assert_false(drive_reads_takes_pieces(&drive, q));
	assert_true(drive_reads_takes_chunks(&drive, q));
	read_on(false);
	assert_true(drive_reads_takes_pieces(&drive, q));
	stop();
}

/* Four are there, and the visit is at a fifth: R, which comes then, does not wait until they have ended. */
static void check_goes_beside_four(uint64_t len)
{
	struct sched_req chunk[4], fifth = request(SCHED_PREFETCH, 5, 0, MIB), r;

	start();
	for (unsigned int i = 0; i < 4; i++) {
		chunk[i] = request(SCHED_PREFETCH, 1 + i, 0, MIB);
		go(&chunk[i]);
	}
	q->pieces_too = drive_reads_takes_pieces(&drive, q);
	assert_int_equal(sched_submit(q, &fifth, now), SCHED_ADDED);
	assert_null(sched_next(q, now));
	r = request(SCHED_DEMAND, 9, 100 * MIB, len);
	go(&r);
	for (unsigned int i = 0; i < 4; i++) {
		end(&chunk[i]);
		q->pieces_too = drive_reads_takes_pieces(&drive, q);
		if (r.scattered) /* beside a long one nothing has a place (place.h) */
			assert_null(sched_next(q, now += MSEC));
	}
	end(&r);
	q->scattered_only = false;
	assert_ptr_equal(sched_next(q, now), &fifth);
	end(&fifth);
	stop();
}

static void test_a_read_goes_beside_them(void **state)
{
	(void)state;
	check_goes_beside_four(8 * KIB);
}

static void test_a_long_read_goes_beside_them(void **state)
{
	(void)state;
	check_goes_beside_four(MIB);
}

static void test_no_further_one_where_others_wait(void **state)
{
	struct sched_req chunk = request(SCHED_PREFETCH, 1, 0, MIB);
	struct sched_req write = request(SCHED_WRITEBACK, 2, 0, MIB);

	(void)state;
	start();
	go(&chunk);
	assert_true(drive_reads_takes_pieces(&drive, q));
	assert_int_equal(sched_submit(q, &write, now), SCHED_ADDED);
	assert_false(drive_reads_takes_pieces(&drive, q));
	end(&chunk);
	q->scattered_only = false;
	while (q->queued)
		end(sched_next(q, now += SEC));
	stop();
}

/* Nothing is known of the drive: one that ends before an older one, which was asked for in two goes, says nothing of it. */
static void test_they_say_nothing_of_the_drives_order(void **state)
{
	struct sched_req chunk[4];

	(void)state;
	start();
	for (unsigned int i = 0; i < 4; i++) {
		chunk[i] = request(SCHED_PREFETCH, 1 + i, 0, MIB);
		go(&chunk[i]);
	}
	drive.evidence.probing = true;
	drive.evidence.together = false;
	assert_false(drive_reads_takes_pieces(&drive, q));
	for (unsigned int i = 4; i-- > 0;) {
		now += 60 * MSEC;
		drive_reads_order(&drive, q, &chunk[i], now);
		end(&chunk[i]);
	}
	assert_true(drive.evidence.probing);
	assert_false(drive.evidence.together);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_few_go_together),
		cmocka_unit_test(test_none_beside_another_where_small_reads_come),
		cmocka_unit_test(test_a_read_goes_beside_them),
		cmocka_unit_test(test_a_long_read_goes_beside_them),
		cmocka_unit_test(test_no_further_one_where_others_wait),
		cmocka_unit_test(test_they_say_nothing_of_the_drives_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
