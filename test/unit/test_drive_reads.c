/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scattered reads of several flows at a drive that orders them: whose go together, what waits for them,
 * and what each is charged.
 */
#include "disk.h"
#include "sched/drive_reads.h"
#include "sched/place.h"

static struct sched_req reads[16], chunk;
static struct sched_queue *q;
static uint64_t now;

static void submit(struct sched_req *r, enum sched_class class, uint64_t client, uint64_t at,
		   uint64_t len)
{
	*r = (struct sched_req){.class = class,
				.file = client,
				.offset = at,
				.block = client * 1024 * MIB + at,
				.len = len,
				.flow = {.client = client}};
	assert_int_equal(sched_submit(q, r, now), SCHED_ADDED);
}

static void submit_small(unsigned int i, uint64_t client)
{
	submit(&reads[i], SCHED_DEMAND, client, i * 16 * MIB, 8 * KIB);
}

static void start(void)
{
	struct sched_limits limits = default_limits();

	now = SEC;
	q = queue_new(sched_policy_find("turns"), &limits);
	learn_disk(&q->cost);
}

/* The next one, beside what runs. */
static struct sched_req *next(void)
{
	q->scattered_only = q->running > 0;
	return sched_next(q, now);
}

static void end(struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, now, &woken);
}

static uint64_t had(const struct sched_req *r)
{
	return r->in->stats.disk_time[r->class];
}

static void test_two_flows_have_half_each(void **state)
{
	struct sched_req *a, *b;

	start();
	submit_small(0, 1);
	submit_small(1, 2);
	a = next();
	b = next();
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a->in, b->in);
	submit(&chunk, SCHED_PREFETCH, 3, 0, MIB);
	assert_null(next()); /* a third one's chunk waits for both */
	now += 10 * MSEC;
	end(a);
	assert_null(next());
	now += 5 * MSEC;
	end(b);
	assert_true(had(a) == 5 * MSEC);
	assert_true(had(b) == 10 * MSEC);
	assert_true(a->in->group->node.vtime + 5 * MSEC == b->in->group->node.vtime);
	assert_ptr_equal(next(), &chunk);
	now += 10 * MSEC;
	end(&chunk);
	queue_free(q);
}

/* Once a chunk is the next one no small read goes before it any more. */
static void test_small_reads_do_not_overtake_a_chunk(void **state)
{
	struct sched_req *r;

	start();
	submit_small(0, 1);
	r = next();
	submit(&chunk, SCHED_PREFETCH, 2, 0, MIB);
	assert_null(next());
	submit_small(1, 3);
	submit_small(2, 1);
	assert_null(next());
	end(r);
	assert_ptr_equal(next(), &chunk);
	end(&chunk);
	while ((r = next()))
		end(r);
	queue_free(q);
}

/* One of many reads keeps the drive only until another, who has had less, comes. */
static void test_who_is_behind_goes_next(void **state)
{
	struct sched_req *first;

	start();
	submit_small(8, 2);
	first = next();
	now += 10 * MSEC;
	end(first);
	for (unsigned int i = 0; i < 8; i++)
		submit_small(i, 1);
	first = next();
	now += 100 * MSEC;
	end(first);
	first = next();
	assert_int_equal(first->flow.client, 1);
	submit_small(8, 2);
	assert_ptr_equal(next(), &reads[8]);
	assert_int_equal(next()->flow.client, 1);
	while (q->running)
		end(TAILQ_FIRST(&q->active));
	for (struct sched_req *r; (r = next());)
		end(r);
	queue_free(q);
}

static void test_one_each(void **state)
{
	struct sched_req *a;

	start();
	submit_small(0, 1);
	submit_small(1, 1);
	a = next();
	q->one_each = true;
	assert_null(next());
	q->one_each = false;
	assert_non_null(next());
	end(a);
	end(TAILQ_FIRST(&q->active));
	queue_free(q);
}

static struct sched_req *to_drive(struct drive_reads *d, unsigned int i, uint64_t client)
{
	struct sched_req *r;

	submit_small(i, client);
	r = next();
	assert_ptr_equal(r, &reads[i]);
	drive_reads_to(d, r, now);
	return r;
}

static void from_drive(struct drive_reads *d, struct sched_req *r)
{
	drive_reads_from(d, r, now);
	end(r);
}

/* Few beside others' reads: those have no more there than a quarter of Demand_Wait is worth. */
static void test_few_beside_others(void **state)
{
	struct sched_req *a, *r;
	struct drive_reads d;

	start();
	q->limits.cost.demand_wait = 40 * MSEC;
	q->cost = (struct cost_model){0}; /* not known yet */
	drive_reads_init(&d);
	assert_int_equal(drive_reads_level(&d), 1);
	drive_reads_set_max(&d, 8);
	d.evidence.probing = false;
	d.evidence.together = true;
	d.evidence.ns[1] = 3e6;
	assert_int_equal(drive_reads_level(&d), 8);
	from_drive(&d, to_drive(&d, 0, 1));
	assert_int_equal(drive_reads_of_one(&d, q, now), 8); /* one flow alone */
	from_drive(&d, to_drive(&d, 1, 2));
	assert_int_equal(drive_reads_level(&d), 8);
	assert_int_equal(drive_reads_of_one(&d, q, now), 3);
	q->limits.cost.demand_wait = MSEC;
	assert_int_equal(drive_reads_of_one(&d, q, now), 1);
	q->limits.cost.demand_wait = 40 * MSEC;
	d.evidence.probing = true; /* so while it is asked, and what one takes is not known yet */
	d.evidence.ns[1] = 0;
	q->cost.seek_ns = 4e6;
	for (unsigned int i = 4; i < 9; i++)
		submit_small(i, 3);
	assert_int_equal(drive_reads_together(&d, q), 8);
	assert_int_equal(drive_reads_of_one(&d, q, now), 1);
	while (q->queued)
		end(next());
	d.evidence.probing = false;
	d.evidence.ns[1] = 3e6;
	q->cost.seek_ns = 0;
	r = to_drive(&d, 2, 2);
	now += 9 * MSEC;
	assert_int_equal(drive_reads_of_one(&d, q, now), 3);
	now += MSEC; /* the drive leaves it */
	assert_int_equal(drive_reads_of_one(&d, q, now), 1);
	from_drive(&d, r);
	assert_int_equal(drive_reads_of_one(&d, q, now), 3);
	d.evidence.ns[1] = 2e6;
	assert_int_equal(drive_reads_of_one(&d, q, now), 5);
	a = to_drive(&d, 3, 1);
	r = to_drive(&d, 4, 2);
	q->cost.seek_ns = 8e6; /* half of what each of two would take */
	assert_int_equal(drive_reads_of_one(&d, q, now), 4);
	now += 8 * MSEC;
	assert_int_equal(drive_reads_of_one(&d, q, now), 1);
	from_drive(&d, a);
	from_drive(&d, r);
	now += 2 * SEC;
	assert_int_equal(drive_reads_of_one(&d, q, now), 8);
	assert_int_equal(d.there, 0);
	queue_free(q);
}

/* Where all have many it is throughput that counts. */
static void test_many_beside_many(void **state)
{
	struct sched_req *r;
	struct drive_reads d;

	start();
	drive_reads_init(&d);
	drive_reads_set_max(&d, 8);
	d.evidence.probing = false;
	d.evidence.together = true;
	d.evidence.ns[1] = 3e6;
	for (unsigned int i = 0; i < 16; i++)
		submit_small(i, 1 + i % 2);
	for (unsigned int i = 0; i < 8; i++) {
		r = next();
		assert_non_null(r);
		drive_reads_to(&d, r, now);
	}
	assert_int_equal(drive_reads_of_one(&d, q, now), 8);
	while (q->running)
		from_drive(&d, TAILQ_FIRST(&q->active));
	while ((r = next()))
		end(r);
	queue_free(q);
}

/* The next one, at hand behind what runs. */
static struct sched_req *next_at_hand(void)
{
	struct sched_req *r;

	assert_true(q->running);
	q->at_hand = true;
	r = next();
	q->at_hand = false;
	return r;
}

static void end_all(void)
{
	struct sched_req *r;

	while (q->running)
		end(TAILQ_FIRST(&q->active));
	while ((r = next()))
		end(r);
	queue_free(q);
}

/* One at a time, the next one is at hand, where nothing speaks against that. */
static void test_one_is_at_hand(void **state)
{
	struct sched_req write_back = {.class = SCHED_WRITEBACK, .len = MIB, .flow = {.client = 1}};
	struct drive_reads d;

	start();
	drive_reads_init(&d);
	assert_int_equal(drive_reads_there(&d, q), 1); /* never several */
	drive_reads_set_max(&d, 8);
	assert_int_equal(drive_reads_level(&d), 1);
	assert_int_equal(drive_reads_there(&d, q), 2); /* nothing is known */
	for (unsigned int i = 0; i < 4; i++)
		submit_small(i, 1);
	assert_int_equal(drive_reads_there(&d, q), 8); /* and is asked */
	assert_false(drive_reads_one_at_hand(&d, q));
	assert_int_equal(drive_reads_together(&d, q), 8);
	/* a chunk waits, which small reads are never beside */
	submit(&chunk, SCHED_PREFETCH, 2, 0, MIB);
	assert_int_equal(drive_reads_there(&d, q), 8);
	assert_int_equal(drive_reads_together(&d, q), 8);
	while (q->queued)
		end(next());
	assert_int_equal(drive_reads_together(&d, q), 1);
	d.evidence.probing = false;
	assert_true(drive_reads_one_at_hand(&d, q));
	assert_int_equal(drive_reads_level(&d), 1);
	assert_int_equal(drive_reads_there(&d, q), 2);
	d.evidence.together = true;
	assert_int_equal(drive_reads_there(&d, q), 8);
	assert_int_equal(drive_reads_together(&d, q), 8);
	d.evidence.together = false;
	assert_int_equal(drive_reads_together(&d, q), 1);
	submit(&chunk, SCHED_PREFETCH, 2, 0, MIB); /* it may be next */
	assert_int_equal(drive_reads_there(&d, q), 1);
	end(next());
	assert_int_equal(drive_reads_there(&d, q), 2);
	assert_int_equal(sched_submit(q, &write_back, now), SCHED_ADDED);
	end(next());
	assert_int_equal(drive_reads_there(&d, q),
			 1); /* the first read shows what the drive has left */
	sched_observe(q, 0, 8 * KIB, MSEC);
	assert_int_equal(drive_reads_there(&d, q), 2);
	end_all();
}

/* A visit is as long as if what is at hand were served when the one before is over. */
static void test_a_visit_goes_on_at_hand(void **state)
{
	start();
	for (unsigned int i = 0; i < 8; i++)
		submit_small(i, 1);
	assert_int_equal(next()->flow.client, 1);
	submit_small(8, 2);
	assert_int_equal(next_at_hand()->flow.client, 1);
	end_all();
}

/* Client 2's second read runs, of which it has one at a time; client 1 has had as much and MORE (ns). */
static void start_one_beside_another(uint64_t more)
{
	uint64_t had[] = {10 * MSEC + more, 10 * MSEC};

	start();
	for (unsigned int i = 0; i < 2; i++) {
		struct sched_req *r;

		submit_small(i, 1 + i);
		r = next();
		now += had[i];
		end(r);
	}
	now += MSEC / 10;
	submit_small(2, 2);
	assert_ptr_equal(next(), &reads[2]);
	submit_small(3, 1);
}

/* Who is behind is waited for: another's read that is at hand would go before its next one. */
static void test_none_is_at_hand_where_the_disk_waits(void **state)
{
	start_one_beside_another(0);
	assert_ptr_equal(next_at_hand(), &reads[3]);
	end_all();
	start_one_beside_another(100 * MSEC);
	assert_null(next_at_hand());
	now += 10 * MSEC;
	end(&reads[2]);
	assert_null(next());
	submit_small(4, 2);
	assert_ptr_equal(next(), &reads[4]);
	end_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_flows_have_half_each),
		cmocka_unit_test(test_small_reads_do_not_overtake_a_chunk),
		cmocka_unit_test(test_who_is_behind_goes_next),
		cmocka_unit_test(test_one_each),
		cmocka_unit_test(test_few_beside_others),
		cmocka_unit_test(test_many_beside_many),
		cmocka_unit_test(test_one_is_at_hand),
		cmocka_unit_test(test_a_visit_goes_on_at_hand),
		cmocka_unit_test(test_none_is_at_hand_where_the_disk_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
