/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The extent cache: look-ups, holes, invalidation, files with more extents than it holds. */
#include "disk/extents.h"
#include "support.h"

/* A file of N extents of 1 MiB, each followed by a hole as long where HOLES is set. */
struct file {
	uint64_t n, fetched;
	bool holes, fail;
};

static uint64_t place(uint64_t i)
{
	return (i * 7919 % 1000 + 1) * 100 * MIB;
}

static int fetch(void *arg, uint64_t offset, struct extent *extents, int max, uint64_t *covered)
{
	struct file *f = arg;
	uint64_t step = f->holes ? 2 * MIB : MIB;
	int n = 0;

	f->fetched++;
	if (f->fail)
		return -1;
	for (uint64_t i = offset / step; i < f->n && n < max; i++)
		extents[n++] = (struct extent){i * step, MIB, place(i)};
	*covered = n == max ? extents[n - 1].offset + MIB : UINT64_MAX;
	return n;
}

static void test_lookup_and_cache(void **state)
{
	struct file f = {.n = 10};
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	for (uint64_t at = 0; at < 10 * MIB; at += 100000) {
		assert_true(extent_map_lookup(&m, at, fetch, &f, &block));
		assert_int_equal(block, place(at / MIB) + at % MIB);
	}
	assert_false(extent_map_lookup(&m, 10 * MIB, fetch, &f, &block)); /* beyond the last */
	assert_int_equal(f.fetched, 1);
	extent_map_invalidate(&m);
	assert_true(extent_map_lookup(&m, 5 * MIB, fetch, &f, &block));
	assert_int_equal(f.fetched, 2);
	assert_true(extent_map_lookup(&m, 0, fetch, &f, &block)); /* before what is cached */
	assert_int_equal(f.fetched, 3);
	extent_map_fini(&m);
}

static void test_holes_are_unmapped(void **state)
{
	struct file f = {.n = 5, .holes = true};
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	assert_true(extent_map_lookup(&m, MIB - 1, fetch, &f, &block));
	assert_false(extent_map_lookup(&m, MIB, fetch, &f, &block));
	assert_false(extent_map_lookup(&m, 2 * MIB - 1, fetch, &f, &block));
	assert_true(extent_map_lookup(&m, 2 * MIB, fetch, &f, &block));
	assert_int_equal(block, place(1));
	assert_int_equal(f.fetched, 1);
	extent_map_fini(&m);
}

/* Three extents in a row, of which the second is unwritten; then a hole. */
static int fetch_allocated(void *arg, uint64_t offset, struct extent *extents, int max,
			   uint64_t *covered)
{
	for (uint64_t i = 0; i < 3; i++)
		extents[i] = (struct extent){i * MIB, MIB, place(i), .unwritten = i == 1};
	*covered = UINT64_MAX;
	return 3;
}

static void test_what_is_written(void **state)
{
	struct file f = {.n = 5};
	struct extent_span span;
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	assert_true(extent_map_written(&m, MIB - 1, 2 * MIB, fetch, &f, &span));
	assert_int_equal(span.block, place(0) + MIB - 1);
	assert_true(extent_map_written(&m, 0, 5 * MIB, fetch, &f, &span));
	assert_false(extent_map_written(&m, 0, 5 * MIB + 1, fetch, &f, &span));
	extent_map_invalidate(&m);
	assert_true(extent_map_written(&m, 0, MIB, fetch_allocated, NULL, &span));
	assert_false(extent_map_written(&m, 0, MIB + 1, fetch_allocated, NULL, &span));
	assert_false(extent_map_written(&m, MIB, 1, fetch_allocated, NULL, &span));
	assert_true(extent_map_written(&m, 2 * MIB, MIB, fetch_allocated, NULL, &span));
	assert_false(extent_map_written(&m, 2 * MIB, MIB + 1, fetch_allocated, NULL, &span));
	/* it has a place all the same */
	assert_true(extent_map_lookup(&m, MIB, fetch_allocated, NULL, &block));
	assert_int_equal(block, place(1));
	extent_map_fini(&m);
}

/* One MiB each: the second goes on where the first ends, the third is a little further on, the fourth far back. */
static int fetch_pieces(void *arg, uint64_t offset, struct extent *extents, int max,
			uint64_t *covered)
{
	static const uint64_t at[] = {100 * MIB, 101 * MIB, 103 * MIB, 50 * MIB};

	for (uint64_t i = 0; i < 4; i++)
		extents[i] = (struct extent){i * MIB, MIB, at[i]};
	*covered = UINT64_MAX;
	return 4;
}

static void assert_span(struct extent_map *m, uint64_t offset, uint64_t len,
			struct extent_span expected)
{
	struct extent_span span;

	assert_true(extent_map_written(m, offset, len, fetch_pieces, NULL, &span));
	assert_int_equal(span.block, expected.block);
	assert_int_equal(span.end, expected.end);
	assert_int_equal(span.pieces, expected.pieces);
	assert_int_equal(span.seeks, expected.seeks);
}

/* A turn is a time: in pieces it has fewer bytes, and ends where a piece does if that is not far. */
static void test_how_far_a_turn_comes(void **state)
{
	struct file f = {.n = 100};
	struct extent_map m;

	extent_map_init(&m);
	/* pieces of 1 MiB, all far from one another: with each further one a seek of 1 MiB */
	assert_int_equal(extent_map_reach(&m, 0, 12 * MIB, MIB, fetch, &f), 6 * MIB);
	assert_int_equal(extent_map_reach(&m, MIB / 2, 12 * MIB, MIB, fetch, &f),
			 6 * MIB + MIB / 2);
	/* seeks that cost nothing, and a turn that is over before the first piece is */
	assert_int_equal(extent_map_reach(&m, 0, 12 * MIB, 0, fetch, &f), 12 * MIB);
	assert_int_equal(extent_map_reach(&m, 0, MIB / 2, MIB / 4, fetch, &f), MIB / 2);
	/* one that ends in a piece of which much is left */
	assert_int_equal(extent_map_reach(&m, 0, 4 * MIB, MIB / 4, fetch, &f), 3 * MIB + MIB / 4);
	/* no known place: as one */
	f.fail = true;
	extent_map_invalidate(&m);
	assert_int_equal(extent_map_reach(&m, 0, 12 * MIB, MIB, fetch, &f), 12 * MIB);
	extent_map_fini(&m);
}

/* What goes on where the one before ends is one piece, and so is what is near. */
static void test_near_pieces_are_one_to_a_turn(void **state)
{
	struct extent_map m;

	extent_map_init(&m);
	assert_int_equal(extent_map_reach(&m, 0, 3 * MIB, 8 * MIB, fetch_pieces, NULL), 3 * MIB);
	assert_int_equal(extent_map_reach(&m, 0, 8 * MIB, 8 * MIB, fetch_pieces, NULL), 3 * MIB);
	assert_int_equal(extent_map_reach(&m, 0, 16 * MIB, 8 * MIB, fetch_pieces, NULL), 8 * MIB);
	extent_map_fini(&m);
}

/* A part ends where a piece does, if there is one that begins in it; else as it would. */
static void test_a_part_of_whole_pieces(void **state)
{
	struct extent_map m;
	struct file f = {.n = 10};

	extent_map_init(&m);
	/* pieces of 1 MiB, all far from one another */
	assert_int_equal(extent_map_whole(&m, 0, 2 * MIB + 1, fetch, &f), 2 * MIB);
	assert_int_equal(extent_map_whole(&m, 0, 2 * MIB, fetch, &f), 2 * MIB);
	assert_int_equal(extent_map_whole(&m, MIB / 2, MIB, fetch, &f), MIB / 2);
	assert_int_equal(extent_map_whole(&m, 0, MIB / 2, fetch, &f), MIB / 2);
	extent_map_invalidate(&m);
	/* near ones are one */
	assert_int_equal(extent_map_whole(&m, 0, MIB / 2, fetch_pieces, NULL), MIB / 2);
	extent_map_invalidate(&m);
	f.fail = true;
	assert_int_equal(extent_map_whole(&m, 0, 2 * MIB + 1, fetch, &f), 2 * MIB + 1);
	extent_map_fini(&m);
}

/* Five MiB, of which each lies far in front of the one before. */
static int fetch_scattered(void *arg, uint64_t offset, struct extent *extents, int max,
			   uint64_t *covered)
{
	for (uint64_t i = 0; i < 5; i++)
		extents[i] = (struct extent){
			.offset = i * MIB, .length = MIB, .block = (5 - i) * 100 * MIB};
	*covered = UINT64_MAX;
	return 5;
}

/* Pieces as the disk comes to them, the first and the last of a part only. */
static void test_pieces_in_the_order_of_the_disk(void **state)
{
	struct extent pieces[EXTENT_MAP_MAX];
	struct extent_map m;
	int n;

	extent_map_init(&m);
	n = extent_map_in_order(&m, MIB / 2, 3 * MIB, fetch_scattered, NULL, pieces);
	assert_int_equal(n, 4);
	for (int i = 0; i < n; i++) {
		uint64_t whole = pieces[i].offset - pieces[i].offset % MIB;

		assert_true(i == 0 || pieces[i - 1].block < pieces[i].block);
		assert_int_equal(pieces[i].block,
				 (5 - whole / MIB) * 100 * MIB + pieces[i].offset % MIB);
		assert_int_equal(pieces[i].length, whole == 0 || whole == 3 * MIB ? MIB / 2 : MIB);
	}
	/* not all of it has a place */
	assert_int_equal(extent_map_in_order(&m, 4 * MIB, 2 * MIB, fetch_scattered, NULL, pieces),
			 0);
	extent_map_fini(&m);
}

/* What was asked for before leaves a part of many pieces cached: that it ends within a turn makes no difference. */
static void test_a_turn_beyond_what_is_cached(void **state)
{
	struct extent pieces[EXTENT_MAP_MAX];
	struct file f = {.n = 1000};
	struct extent_map m, fresh;

	extent_map_init(&m);
	extent_map_init(&fresh);
	for (uint64_t at = 0; at < 900 * MIB; at += 5 * MIB) {
		extent_map_invalidate(&fresh);
		assert_int_equal(extent_map_reach(&m, at, 24 * MIB, MIB, fetch, &f),
				 extent_map_reach(&fresh, at, 24 * MIB, MIB, fetch, &f));
		extent_map_invalidate(&fresh);
		assert_int_equal(extent_map_in_order(&m, at, 10 * MIB, fetch, &f, pieces),
				 extent_map_in_order(&fresh, at, 10 * MIB, fetch, &f, pieces));
	}
	extent_map_fini(&fresh);
	f.fetched = 0;
	for (uint64_t at = 0; at < 900 * MIB; at += 5 * MIB)
		(void)extent_map_reach(&m, at, 24 * MIB, MIB, fetch, &f);
	assert_true(f.fetched <= 900 / (EXTENT_MAP_MAX - 24) + 1);
	extent_map_fini(&m);
}

static void test_where_a_part_lies(void **state)
{
	struct extent_map m;

	extent_map_init(&m);
	assert_span(&m, 4 * KIB, 8 * KIB,
		    (struct extent_span){100 * MIB + 4 * KIB, 100 * MIB + 12 * KIB, 1, 0});
	assert_span(&m, 0, 2 * MIB, (struct extent_span){100 * MIB, 102 * MIB, 1, 0});
	assert_span(&m, MIB, MIB + 1, (struct extent_span){101 * MIB, 103 * MIB + 1, 2, 0});
	assert_span(&m, 3 * MIB - 1, 2, (struct extent_span){104 * MIB - 1, 50 * MIB + 1, 2, 1});
	assert_span(&m, 0, 4 * MIB, (struct extent_span){100 * MIB, 51 * MIB, 3, 1});
	extent_map_fini(&m);
}

static void test_more_extents_than_fit(void **state)
{
	struct file f = {.n = 1000};
	struct extent_map m;
	uint64_t block, seed = 1;

	extent_map_init(&m);
	for (uint64_t at = 0; at < 1000 * MIB; at += MIB) {
		assert_true(extent_map_lookup(&m, at, fetch, &f, &block));
		assert_int_equal(block, place(at / MIB));
	}
	assert_int_equal(f.fetched, (1000 + EXTENT_MAP_MAX - 1) / EXTENT_MAP_MAX);
	for (int i = 0; i < 2000; i++) {
		uint64_t at = random_below(&seed, 1000 * MIB);

		assert_true(extent_map_lookup(&m, at, fetch, &f, &block));
		assert_int_equal(block, place(at / MIB) + at % MIB);
	}
	extent_map_fini(&m);
}

static void test_an_error_is_not_remembered(void **state)
{
	struct file f = {.n = 1, .fail = true};
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	assert_false(extent_map_lookup(&m, 0, fetch, &f, &block));
	f.fail = false;
	assert_true(extent_map_lookup(&m, 0, fetch, &f, &block));
	f.n = 0; /* an empty file has no extents, and that is remembered */
	extent_map_invalidate(&m);
	assert_false(extent_map_lookup(&m, 0, fetch, &f, &block));
	assert_false(extent_map_lookup(&m, 7, fetch, &f, &block));
	assert_int_equal(f.fetched, 3);
	extent_map_fini(&m);
}

static struct extent_map hanging;

static int fetch_that_hangs(void *arg, uint64_t offset, struct extent *extents, int max,
			    uint64_t *covered)
{
	uint64_t block;

	assert_false(extent_map_peek(&hanging, 0, &block)); /* and does not wait */
	return fetch(arg, offset, extents, max, covered);
}

static void test_a_peek_waits_for_nobody(void **state)
{
	struct file f = {.n = 10};
	uint64_t block;

	extent_map_init(&hanging);
	assert_false(extent_map_peek(&hanging, 0, &block));
	assert_true(extent_map_lookup(&hanging, 0, fetch_that_hangs, &f, &block));
	assert_true(extent_map_peek(&hanging, 3 * MIB + 1, &block));
	assert_int_equal(block, place(3) + 1);
	extent_map_invalidate(&hanging); /* better than nothing */
	assert_true(extent_map_peek(&hanging, 3 * MIB, &block));
	assert_false(extent_map_peek(&hanging, 10 * MIB, &block));
	assert_int_equal(f.fetched, 1);
	extent_map_fini(&hanging);
}

/* As if another thread came meanwhile. */
static int fetch_interrupted(void *arg, uint64_t offset, struct extent *extents, int max,
			     uint64_t *covered)
{
	struct file *f = arg;
	struct extent_span span;
	uint64_t block;

	assert_false(extent_map_lookup(&hanging, 0, fetch_interrupted, arg, &block));
	assert_false(extent_map_written(&hanging, 0, MIB, fetch_interrupted, arg, &span));
	extent_map_invalidate(&hanging);
	return fetch(f, offset, extents, max, covered);
}

static void test_nobody_waits_for_who_asks(void **state)
{
	struct file f = {.n = 10};
	struct extent_span span;
	uint64_t block;

	extent_map_init(&hanging);
	/* what changed meanwhile is void, but a place is better than none */
	assert_false(extent_map_written(&hanging, 0, MIB, fetch_interrupted, &f, &span));
	assert_int_equal(f.fetched, 1);
	assert_true(extent_map_peek(&hanging, 3 * MIB, &block));
	assert_true(extent_map_written(&hanging, 0, MIB, fetch, &f, &span));
	assert_int_equal(f.fetched, 2);
	extent_map_fini(&hanging);
}

static void test_nobody_asks_while_it_changes(void **state)
{
	struct file f = {.n = 10};
	struct extent_span span;
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	extent_map_set_changes(&m, 1);
	assert_false(extent_map_lookup(&m, 0, fetch, &f, &block));
	assert_int_equal(f.fetched, 0);
	extent_map_set_changes(&m, 0);
	assert_true(extent_map_lookup(&m, 0, fetch, &f, &block));
	extent_map_set_changes(&m, 2);
	extent_map_invalidate(&m);
	assert_true(extent_map_lookup(&m, 5 * MIB, fetch, &f, &block)); /* where it was */
	assert_int_equal(block, place(5));
	assert_false(extent_map_written(&m, 0, MIB, fetch, &f, &span));
	assert_int_equal(extent_map_reach(&m, 0, 12 * MIB, MIB, fetch, &f), 12 * MIB);
	assert_int_equal(f.fetched, 1);
	extent_map_fini(&m);
}

static uint64_t now;

static uint64_t made_up_clock(void)
{
	return now;
}

static int fetch_slow(void *arg, uint64_t offset, struct extent *extents, int max,
		      uint64_t *covered)
{
	now += EXTENT_SLOW;
	return fetch(arg, offset, extents, max, covered);
}

/* There is a writer that we do not know of. */
static void test_who_waited_long_asks_seldom(void **state)
{
	struct file f = {.n = 10};
	struct extent_map m;
	uint64_t block;

	extent_map_init(&m);
	m.now = made_up_clock;
	assert_true(extent_map_lookup(&m, 0, fetch_slow, &f, &block));
	extent_map_invalidate(&m);
	now += EXTENT_PAUSE * EXTENT_SLOW - 1;
	assert_true(extent_map_lookup(&m, 0, fetch_slow, &f, &block)); /* where it was */
	assert_int_equal(f.fetched, 1);
	now++;
	assert_true(extent_map_lookup(&m, 0, fetch, &f, &block));
	extent_map_invalidate(&m);
	assert_true(extent_map_lookup(&m, 0, fetch, &f, &block)); /* it was quick again */
	assert_int_equal(f.fetched, 3);
	extent_map_fini(&m);
}

/* So many files of one device as may be asked for by who submits, and one more. */
static struct crowd {
	_Atomic uint32_t askers;
	struct extent_map maps[EXTENT_ASKERS_MAX + 1];
	struct file files[EXTENT_ASKERS_MAX + 1];
	unsigned int n; /* under way */
} crowd;

/* Beside as many as may ask: what is cached, however old, and else as if there were no place. */
static void beside_many(void)
{
	struct extent_map *m = &crowd.maps[EXTENT_ASKERS_MAX];
	struct file *f = &crowd.files[EXTENT_ASKERS_MAX];
	uint64_t block;

	assert_int_equal(crowd.askers, EXTENT_ASKERS_MAX);
	assert_false(extent_map_lookup_if_few(m, 0, fetch, f, &block));
	assert_int_equal(extent_map_reach_if_few(m, 0, 12 * MIB, MIB, fetch, f), 12 * MIB);
	assert_int_equal(f->fetched, 0);
	/* who has his turn at the disk asks all the same */
	assert_true(extent_map_lookup(m, 0, fetch, f, &block));
	assert_int_equal(f->fetched, 1);
	assert_int_equal(extent_map_reach_if_few(m, 0, 12 * MIB, MIB, fetch, f), 6 * MIB);
	extent_map_invalidate(m);
	assert_true(extent_map_lookup_if_few(m, 5 * MIB, fetch, f, &block)); /* where it was */
	assert_int_equal(block, place(5));
	assert_int_equal(f->fetched, 1);
	assert_int_equal(crowd.askers, EXTENT_ASKERS_MAX);
}

/* As if the disk hung, and one thread after the other came meanwhile, each for another file. */
static int fetch_beside_others(void *arg, uint64_t offset, struct extent *extents, int max,
			       uint64_t *covered)
{
	struct file *f = arg, *next;
	uint64_t block;

	crowd.n++;
	assert_int_equal(crowd.askers, crowd.n);
	next = &crowd.files[crowd.n];
	if (crowd.n == EXTENT_ASKERS_MAX)
		beside_many();
	else
		assert_true(extent_map_lookup_if_few(&crowd.maps[crowd.n], 0, fetch_beside_others,
						     next, &block));
	return fetch(f, offset, extents, max, covered);
}

static void test_who_submits_asks_beside_few_only(void **state)
{
	struct file *last = &crowd.files[EXTENT_ASKERS_MAX];
	uint64_t block;

	for (int i = 0; i <= EXTENT_ASKERS_MAX; i++) {
		extent_map_init(&crowd.maps[i]);
		crowd.maps[i].askers = &crowd.askers;
		crowd.files[i] = (struct file){.n = 10};
	}
	assert_true(extent_map_lookup_if_few(&crowd.maps[0], 0, fetch_beside_others,
					     &crowd.files[0], &block));
	assert_int_equal(crowd.n, EXTENT_ASKERS_MAX);
	for (int i = 0; i < EXTENT_ASKERS_MAX; i++)
		assert_int_equal(crowd.files[i].fetched, 1);
	/* they are through */
	assert_int_equal(crowd.askers, 0);
	assert_true(
		extent_map_lookup_if_few(&crowd.maps[EXTENT_ASKERS_MAX], 0, fetch, last, &block));
	assert_int_equal(last->fetched, 2);
	/* also where there was no answer */
	last->fail = true;
	extent_map_invalidate(&crowd.maps[EXTENT_ASKERS_MAX]);
	(void)extent_map_lookup(&crowd.maps[EXTENT_ASKERS_MAX], 0, fetch, last, &block);
	assert_int_equal(crowd.askers, 0);
	for (int i = 0; i <= EXTENT_ASKERS_MAX; i++)
		extent_map_fini(&crowd.maps[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup_and_cache),
		cmocka_unit_test(test_holes_are_unmapped),
		cmocka_unit_test(test_what_is_written),
		cmocka_unit_test(test_where_a_part_lies),
		cmocka_unit_test(test_how_far_a_turn_comes),
		cmocka_unit_test(test_near_pieces_are_one_to_a_turn),
		cmocka_unit_test(test_a_part_of_whole_pieces),
		cmocka_unit_test(test_pieces_in_the_order_of_the_disk),
		cmocka_unit_test(test_a_turn_beyond_what_is_cached),
		cmocka_unit_test(test_more_extents_than_fit),
		cmocka_unit_test(test_an_error_is_not_remembered),
		cmocka_unit_test(test_a_peek_waits_for_nobody),
		cmocka_unit_test(test_nobody_waits_for_who_asks),
		cmocka_unit_test(test_nobody_asks_while_it_changes),
		cmocka_unit_test(test_who_waited_long_asks_seldom),
		cmocka_unit_test(test_who_submits_asks_beside_few_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
