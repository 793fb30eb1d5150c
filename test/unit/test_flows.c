/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Flows: who gets how much of the disk, and who waits for how long. Clients in a closed loop on a
 * simulated disk that does one thing at a time:
 *
 *   random   n reads of 8 KiB outstanding, the next some time after each answer
 *   stream   chunks as long as the queue advises, the next one queued when one begins
 *   writer   write-backs as long as the queue advises, a COMMIT waiting for each
 */
#include "disk.h"

enum work { RANDOM, STREAM, WRITER };

#define ITEMS_MAX 4096
#define USEC	  1000ull
#define THINK	  (300 * USEC)

struct client {
	struct flow_id id;
	enum work work;
	unsigned int outstanding;
	/* Counted in the present window. */
	uint64_t disk_time, served, wait_max, bytes;
};

struct item {
	struct sched_req req; /* first */
	struct client *client;
	uint64_t ready; /* ns: it is asked for then */
};

struct loop {
	struct sched_queue *q;
	struct disk disk;
	struct client *clients;
	unsigned int n_clients, n_items;
	struct item items[ITEMS_MAX];
	uint64_t seed;
};

static void ask(struct loop *l, struct item *i)
{
	struct client *c = i->client;
	unsigned int n = (unsigned int)(i - l->items);
	uint64_t place = random_below(&l->seed, 1000000);

	i->req = (struct sched_req){.flow = c->id, .file = n + 1, .offset = place * 8 * KIB};
	i->req.block = (uint64_t)n * MIB + i->req.offset;
	switch (c->work) {
	case RANDOM:
		i->req.class = SCHED_DEMAND;
		i->req.len = 8 * KIB;
		break;
	case STREAM:
		i->req.class = SCHED_PREFETCH;
		i->req.owner = n + 1;
		i->req.len = sched_chunk(l->q);
		break;
	case WRITER:
		i->req.class = SCHED_WRITEBACK;
		i->req.wanted = true;
		i->req.len = 4 * MIB;
		break;
	}
	assert_int_equal(sched_submit(l->q, &i->req, l->disk.now), SCHED_ADDED);
}

/* The item asked for next; NULL: all are under way. */
static struct item *next_item(struct loop *l)
{
	struct item *next = NULL;

	for (unsigned int n = 0; n < l->n_items; n++)
		if (l->items[n].req.state == REQ_IDLE && (!next || l->items[n].ready < next->ready))
			next = &l->items[n];
	return next;
}

/* Time passes until NOW: what is asked for meanwhile comes at its time. */
static void pass(struct loop *l, uint64_t now)
{
	struct item *i;

	while ((i = next_item(l)) && i->ready <= now) {
		if (i->ready > l->disk.now)
			l->disk.now = i->ready;
		ask(l, i);
	}
	l->disk.now = now;
}

/* LEN bytes at BLOCK are read. */
static void fetch(struct loop *l, uint64_t block, uint64_t len)
{
	uint64_t begun = l->disk.now, end;

	disk_read(&l->disk, block, len);
	end = l->disk.now;
	l->disk.now = begun;
	pass(l, end);
	sched_observe(l->q, block, len, end - begun);
}

static void serve(struct loop *l, struct sched_req *r);

/* A chunk goes in steps, with gaps between them. */
static void serve_chunk(struct loop *l, struct sched_req *r)
{
	uint64_t step = 512 * KIB, slice = l->disk.now;

	for (uint64_t at = 0; at < r->len; at += step) {
		uint64_t n = r->len - at < step ? r->len - at : step;
		struct sched_req *small;
		bool first = true;

		fetch(l, r->block + at, n);
		while ((small = sched_next_in_gap(l->q, r, l->disk.now - slice, first,
						  l->disk.now))) {
			first = false;
			serve(l, small);
		}
		if (!first)
			slice = l->disk.now;
	}
}

static void serve(struct loop *l, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct item *i = (struct item *)r;

	assert_false(r->dropped);
	if (r->class == SCHED_PREFETCH) {
		serve_chunk(l, r);
	} else if (r->class == SCHED_WRITEBACK) {
		pass(l, l->disk.now + DISK_SEEK + sched_writeback_turn(l->q, l->disk.now).slice);
		l->disk.head = UINT64_MAX;
	} else {
		fetch(l, r->block, r->io_len);
	}
	sched_done(l->q, r, l->disk.now, &woken);
	assert_true(TAILQ_EMPTY(&woken));
	i->client->served++;
	i->client->bytes += r->len;
	i->client->disk_time += r->disk_time;
	if (l->disk.now - r->submitted > i->client->wait_max)
		i->client->wait_max = l->disk.now - r->submitted;
	i->ready = l->disk.now + (i->client->work == RANDOM ? THINK : 0);
}

/* Nothing may go to the disk now. */
static void idle(struct loop *l)
{
	uint64_t hold = sched_hold_until(l->q, l->disk.now);
	struct item *next = next_item(l);

	if (next && next->ready < hold)
		hold = next->ready;
	assert_true(hold != UINT64_MAX);
	pass(l, hold > l->disk.now ? hold : l->disk.now + 100 * USEC);
}

/* Runs for NS, then begins to count, and runs for NS again. */
static void run(struct loop *l, uint64_t ns)
{
	for (int window = 0; window < 2; window++) {
		uint64_t end = l->disk.now + ns;

		for (unsigned int c = 0; c < l->n_clients; c++)
			l->clients[c].disk_time = l->clients[c].served = l->clients[c].wait_max =
				l->clients[c].bytes = 0;
		while (l->disk.now < end) {
			struct sched_req *r;

			pass(l, l->disk.now);
			r = sched_next(l->q, l->disk.now);
			if (r)
				serve(l, r);
			else
				idle(l);
		}
	}
	assert_null(sched_check(l->q));
}

static struct loop *loop_new(const char *policy, struct client *clients, unsigned int n)
{
	struct sched_limits lim = default_limits();
	struct loop *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	lim.cost.demand_wait = 65 * MSEC;
	lim.queue_max = 16384;
	lim.writeback_share = 0.82;
	lim.writeback_turn = 130 * MSEC;
	lim.writeback_idle = 20 * MSEC;
	l->q = queue_new(sched_policy_find(policy), &lim);
	learn_disk(&l->q->cost);
	l->disk.now = SEC;
	l->seed = 42;
	l->clients = clients;
	l->n_clients = n;
	for (unsigned int c = 0; c < n; c++)
		for (unsigned int i = 0; i < clients[c].outstanding; i++) {
			assert_true(l->n_items < ITEMS_MAX);
			l->items[l->n_items++].client = &clients[c];
		}
	return l;
}

static void loop_free(struct loop *l)
{
	queue_free(l->q);
	free(l);
}

static double share(const struct client *clients, unsigned int n, unsigned int of)
{
	uint64_t sum = 0;

	for (unsigned int c = 0; c < n; c++)
		sum += clients[c].disk_time;
	return (double)clients[of].disk_time / (double)sum;
}

static void show(const char *what, const struct client *clients, unsigned int n)
{
	print_message("%s:\n", what);
	for (unsigned int c = 0; c < n; c++)
		print_message(
			"  client %d: share %.3f, %5.1f/s, %6.1f MB/s, waits at most %.0f ms\n",
			(int)clients[c].id.client, share(clients, n, c),
			(double)clients[c].served / 20, (double)clients[c].bytes / 20e6,
			(double)clients[c].wait_max / 1e6);
}

static void test_a_flood_delays_nobody_else(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++) {
		struct client c[] = {{{.client = 1}, RANDOM, 4000}, {{.client = 2}, RANDOM, 1}};
		struct loop *l = loop_new(sched_policy_nth(p)->name, c, 2);

		run(l, 20 * SEC);
		show(sched_policy_nth(p)->name, c, 2);
		assert_true(c[1].wait_max < 150 * MSEC);
		assert_true(share(c, 2, 1) > 0.4 && share(c, 2, 1) < 0.55);
		loop_free(l);
	}
}

static void test_streams_of_one_are_one(void **state)
{
	struct client c[] = {{{.client = 1}, STREAM, 32}, {{.client = 2}, STREAM, 2}};
	struct loop *l = loop_new("turns", c, 2);

	run(l, 20 * SEC);
	show("32 streams, and one", c, 2);
	assert_true(share(c, 2, 1) > 0.45 && share(c, 2, 1) < 0.55);
	loop_free(l);
}

static void test_streams_beside_random_readers(void **state)
{
	for (unsigned int n = 1; n <= 4; n += 3) {
		struct client c[12];
		struct loop *l;
		double mb_s = 0;

		for (unsigned int i = 0; i < 8 + n; i++)
			c[i] = (struct client){
				{.client = i + 1}, i < 8 ? STREAM : RANDOM, i < 8 ? 2 : 1};
		l = loop_new("turns", c, 8 + n);
		run(l, 20 * SEC);
		show("8 streams beside random readers", c, 8 + n);
		for (unsigned int i = 0; i < 8; i++)
			mb_s += (double)c[i].bytes / 20e6;
		print_message("  %.1f MB/s\n", mb_s);
		assert_true(mb_s > (n == 1 ? 80 : 65));
		for (unsigned int i = 8; i < 8 + n; i++)
			assert_true(c[i].wait_max < 150 * MSEC);
		loop_free(l);
	}
}

static void test_a_commit_beside_many_readers_has_half(void **state)
{
	struct client c[] = {{{.client = 1}, WRITER, 1}, {{.client = 2}, RANDOM, 16}};
	struct loop *l = loop_new("turns", c, 2);

	run(l, 20 * SEC);
	show("COMMITs beside 16 readers", c, 2);
	assert_true(share(c, 2, 0) > 0.45 && share(c, 2, 0) < 0.55);
	loop_free(l);
}

static void test_weights(void **state)
{
	static struct sched_shares s = {.n_rules = 3, .rules = {{100}, {200}, {400}}};
	struct client c[] = {{{.client = 1, .rule = 0}, STREAM, 6},
			     {{.client = 2, .rule = 1}, RANDOM, 8},
			     {{.client = 3, .rule = 2}, WRITER, 3}};
	struct loop *l = loop_new("turns", c, 3);

	assert_int_equal(sched_set_shares(l->q, &s, l->disk.now), 0);
	run(l, 20 * SEC);
	show("1 : 2 : 4", c, 3);
	for (unsigned int i = 0; i < 3; i++) {
		double fair = (double)(1 << i) / 7;

		assert_true(share(c, 3, i) > 0.95 * fair - 0.01 &&
			    share(c, 3, i) < 1.05 * fair + 0.01);
	}
	loop_free(l);
}

/* ---- one step at a time ------------------------------------------------------------------ */

static struct sched_req read_of(uint64_t client, uint64_t file, enum sched_class class)
{
	return (struct sched_req){.flow = {.client = client},
				  .class = class,
				  .file = file,
				  .len = class == SCHED_DEMAND ? 8 * KIB : 4 * MIB,
				  .block = file * 64 * MIB,
				  .owner = class == SCHED_DEMAND ? 0 : file};
}

static void done_at(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(q, r, now, &woken);
	assert_null(sched_check(q));
}

/* Client 1 has used the disk for ten seconds alone; what client 2 did not use is no claim. */
static void test_idleness_earns_no_more_than_the_credit(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_fifo, &lim);
	struct sched_req a = read_of(1, 1, SCHED_DEMAND), b = read_of(2, 2, SCHED_DEMAND);
	uint64_t now = SEC, had[2] = {0};

	for (int i = 0; i < 2000; i++) {
		struct sched_req *r;

		if (a.state == REQ_IDLE)
			sched_submit(q, &a, now);
		if (i >= 1000 && b.state == REQ_IDLE)
			sched_submit(q, &b, now);
		while (!(r = sched_next(q, now)))
			now += MSEC;
		now += 10 * MSEC;
		done_at(q, r, now);
		if (i >= 1000)
			had[r == &b] += 10 * MSEC;
	}
	assert_true(had[1] <= had[0] + 2 * lim.cost.demand_wait);
	assert_true(had[1] + 2 * lim.cost.demand_wait >= had[0]);
	queue_free(q);
}

/* Client 2 waits for a chunk of client 1, who has had more: the chunk is its now. */
static void test_who_waits_for_a_chunk_pays_for_it(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req first = read_of(1, 1, SCHED_PREFETCH),
			 chunk = read_of(1, 2, SCHED_PREFETCH);
	struct sched_req other = read_of(1, 3, SCHED_PREFETCH), waits = read_of(2, 2, SCHED_DEMAND);
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct flow_stats stats[3];

	sched_submit(q, &first, SEC);
	assert_ptr_equal(sched_next(q, SEC), &first);
	done_at(q, &first, 2 * SEC);
	sched_submit(q, &other, 2 * SEC);
	sched_submit(q, &chunk, 2 * SEC);
	assert_int_equal(sched_submit(q, &waits, 2 * SEC), SCHED_WAITS);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, 2 * SEC), &chunk);
	sched_done(q, &chunk, 3 * SEC, &woken);
	assert_ptr_equal(TAILQ_FIRST(&woken), &waits);
	assert_int_equal(sched_flows(q, stats, 3), 3);
	assert_int_equal(stats[0].id.client, 2);
	assert_int_equal(stats[0].disk_time[SCHED_PREFETCH], SEC);
	assert_null(sched_check(q));
	queue_free(q);
}

/* A COMMIT of client 2 wants what client 1 wrote: it is charged to client 2. */
static void test_a_commit_is_charged_to_who_asked(void **state)
{
	struct sched_limits lim = default_limits();
	struct sched_queue *q = queue_new(&sched_turns, &lim);
	struct sched_req w = read_of(1, 1, SCHED_WRITEBACK);
	struct flow_id by = {.client = 2};

	sched_submit(q, &w, SEC);
	sched_want(q, &w, &by, SEC);
	assert_null(sched_check(q));
	assert_ptr_equal(sched_next(q, SEC), &w);
	assert_int_equal(w.in->id.client, 2);
	done_at(q, &w, 2 * SEC);
	queue_free(q);
}

/* One may hold as much as is free; the others have room then. */
static void test_one_client_leaves_room_for_others(void **state)
{
	static struct sched_req a[16], b[16];
	struct sched_limits lim = default_limits();
	struct sched_queue *q;
	int had[2] = {0};

	lim.queue_max = 16;
	q = queue_new(&sched_turns, &lim);
	for (uint64_t i = 0; i < 16; i++) {
		a[i] = read_of(1, 1 + i, SCHED_DEMAND);
		had[0] += sched_submit(q, &a[i], SEC) == SCHED_ADDED;
	}
	for (uint64_t i = 0; i < 16; i++) {
		b[i] = read_of(2, 100 + i, SCHED_DEMAND);
		had[1] += sched_submit(q, &b[i], SEC) == SCHED_ADDED;
	}
	assert_int_equal(had[0], 8);
	assert_int_equal(had[1], 4);
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_flood_delays_nobody_else),
		cmocka_unit_test(test_streams_of_one_are_one),
		cmocka_unit_test(test_streams_beside_random_readers),
		cmocka_unit_test(test_a_commit_beside_many_readers_has_half),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_idleness_earns_no_more_than_the_credit),
		cmocka_unit_test(test_who_waits_for_a_chunk_pays_for_it),
		cmocka_unit_test(test_a_commit_is_charged_to_who_asked),
		cmocka_unit_test(test_one_client_leaves_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
