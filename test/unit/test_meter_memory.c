/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty pages against the kernel's limits; what cached data is worth to readers. */
#include "fake_source.h"
#include "pricing/meter_memory.h"

static struct fake_source fake;
static const struct memory_limits limits = {.reads_min = 1000, .window = SECOND};
static const struct ghost_limits ghosts = {.entries = 16384, .ring = 4096, .nearby = 0.1};

/* As a small server: 32 MiB and 128 MiB; full is at 80 MiB, 20480 pages. */
static void vmstat(unsigned int dirty, unsigned int writeback)
{
	fake_set(&fake, "/proc/vmstat",
		 "nr_free_pages 100000\nnr_zone_inactive_anon 5\nnr_inactive_anon 7\n"
		 "nr_inactive_file 60000\nnr_active_file 40000\nnr_dirty %u\nnr_writeback %u\n"
		 "nr_writeback_temp 9999\nnr_dirtied 1234567\nnr_dirty_threshold 32768\n"
		 "nr_dirty_background_threshold 8192\n",
		 dirty, writeback);
}

static void test_dirty_pages(void **state)
{
	struct meter_memory m;

	fake_new(&fake);
	meter_memory_init(&m, &limits);
	vmstat(0, 0);
	meter_memory_sample(&m, &fake.source, SECOND, NULL);
	assert_true(m.utilization == 0 && m.unknown[0] == '\0');
	assert_int_equal(m.read_pages, 200000);
	vmstat(5120, 5120);
	meter_memory_sample(&m, &fake.source, 2 * SECOND, NULL);
	assert_near(m.utilization, 0.5, 1e-9);
	assert_int_equal(m.dirty_pages, 10240);
	assert_int_equal(m.full_pages, 20480);
	assert_int_equal(m.read_pages, 200000 - 10240);
	vmstat(20480, 0); /* here the kernel begins to make writers wait */
	meter_memory_sample(&m, &fake.source, 3 * SECOND, NULL);
	assert_true(m.utilization == 1);
	vmstat(4000000, 0); /* more than there is */
	meter_memory_sample(&m, &fake.source, 4 * SECOND, NULL);
	assert_true(m.utilization == 1 && m.read_pages == 0);
	assert_int_equal(fake.reads, 4); /* one file a sample */
}

/* SECONDS of reads of 64 KiB, 200 a second, over SPAN pages from end to end; *AT goes on. */
static void loop(struct meter_memory *m, struct ghost_cache *g, uint64_t *now, uint64_t *at,
		 uint64_t span, int seconds)
{
	for (int step = 0; step < seconds * 10; step++) {
		struct ghost_counts c;

		for (int i = 0; i < 20; i++, *at = (*at + 16) % span)
			ghost_read(g, 1, *at * GHOST_PAGE, GHOST_UNIT);
		ghost_drain(g);
		ghost_counts(g, &c);
		meter_memory_sample(m, &fake.source, *now += 100 * MS, &c);
	}
}

/*
 * Re-reads of a set that just fits: memory is precious. Of one that fits with ease, or not: free.
 */
static void test_worth_of_reads(void **state)
{
	struct ghost_cache *g = ghost_new(&ghosts);
	struct meter_memory m;
	struct ghost_counts c;
	uint64_t now = SECOND, at = 0;

	fake_new(&fake);
	vmstat(0, 0);
	meter_memory_init(&m, &limits);
	ghost_resize(g, 8192);
	loop(&m, g, &now, &at, 6400, 6);
	assert_near(m.hit_small, 1, 1e-9);
	assert_true(m.worth == 0);
	loop(&m, g, &now, &at, 8192, 8);
	assert_near(m.hit_small, 0, 0.01);
	assert_near(m.hit_large, 1, 0.01);
	assert_true(m.utilization == 1);
	loop(&m, g, &now, &at, 16384, 14);
	assert_near(m.hit_large, 0, 0.01);
	assert_true(m.worth == 0);
	/* no reads: no worth */
	loop(&m, g, &now, &at, 8192, 8);
	assert_true(m.utilization == 1);
	ghost_counts(g, &c);
	for (int i = 0; i < 11; i++)
		meter_memory_sample(&m, &fake.source, now += 100 * MS, &c);
	assert_true(m.utilization == 0);
	ghost_free(g);
}

/* 1 is as if hits were in proportion to size: random reads of twice what fits give a half. */
static void test_worth_is_a_slope(void **state)
{
	struct ghost_counts c = {.ratio = 1.1 / 0.9};
	struct meter_memory m;

	fake_new(&fake);
	vmstat(0, 0);
	meter_memory_init(&m, &limits);
	for (int i = 0; i < 20; i++) {
		c.pages += 1000;
		c.missed_small += 1000 * (1 - 0.9 / 2);
		c.missed_large += 1000 * (1 - 1.1 / 2);
		meter_memory_sample(&m, &fake.source, SECOND + i * 100 * MS, &c);
	}
	assert_near(m.hit_small, 0.45, 1e-6);
	assert_near(m.hit_large, 0.55, 1e-6);
	assert_near(m.worth, 0.5, 0.01);
}

static void test_few_reads_weigh_little(void **state)
{
	struct ghost_counts c = {.ratio = 1.1 / 0.9};
	struct meter_memory m;

	fake_new(&fake);
	vmstat(0, 0);
	meter_memory_init(&m, &limits);
	for (int i = 0; i < 20; i++) {
		c.pages += 10; /* 100 a second of 1000 */
		c.missed_small += 10;
		meter_memory_sample(&m, &fake.source, SECOND + i * 100 * MS, &c);
	}
	assert_near(m.worth, 0.1, 0.01);
}

static void test_the_higher_counts(void **state)
{
	struct ghost_counts c = {.ratio = 1.1 / 0.9};
	struct meter_memory m;

	fake_new(&fake);
	vmstat(20480 / 4, 0);
	meter_memory_init(&m, &limits);
	for (int i = 0; i < 20; i++) {
		c.pages += 1000;
		c.missed_small += 500;
		meter_memory_sample(&m, &fake.source, SECOND + i * 100 * MS, &c);
	}
	assert_near(m.dirty, 0.25, 1e-9);
	assert_true(m.worth == 1 && m.utilization == 1);
}

static void test_unknown(void **state)
{
	static const char *const without[] = {
		"nr_dirty ",	       "nr_writeback ",
		"nr_dirty_threshold ", "nr_dirty_background_threshold ",
		"nr_active_file ",     "nr_free_pages "};
	struct meter_memory m;

	fake_new(&fake);
	meter_memory_init(&m, &limits);
	meter_memory_sample(&m, &fake.source, SECOND, NULL);
	assert_string_equal(m.unknown, "/proc/vmstat");
	for (unsigned int i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		char *at;

		vmstat(20480, 0);
		at = strstr(fake.files[0].text, without[i]);
		at[0] = 'x';
		meter_memory_sample(&m, &fake.source, (2 + i) * SECOND, NULL);
		assert_string_equal(m.unknown, "/proc/vmstat");
		assert_true(m.utilization == 0);
	}
	vmstat(20480, 0);
	meter_memory_sample(&m, &fake.source, 10 * SECOND, NULL);
	assert_true(m.unknown[0] == '\0' && m.utilization == 1);
}

static void test_damaged_texts(void **state)
{
	struct meter_memory m;

	fake_new(&fake);
	vmstat(1000, 2000);
	meter_memory_init(&m, &limits);
	fake.noise = 1;
	for (uint64_t i = 1; i < 20000; i++) {
		meter_memory_sample(&m, &fake.source, i * 100 * MS, NULL);
		assert_true(m.utilization >= 0 && m.utilization <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dirty_pages),
		cmocka_unit_test(test_worth_of_reads),
		cmocka_unit_test(test_worth_is_a_slope),
		cmocka_unit_test(test_few_reads_weigh_little),
		cmocka_unit_test(test_the_higher_counts),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_damaged_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
