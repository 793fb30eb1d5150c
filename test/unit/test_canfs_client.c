/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client's logic against a server in memory: what is read is right, what is written arrives, in
 * both modes, in any order of answers; close-to-open; when data goes out. */
#include "canfs_world.h"

static struct client_settings small(bool ca)
{
	struct client_settings s = client_defaults;

	s.ca = ca;
	s.memory = 4 * MIB;
	s.commit_batch = 256 * KIB;
	return s;
}

static struct file *named(struct client *c, const char *name)
{
	static const struct nfs_handle root = {.len = 1};
	struct file *f = file_new(c, &root, name);

	assert_non_null(f);
	return f;
}

/* The first client of the world, *C, opens or makes the file NAME. */
static struct file *first_client(struct client **c, const struct client_settings *s,
				 const char *name, enum op_kind kind)
{
	struct file *f;

	*c = world_client(0, s);
	f = named(*c, name);
	assert_int_equal(perform(*c, kind, f, 0, 0, 0), ANSWER_OK);
	return f;
}

static void finish(struct client *c, struct file *f)
{
	world_run(0.2);
	assert_int_equal(c->n.wrong, 0);
	file_free(f);
	client_free(c);
	c->ops = NULL;
	world_end();
}

static void test_read_in_order_is_read_ahead(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct reader reader = {0};
	struct file *f;

	world_begin();
	world_file("a", 2 * MIB, 5);
	f = first_client(&c, &s, "a", OP_OPEN);
	for (uint64_t at = 0; at < 2 * MIB; at += 16 * KIB) {
		struct op op = {.kind = OP_READ,
				.file = f,
				.reader = &reader,
				.offset = at,
				.length = 16 * KIB,
				.content = 5,
				.verify = true,
				.done = world_done,
				.owner = &op};

		client_submit(c, &op, world.now);
		while (op.owner)
			world_answer();
		assert_int_equal(op.length, 16 * KIB);
	}
	assert_true(c->n.pages_hit_ahead > 500 && c->n.pages_missed < 12);
	assert_int_equal(world.n[CALL_WRITE] + world.n[CALL_FSSTAT], 0);
	finish(c, f);
}

static void test_read_at_random_is_not(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct reader reader = {0};
	struct file *f;
	uint64_t seed = 3;

	world_begin();
	world_file("a", 2 * MIB, 5);
	f = first_client(&c, &s, "a", OP_OPEN);
	for (int i = 0; i < 50; i++) {
		uint64_t at = (1 + random_below(&seed, 250)) * 8 * KIB;
		struct op op = {.kind = OP_READ,
				.file = f,
				.reader = &reader,
				.offset = at,
				.length = 8 * KIB,
				.content = 5,
				.verify = true,
				.done = world_done,
				.owner = &op};

		client_submit(c, &op, world.now);
		while (op.owner)
			world_answer();
	}
	assert_int_equal(c->n.pages_hit_ahead, 0);
	assert_true(c->n.bytes[CALL_READ] <= 50 * 8 * KIB);
	finish(c, f);
}

static void test_read_ends_at_the_end(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	world_file("a", 10000, 5);
	f = first_client(&c, &s, "a", OP_OPEN);
	assert_int_equal(perform(c, OP_READ, f, 0, 64 * KIB, 5), ANSWER_OK);
	assert_int_equal(perform(c, OP_READ, f, 8192, 64 * KIB, 5), ANSWER_OK);
	assert_int_equal(perform(c, OP_READ, f, 64 * KIB, 64 * KIB, 5), ANSWER_OK);
	finish(c, f);
}

static void test_wrong_data_is_seen(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	world_file("a", 64 * KIB, 5)->data[30000] ^= 1;
	f = first_client(&c, &s, "a", OP_OPEN);
	perform(c, OP_READ, f, 0, 64 * KIB, 5);
	assert_int_equal(c->n.wrong, 1);
	c->n.wrong = 0;
	finish(c, f);
}

static void test_plain_sends_whole_writes_and_commits_at_the_flush_point(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "new", OP_CREATE);
	perform(c, OP_WRITE, f, 0, 40 * KIB, 9);
	world_run(0.1);
	assert_int_equal(world.disk_writes, 32 * KIB); /* what is a whole WRITE */
	assert_int_equal(world.n[CALL_COMMIT], 0);
	perform(c, OP_WRITE, f, 40 * KIB, 344 * KIB, 9); /* 384 of 409 KiB */
	world_run(0.1);
	assert_int_equal(world.n[CALL_COMMIT], 0);
	perform(c, OP_WRITE, f, 384 * KIB, 64 * KIB, 9);
	world_run(0.1);
	assert_true(world.n[CALL_COMMIT] > 0);
	assert_int_equal(perform(c, OP_CLOSE, f, 0, 0, 0), ANSWER_OK);
	assert_int_equal(unsaved(c), 0);
	assert_int_equal(content_differences(9, 0, world_find("new", false)->data, 448 * KIB), 0);
	finish(c, f);
}

static void test_data_30_s_old_is_saved(void **state)
{
	for (int ca = 0; ca < 2; ca++) {
		struct client_settings s = small(ca);
		struct client *c;
		struct file *f;

		world_begin();
		world.priced = true;
		world.price = 1;
		c = world_client(0, &s);
		f = named(c, "new");
		perform(c, OP_CREATE, f, 0, 0, 0);
		world_run(5);
		perform(c, OP_WRITE, f, 0, 20 * KIB, 9);
		world_run(29);
		assert_int_equal(c->n.saved, 0);
		world_run(8);
		assert_int_equal(c->n.saved, 20 * KIB);
		finish(c, f);
	}
}

static void test_one_write_says_it_all(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "log", OP_CREATE);
	perform(c, OP_WRITE, f, 0, 16 * KIB, 9);
	perform(c, OP_FSYNC, f, 0, 0, 0);
	assert_true(world.n[CALL_WRITE] == 1 && world.n[CALL_COMMIT] == 0 && unsaved(c) == 0);
	finish(c, f);
}

/* Dear: nothing goes out, not even where the plain client must; until memory is full. */
static void test_defers_while_dear(void **state)
{
	struct client_settings s = small(true);
	struct client *c;
	struct file *f;

	world_begin();
	world.priced = true;
	world.price = 1;
	f = first_client(&c, &s, "new", OP_CREATE);
	world_run(3);
	assert_true(c->detector.believed);
	assert_int_equal(c->way, AUCTION_DEFER);
	perform(c, OP_WRITE, f, 0, 2 * MIB, 9);
	world_run(1);
	assert_int_equal(world.n[CALL_WRITE], 0);
	assert_int_equal(c->n.blocked, 0);
	perform(c, OP_WRITE, f, 2 * MIB, 2 * MIB,
		9); /* more than may be dirty: the server gets it */
	assert_true(world.n[CALL_WRITE] > 0 && c->n.blocked > 0);
	assert_in_range(c->n.first_blocked, 4 * SEC, world.now);
	world.price = 0;
	world_run(11);
	assert_int_equal(perform(c, OP_CLOSE, f, 0, 0, 0), ANSWER_OK);
	assert_int_equal(content_differences(9, 0, world_find("new", false)->data, 4 * MIB), 0);
	finish(c, f);
}

/* At the end of what is looked at some pages are not committed: so old, and not left out. */
static void test_pages_kept_at_the_end_are_told(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "new", OP_CREATE);
	perform(c, OP_WRITE, f, 0, 64 * KIB, 9);
	world_run(2);
	perform(c, OP_FSYNC, f, 0, 0, 0);
	perform(c, OP_WRITE, f, 64 * KIB, 100 * KIB, 9);
	world_run(3.5);
	client_end_times(c, world.now);
	assert_int_equal(c->write_back.in_second[2], 16);
	assert_int_equal(c->write_back.kept[3], 25);
	perform(c, OP_CLOSE, f, 0, 0, 0);
	assert_int_equal(c->write_back.pages, 16);
	finish(c, f);
}

/* Cheap: what is written is on disk at once. */
static void test_accelerates_while_cheap(void **state)
{
	struct client_settings s = small(true);
	struct client *c;
	struct file *f;

	world_begin();
	world.priced = true;
	f = first_client(&c, &s, "new", OP_CREATE);
	world_run(3);
	assert_int_equal(c->way, AUCTION_ACCELERATE);
	perform(c, OP_WRITE, f, 0, 100 * KIB, 9); /* far below the flush point */
	world_run(0.5);
	assert_int_equal(unsaved(c), 0);
	assert_int_equal(c->n.saved, 100 * KIB);
	finish(c, f);
}

/* A server without prices: as plain. */
static void test_without_prices_as_plain(void **state)
{
	struct client_settings s = small(true);
	struct client *c;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "new", OP_CREATE);
	world_run(20);
	assert_false(c->detector.believed);
	perform(c, OP_WRITE, f, 0, 100 * KIB, 9);
	world_run(1);
	assert_true(world.disk_writes == 96 * KIB && c->n.saved == 0);
	finish(c, f);
}

static void test_asks_every_ten_calls_or_ten_seconds(void **state)
{
	struct client_settings s = small(true);
	struct client *c;
	struct file *f;
	uint64_t before;

	world_begin();
	world.priced = true;
	world_file("a", 2 * MIB, 5);
	f = first_client(&c, &s, "a", OP_OPEN);
	world_run(3);
	before = world.n[CALL_FSSTAT];
	world_run(100);
	assert_in_range(world.n[CALL_FSSTAT] - before, 9, 10);
	before = world.n[CALL_FSSTAT];
	for (int i = 0; i < 100; i++)
		perform(c, OP_READ, f, (uint64_t)(i * 37 % 128) * 16 * KIB, 4 * KIB, 5);
	assert_in_range(world.n[CALL_FSSTAT] - before, 9, 11);
	finish(c, f);
}

static void test_close_to_open(void **state)
{
	struct client_settings s = small(false);
	struct client *a, *b;
	struct file *fa, *fb;

	world_begin();
	world_file("f", 256 * KIB, 1);
	a = world_client(0, &s);
	b = world_client(1, &s);
	fa = named(a, "f");
	fb = named(b, "f");
	for (uint64_t round = 1; round < 6; round++) {
		perform(b, OP_OPEN, fb, 0, 0, 0);
		perform(b, OP_READ, fb, 0, 256 * KIB, round);
		perform(b, OP_CLOSE, fb, 0, 0, 0);
		perform(a, OP_OPEN, fa, 0, 0, 0);
		perform(a, OP_READ, fa, 0, 256 * KIB, round); /* what itself wrote */
		perform(a, OP_WRITE, fa, 0, 256 * KIB, round + 1);
		perform(a, OP_CLOSE, fa, 0, 0, 0);
	}
	assert_int_equal(a->n.bytes[CALL_READ], 256 * KIB); /* its own changes cost it no cache */
	assert_int_equal(b->n.bytes[CALL_READ], 5 * 256 * KIB);
	assert_int_equal(b->n.wrong, 0);
	file_free(fb);
	client_free(b);
	b->ops = NULL;
	finish(a, fa);
}

/* Somebody wrote between two writes of ours: what is cached is not to be trusted. */
static void test_a_change_in_between_is_seen(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct world_file *w;
	struct file *f;

	world_begin();
	w = world_file("f", 512 * KIB, 1);
	f = first_client(&c, &s, "f", OP_OPEN);
	perform(c, OP_READ, f, 0, 512 * KIB, 1);
	perform(c, OP_WRITE, f, 0, 64 * KIB, 1);
	world_run(0.1);
	content_fill(2, 256 * KIB, w->data + 256 * KIB, 64 * KIB);
	w->changed = ++world.now;
	perform(c, OP_WRITE, f, 64 * KIB, 64 * KIB, 1);
	perform(c, OP_CLOSE, f, 0, 0, 0);
	perform(c, OP_OPEN, f, 0, 0, 0);
	assert_int_equal(perform(c, OP_READ, f, 256 * KIB, 64 * KIB, 2), ANSWER_OK);
	finish(c, f);
}

static void test_server_that_began_anew(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct world_file *w;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "f", OP_CREATE);
	perform(c, OP_WRITE, f, 0, 256 * KIB, 4);
	world_run(0.1);
	assert_true(f->cached.count[PAGE_UNSTABLE] == 64);
	w = world_find("f", false);
	memset(w->data, 0, 256 * KIB); /* lost */
	world.verifier++;
	assert_int_equal(perform(c, OP_CLOSE, f, 0, 0, 0), ANSWER_OK);
	assert_int_equal(content_differences(4, 0, w->data, 256 * KIB), 0);
	finish(c, f);
}

static void test_failed_write_is_told_at_close(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	world_begin();
	f = first_client(&c, &s, "f", OP_CREATE);
	world.fail_writes = true;
	perform(c, OP_WRITE, f, 0, 256 * KIB, 4);
	assert_int_equal(perform(c, OP_CLOSE, f, 0, 0, 0), ANSWER_FAILED);
	assert_int_equal(unsaved(c), 0);
	world.fail_writes = false;
	finish(c, f);
}

/* As an option: nobody else is to open the file. */
static void test_lazy_close_saves_nothing(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct file *f;

	s.lazy_close = true;
	world_begin();
	f = first_client(&c, &s, "f", OP_CREATE);
	perform(c, OP_WRITE, f, 0, 20 * KIB, 4);
	assert_int_equal(perform(c, OP_CLOSE, f, 0, 0, 0), ANSWER_OK);
	assert_int_equal(world.n[CALL_WRITE], 0);
	perform(c, OP_OPEN, f, 0, 0, 0);
	perform(c, OP_READ, f, 0, 20 * KIB, 4);
	assert_int_equal(perform(c, OP_FSYNC, f, 0, 0, 0), ANSWER_OK);
	assert_int_equal(content_differences(4, 0, world_find("f", false)->data, 20 * KIB), 0);
	finish(c, f);
}

static void test_removed_data_is_not_sent(void **state)
{
	struct client_settings s = small(true);
	struct client *c;
	struct file *f;

	world_begin();
	world.priced = true;
	world.price = 1;
	f = first_client(&c, &s, "f", OP_CREATE);
	world_run(3);
	perform(c, OP_WRITE, f, 0, 1 * MIB, 4);
	perform(c, OP_REMOVE, f, 0, 0, 0);
	assert_true(world.n[CALL_WRITE] == 0 && unsaved(c) == 0 && !world_find("f", false));
	assert_int_equal(c->n.cancelled, 1 * MIB);
	perform(c, OP_CREATE, f, 0, 0, 0);
	perform(c, OP_APPEND, f, 0, 8 * KIB, 6);
	perform(c, OP_APPEND, f, 0, 8 * KIB, 6);
	perform(c, OP_CLOSE, f, 0, 0, 0);
	assert_int_equal(world_find("f", false)->size, 16 * KIB);
	finish(c, f);
}

static void test_a_part_of_a_page(void **state)
{
	struct client_settings s = small(false);
	struct client *c;
	struct world_file *w;
	struct file *f;

	world_begin();
	w = world_file("f", 64 * KIB, 1);
	f = first_client(&c, &s, "f", OP_OPEN);
	perform(c, OP_WRITE, f, 10 * KIB, 2 * KIB, 2);
	perform(c, OP_WRITE, f, 64 * KIB, 1 * KIB, 1);
	perform(c, OP_CLOSE, f, 0, 0, 0);
	assert_int_equal(content_differences(1, 0, w->data, 10 * KIB), 0);
	assert_int_equal(content_differences(2, 10 * KIB, w->data + 10 * KIB, 2 * KIB), 0);
	assert_int_equal(content_differences(1, 12 * KIB, w->data + 12 * KIB, 53 * KIB), 0);
	assert_int_equal(w->size, 65 * KIB);
	finish(c, f);
}

/* A model: what was last written where, block by block. */
#define BLOCK  (8 * KIB)
#define BLOCKS 96
static uint64_t model[BLOCKS];

static void random_load(bool ca, uint64_t seed)
{
	struct client_settings s = small(ca);
	struct client *c;
	struct file *f;

	world_begin();
	world.seed = seed;
	world.unordered = world.again = world.priced = true;
	world_file("f", BLOCKS * BLOCK, 0);
	s.memory = 1 * MIB; /* the file does not fit besides what is dirty */
	c = world_client(0, &s);
	f = named(c, "f");
	memset(model, 0, sizeof(model));
	perform(c, OP_OPEN, f, 0, 0, 0);
	for (uint64_t i = 1; i < 1500; i++) {
		uint64_t at = random_below(&world.seed, BLOCKS),
			 what = random_below(&world.seed, 100);

		if (i % 50 == 0)
			world.price = (double)random_below(&world.seed, 3) / 2;
		if (what < 45) {
			perform(c, OP_WRITE, f, at * BLOCK, BLOCK, i);
			model[at] = i;
		} else if (what < 96) {
			perform(c, OP_READ, f, at * BLOCK, BLOCK, model[at]);
		} else {
			perform(c, what < 98 ? OP_FSYNC : OP_CLOSE, f, 0, 0, 0);
			perform(c, OP_OPEN, f, 0, 0, 0);
		}
		assert_int_equal(c->n.wrong, 0);
		assert_true(unsaved(c) <= c->cache.limit && c->cache.pages <= c->cache.limit);
	}
	perform(c, OP_CLOSE, f, 0, 0, 0);
	for (uint64_t i = 0; i < BLOCKS; i++)
		assert_int_equal(content_differences(model[i], i * BLOCK,
						     world_find("f", false)->data + i * BLOCK,
						     BLOCK),
				 0);
	finish(c, f);
}

static void test_random_loads(void **state)
{
	for (uint64_t seed = 1; seed < 9; seed++)
		random_load(seed % 2, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_in_order_is_read_ahead),
		cmocka_unit_test(test_read_at_random_is_not),
		cmocka_unit_test(test_read_ends_at_the_end),
		cmocka_unit_test(test_wrong_data_is_seen),
		cmocka_unit_test(test_plain_sends_whole_writes_and_commits_at_the_flush_point),
		cmocka_unit_test(test_data_30_s_old_is_saved),
		cmocka_unit_test(test_one_write_says_it_all),
		cmocka_unit_test(test_defers_while_dear),
		cmocka_unit_test(test_pages_kept_at_the_end_are_told),
		cmocka_unit_test(test_accelerates_while_cheap),
		cmocka_unit_test(test_without_prices_as_plain),
		cmocka_unit_test(test_asks_every_ten_calls_or_ten_seconds),
		cmocka_unit_test(test_close_to_open),
		cmocka_unit_test(test_a_change_in_between_is_seen),
		cmocka_unit_test(test_server_that_began_anew),
		cmocka_unit_test(test_failed_write_is_told_at_close),
		cmocka_unit_test(test_lazy_close_saves_nothing),
		cmocka_unit_test(test_removed_data_is_not_sent),
		cmocka_unit_test(test_a_part_of_a_page),
		cmocka_unit_test(test_random_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
