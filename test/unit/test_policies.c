/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The policies over a simulated disk: the order each defines, every request served exactly once,
 * the bound on waiting, and a change of policy at every possible point.
 */
#include "disk.h"

#define MANY 400

struct item {
	struct sched_req req; /* first */
	unsigned int ended;   /* times it was done or woken */
	uint64_t arrives;     /* at the queue */
	bool current;	      /* the oracle's: in the frozen scan */
};

static struct item items[MANY];

static struct sched_queue *make(const struct sched_policy *policy)
{
	struct sched_limits l = default_limits();

	return queue_new(policy, &l);
}

static void end_all(struct sched_list *woken)
{
	struct sched_req *r;

	while ((r = TAILQ_FIRST(woken))) {
		TAILQ_REMOVE(woken, r, link);
		((struct item *)r)->ended++;
	}
}

/* Hands R to the disk, half of it first where it is a chunk. */
static void serve(struct sched_queue *q, struct disk *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *in_gap;
	bool first = true;

	if (!r->dropped && r->class == SCHED_PREFETCH) {
		sched_observe(q, r->block, r->len / 2, disk_read(d, r->block, r->len / 2));
		sched_progress(q, r, r->offset + r->len / 2, d->now, &woken);
		end_all(&woken);
		while ((in_gap = sched_next_in_gap(q, r, SEC, first, d->now))) {
			first = false;
			assert_int_equal(in_gap->class, SCHED_DEMAND);
			serve(q, d, in_gap);
		}
		disk_read(d, r->block + r->len / 2, r->len - r->len / 2);
	} else if (!r->dropped) {
		sched_observe(q, r->block, r->io_len, disk_read(d, r->block, r->io_len));
	}
	sched_done(q, r, d->now, &woken);
	((struct item *)r)->ended++;
	end_all(&woken);
}

static void random_request(struct item *i, uint64_t *seed, bool chunks)
{
	struct sched_req *r = &i->req;

	memset(i, 0, sizeof(*i));
	r->class = chunks && random_below(seed, 3) == 0 ? SCHED_PREFETCH : SCHED_DEMAND;
	r->file = random_below(seed, 5);
	r->len = r->class == SCHED_PREFETCH ? (1 + random_below(seed, 4)) * 512 * KIB
					    : (1 + random_below(seed, 8)) * 4 * KIB;
	r->offset = random_below(seed, 8 * MIB / (4 * KIB)) * 4 * KIB;
	r->block = r->file * 1024 * MIB + r->offset;
	r->owner = r->class == SCHED_PREFETCH ? r->file + 1 : 0;
}

/* What the definition says comes next: the first at or after HEAD, else the first of all. */
static uint64_t scan(const struct item *from, int n, uint64_t head, bool frozen)
{
	uint64_t after = UINT64_MAX, lowest = UINT64_MAX;

	for (int i = 0; i < n; i++) {
		uint64_t block = from[i].req.block;

		if (from[i].req.state != REQ_QUEUED || (frozen && !from[i].current))
			continue;
		if (block < lowest)
			lowest = block;
		if (block >= head && block < after)
			after = block;
	}
	return after != UINT64_MAX ? after : lowest;
}

static uint64_t oldest(const struct item *from, int n)
{
	uint64_t sequence = UINT64_MAX;

	for (int i = 0; i < n; i++)
		if (from[i].req.state == REQ_QUEUED && from[i].req.sequence < sequence)
			sequence = from[i].req.sequence;
	return sequence;
}

/* A scan that is over takes up all that waits. */
static void refreeze(struct item *from, int n)
{
	for (int i = 0; i < n; i++)
		if (from[i].req.state == REQ_QUEUED && from[i].current)
			return;
	for (int i = 0; i < n; i++)
		from[i].current = from[i].req.state == REQ_QUEUED;
}

static void check_orders(const struct sched_policy *policy, uint64_t seed)
{
	struct sched_queue *q = make(policy);
	struct disk d = {0};
	int n = 0;

	q->limits.max_io = 0; /* merging would take requests out of turn */
	q->limits.cost.max_wait = 1000 * SEC;
	while (n < MANY || q->queued) {
		for (uint64_t burst = random_below(&seed, 5); burst && n < MANY; burst--, n++) {
			random_request(&items[n], &seed, false);
			assert_int_equal(sched_submit(q, &items[n].req, d.now), SCHED_ADDED);
		}
		if (q->queued) {
			uint64_t head = q->head, first = oldest(items, n), block;
			struct sched_req *r;

			refreeze(items, n);
			block = scan(items, n, head, policy == &sched_ncscan);
			r = sched_next(q, d.now);
			if (policy == &sched_fifo)
				assert_int_equal(r->sequence, first);
			else
				assert_int_equal(r->block, block);
			serve(q, &d, r);
		}
	}
	for (int i = 0; i < MANY; i++)
		assert_int_equal(items[i].ended, 1);
	queue_free(q);
}

static void test_orders(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		check_orders(&sched_fifo, seed);
		check_orders(&sched_elevator, seed);
		check_orders(&sched_ncscan, seed);
	}
}

/* turns: each stream one chunk a scan, and small reads between any two chunks. */
static void test_turns_alternate(void **state)
{
	struct sched_queue *q = make(&sched_turns);
	struct disk d = {0};
	unsigned int served[4] = {0}, small = 0;

	memset(items, 0, sizeof(items));
	for (uint64_t s = 0; s < 4; s++) /* every stream has its chunk queued at any time */
		items[s].req = (struct sched_req){.class = SCHED_PREFETCH,
						  .file = s + 1,
						  .owner = s + 1,
						  .len = 4 * MIB,
						  .block = s * 1024 * MIB};
	for (int s = 0; s < 4; s++)
		sched_submit(q, &items[s].req, d.now);
	for (int i = 0; i < 400; i++) {
		struct item *extra = &items[10 + i % 100];
		struct sched_req *r = sched_next(q, d.now);
		unsigned int least = ~0u, most = 0;

		if (r->class == SCHED_DEMAND) {
			small++;
			serve(q, &d, r);
			continue;
		}
		served[r->owner - 1]++;
		serve(q, &d, r);
		r->offset += r->len;
		r->block += r->len;
		sched_submit(q, r, d.now);
		if (extra->req.state == REQ_IDLE) {
			extra->req = (struct sched_req){.class = SCHED_DEMAND,
							.file = 100,
							.len = 8 * KIB,
							.block = (uint64_t)i * 91 * MIB};
			sched_submit(q, &extra->req, d.now);
		}
		for (int s = 0; s < 4; s++) {
			least = served[s] < least ? served[s] : least;
			most = served[s] > most ? served[s] : most;
		}
		assert_true(most - least <= 2);
	}
	assert_in_range(small, 180, 220);
	queue_free(q);
}

/* Any stream of requests: each ends exactly once, and none is read twice. */
static void check_once_each(const struct sched_policy *policy, uint64_t seed, bool change)
{
	struct sched_queue *q = make(policy);
	struct disk d = {0};
	int n = 0;

	q->limits.queue_max = 64;
	q->limits.prefetch_max_age = 300 * MSEC;
	q->limits.cost.max_wait = 200 * MSEC;
	while (n < MANY || q->queued) {
		struct sched_req *r;

		for (uint64_t burst = random_below(&seed, 6); burst && n < MANY; burst--, n++) {
			enum sched_verdict v;

			random_request(&items[n], &seed, true);
			v = sched_submit(q, &items[n].req, d.now);
			if (v == SCHED_FULL)
				items[n].ended++; /* without the queue */
			else
				assert_true(v == SCHED_ADDED || v == SCHED_WAITS);
		}
		if (change)
			sched_set_policy(q, sched_policy_nth((unsigned int)random_below(&seed, 4)));
		r = sched_next(q, d.now);
		assert_int_equal(r == NULL, n == 0 || q->running == 0);
		if (r)
			serve(q, &d, r);
	}
	assert_null(sched_next(q, d.now));
	assert_int_equal(q->running, 0);
	assert_int_equal(q->by_class[SCHED_DEMAND] + q->by_class[SCHED_PREFETCH], 0);
	assert_int_equal(q->stats.served[SCHED_DEMAND], q->stats.submitted[SCHED_DEMAND]);
	assert_int_equal(q->stats.served[SCHED_PREFETCH], q->stats.submitted[SCHED_PREFETCH]);
	assert_int_equal(q->stats.bytes[SCHED_DEMAND] + q->stats.bytes[SCHED_PREFETCH], d.bytes);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(items[i].ended, 1);
	queue_free(q);
}

static void test_each_is_served_once(void **state)
{
	for (uint64_t seed = 1; seed <= 25; seed++)
		for (unsigned int p = 0; sched_policy_nth(p); p++) {
			check_once_each(sched_policy_nth(p), seed, false);
			check_once_each(sched_policy_nth(p), seed, true);
		}
}

/*
 * The most a demand may wait under a load the disk can bear: Max_Wait, and the request in progress.
 * Two greedy readers, who have the disk to themselves under the elevator, two streams of chunks,
 * and single small reads far away.
 */
#define PATIENCE (300 * MSEC)
#define LONGEST	 (DISK_SEEK + DISK_NS(MIB))

static void go_on(struct sched_queue *q, struct item *i, uint64_t now)
{
	i->req.offset += i->req.len;
	i->req.block += i->req.len;
	assert_true(sched_submit(q, &i->req, now) != SCHED_FULL);
}

static void check_patience(const struct sched_policy *policy, uint64_t seed)
{
	struct sched_queue *q = make(policy);
	struct disk d = {0};
	struct item greedy[2], chunks[2];
	uint64_t next = 0;
	int n = 0;

	q->limits.cost.max_wait = PATIENCE;
	for (uint64_t i = 0; i < 2; i++) {
		greedy[i] = (struct item){
			.req = {.file = 10 + i, .len = 64 * KIB, .block = (500 + i) * 1024 * MIB}};
		chunks[i] = (struct item){.req = {.class = SCHED_PREFETCH,
						  .file = 20 + i,
						  .owner = i + 1,
						  .len = MIB,
						  .block = (300 + i) * 1024 * MIB}};
		go_on(q, &greedy[i], d.now);
		go_on(q, &chunks[i], d.now);
	}
	while (n < MANY || q->queued) {
		struct sched_req *r;

		if (n < MANY && d.now >= next) {
			random_request(&items[n], &seed, false);
			items[n].req.file = 1 + (uint64_t)n; /* no neighbours */
			items[n].req.block = random_below(&seed, 200) * 1024 * MIB;
			sched_submit(q, &items[n++].req, d.now);
			next = d.now + 2 * LONGEST;
		}
		r = sched_next(q, d.now);
		if (r->class == SCHED_DEMAND) {
			uint64_t wait = d.now - r->submitted;

			if (wait > PATIENCE + LONGEST)
				fail_msg("%s: waited %.1f ms", policy->name, (double)wait / 1e6);
		}
		serve(q, &d, r);
		for (int i = 0; i < 2 && n < MANY; i++) {
			if (r == &greedy[i].req)
				go_on(q, &greedy[i], d.now);
			if (r == &chunks[i].req)
				go_on(q, &chunks[i], d.now);
		}
	}
	queue_free(q);
}

static void test_nobody_waits_beyond_max_wait(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (unsigned int p = 0; sched_policy_nth(p); p++)
			check_patience(sched_policy_nth(p), seed);
}

/* Serves STEPS requests under one policy, then all under the other, while more arrive. */
static void change_after(int steps, const struct sched_policy *from, const struct sched_policy *to)
{
	struct sched_queue *q = make(from);
	struct disk d = {0};
	uint64_t seed = 5;
	int n = 0;

	for (int step = 0; n < 40 || q->queued; step++) {
		struct sched_req *r;

		for (int burst = 0; burst < 3 && n < 40; burst++, n++) {
			random_request(&items[n], &seed, true);
			sched_submit(q, &items[n].req, d.now);
		}
		if (step == steps)
			sched_set_policy(q, to);
		r = sched_next(q, d.now);
		if (step == steps + 1) { /* and while a request is on the disk */
			sched_set_policy(q, from);
			sched_set_policy(q, to);
		}
		if (r)
			serve(q, &d, r);
	}
	for (int i = 0; i < 40; i++)
		assert_int_equal(items[i].ended, 1);
	queue_free(q);
}

static void test_a_change_at_every_point_loses_nothing(void **state)
{
	for (unsigned int from = 0; sched_policy_nth(from); from++)
		for (unsigned int to = 0; sched_policy_nth(to); to++)
			for (int steps = 0; steps < 42; steps++)
				change_after(steps, sched_policy_nth(from), sched_policy_nth(to));
}

/* To be queued while the policy is changed to and fro is no turn had. */
static void test_changes_cost_no_stream_its_turn(void **state)
{
	struct sched_queue *q = make(&sched_turns);
	struct disk d = {0};
	struct sched_req *r;

	memset(items, 0, sizeof(items));
	for (uint64_t i = 0; i < 2; i++) {
		items[i].req = (struct sched_req){.class = SCHED_PREFETCH,
						  .file = i + 1,
						  .owner = i + 1,
						  .len = MIB,
						  .block = i * 1024 * MIB};
		sched_submit(q, &items[i].req, d.now);
	}
	r = sched_next(q, d.now);
	for (int i = 0; i < 20; i++) {
		sched_set_policy(q, &sched_fifo);
		sched_set_policy(q, &sched_turns);
	}
	serve(q, &d, r);
	for (int i = 0; i < 2; i++) {
		struct sched_req *again = r;

		again->offset += MIB;
		again->block += MIB;
		sched_submit(q, again, d.now);
		r = sched_next(q, d.now);
		if (r != again)
			break;
		serve(q, &d, r);
	}
	assert_ptr_equal(r, &items[1].req);
	queue_free(q);
}

static void test_names(void **state)
{
	static const char *const names[] = {"fifo", "elevator", "ncscan", "turns"};

	for (unsigned int i = 0; i < 4; i++) {
		assert_string_equal(sched_policy_nth(i)->name, names[i]);
		assert_ptr_equal(sched_policy_find(names[i]), sched_policy_nth(i));
	}
	assert_null(sched_policy_nth(4));
	assert_null(sched_policy_find(""));
	assert_ptr_equal(sched_policy_find("Turns"),
			 sched_policy_find("turns")); /* capitals do not matter */
	assert_null(sched_policy_find("turn"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_turns_alternate),
		cmocka_unit_test(test_each_is_served_once),
		cmocka_unit_test(test_nobody_waits_beyond_max_wait),
		cmocka_unit_test(test_a_change_at_every_point_loses_nothing),
		cmocka_unit_test(test_changes_cost_no_stream_its_turn),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
