/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scattered reads that a dispatcher lets go to the drive together, and what it never lets beside them.
 * Threads meet in execute(): nobody leaves before as many are there as must be.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "disk.h"
#include "sched/dispatcher.h"
#include "sched/place.h"

#define TOGETHER 8
#define READS	 64

static struct dispatcher dispatcher;
static struct sched_req reads[READS], chunk, write_back, long_read;
static _Atomic uint64_t ticks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static uint64_t client;	       /* whose those to come are */
static unsigned int must_meet; /* so many small reads are let go on */
static unsigned int small_now, small_most, others_now, ended, broken;
static bool met, gap_open, in_chunk, chunk_may_go, gap_over;

static uint64_t now(void)
{
	return atomic_fetch_add(&ticks, 1000) + 1000;
}

/* A read comes: nothing else may be there, but a chunk in its gap. */
static void meet(void)
{
	pthread_mutex_lock(&lock);
	small_now++;
	if (small_now > small_most)
		small_most = small_now;
	broken += others_now > (gap_open ? 1 : 0);
	met |= small_now >= must_meet;
	pthread_cond_broadcast(&cond);
	while (!met)
		pthread_cond_wait(&cond, &lock);
	small_now--;
	pthread_mutex_unlock(&lock);
}

static void alone(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&lock);
	broken += small_now || others_now > (gap_open ? 1 : 0);
	others_now++;
	in_chunk = true;
	pthread_cond_broadcast(&cond);
	while (r == &chunk && !chunk_may_go)
		pthread_cond_wait(&cond, &lock);
	gap_open |= r == &chunk;
	pthread_mutex_unlock(&lock);
	if (r == &chunk)
		dispatcher_gap(d, r, SEC);
	pthread_mutex_lock(&lock);
	gap_open &= r != &chunk;
	broken += small_now; /* the gap is over once all have ended */
	gap_over = true;
	others_now--;
	pthread_mutex_unlock(&lock);
}

static void execute(struct dispatcher *d, struct sched_req *r)
{
	if (r->scattered)
		meet();
	else
		alone(d, r);
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&lock);
	ended++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static const struct sched_req_ops item_ops = {.execute = execute, .finish = finish};
static const struct dispatcher_ops host = {.now = now};

static void await_ended(unsigned int n)
{
	pthread_mutex_lock(&lock);
	while (ended < n)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static void await_small(unsigned int n)
{
	pthread_mutex_lock(&lock);
	while (small_now < n)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static void let_go(void)
{
	pthread_mutex_lock(&lock);
	met = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static struct sched_req request(enum sched_class class, uint64_t at, uint64_t len)
{
	return (struct sched_req){.ops = &item_ops,
				  .class = class,
				  .file = at / MIB,
				  .offset = at,
				  .block = at,
				  .len = len,
				  .one_step = true,
				  .flow = {.client = client}};
}

static enum sched_verdict submit(struct sched_req *r, enum sched_class class, uint64_t at,
				 uint64_t len)
{
	*r = request(class, at, len);
	return dispatcher_submit(&dispatcher, r);
}

static void submit_small(unsigned int i)
{
	submit(&reads[i], SCHED_DEMAND, (i * 37 % READS + 1) * 16 * MIB, 8 * KIB);
}

/* Up to MAX; FASTER: it is known of the drive that together is. */
static void may_be_together(uint32_t max, bool faster)
{
	dispatcher_set_together(&dispatcher, max);
	lock_take(&dispatcher.lock);
	dispatcher.drive.evidence.together = faster;
	dispatcher.drive.evidence.probing = false;
	dispatcher.drive.evidence.quiet = 1000000;
	lock_drop(&dispatcher.lock);
}

static void start(bool faster)
{
	struct sched_limits l = default_limits();

	small_now = small_most = others_now = ended = broken = must_meet = 0;
	client = 0;
	met = gap_open = in_chunk = gap_over = false;
	chunk_may_go = true;
	assert_int_equal(dispatcher_init(&dispatcher, &host, 1, sched_policy_find("turns"), &l), 0);
	may_be_together(TOGETHER, faster);
}

static void stop(void)
{
	dispatcher_fini(&dispatcher);
	assert_int_equal(broken, 0);
	assert_int_equal(dispatcher.drive.there, 0);
	assert_int_equal(dispatcher.drive.bytes, 0);
	assert_int_equal(dispatcher.busy, 0);
	assert_int_equal(dispatcher.scattered, 0);
	assert_int_equal(dispatcher.helping, 0);
}

static void test_small_reads_go_together(void **state)
{
	start(true);
	must_meet = TOGETHER;
	for (unsigned int i = 0; i < READS; i++)
		submit_small(i);
	await_ended(READS);
	assert_int_equal(small_most, TOGETHER);
	stop();
}

/* As long as a Linux client asks for: of an array each other drive would stand still. But no more than 8 MiB. */
static void test_so_do_long_ones(void **state)
{
	start(true);
	may_be_together(2 * TOGETHER, true);
	must_meet = 8;
	for (unsigned int i = 0; i < READS; i++)
		submit(&reads[i], SCHED_DEMAND, (i * 37 % READS + 1) * 16 * MIB, MIB);
	await_ended(READS);
	assert_int_equal(small_most, 8);
	stop();
}

/* The next one is at hand, so that the disk has it as soon as the one before is over; never a third one. */
static void test_one_by_one_where_that_is_as_fast(void **state)
{
	start(false);
	assert_int_equal(dispatcher.n_threads, 1);
	must_meet = 2;
	for (unsigned int i = 0; i < READS; i++)
		submit_small(i);
	await_ended(READS);
	assert_int_equal(small_most, 2);
	assert_in_range(dispatcher.n_threads, 1,
			3); /* the others are not there before they are of use */
	stop();
}

/* There is none where a chunk may be next. */
static void test_none_is_at_hand_beside_a_chunk(void **state)
{
	start(false);
	must_meet = READS;
	submit_small(0);
	await_small(1);
	client = 1;
	submit(&chunk, SCHED_PREFETCH, 0, MIB);
	submit_small(1);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	let_go();
	await_ended(3);
	assert_int_equal(small_most, 1);
	stop();
}

/* The caller's own thread is one of those that go together. */
static void test_a_caller_runs_beside_another(void **state)
{
	struct sched_req *mine = &reads[1];

	start(true);
	must_meet = 2;
	submit_small(0);
	pthread_mutex_lock(&lock);
	while (!small_now)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	*mine = (struct sched_req){
		.ops = &item_ops, .file = 1, .offset = MIB, .block = MIB, .len = 8 * KIB};
	assert_int_equal(dispatcher_submit_or_run(&dispatcher, mine), SCHED_RUN);
	execute(&dispatcher, mine);
	dispatcher_ran(&dispatcher, mine);
	await_ended(1);
	assert_int_equal(small_most, 2);
	stop();
}

static void test_a_chunk_waits_for_all_of_them(void **state)
{
	start(true);
	must_meet = 3;
	submit_small(0);
	submit_small(1);
	pthread_mutex_lock(&lock);
	while (small_now < 2)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	submit(&chunk, SCHED_PREFETCH, 0, MIB);
	submit(&write_back, SCHED_WRITEBACK, 2048 * MIB, MIB);
	submit(&long_read, SCHED_DEMAND, 4096 * MIB, SCATTERED_MAX + 1);
	pthread_mutex_lock(&lock);
	met = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	await_ended(5);
	stop();
}

/* What is known of the drive: together is faster; nothing, and it is asked. */
static void in_a_gap_others_help(bool asked)
{
	start(!asked);
	lock_take(&dispatcher.lock);
	dispatcher.drive.evidence.probing = asked;
	lock_drop(&dispatcher.lock);
	must_meet = TOGETHER;
	chunk_may_go = false;
	submit(&chunk, SCHED_PREFETCH, 0, MIB);
	pthread_mutex_lock(&lock);
	while (!in_chunk)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < TOGETHER; i++)
		submit_small(i);
	assert_int_equal(small_now, 0); /* beside the chunk none goes */
	pthread_mutex_lock(&lock);
	chunk_may_go = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	await_ended(TOGETHER + 1);
	assert_int_equal(small_most, TOGETHER);
	assert_true(gap_over);
	stop();
}

static void test_in_a_gap_others_help(void **state)
{
	in_a_gap_others_help(false);
	in_a_gap_others_help(true);
}

static void *submit_half(void *arg)
{
	unsigned int from = *(unsigned int *)arg;

	for (unsigned int i = from; i < from + READS / 2; i++)
		submit_small(i);
	return NULL;
}

/* Chunks come among reads while the depth, and what is known of the drive, change. */
static void test_all_end_whatever_changes(void **state)
{
	unsigned int from[2] = {0, READS / 2};
	pthread_t t[2];

	for (int round = 0; round < 20; round++) {
		start(round % 2);
		met = true;
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&t[i], NULL, submit_half, &from[i]), 0);
		submit(&chunk, SCHED_PREFETCH, 0, MIB);
		dispatcher_set_together(&dispatcher, 1);
		submit(&long_read, SCHED_DEMAND, 4096 * MIB, SCATTERED_MAX + 1);
		dispatcher_set_together(&dispatcher, TOGETHER);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		await_ended(READS + 2);
		stop();
	}
}

/* Beside a client with few reads another's many are no more than a quarter of Demand_Wait's worth. */
static void test_many_leave_room_for_few(void **state)
{
	start(true);
	met = true;
	lock_take(&dispatcher.lock);
	dispatcher.drive.evidence.ns[1] = (double)default_limits().cost.demand_wait / 4 / 4.5;
	lock_drop(&dispatcher.lock);
	for (unsigned int i = 0; i < 2; i++) {
		client = 1 + i;
		submit_small(i);
		await_ended(i + 1);
	}
	met = false;
	must_meet = READS;
	client = 1;
	for (unsigned int i = 2; i < 18; i++)
		submit_small(i);
	await_small(4);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	assert_int_equal(small_now, 4);
	client = 2;
	submit_small(18);
	await_small(5);
	let_go();
	await_ended(19);
	stop();
}

/* Each of several clients has one read there; a chunk of one more waits for all. */
static void test_reads_of_several_clients_go_together(void **state)
{
	start(true);
	must_meet = READS;
	for (unsigned int i = 0; i < TOGETHER; i++) {
		client = 1 + i;
		submit_small(i);
	}
	await_small(TOGETHER);
	client = TOGETHER + 1;
	submit(&chunk, SCHED_PREFETCH, 0, MIB);
	assert_int_equal(others_now, 0);
	let_go();
	await_ended(TOGETHER + 1);
	stop();
}

/* A small file is fetched beside small reads. */
static void test_a_short_chunk_goes_with_small_reads(void **state)
{
	start(true);
	must_meet = 3;
	submit_small(0);
	submit_small(1);
	await_small(2);
	submit(&chunk, SCHED_PREFETCH, 0, SHORT_CHUNK_MAX);
	await_ended(3);
	assert_int_equal(dispatcher.drive.chunks, 0);
	stop();
}

/* Not while it is tried what that would be worth. */
static void test_one_that_is_tried_has_no_short_chunk(void **state)
{
	start(false);
	lock_take(&dispatcher.lock);
	dispatcher.drive.evidence.trying = true;
	dispatcher.drive.evidence.trial = TOGETHER;
	lock_drop(&dispatcher.lock);
	must_meet = READS;
	submit_small(0);
	submit_small(1);
	await_small(2);
	client = 1;
	submit(&chunk, SCHED_PREFETCH, 0, SHORT_CHUNK_MAX);
	assert_int_equal(small_now, 2);
	let_go();
	await_ended(3);
	stop();
}

/* Chunk I, of a stream of its own, each in pieces of which the drive is asked for all at once. */
static void submit_in_pieces(unsigned int i)
{
	reads[i] = request(SCHED_PREFETCH, (i + 1) * 64 * MIB, 2 * MIB);
	reads[i].one_step = false;
	reads[i].pieces = true;
	reads[i].owner = i + 1;
	dispatcher_submit(&dispatcher, &reads[i]);
}

/* The drive has those of a few streams to choose from; and small reads go along. */
static void test_chunks_in_pieces_go_together(void **state)
{
	start(true);
	must_meet = READS;
	for (unsigned int i = 0; i < TOGETHER; i++)
		submit_in_pieces(i);
	await_small(4);
	submit_small(TOGETHER);
	let_go();
	await_ended(TOGETHER + 1);
	assert_in_range(small_most, 4, 5); /* the read may come to its turn later */
	assert_int_equal(dispatcher.drive.chunks, 0);
	stop();
}

/* One that lies in one place has the disk for itself, as ever. */
static void test_a_whole_chunk_waits_for_those_in_pieces(void **state)
{
	start(true);
	must_meet = READS;
	submit_in_pieces(0);
	submit_in_pieces(1);
	await_small(2);
	client = 1;
	submit(&chunk, SCHED_PREFETCH, 0, MIB);
	assert_int_equal(others_now, 0);
	let_go();
	await_ended(3);
	stop();
}

/* A drive that takes them as they come has one after the other. */
static void test_chunks_in_pieces_alone(void **state)
{
	start(false);
	for (unsigned int i = 0; i < TOGETHER; i++)
		submit_in_pieces(i);
	await_ended(TOGETHER);
	assert_int_equal(small_most, 0);
	stop();
}

static void test_what_is_shown(void **state)
{
	struct dispatcher_stats s;

	start(true);
	dispatcher_stats(&dispatcher, &s);
	assert_int_equal(s.depth, 1);
	assert_int_equal(s.drive.max, TOGETHER);
	assert_int_equal(s.drive.now, TOGETHER);
	assert_true(s.drive.faster);
	dispatcher_set_together(&dispatcher, 0);
	dispatcher_stats(&dispatcher, &s);
	assert_int_equal(s.drive.max, 1);
	assert_int_equal(s.drive.now, 1);
	dispatcher_set_together(&dispatcher, TOGETHER); /* nothing is forgotten */
	dispatcher_stats(&dispatcher, &s);
	assert_int_equal(s.drive.now, TOGETHER);
	dispatcher_forget_cost(&dispatcher);
	dispatcher_stats(&dispatcher, &s);
	assert_int_equal(s.drive.now, 1);
	stop();
}

static void test_the_places(void **state)
{
	struct sched_req r = {.class = SCHED_DEMAND, .len = SCATTERED_MAX};

	assert_int_equal(sched_place(1, 0, 0, 1), PLACE_ANY);
	assert_int_equal(sched_place(1, 1, 0, 8), PLACE_NONE); /* a chunk */
	assert_int_equal(sched_place(1, 1, 1, 8), PLACE_SCATTERED);
	assert_int_equal(sched_place(1, 8, 8, 8), PLACE_NONE);
	assert_int_equal(sched_place(1, 1, 1, 1), PLACE_NONE);
	assert_int_equal(sched_place(4, 3, 1, 1), PLACE_ANY);
	assert_int_equal(sched_place(4, 4, 3, 8), PLACE_NONE);
	assert_int_equal(sched_place(1, 0, 0, 8), PLACE_ANY);
	assert_true(place_is_scattered(&r));
	r.len++;
	assert_false(place_is_scattered(&r));
	r.class = SCHED_WRITEBACK;
	r.len = 1;
	assert_false(place_is_scattered(&r));
	r.class = SCHED_PREFETCH;
	r.len = SHORT_CHUNK_MAX;
	assert_false(place_is_scattered(&r)); /* in steps, between which others come */
	r.one_step = true;
	assert_true(place_is_scattered(&r));
	r.record = 1; /* these it must have for itself, however short */
	assert_false(place_is_scattered(&r));
	r.record = 0;
	r.several = true;
	assert_false(place_is_scattered(&r));
	r.several = false;
	r.counts = true;
	assert_false(place_is_scattered(&r));
	r.counts = false;
	r.len++;
	assert_false(place_is_scattered(&r));
	r.pieces = true;
	assert_true(place_is_scattered(&r));
	r.record = 1;
	assert_false(place_is_scattered(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_reads_go_together),
		cmocka_unit_test(test_so_do_long_ones),
		cmocka_unit_test(test_one_by_one_where_that_is_as_fast),
		cmocka_unit_test(test_none_is_at_hand_beside_a_chunk),
		cmocka_unit_test(test_a_caller_runs_beside_another),
		cmocka_unit_test(test_a_chunk_waits_for_all_of_them),
		cmocka_unit_test(test_in_a_gap_others_help),
		cmocka_unit_test(test_all_end_whatever_changes),
		cmocka_unit_test(test_many_leave_room_for_few),
		cmocka_unit_test(test_reads_of_several_clients_go_together),
		cmocka_unit_test(test_a_short_chunk_goes_with_small_reads),
		cmocka_unit_test(test_one_that_is_tried_has_no_short_chunk),
		cmocka_unit_test(test_chunks_in_pieces_go_together),
		cmocka_unit_test(test_a_whole_chunk_waits_for_those_in_pieces),
		cmocka_unit_test(test_chunks_in_pieces_alone),
		cmocka_unit_test(test_what_is_shown),
		cmocka_unit_test(test_the_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
