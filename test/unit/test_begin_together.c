/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Several who begin with files at a drive that serves several requests together (sched/place.h, turns.c). */
#include "disk.h"
#include "sched/drive_reads.h"
#include "sched/parts.h"
#include "sched/place.h"

static struct sched_queue *q;
static struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
static uint64_t now;

static struct sched_req request(enum sched_class class, uint64_t client, uint64_t file,
				uint64_t len)
{
	return (struct sched_req){.class = class,
				  .file = file,
				  .len = len,
				  .block = file * 1024 * MIB,
				  .flow = {.client = client}};
}

/* The first chunk of who may want no more than the beginning of his file. */
static struct sched_req young(uint64_t file)
{
	struct sched_req r = request(SCHED_PREFETCH, 1, file, 6 * MIB);

	r.young = true;
	return r;
}

/* Of the READs with which a file begins. */
static struct sched_req first_read(uint64_t file)
{
	struct sched_req r = request(SCHED_DEMAND, 1, file, 64 * KIB);

	r.brings_more = true;
	return r;
}

/* The drive has TOGETHER of short chunks, and has a place for who may go beside what is there. */
static void start(bool together)
{
	struct sched_limits l = default_limits();

	now = SEC;
	q = queue_new(sched_policy_find("turns"), &l);
	learn_disk(&q->cost);
	q->short_too = q->young_too = together;
}

static void submit(struct sched_req *r)
{
	assert_int_equal(sched_submit(q, r, now += 1000), SCHED_ADDED);
	assert_null(sched_check(q));
}

static struct sched_req *next(void)
{
	struct sched_req *r;

	q->scattered_only = q->running != 0;
	r = sched_next(q, now += 1000);
	assert_null(sched_check(q));
	return r;
}

static void end(struct sched_req *r)
{
	sched_done(q, r, now += MSEC, &woken);
	assert_true(TAILQ_EMPTY(&woken));
	assert_null(sched_check(q));
}

/* B has no place beside A, the last that is there, and the disk for itself behind it. */
static void goes_behind(struct sched_req *a, struct sched_req *b)
{
	assert_null(next());
	end(a);
	assert_ptr_equal(next(), b);
	assert_false(b->scattered);
	end(b);
}

static void stop(void)
{
	assert_int_equal(q->queued + q->running + q->joined, 0);
	queue_free(q);
}

/* All beginnings are there at once; who reads on has his turn behind them. */
static void test_beginnings_go_together(void **state)
{
	struct sched_req r[4];

	start(true);
	for (unsigned int i = 0; i < 4; i++) {
		r[i] = young(1 + i);
		submit(&r[i]);
	}
	for (unsigned int i = 0; i < 3; i++) {
		assert_ptr_equal(next(), &r[i]);
		assert_true(r[i].scattered);
		assert_int_equal(sched_chunk_of(q, &r[i]), SHORT_CHUNK_MAX);
	}
	assert_ptr_equal(next(), &r[3]); /* the last one, beside the others */
	assert_int_equal(sched_chunk_of(q, &r[3]), SHORT_CHUNK_MAX);
	for (unsigned int i = 0; i < 4; i++)
		end(&r[i]);
	stop();
}

/* One who begins beside small reads goes with them. */
static void test_it_goes_beside_small_reads(void **state)
{
	struct sched_req a = request(SCHED_DEMAND, 1, 1, 64 * KIB), r = young(2);

	start(true);
	submit(&a);
	assert_ptr_equal(next(), &a);
	submit(&r);
	assert_ptr_equal(next(), &r);
	assert_int_equal(sched_chunk_of(q, &r), SHORT_CHUNK_MAX);
	end(&a);
	end(&r);
	stop();
}

/* With nobody else about there is nothing to go beside, and a turn more would be a seek more. */
static void test_alone_it_is_whole(void **state)
{
	struct sched_req r = young(1);

	start(true);
	submit(&r);
	assert_ptr_equal(next(), &r);
	assert_false(r.scattered);
	assert_true(sched_chunk_of(q, &r) >= 6 * MIB);
	end(&r);
	stop();
}

/* Of a disk that serves one after the other each has all of it. */
static void test_one_by_one_it_has_the_disk(void **state)
{
	struct sched_req a = young(1), b = young(2);

	start(false);
	submit(&a);
	submit(&b);
	assert_ptr_equal(next(), &a);
	assert_false(a.scattered);
	goes_behind(&a, &b);
	stop();
}

/* His own reads are no others. */
static void test_beside_his_own_reads_it_is_whole(void **state)
{
	struct sched_req a = first_read(1), r = young(1);

	start(true);
	submit(&a);
	assert_ptr_equal(next(), &a);
	submit(&r);
	goes_behind(&a, &r);
	stop();
}

/* Who waits for more than the beginning has his turn. */
static void test_who_waits_for_more_has_his_turn(void **state)
{
	struct sched_req a = young(1), b = young(2), w = request(SCHED_DEMAND, 1, 1, 64 * KIB);

	start(true);
	w.offset = SHORT_CHUNK_MAX;
	w.block += w.offset;
	submit(&a);
	submit(&b);
	assert_int_equal(sched_submit(q, &w, now += 1000), SCHED_WAITS);
	assert_ptr_equal(next(), &a);
	assert_false(a.scattered);
	sched_done(q, &a, now += MSEC, &woken);
	assert_ptr_equal(TAILQ_FIRST(&woken), &w);
	TAILQ_REMOVE(&woken, &w, link);
	assert_ptr_equal(next(), &b);
	end(&b);
	stop();
}

/* At a ceiling it is charged with what it has. */
static void test_its_bytes_at_a_ceiling(void **state)
{
	struct sched_req a = young(1), b = young(2);
	static struct sched_shares shares = {.n_rules = 1};

	start(true);
	shares.rules[0] =
		(struct share){.weight = SHARE_WEIGHT_DEFAULT, .ceiling.bandwidth = 1000000};
	assert_int_equal(sched_set_shares(q, &shares, now), 0);
	submit(&a);
	submit(&b);
	assert_ptr_equal(next(), &a);
	assert_true(a.scattered);
	assert_true(a.charged != 0 && a.charged <= SHORT_CHUNK_MAX);
	assert_int_equal(sched_shorten(q, &a, sched_chunk_of(q, &a)), SHORT_CHUNK_MAX);
	end(&a);
	now += SEC;
	assert_ptr_equal(next(), &b);
	end(&b);
	stop();
}

/* A long chunk whose reader is known has the disk for itself: it does not go beside others. */
static void test_who_is_known_waits(void **state)
{
	struct sched_req a = young(1), b = young(2), known = request(SCHED_PREFETCH, 1, 3, 6 * MIB);

	start(true);
	submit(&a);
	submit(&b);
	submit(&known);
	assert_ptr_equal(next(), &a);
	assert_ptr_equal(next(), &b);
	assert_null(next());
	end(&a);
	goes_behind(&b, &known);
	stop();
}

/* ---- a gap in which files begin ---------------------------------------------------------- */

/* At the drive, of several that it takes together, is A; the chunk KNOWN, which has no place there, is next. */
static void start_gap(struct sched_req *a, struct sched_req *known)
{
	*a = first_read(1);
	*known = request(SCHED_PREFETCH, 1, 2, 6 * MIB);
	start(true);
	submit(a);
	assert_ptr_equal(next(), a);
	submit(known);
	assert_null(next());
}

static void test_files_begin_in_a_gap(void **state)
{
	struct sched_req a, known, b = first_read(3), c = first_read(4);

	start_gap(&a, &known);
	submit(&b);
	assert_ptr_equal(next(), &b);
	submit(&c);
	assert_ptr_equal(next(), &c);
	end(&c);
	end(&b);
	goes_behind(&a, &known);
	stop();
}

/* Other reads wait for the next gap: there may always be more of them. */
static void test_other_reads_wait(void **state)
{
	struct sched_req a, known, b = request(SCHED_DEMAND, 1, 3, 32 * KIB);

	start_gap(&a, &known);
	submit(&b);
	goes_behind(&a, &known);
	assert_ptr_equal(next(), &b);
	end(&b);
	stop();
}

/* After a slice the chunk has its turn, however many files begin. */
static void test_a_gap_ends(void **state)
{
	struct sched_req a, known, b = first_read(3);

	start_gap(&a, &known);
	now += flow_slice(q);
	submit(&b);
	goes_behind(&a, &known);
	assert_ptr_equal(next(), &b);
	end(&b);
	stop();
}

/* ---- which drives ------------------------------------------------------------------------ */

/* While nothing is known of it, and while the other way is tried, each has his turn: it costs who reads on one more. */
static void test_a_drive_that_is_known(void **state)
{
	struct drive_reads d;

	start(true);
	drive_reads_init(&d);
	drive_reads_set_max(&d, 32);
	q->short_chunks = 8; /* enough to ask with */
	assert_true(drive_reads_takes_chunks(&d, q));
	assert_false(drive_reads_takes_young(&d, q));
	d.evidence.probing = false;
	d.evidence.together = true;
	d.evidence.quiet = 100;
	assert_true(drive_reads_takes_young(&d, q));
	d.evidence.trying = true;
	assert_false(drive_reads_takes_young(&d, q));
	q->short_chunks = 0;
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beginnings_go_together),
		cmocka_unit_test(test_it_goes_beside_small_reads),
		cmocka_unit_test(test_alone_it_is_whole),
		cmocka_unit_test(test_one_by_one_it_has_the_disk),
		cmocka_unit_test(test_beside_his_own_reads_it_is_whole),
		cmocka_unit_test(test_who_waits_for_more_has_his_turn),
		cmocka_unit_test(test_its_bytes_at_a_ceiling),
		cmocka_unit_test(test_who_is_known_waits),
		cmocka_unit_test(test_files_begin_in_a_gap),
		cmocka_unit_test(test_other_reads_wait),
		cmocka_unit_test(test_a_gap_ends),
		cmocka_unit_test(test_a_drive_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
