/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ghost caches against an exact LRU over streams as servers see them; their bounds; and several
 * readers at once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pricing/ghost_cache.h"

#define CACHE	   65536u /* pages: 256 MiB */
#define SPACE	   (8u * CACHE)
#define FILE_PAGES 4096u
#define REFS	   (24u * CACHE) /* pages read in a stream */

/* ---- an exact LRU of pages 0 .. SPACE - 1 ---- */

struct lru {
	uint32_t size, n;
	uint64_t reads, misses;
	uint32_t prev[SPACE + 1], next[SPACE + 1]; /* [SPACE] is the head */
	bool in[SPACE];
};

static void lru_init(struct lru *l, uint32_t size)
{
	memset(l, 0, sizeof(*l));
	l->size = size;
	l->prev[SPACE] = l->next[SPACE] = SPACE;
}

static void lru_unlink(struct lru *l, uint32_t page)
{
	l->next[l->prev[page]] = l->next[page];
	l->prev[l->next[page]] = l->prev[page];
	l->in[page] = false;
	l->n--;
}

static void lru_read(struct lru *l, uint32_t page)
{
	l->reads++;
	if (l->in[page])
		lru_unlink(l, page);
	else
		l->misses++;
	l->next[page] = l->next[SPACE];
	l->prev[page] = SPACE;
	l->prev[l->next[SPACE]] = page;
	l->next[SPACE] = page;
	l->in[page] = true;
	if (++l->n > l->size)
		lru_unlink(l, l->prev[SPACE]);
}

/* ---- streams ---- */

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 32) * n >> 32);
}

struct bench {
	struct ghost_cache *ghost;
	struct lru *small, *large;
	uint32_t file_pages;
	uint64_t pages;
};

/* A READ, which does not go beyond a file. */
static void reads(struct bench *b, uint32_t page, uint32_t n)
{
	uint32_t at = page % b->file_pages;

	if (at + n > b->file_pages)
		n = b->file_pages - at;
	for (uint32_t i = 0; i < n; i++) {
		lru_read(b->small, page + i);
		lru_read(b->large, page + i);
	}
	ghost_read(b->ghost, page / b->file_pages, at * (uint64_t)GHOST_PAGE,
		   n * (uint64_t)GHOST_PAGE);
	b->pages += n;
	if (b->pages % 64 < n)
		ghost_drain(b->ghost);
}

/* Scatters 0 .. n - 1 over 0 .. n - 1; n a power of two. */
static uint32_t scatter(uint32_t x, uint32_t n)
{
	return (x * 2654435761u + 12345) % n;
}

/* Records of N pages in a space of SPAN, their popularity after Zipf's law with exponent S. */
static double zipf_table[SPACE];

static void zipf(struct bench *b, uint32_t span, uint32_t n, double s, uint64_t pages)
{
	uint32_t records = span / n;
	double sum = 0;

	for (uint32_t i = 0; i < records; i++)
		zipf_table[i] = sum += pow(i + 1, -s);
	for (uint64_t end = b->pages + pages; b->pages < end;) {
		double x = sum * below(1u << 30) / (1u << 30);
		uint32_t low = 0, high = records - 1;

		while (low < high) {
			uint32_t mid = (low + high) / 2;

			if (zipf_table[mid] < x)
				low = mid + 1;
			else
				high = mid;
		}
		reads(b, scatter(low, records) * n, n);
	}
}

static void zipf_small(struct bench *b)
{
	zipf(b, SPACE, 2, 0.9, REFS);
}

static void zipf_steep(struct bench *b)
{
	zipf(b, SPACE, 2, 1.2, REFS);
}

static void zipf_small_files(struct bench *b)
{
	b->file_pages = 8;
	zipf(b, SPACE, 8, 0.8, REFS);
}

/* A quarter of a MiB at once. */
static void zipf_files(struct bench *b)
{
	zipf(b, SPACE, 64, 0.8, REFS);
}

static void loop(struct bench *b, uint32_t pages, uint32_t len)
{
	while (b->pages < REFS)
		for (uint32_t at = 0; at < pages; at += len)
			reads(b, at, len);
}

static void loop_fits(struct bench *b)
{
	loop(b, CACHE * 8 / 10, 8);
}

/* Fits into the larger cache only. */
static void loop_between(struct bench *b)
{
	loop(b, CACHE, 16);
}

static void loop_too_large(struct bench *b)
{
	loop(b, CACHE * 13 / 10, 256);
}

static void uniform(struct bench *b)
{
	while (b->pages < REFS)
		reads(b, below(CACHE * 3 / 2 / 2) * 2, 2);
}

/* A hot set of half the cache, while all the rest is read once from end to end. */
static void scan_and_hot_set(struct bench *b)
{
	uint32_t at = CACHE;

	while (b->pages < REFS) {
		for (int i = 0; i < 64; i++)
			reads(b, below(CACHE / 2 / 4) * 4, 4);
		reads(b, at, 256);
		at = at + 256 < SPACE ? at + 256 : CACHE;
	}
}

/* Eight streams through files, a popular database, random reads over all. */
static void mixed(struct bench *b)
{
	uint32_t at[8];

	for (uint32_t i = 0; i < 8; i++)
		at[i] = below(SPACE / 256) * 256;
	while (b->pages < REFS) {
		for (uint32_t i = 0; i < 8; i++) {
			reads(b, at[i], 32);
			at[i] = at[i] % FILE_PAGES + 32 < FILE_PAGES
					? at[i] + 32
					: below(SPACE / FILE_PAGES) * FILE_PAGES;
		}
		for (int i = 0; i < 100; i++)
			reads(b, scatter(below(1u << below(15)), SPACE / 2) * 2, 2);
		for (int i = 0; i < 10; i++)
			reads(b, below(SPACE), 1);
	}
}

/* ---- tests ---- */

static const struct ghost_limits limits = {.entries = 16384, .ring = 4096, .nearby = 0.1};

static double hit_rate(double misses, double pages)
{
	return 1 - misses / pages;
}

static void stream_is_followed(const char *name, void (*stream)(struct bench *b))
{
	struct bench b = {.ghost = ghost_new(&limits),
			  .file_pages = FILE_PAGES,
			  .small = malloc(sizeof(struct lru)),
			  .large = malloc(sizeof(struct lru))};
	struct ghost_counts c;
	double small, large;

	seed = 1;
	lru_init(b.small, (uint32_t)(CACHE * 0.9));
	lru_init(b.large, (uint32_t)(CACHE * 1.1));
	ghost_resize(b.ghost, CACHE);
	stream(&b);
	ghost_drain(b.ghost);
	ghost_counts(b.ghost, &c);
	assert_true(c.pages == (double)b.pages);
	assert_int_equal(c.dropped, 0);
	assert_true(c.sampled <= 0.5);

	small = hit_rate((double)b.small->misses, (double)b.pages);
	large = hit_rate((double)b.large->misses, (double)b.pages);
	print_message("%-17s exact %5.2f %5.2f, off by %+.2f %+.2f points\n", name, small * 100,
		      large * 100, (hit_rate(c.missed_small, c.pages) - small) * 100,
		      (hit_rate(c.missed_large, c.pages) - large) * 100);
	assert_true(fabs(hit_rate(c.missed_small, c.pages) - small) < 0.02);
	assert_true(fabs(hit_rate(c.missed_large, c.pages) - large) < 0.02);
	free(b.small);
	free(b.large);
	ghost_free(b.ghost);
}

#define STREAM(name)                                                                               \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		stream_is_followed(#name, name);                                                   \
	}
STREAM(zipf_small)
STREAM(zipf_steep)
STREAM(zipf_small_files)
STREAM(zipf_files)
STREAM(loop_fits)
STREAM(loop_between)
STREAM(loop_too_large)
STREAM(uniform)
STREAM(scan_and_hot_set)
STREAM(mixed)

static void read_loop(struct ghost_cache *g, uint64_t pages)
{
	for (uint64_t at = 0; at < pages; at += 64) {
		ghost_read(g, 7, at * GHOST_PAGE, 64 * GHOST_PAGE);
		ghost_drain(g);
	}
}

/* Misses of the two caches in one more round through PAGES pages. */
static void round_misses(struct ghost_cache *g, uint64_t pages, double *small, double *large)
{
	struct ghost_counts before, after;

	read_loop(g, pages);
	ghost_counts(g, &before);
	read_loop(g, pages);
	ghost_counts(g, &after);
	*small = after.missed_small - before.missed_small;
	*large = after.missed_large - before.missed_large;
}

/* Sizes follow the memory, down and up, with the rate of sampling they need. */
static void test_resize(void **state)
{
	struct ghost_cache *g = ghost_new(&limits);
	struct ghost_counts c;
	double small, large;

	round_misses(g, 1024, &small, &large);
	assert_true(small == 1024 && large == 1024); /* no size yet: nothing hits */
	ghost_counts(g, &c);
	assert_true(c.ratio == 1 && c.sampled == 1);

	ghost_resize(g, 8192);
	round_misses(g, 8192, &small, &large);
	assert_true(small == 8192 && large == 0);
	ghost_resize(g, 7000); /* keeps the most recent */
	round_misses(g, 8192, &small, &large);
	assert_true(small == 8192 && large == 8192);
	ghost_resize(g, 10000);
	round_misses(g, 8192, &small, &large);
	assert_true(small == 0 && large == 0);

	ghost_resize(g, 1u << 20);
	ghost_counts(g, &c);
	assert_true(c.sampled == 1.0 / 128);
	round_misses(g, 1u << 20, &small, &large);
	assert_true(small == 1u << 20 && large == 0);
	ghost_resize(g, UINT64_MAX);
	ghost_resize(g, 8192);
	ghost_counts(g, &c);
	assert_true(c.sampled == 1 && fabs(c.ratio - 1.1 / 0.9) < 1e-12);
	round_misses(g, 7000, &small, &large);
	assert_true(small == 0 && large == 0);
	ghost_resize(g, 0);
	round_misses(g, 1024, &small, &large);
	assert_true(small == 1024 && large == 1024);
	ghost_free(g);
}

/* A size that wavers around a power of two must not throw half of the sample away each time. */
static void test_the_rate_does_not_flap(void **state)
{
	struct ghost_cache *g = ghost_new(&limits);
	struct ghost_counts c;

	ghost_resize(g, 14500); /* larger: 15950 */
	ghost_counts(g, &c);
	assert_true(c.sampled == 1);
	ghost_resize(g, 15000);
	ghost_counts(g, &c);
	assert_true(c.sampled == 0.5);
	ghost_resize(g, 14500);
	ghost_counts(g, &c);
	assert_true(c.sampled == 0.5);
	ghost_resize(g, 11000);
	ghost_counts(g, &c);
	assert_true(c.sampled == 1);
	ghost_free(g);
}

/* The share of units that is followed is R also in small files. */
static void test_samples_its_share(void **state)
{
	struct ghost_cache *g = ghost_new(&limits);
	struct ghost_counts c;

	ghost_resize(g, 200000); /* R = 1/16 */
	for (uint64_t file = 0; file < 160000; file++) {
		ghost_read(g, file * 4096, 0, 1);
		ghost_drain(g);
	}
	ghost_counts(g, &c);
	assert_true(c.pages == 160000);
	assert_true(fabs(c.missed_large / c.pages - 1) < 0.03);
	ghost_free(g);
}

static void test_odd_reads(void **state)
{
	struct ghost_cache *g = ghost_new(&limits);
	struct ghost_counts c;

	ghost_resize(g, 8192);
	ghost_read(g, 1, 5000, 0);
	ghost_counts(g, &c);
	assert_true(c.pages == 0);
	ghost_read(g, 1, 4095, 2); /* two pages */
	ghost_read(g, 1, 65535, 2);
	ghost_read(g, 1, UINT64_MAX - 10, 1000);
	ghost_drain(g);
	ghost_counts(g, &c);
	assert_true(c.pages == 5 && c.missed_large == 5);
	ghost_read(g, 1, 4095, 1);
	ghost_read(g, 2, 4095, 1); /* another file */
	ghost_drain(g);
	ghost_counts(g, &c);
	assert_true(c.pages == 7 && c.missed_large == 6);
	ghost_free(g);
}

/* What finds the ring full is counted, and left out of the pages read. */
static void test_full_ring(void **state)
{
	struct ghost_limits few = limits;
	struct ghost_cache *g;
	struct ghost_counts c;

	few.ring = 16;
	g = ghost_new(&few);
	ghost_resize(g, 8192);
	for (uint64_t i = 0; i < 20; i++)
		ghost_read(g, 1, i * GHOST_UNIT, GHOST_UNIT);
	ghost_drain(g);
	ghost_counts(g, &c);
	assert_int_equal(c.dropped, 4);
	assert_true(c.pages == 16 * GHOST_PAGES && c.missed_large == c.pages);
	ghost_read(g, 1, 16 * GHOST_UNIT, GHOST_UNIT); /* there is room again */
	ghost_drain(g);
	ghost_counts(g, &c);
	assert_int_equal(c.dropped, 4);
	assert_true(c.pages == 17 * GHOST_PAGES && c.missed_large == c.pages);
	ghost_free(g);
}

static void test_bad_limits(void **state)
{
	static const struct ghost_limits bad[] = {
		{1023, 16, 0.1},  {(1u << 26) + 1, 16, 0.1}, {1024, 0, 0.1},
		{1024, 24, 0.1},  {1024, 1u << 25, 0.1},     {1024, 16, 0},
		{1024, 16, 0.51}, {1024, 16, NAN},
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_null(ghost_new(&bad[i]));
		assert_int_equal(errno, EINVAL);
	}
	ghost_free(NULL);
}

#define READERS 4
#define READS	20000

static void *reader(void *arg)
{
	for (uint64_t i = 0; i < READS; i++)
		ghost_read(arg, i % 5, i * 7919 % 1000 * GHOST_UNIT, 3 * GHOST_PAGE);
	return NULL;
}

/* All is drained or dropped, never both; sizes may change meanwhile. */
static void test_many_readers(void **state)
{
	struct ghost_limits few = limits;
	struct ghost_cache *g;
	pthread_t threads[READERS];
	struct ghost_counts c;

	few.ring = 64;
	g = ghost_new(&few);
	ghost_resize(g, 1000);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, g), 0);
	for (int i = 0; i < 2000; i++) {
		ghost_drain(g);
		ghost_resize(g, 1000 + i % 7 * 200);
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	ghost_drain(g);
	ghost_counts(g, &c);
	assert_true(c.pages + 3.0 * (double)c.dropped == 3.0 * READERS * READS);
	assert_true(c.missed_large <= c.missed_small && c.missed_small <= c.pages);
	ghost_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zipf_small),
		cmocka_unit_test(test_zipf_steep),
		cmocka_unit_test(test_zipf_small_files),
		cmocka_unit_test(test_zipf_files),
		cmocka_unit_test(test_loop_fits),
		cmocka_unit_test(test_loop_between),
		cmocka_unit_test(test_loop_too_large),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_scan_and_hot_set),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_the_rate_does_not_flap),
		cmocka_unit_test(test_samples_its_share),
		cmocka_unit_test(test_odd_reads),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_bad_limits),
		cmocka_unit_test(test_many_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
