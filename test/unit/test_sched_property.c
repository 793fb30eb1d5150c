/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Random loads, and what holds under all of them: each request ends exactly once, none is lost or
 * done twice, no bound is passed, all invariants hold after each step, and a write-back that a
 * COMMIT waits for is served within its bound. The seed shown last is that of a failure; it repeats.
 */
#include "disk.h"

#define SEEDS	60
#define STEPS	2500
#define ITEMS	200
#define FILES	6
#define BLOCK	(64 * KIB)
#define PLACES	64 /* blocks of a file */
#define RUNNING 40

/* ---- any order of calls ------------------------------------------------------------------ */

#define CLIENTS 5
#define EXPORTS 3

struct item {
	struct sched_req req; /* first */
	bool out;	      /* submitted and not over */
};

struct world {
	struct sched_queue *q;
	struct item items[ITEMS];
	struct sched_req *running[RUNNING];
	unsigned int n_running, depth, out;
	unsigned int clients; /* 0: all is of one flow */
	uint64_t seed, now, submitted, ended;
};

static void over(struct world *w, struct sched_req *r)
{
	struct item *i = (struct item *)r;

	assert_true(i->out); /* once each */
	assert_int_equal(r->state, REQ_IDLE);
	i->out = false;
	w->out--;
	w->ended++;
}

static void end_woken(struct world *w, struct sched_list *woken)
{
	struct sched_req *r;

	while ((r = TAILQ_FIRST(woken))) {
		TAILQ_REMOVE(woken, r, link);
		over(w, r);
	}
}

static struct flow_id random_flow(struct world *w)
{
	if (!w->clients)
		return (struct flow_id){0};
	return (struct flow_id){.client = random_below(&w->seed, w->clients),
				.export_id = (uint16_t)random_below(&w->seed, EXPORTS),
				.rule = (uint16_t)random_below(&w->seed, 2)};
}

/* Holds more than is free: so it may be refused where others are not. */
static bool is_greedy(const struct world *w, const struct sched_req *r, uint64_t reads)
{
	const struct sched_limits *l = &w->q->limits;
	const struct sched_group *g = r->in->group;

	return r->flow.client && ((g->requests && g->requests + reads >= l->queue_max) ||
				  (g->held && g->held + w->q->held + r->len > l->queue_bytes));
}

static void submit(struct world *w, enum sched_class class)
{
	struct item *i = &w->items[random_below(&w->seed, ITEMS)];
	const struct sched_limits *l = &w->q->limits;
	uint64_t held = w->q->held, reads = 0;

	if (i->out)
		return;
	memset(i, 0, sizeof(*i));
	i->req.class = class;
	i->req.file = random_below(&w->seed, FILES);
	i->req.offset = random_below(&w->seed, PLACES) * BLOCK;
	i->req.len = (1 + random_below(&w->seed, class == SCHED_DEMAND ? 2 : 16)) * BLOCK;
	i->req.block = i->req.file * 1024 * MIB + i->req.offset;
	i->req.owner = class == SCHED_PREFETCH ? 1 + random_below(&w->seed, 9) : 0;
	i->req.several = class == SCHED_PREFETCH && random_below(&w->seed, 4) == 0;
	i->req.brings_more = class == SCHED_DEMAND && random_below(&w->seed, 4) == 0;
	i->req.wanted = class == SCHED_WRITEBACK && random_below(&w->seed, 3) == 0;
	i->req.flow = random_flow(w);
	reads = w->q->by_class[SCHED_DEMAND] + w->q->by_class[SCHED_PREFETCH] + w->q->joined;
	switch (sched_submit(w->q, &i->req, w->now)) {
	case SCHED_ADDED:
	case SCHED_WAITS:
		i->out = true;
		w->out++;
		w->submitted++;
		assert_true(class == SCHED_WRITEBACK || reads < l->queue_max);
		assert_true(class != SCHED_DEMAND || !held || held + i->req.len <= l->queue_bytes);
		assert_true(w->q->by_class[SCHED_WRITEBACK] <= ITEMS);
		break;
	case SCHED_FULL:
		assert_true(class == SCHED_WRITEBACK || reads >= l->queue_max ||
			    held + i->req.len > l->queue_bytes || is_greedy(w, &i->req, reads));
		break;
	default:
		assert_int_equal(class, SCHED_DEMAND);
	}
}

static void run(struct world *w, struct sched_req *r)
{
	if (!r)
		return;
	assert_int_equal(r->state, REQ_RUNNING);
	assert_true(((struct item *)r)->out && w->n_running < RUNNING);
	w->running[w->n_running++] = r;
}

static void next(struct world *w)
{
	if (w->q->running < w->depth && w->n_running < RUNNING)
		run(w, sched_next(w->q, w->now));
}

/* Something happens to one of those that run. */
static void go_on(struct world *w, unsigned int what)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int n;
	struct sched_req *r;

	if (!w->n_running)
		return;
	n = (unsigned int)random_below(&w->seed, w->n_running);
	r = w->running[n];
	if (what == 0 && r->class == SCHED_PREFETCH && r->progress < r->offset + r->len) {
		sched_sign(w->q, r, w->now);
		sched_progress(w->q, r, r->progress + BLOCK, w->now, &woken);
	} else if (what == 1 && r->class == SCHED_PREFETCH && r->progress == r->offset) {
		sched_shorten(w->q, r, 4 * BLOCK);
	} else if (what == 2 && r->class == SCHED_PREFETCH && w->n_running < RUNNING) {
		run(w, sched_next_in_gap(w->q, r, SEC, random_below(&w->seed, 2), w->now));
	} else if (what > 2) {
		sched_done(w->q, r, w->now, &woken);
		w->running[n] = w->running[--w->n_running];
		over(w, r);
	}
	end_woken(w, &woken);
}

static void want(struct world *w)
{
	struct item *i = &w->items[random_below(&w->seed, ITEMS)];

	if (i->out && i->req.class == SCHED_WRITEBACK)
		sched_want(w->q, &i->req, &i->req.flow, w->now);
}

/* Mostly none; else one that matters here, or not. */
static struct share_limit random_limit(struct world *w)
{
	struct share_limit l = {0};

	if (random_below(&w->seed, 3))
		return l;
	l.bandwidth = random_below(&w->seed, 2) * random_below(&w->seed, 1000 * BLOCK);
	l.iops = (uint32_t)(random_below(&w->seed, 2) * random_below(&w->seed, 1000));
	l.time = (uint32_t)(random_below(&w->seed, 2) * random_below(&w->seed, 101));
	return l;
}

static void random_shares(struct world *w)
{
	static struct sched_shares s;

	s = (struct sched_shares){.n_rules = 2};
	for (int i = 0; i < 2; i++)
		s.rules[i] = (struct share){(uint32_t)(1 + random_below(&w->seed, 300)),
					    random_limit(w), random_limit(w)};
	for (uint16_t id = 0; id < EXPORTS; id++)
		if (random_below(&w->seed, 2))
			s.exports[s.n_exports++] =
				(struct export_share){id,
						      {(uint32_t)random_below(&w->seed, 300),
						       random_limit(w), random_limit(w)}};
	assert_int_equal(sched_set_shares(w->q, &s, w->now), 0);
}

static void change(struct world *w)
{
	struct sched_limits *l = &w->q->limits;

	switch (random_below(&w->seed, 14)) {
	case 0:
		l->queue_max = (uint32_t)(4 + random_below(&w->seed, ITEMS));
		break;
	case 1:
		l->queue_bytes = (1 + random_below(&w->seed, 100)) * BLOCK;
		break;
	case 2:
		l->cost.max_wait = (1 + random_below(&w->seed, 500)) * MSEC;
		break;
	case 3:
		l->stall_time = random_below(&w->seed, 200) * MSEC;
		break;
	case 4:
		w->depth = (unsigned int)(1 + random_below(&w->seed, 5));
		break;
	case 5:
		random_shares(w);
		break;
	case 6:
		sched_set_writeback_share(w->q, (double)random_below(&w->seed, 100) / 100);
		break;
	case 7:
		w->q->scattered_only = random_below(&w->seed, 2);
		w->q->at_hand = w->q->scattered_only && random_below(&w->seed, 2);
		break;
	case 8:
		w->q->one_each = random_below(&w->seed, 2);
		break;
	case 9:
		l->cost.demand_wait = (5 + random_below(&w->seed, 500)) * MSEC;
		break;
	case 10:
		w->q->cost.seek_ns = (double)random_below(&w->seed, 40 * MSEC);
		break;
	case 11:
		l->prefetch_max_age = (1 + random_below(&w->seed, 200)) * MSEC;
		break;
	default:
		assert_int_equal(sched_set_policy(w->q, sched_policy_nth((unsigned int)random_below(
								&w->seed, 4))),
				 0);
	}
}

static void stall(struct world *w)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *r = sched_stall(w->q, w->now);

	if (r)
		sched_let_go(w->q, r, w->now, &woken);
	end_woken(w, &woken);
}

static void step(struct world *w)
{
	uint64_t what = random_below(&w->seed, 100);

	w->now += random_below(&w->seed, 3 * MSEC);
	if (what < 35)
		submit(w, SCHED_DEMAND);
	else if (what < 42)
		submit(w, SCHED_PREFETCH);
	else if (what < 47)
		submit(w, SCHED_WRITEBACK);
	else if (what < 67)
		next(w);
	else if (what < 90)
		go_on(w, (unsigned int)random_below(&w->seed, 6));
	else if (what < 94)
		want(w);
	else if (what < 97)
		stall(w);
	else
		change(w);
}

/* No more comes; what is there ends, none is held back for ever. */
static void drain(struct world *w)
{
	w->q->writeback.hurry = true;
	w->q->scattered_only = w->q->one_each = w->q->at_hand = false;
	w->depth = RUNNING;
	while (w->out) {
		uint64_t before = w->ended;

		for (int i = 0; i < RUNNING; i++)
			next(w);
		while (w->n_running)
			go_on(w, 3);
		assert_true(w->ended > before);
	}
}

static uint64_t last_seed;

static int show_seed(void **state)
{
	print_message("last seed: %llu\n", (unsigned long long)last_seed);
	return 0;
}

static void random_calls(uint64_t seed)
{
	struct sched_limits l = default_limits();
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	l.prefetch_max_age = 200 * MSEC;
	l.cost.max_wait = 100 * MSEC;
	l.stall_time = 50 * MSEC;
	l.writeback_share = 0.5;
	*w = (struct world){
		.seed = seed, .now = SEC, .depth = 2, .clients = seed % 3 ? CLIENTS : 0};
	w->q = queue_new(sched_policy_nth((unsigned int)(seed % 4)), &l);
	for (int i = 0; i < STEPS; i++) {
		const char *wrong;

		step(w);
		wrong = sched_check(w->q);
		if (wrong)
			fail_msg("step %d: %s", i, wrong);
	}
	drain(w);
	assert_null(sched_check(w->q));
	assert_int_equal(w->submitted, w->ended);
	assert_int_equal(w->q->queued + w->q->running + w->q->joined + w->q->stalled, 0);
	assert_int_equal(w->q->held, 0);
	queue_free(w->q);
	free(w);
}

static void test_any_order_of_calls(void **state)
{
	for (last_seed = 1; last_seed <= SEEDS; last_seed++)
		random_calls(last_seed);
}

/* ---- a disk that does one thing at a time ------------------------------------------------ */

#define WRITERS 12
#define TURN	(130 * MSEC)

struct disk_world {
	struct world w;
	struct sched_req writes[WRITERS];
	uint64_t wished[WRITERS], bound[WRITERS]; /* ns; wished 0: no COMMIT waits */
	uint64_t longest;			  /* ns, of a read or chunk with its gaps */
	double share;
};

/* COMMITs of random files, each with the bound that holds for it from now on. */
static void commit(struct disk_world *d)
{
	unsigned int n = (unsigned int)random_below(&d->w.seed, WRITERS), ahead = 0;
	struct sched_req *r = &d->writes[n];

	if (r->state != REQ_IDLE)
		return;
	for (unsigned int i = 0; i < WRITERS; i++)
		ahead += d->wished[i] != 0;
	*r = (struct sched_req){.class = SCHED_WRITEBACK,
				.file = 100 + n,
				.block = random_below(&d->w.seed, 500) * 1024 * MIB,
				.len = 4 * MIB,
				.wanted = random_below(&d->w.seed, 2)};
	assert_int_equal(sched_submit(d->w.q, r, d->w.now), SCHED_ADDED);
	sched_want(d->w.q, r, &r->flow, d->w.now);
	d->wished[n] = d->w.now;
	d->bound[n] = d->longest + (uint64_t)((ahead + 1) * (double)TURN / d->share);
}

static void serve_write(struct disk_world *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	size_t n = (size_t)(r - d->writes);
	uint64_t wait = d->w.now - d->wished[n];

	if (wait > d->bound[n])
		fail_msg("%s, %u queued: a COMMIT waited %.0f ms, %.0f is the bound",
			 d->w.q->policy->name, d->w.q->queued, (double)wait / 1e6,
			 (double)d->bound[n] / 1e6);
	d->wished[n] = 0;
	d->w.now += random_below(&d->w.seed, TURN + 1);
	sched_done(d->w.q, r, d->w.now, &woken);
}

static void serve_read(struct disk_world *d, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	uint64_t begun = d->w.now;
	struct sched_req *small;
	bool first = true;

	if (!r->dropped)
		d->w.now += DISK_SEEK + DISK_NS(r->io_len);
	while (r->class == SCHED_PREFETCH &&
	       (small = sched_next_in_gap(d->w.q, r, SEC, first, d->w.now))) {
		first = false;
		serve_read(d, small);
	}
	sched_done(d->w.q, r, d->w.now, &woken);
	over(&d->w, r);
	end_woken(&d->w, &woken);
	d->longest = d->w.now - begun > d->longest ? d->w.now - begun : d->longest;
}

static void one_turn(struct disk_world *d)
{
	struct sched_req *r;

	for (uint64_t n = random_below(&d->w.seed, 12); n; n--)
		submit(&d->w, random_below(&d->w.seed, 8) ? SCHED_DEMAND : SCHED_PREFETCH);
	if (random_below(&d->w.seed, 20) == 0)
		commit(d);
	if (random_below(&d->w.seed, 200) == 0)
		sched_set_policy(d->w.q,
				 sched_policy_nth((unsigned int)random_below(&d->w.seed, 4)));
	r = sched_next(d->w.q, d->w.now);
	if (!r)
		d->w.now += MSEC;
	else if (r->class == SCHED_WRITEBACK)
		serve_write(d, r);
	else
		serve_read(d, r);
}

static void random_disk(uint64_t seed)
{
	struct disk_world *d = calloc(1, sizeof(*d));
	struct sched_limits l = default_limits();

	assert_non_null(d);
	d->share = l.writeback_share = 0.05 + 0.9 * (double)(seed % 16) / 16;
	l.cost.max_wait = (seed % 3 ? 2000 : 50) * MSEC;
	l.queue_max = ITEMS;
	d->w = (struct world){.seed = seed, .now = SEC, .depth = 1};
	d->longest = 500 * MSEC; /* a chunk with a gap of every small read that may be there */
	d->w.q = queue_new(sched_policy_nth((unsigned int)(seed % 4)), &l);
	for (int i = 0; i < STEPS; i++)
		one_turn(d);
	assert_true(d->w.q->stats.served[SCHED_WRITEBACK] > 0);
	assert_null(sched_check(d->w.q));
	queue_free(d->w.q);
	free(d);
}

static void test_every_commit_within_its_bound(void **state)
{
	for (last_seed = 1; last_seed <= SEEDS; last_seed++)
		random_disk(last_seed);
}

/* ---- and the look at the invariants sees what is wrong ------------------------------------ */

struct damage {
	void *where;
	size_t size;
};

static void check_seen(const struct sched_queue *q, const struct damage *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		static const char none[8];
		char good[8], bad[8] = {0};

		memcpy(good, d[i].where, d[i].size);
		bad[0] = !memcmp(good, none, d[i].size); /* a pointer's first byte may be 0, too */
		memcpy(d[i].where, bad, d[i].size);
		if (!sched_check(q))
			fail_msg("damage %zu is not seen", i);
		memcpy(d[i].where, good, d[i].size);
	}
}

static void test_the_check_sees_damage(void **state)
{
	struct sched_limits l = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &l);
	struct sched_req r[3] = {{.file = 1, .len = 1},
				 {.class = SCHED_PREFETCH, .file = 2, .len = 2},
				 {.class = SCHED_WRITEBACK, .file = 3, .len = 3, .wanted = true}};
	struct damage damage[] = {
		{&q->queued, 4},
		{&q->by_class[1], 4},
		{&q->running, 4},
		{&q->joined, 4},
		{&q->held, 8},
		{&q->stalled, 4},
		{&q->places.n, 4},
		{&q->flows.common->overdue.batch.n, 4},
		{&q->writeback.running, 4},
		{&r[0].state, 4},
		{&r[0].class, 4},
		{&r[0].wanted, 1},
		{&r[0].order.in, 8},
		{&r[0].place.in, 8},
		{&r[1].wanted, 1},
		{&r[1].sequence, 8},
		{&r[2].state, 4},
		{&r[2].class, 4},
		{&q->parked.n, 4},
		{&q->flows.common->rare, 4},
		{&q->flows.common->writebacks.of[0].n, 4},
		{&q->flows.common->node.n[FLOW_SMALL], 4},
		{&q->flows.groups.backlogged[FLOW_CHUNK].n, 4},
		{&q->flows.reading, 4},
	};

	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(sched_submit(q, &r[i], 1 + i), SCHED_ADDED);
	assert_null(sched_check(q));
	check_seen(q, damage, sizeof(damage) / sizeof(damage[0]));
	assert_null(sched_check(q));
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_any_order_of_calls, show_seed),
		cmocka_unit_test(test_the_check_sees_damage),
		cmocka_unit_test_teardown(test_every_commit_within_its_bound, show_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
