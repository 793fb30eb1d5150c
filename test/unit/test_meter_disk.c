/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Queue length and delay of a disk, ours and other programs', counted once. */
#include "fake_source.h"
#include "pricing/meter_disk.h"

#define STAT "/sys/dev/block/8:16/stat"

static struct fake_source fake;
static const struct disk_limits limits = {
	.method = DISK_QUEUE, .saturation_length = 8, .saturation_delay = 0.1, .window = 500 * MS};

/* A load that does not change: requests in the kernel, ended a second, and our own queue. */
struct load {
	double kernel, ended;
	uint32_t in_flight;
	struct disk_sample ours;
};

struct device {
	uint64_t now;
	double time, ended, ours_ended; /* so far: request seconds, requests */
};

static void run(struct meter_disk *m, struct device *d, const struct load *l, double seconds)
{
	for (int step = 0; step < seconds * 20; step++) {
		struct disk_sample ours = l->ours;

		d->now += 50 * MS;
		d->time += l->kernel * 0.05;
		d->ended += l->ended * 0.05;
		d->ours_ended += (double)l->ours.ended * 0.05;
		ours.ended = (uint64_t)d->ours_ended;
		fake_set(&fake, STAT, "%8.0f 0 0 0 %.0f 1 2 3 %u 77 %.0f 0 0 0 0 1 2\n",
			 d->ended * 0.7, d->ended * 0.3, l->in_flight, d->time * 1000);
		meter_disk_sample(m, &fake.source, d->now, &ours);
	}
}

static void start(struct meter_disk *m, struct device *d, const struct disk_limits *l)
{
	fake_new(&fake);
	*d = (struct device){.now = SECOND};
	meter_disk_init(m, 8, 16, l);
}

static void test_idle(void **state)
{
	struct meter_disk m;
	struct device d;

	start(&m, &d, &limits);
	run(&m, &d, &(struct load){0}, 2);
	assert_true(m.utilization == 0 && m.length == 0 && m.delay == 0);
	assert_string_equal(m.unknown, "");
}

/* Ours are among the kernel's: four wait with us, one runs, and the kernel has three in all. */
static void test_running_requests_count_once(void **state)
{
	struct meter_disk m;
	struct device d;
	struct load l = {.kernel = 3,
			 .ended = 100,
			 .in_flight = 3,
			 .ours = {.waiting = 4, .running = 1, .ended = 50}};

	start(&m, &d, &limits);
	run(&m, &d, &l, 2);
	assert_near(m.length, 7, 0.01);
	assert_near(m.utilization, 7.0 / 8, 0.01);
	l.kernel = l.in_flight = 0; /* FUSE below: the kernel's disk does not see it */
	run(&m, &d, &l, 2);
	assert_near(m.length, 5, 0.01);
}

/* Nothing of ours at all. */
static void test_other_programs_count(void **state)
{
	struct meter_disk m;
	struct device d;

	start(&m, &d, &limits);
	run(&m, &d, &(struct load){.kernel = 20, .ended = 500, .in_flight = 20}, 1);
	assert_near(m.length, 20, 0.1);
	assert_true(m.utilization == 1);
	assert_near(m.delay, 20.0 / 500, 0.002);
}

/* The time in queue grows only when a request ends; one that hangs is seen all the same. */
static void test_hanging_requests_count(void **state)
{
	struct meter_disk m;
	struct device d;

	start(&m, &d, &limits);
	run(&m, &d, &(struct load){.in_flight = 6}, 1);
	assert_near(m.length, 6, 0.1);
	assert_true(m.by_delay == 1);
}

static void test_delay(void **state)
{
	struct disk_limits l = limits;
	struct meter_disk m;
	struct device d;

	l.method = DISK_DELAY;
	start(&m, &d, &l);
	/* ours: 2 waiting, 100 ended a second: 20 ms; the kernel's: 3 and 200: 15 ms */
	run(&m, &d,
	    &(struct load){.kernel = 3,
			   .ended = 200,
			   .in_flight = 3,
			   .ours = {.waiting = 2, .running = 1, .ended = 100}},
	    2);
	assert_near(m.delay, 0.035, 0.002);
	assert_near(m.utilization, 0.35, 0.02);
	assert_near(m.by_length, 5.0 / 8, 0.01);
	/* a queue as long, but fast: flash */
	run(&m, &d,
	    &(struct load){.kernel = 3,
			   .ended = 20000,
			   .in_flight = 3,
			   .ours = {.waiting = 2, .running = 1, .ended = 10000}},
	    2);
	assert_true(m.utilization < 0.01);
	/* ours stands still */
	run(&m, &d, &(struct load){.ours = {.waiting = 1}}, 1);
	assert_true(m.utilization == 1);
}

/* Samples at uneven intervals weigh as long as they stood. */
static void test_uneven_samples(void **state)
{
	struct meter_disk m;
	struct disk_sample none = {0}, four = {.waiting = 4};
	uint64_t now = SECOND;

	fake_new(&fake);
	meter_disk_init(&m, 8, 16, &limits);
	for (int i = 0; i < 100; i++) {
		meter_disk_sample(&m, &fake.source, now += 30 * MS, &none);
		meter_disk_sample(&m, &fake.source, now += 10 * MS, &four);
	}
	assert_near(m.length, 1, 0.15);
}

/* Of a partition the whole disk counts. */
static void test_partition(void **state)
{
	struct meter_disk m;
	struct disk_sample none = {0};

	fake_new(&fake);
	meter_disk_init(&m, 8, 17, &limits);
	fake_set(&fake, "/sys/dev/block/8:17/stat", "0 0 0 0 0 0 0 0 0 0 0\n");
	for (int i = 0; i < 20; i++) {
		fake_set(&fake, "/sys/dev/block/8:17/../stat", "%d 0 0 0 0 0 0 0 2 0 %d\n", i,
			 i * 100);
		meter_disk_sample(&m, &fake.source, SECOND + i * 50 * MS, &none);
	}
	assert_near(m.length, 2, 0.01);
}

static void test_unknown(void **state)
{
	static const char *const bad[] = {"", "x", "1 2 3 4 5 6 7 8 9 10\n", "\n\n\n"};
	struct meter_disk m;
	struct device d;
	struct disk_sample ours = {.waiting = 4, .running = 1};

	start(&m, &d, &limits);
	for (int i = 0; i < 20; i++)
		meter_disk_sample(&m, &fake.source, d.now += 50 * MS, &ours);
	assert_string_equal(m.unknown, STAT);
	assert_near(m.length, 5, 0.01); /* our own queue still counts */
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_set(&fake, STAT, "%s", bad[i]);
		meter_disk_sample(&m, &fake.source, d.now += 50 * MS, &ours);
		assert_string_equal(m.unknown, STAT);
	}
	run(&m, &d, &(struct load){.kernel = 3, .in_flight = 3, .ours = ours}, 1);
	assert_string_equal(m.unknown, "");
	assert_near(m.length, 7, 0.01);
}

static void test_damaged_texts(void **state)
{
	struct meter_disk m;
	struct disk_sample none = {0};
	struct device d;

	start(&m, &d, &limits);
	fake.noise = 1;
	fake_set(&fake, STAT,
		 "98989 32450 4513658 15648 43944 28822 3335064 11065 0 10372 27291 5 6 7\n");
	for (uint64_t i = 1; i < 20000; i++) {
		meter_disk_sample(&m, &fake.source, i * 50 * MS, &none);
		assert_true(m.utilization >= 0 && m.utilization <= 1);
		assert_true(m.by_delay >= 0 && m.by_delay <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_running_requests_count_once),
		cmocka_unit_test(test_other_programs_count),
		cmocka_unit_test(test_hanging_requests_count),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_uneven_samples),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_damaged_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
