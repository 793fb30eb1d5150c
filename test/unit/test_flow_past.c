/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients in a closed loop above a made-up cluster of some disks, each of which serves its reads one by one: whose
 * reads go past the queue, whose wait there, and who has how much of the cluster's time.
 */
#include "disk.h"
#include "sched/parts.h"
#include "sched/place.h"

#define READS_MAX   256
#define CLIENTS_MAX 3
#define DISKS_MAX   32
#define SERVICE	    (5 * MSEC)

struct item {
	struct sched_req req; /* first */
	unsigned int client;
	uint64_t asked, ends; /* ns; ends 0: it is queued */
	bool past;
};

static struct {
	struct sched_queue *q;
	struct item items[READS_MAX];
	unsigned int n, disks, busy, scattered, depth;
	uint64_t disk[DISKS_MAX]; /* ns: until then it has enough to do */
	uint64_t now, seed;
	uint16_t rule[CLIENTS_MAX + 1];
	bool gone[CLIENTS_MAX + 1];	/* asks no more */
	uint64_t next[CLIENTS_MAX + 1]; /* it reads one after the other; 0: anywhere */
	/* Counted. */
	uint64_t past, queued, served[CLIENTS_MAX + 1], wait[CLIENTS_MAX + 1], had[CLIENTS_MAX + 1];
} c;

static void cluster_begin(unsigned int disks)
{
	struct sched_limits limits = default_limits();

	memset(&c, 0, sizeof(c));
	c.q = queue_new(sched_policy_find("turns"), &limits);
	sched_set_past(c.q, true);
	c.disks = disks;
	c.depth = 1;
	c.now = SEC;
	c.seed = 7;
}

static void cluster_end(void)
{
	sched_queue_fini(c.q);
	free(c.q);
}

/* The cluster has the read from now on. */
static void send(struct item *i)
{
	uint64_t *disk = &c.disk[random_below(&c.seed, c.disks)];

	*disk = (*disk > c.now ? *disk : c.now) + SERVICE / 2 + random_below(&c.seed, SERVICE);
	i->ends = *disk;
}

static void ask(struct item *i)
{
	uint64_t block = random_below(&c.seed, 1000000) * 16 * KIB; /* no neighbours */

	if (c.next[i->client]) {
		block = c.next[i->client];
		c.next[i->client] += 8 * KIB;
	}
	i->asked = c.now;
	i->ends = 0;
	i->req = (struct sched_req){.flow = {.client = i->client, .rule = c.rule[i->client]},
				    .class = SCHED_DEMAND,
				    .file = i->client,
				    .offset = block,
				    .block = block,
				    .len = 8 * KIB};
	i->past = sched_past_begin(c.q, &i->req, c.now);
	if (i->past) {
		c.past++;
		send(i);
	} else {
		c.queued++;
		assert_int_equal(sched_submit(c.q, &i->req, c.now), SCHED_ADDED);
	}
}

/* CLIENT has N reads outstanding. */
static void client(unsigned int number, unsigned int n)
{
	for (; n; n--) {
		struct item *i = &c.items[c.n++];

		i->client = number;
		ask(i);
	}
}

/* As the dispatcher: what is queued goes as far as there is a place. */
static void hand_out(void)
{
	struct sched_req *r;

	for (;;) {
		enum sched_place place =
			sched_place(c.depth, c.busy, c.scattered, sched_past_places(c.q));

		c.q->scattered_only = place != PLACE_ANY;
		r = place == PLACE_NONE ? NULL : sched_next(c.q, c.now);
		if (!r)
			return;
		c.busy++;
		c.scattered += r->scattered;
		send((struct item *)r);
	}
}

static void end(struct item *i)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	c.now = i->ends;
	if (i->past) {
		sched_past_end(c.q, &i->req, c.now);
	} else {
		c.busy--;
		c.scattered -= i->req.scattered;
		sched_done(c.q, &i->req, c.now, &woken);
	}
	assert_true(TAILQ_EMPTY(&woken));
	c.served[i->client]++;
	c.wait[i->client] += c.now - i->asked;
	c.had[i->client] += i->req.disk_time;
}

/* When something happens next: a read ends, or somebody is over his ceiling no more. */
static struct item *next_event(void)
{
	struct item *first = NULL;

	for (unsigned int n = 0; n < c.n; n++)
		if (c.items[n].ends && (!first || c.items[n].ends < first->ends))
			first = &c.items[n];
	return first;
}

static void run(uint64_t ns)
{
	uint64_t until = c.now + ns;

	while (c.now < until) {
		struct item *i;
		uint64_t opens;

		hand_out();
		i = next_event();
		if (!i && !c.q->queued)
			break;
		opens = sched_hold_until(c.q, c.now);
		if (!i || opens < i->ends) {
			c.now = opens > c.now ? opens : c.now + 1;
			continue;
		}
		end(i);
		i->ends = 0;
		if (!c.gone[i->client])
			ask(i);
	}
	assert_null(sched_check(c.q));
}

static void count_anew(void)
{
	memset(c.served, 0, sizeof(c.served));
	memset(c.wait, 0, sizeof(c.wait));
	memset(c.had, 0, sizeof(c.had));
	c.past = c.queued = 0;
}

static void shares(const struct share *rules, uint32_t n)
{
	struct sched_shares *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->n_rules = n;
	memcpy(s->rules, rules, n * sizeof(*rules));
	assert_int_equal(sched_set_shares(c.q, s, c.now), 0);
	free(s);
}

/* Nobody else is about: nothing waits, and all that is had is counted. */
static void test_alone_all_go_past(void **state)
{
	struct flow_stats f[2];
	uint64_t began;

	cluster_begin(1);
	began = c.now;
	client(1, 64);
	run(10 * SEC);
	assert_int_equal(c.queued, 0);
	assert_in_range(c.had[1], 98 * (c.now - began) / 100, c.now - began);
	assert_int_equal(sched_flows(c.q, f, 2), 2); /* and nobody's */
	assert_int_equal(f[0].id.client, 1);
	assert_in_range(f[0].disk_time[SCHED_DEMAND], c.had[1] * 9 / 10, c.had[1] * 11 / 10);
	assert_int_equal(f[0].running, 64);
	cluster_end();
}

/* One disk, of which one client asks for 64 reads at a time, the other for one after the other: this one is served. */
static void test_many_do_not_starve_one(void **state)
{
	cluster_begin(1);
	client(1, 64);
	run(2 * SEC);
	client(2, 1);
	run(5 * SEC);
	count_anew();
	run(20 * SEC);
	/* had 64 others before each; an equal part is half of what the disk does */
	assert_in_range(c.wait[2] / c.served[2], SERVICE, 4 * SERVICE);
	assert_in_range(c.served[1] + c.served[2], 95 * 20 * SEC / SERVICE / 100, UINT64_MAX);
	cluster_end();
}

/* Sixteen disks: who has more than the other loses little of it to him who needs hardly any. */
static void test_what_nobody_needs_is_not_lost(void **state)
{
	uint64_t alone;

	cluster_begin(16);
	client(1, 32);
	run(SEC);
	count_anew();
	run(5 * SEC);
	alone = c.served[1];
	client(2, 1);
	run(5 * SEC);
	count_anew();
	run(5 * SEC);
	assert_in_range(c.served[1], 6 * alone / 10, alone);
	assert_in_range(c.wait[2] / c.served[2], SERVICE / 2, 4 * SERVICE);
	cluster_end();
}

/* ... and when that one has gone nothing waits any more, though much was queued. */
static void test_alone_again(void **state)
{
	cluster_begin(16);
	client(1, 64);
	run(SEC);
	client(2, 1);
	run(5 * SEC);
	c.gone[2] = true;
	run(5 * SEC);
	count_anew();
	run(5 * SEC);
	assert_int_equal(c.queued, 0);
	assert_int_equal(c.busy, 0);
	cluster_end();
}

static void submit_chunk(struct sched_req *r, uint64_t client)
{
	*r = (struct sched_req){.flow = {.client = client},
				.class = SCHED_PREFETCH,
				.file = client,
				.block = client * MIB,
				.len = MIB};
	assert_int_equal(sched_submit(c.q, r, c.now), SCHED_ADDED);
}

/* What went past the queue is part of what a client has had: its chunk goes after the other's. */
static void test_chunks_go_by_all_that_was_had(void **state)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req chunk[2];

	cluster_begin(1);
	client(2, 1);
	c.gone[2] = true;
	client(1, 8);
	run(SEC);
	submit_chunk(&chunk[0], 1);
	submit_chunk(&chunk[1], 2);
	c.q->scattered_only = false;
	assert_ptr_equal(sched_next(c.q, c.now), &chunk[1]);
	sched_done(c.q, &chunk[1], c.now + MSEC, &woken);
	cluster_end();
}

/* Both have many: as their weights say. */
static void test_weights_hold(void **state)
{
	const struct share rules[] = {{.weight = 100}, {.weight = 300}};

	cluster_begin(4);
	shares(rules, 2);
	c.rule[2] = 1;
	client(1, 64);
	client(2, 64);
	run(5 * SEC);
	count_anew();
	run(20 * SEC);
	assert_in_range(c.had[2], 26 * c.had[1] / 10, 34 * c.had[1] / 10);
	cluster_end();
}

/* Neighbours are asked for one by one, so that each has its place and its charge. */
static void test_neighbours_go_each_by_itself(void **state)
{
	cluster_begin(4);
	c.next[1] = KIB;
	client(1, 64);
	client(2, 32);
	run(5 * SEC);
	count_anew();
	run(20 * SEC);
	assert_int_equal(c.q->stats.merged, 0);
	assert_in_range(c.had[2], 9 * c.had[1] / 10, 11 * c.had[1] / 10);
	cluster_end();
}

static void test_a_ceiling_holds(void **state)
{
	const struct share rules[] = {{.weight = 100, .ceiling = {.iops = 50}}};

	cluster_begin(4);
	shares(rules, 1);
	client(1, 16);
	run(2 * SEC);
	count_anew();
	run(10 * SEC);
	assert_in_range(c.served[1], 450, 525);
	cluster_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_all_go_past),
		cmocka_unit_test(test_many_do_not_starve_one),
		cmocka_unit_test(test_what_nobody_needs_is_not_lost),
		cmocka_unit_test(test_alone_again),
		cmocka_unit_test(test_chunks_go_by_all_that_was_had),
		cmocka_unit_test(test_weights_hold),
		cmocka_unit_test(test_neighbours_go_each_by_itself),
		cmocka_unit_test(test_a_ceiling_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
