/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The page cache of bench/canfs: who goes first, who stays, and what is not found any more. */
#include "support.h"

#include "cache.h"
#include "rpc.h"

static struct cache cache;
static struct cached_file file;

static void begin(uint32_t pages)
{
	assert_true(cache_init(&cache, (uint64_t)pages * PAGE_BYTES));
	cached_file_init(&file);
}

static struct page *clean(uint64_t index)
{
	struct page *p = cache_add(&cache, &file, index);

	assert_non_null(p);
	cache_move(&cache, p, PAGE_CLEAN, NULL);
	return p;
}

static bool there(uint64_t index)
{
	return cache_find(&cache, &file, index);
}

static void test_what_was_used_twice_outlives_a_scan(void **state)
{
	begin(64);
	for (uint64_t i = 0; i < 30; i++) {
		struct page *p = clean(i);

		cache_touch(&cache, p);
		cache_touch(&cache, p);
	}
	for (uint64_t i = 1000; i < 3000; i++)
		cache_touch(&cache, clean(i));
	for (uint64_t i = 0; i < 30; i++)
		assert_true(there(i));
	assert_int_equal(cache.pages, 64);
	cache_free(&cache);
}

static void test_the_oldest_goes_first(void **state)
{
	begin(64);
	for (uint64_t i = 0; i < 64; i++)
		clean(i);
	cache_touch(&cache, cache_find(&cache, &file, 0)); /* once: to the front */
	clean(100);
	assert_true(there(0) && !there(1) && there(2));
	cache_free(&cache);
}

static void test_active_pages_age_too(void **state)
{
	begin(64);
	for (uint64_t i = 0; i < 64; i++) {
		struct page *p = clean(i);

		cache_touch(&cache, p);
		cache_touch(&cache, p);
	}
	clean(100);
	assert_true(cache.n_active <= ACTIVE_SHARE * (cache.n_inactive + 1));
	assert_true(!there(0) && there(63));
	cache_free(&cache);
}

static void test_unsaved_pages_stay(void **state)
{
	begin(64);
	for (uint64_t i = 0; i < 64; i++)
		cache_move(&cache, clean(i), PAGE_DIRTY, NULL);
	assert_null(cache_add(&cache, &file, 100));
	assert_false(cache_has_room(&cache, 1));
	assert_int_equal(cache_unsaved(cache.count), 64);
	assert_int_equal(cache_unsaved(file.count), 64);
	cache_move(&cache, cache_find(&cache, &file, 7), PAGE_CLEAN, NULL);
	assert_true(cache_has_room(&cache, 1));
	clean(100);
	assert_false(there(7));
	cache_free(&cache);
}

static void test_lists_by_state(void **state)
{
	struct page *a, *b;

	begin(64);
	a = clean(1);
	b = clean(2);
	cache_move(&cache, b, PAGE_DIRTY, NULL);
	cache_move(&cache, a, PAGE_DIRTY, NULL);
	assert_ptr_equal(TAILQ_FIRST(&file.dirty), b);
	cache_move(&cache, b, PAGE_UNSTABLE, NULL);
	assert_ptr_equal(TAILQ_FIRST(&file.dirty), a);
	assert_ptr_equal(TAILQ_FIRST(&file.unstable), b);
	assert_int_equal(cache.count[PAGE_UNSTABLE], 1);
	cache_drop(&cache, b);
	assert_true(TAILQ_EMPTY(&file.unstable) && !there(2));
	cache_free(&cache);
}

static void test_invalidate(void **state)
{
	struct page *reading, *dirty;

	begin(64);
	clean(1);
	clean(9);
	reading = cache_add(&cache, &file, 2);
	dirty = clean(3);
	cache_move(&cache, dirty, PAGE_DIRTY, NULL);
	cache_invalidate(&cache, &file, 0);
	assert_true(!there(1) && !there(2) && there(3) && !there(9));
	clean(2); /* while the old one is still under way */
	assert_true(there(2) && cache_find(&cache, &file, 2) != reading);
	cache_drop(&cache, reading);
	assert_true(there(2));
	cache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_used_twice_outlives_a_scan),
		cmocka_unit_test(test_the_oldest_goes_first),
		cmocka_unit_test(test_active_pages_age_too),
		cmocka_unit_test(test_unsaved_pages_stay),
		cmocka_unit_test(test_lists_by_state),
		cmocka_unit_test(test_invalidate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
