/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Utilization of the CPU, of the host and of a control group with a limit; parsing and averaging.
 */
#include "fake_source.h"
#include "pricing/meter_cpu.h"
#include "pricing/rate.h"

#define WINDOW (500 * MS)

static struct fake_source fake;

/* Two processors, 100 ticks a second: BUSY ticks of each second in all so far. */
static void host(double user, double system, double idle, double iowait)
{
	fake_set(&fake, "/proc/stat",
		 "cpu  %.0f 0 %.0f %.0f %.0f 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 12345\n",
		 user, system, idle, iowait);
}

/* SECONDS with BUSY processors of two, in steps of 100 ms. */
static void run_host(struct meter_cpu *m, uint64_t *now, double *ticks, double seconds, double busy)
{
	for (double t = 0; t < seconds; t += 0.1) {
		*now += 100 * MS;
		ticks[0] += busy * 10;
		ticks[1] += (2 - busy) * 10;
		host(1000 + ticks[0] * 0.6, ticks[0] * 0.4, 5000 + ticks[1] * 0.9, ticks[1] * 0.1);
		meter_cpu_sample(m, &fake.source, *now);
	}
}

static void test_host(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND;
	double ticks[2] = {0, 0};

	fake_new(&fake);
	meter_cpu_init(&m, WINDOW);
	run_host(&m, &now, ticks, 2, 0.5);
	assert_near(m.utilization, 0.25, 0.06);
	run_host(&m, &now, ticks, 1, 2);
	assert_near(m.utilization, 1, 0.001);
	run_host(&m, &now, ticks, 1, 0);
	assert_near(m.utilization, 0, 0.001);
	assert_string_equal(m.unknown, "");
	assert_true(m.group == 0);
}

static void test_reads_each_file_once(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND;
	double ticks[2] = {0, 0};

	fake_new(&fake);
	fake_set(&fake, "/proc/self/cgroup", "0::/a/b\n");
	fake_set(&fake, "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
	fake_set(&fake, "/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1000\nuser_usec 600\n");
	meter_cpu_init(&m, WINDOW);
	run_host(&m, &now, ticks, 0.1, 1);
	for (unsigned int i = 0; i < fake.n; i++)
		assert_int_equal(fake.files[i].reads, 1);
}

/* iowait is known to go back at times. */
static void test_iowait_goes_back(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND;
	double ticks[2] = {0, 0};

	fake_new(&fake);
	meter_cpu_init(&m, WINDOW);
	run_host(&m, &now, ticks, 1, 1);
	assert_near(m.host, 0.5, 0.06);
	host(1000 + ticks[0] * 0.6, ticks[0] * 0.4, 5000 + ticks[1] * 0.9 - 20, 0);
	meter_cpu_sample(&m, &fake.source, now += 100 * MS);
	assert_near(m.host, 0.5, 0.06);
	run_host(&m, &now, ticks, 1, 1);
	assert_near(m.host, 0.5, 0.06);
}

static void test_old_kernel_with_few_columns(void **state)
{
	struct meter_cpu m;

	fake_new(&fake);
	meter_cpu_init(&m, WINDOW);
	fake_set(&fake, "/proc/stat", "cpu  100 0 100 800\n");
	meter_cpu_sample(&m, &fake.source, SECOND);
	fake_set(&fake, "/proc/stat", "cpu  130 0 130 840\n");
	meter_cpu_sample(&m, &fake.source, 2 * SECOND);
	assert_near(m.host, 0.6, 1e-9);
}

static void run_group(struct meter_cpu *m, uint64_t *now, const char *file, const char *format,
		      uint64_t *used, uint64_t per_step, int steps)
{
	while (steps--) {
		*now += 100 * MS;
		*used += per_step;
		fake_set(&fake, "/proc/stat", "cpu  %u 0 0 %u\n", (unsigned int)(*now / MS / 100),
			 (unsigned int)(*now / MS));
		fake_set(&fake, file, format, (unsigned long)*used);
		meter_cpu_sample(m, &fake.source, *now);
	}
}

static void test_group_v2(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND, used = 0;

	fake_new(&fake);
	fake_set(&fake, "/proc/self/cgroup", "0::/system.slice/ganesha.service\n");
	fake_set(&fake, "/sys/fs/cgroup/system.slice/ganesha.service/cpu.max", "max 100000\n");
	fake_set(&fake, "/sys/fs/cgroup/system.slice/cpu.max", "50000 100000\n");
	meter_cpu_init(&m, WINDOW);
	/* of half a processor, 40 ms in each 100 ms: 0.8 */
	run_group(&m, &now, "/sys/fs/cgroup/system.slice/cpu.stat",
		  "nr_periods 3\nusage_usec %lu\nuser_usec 1\n", &used, 40000, 10);
	assert_near(m.group, 0.8, 1e-6);
	assert_true(m.host < 0.1 && m.utilization == m.group);
	assert_string_equal(m.unknown, "");
	/* the limit is doubled while it runs */
	fake_set(&fake, "/sys/fs/cgroup/system.slice/cpu.max", "100000 100000\n");
	meter_cpu_sample(&m, &fake.source, now += 100 * MS);
	assert_true(m.group < 0.45);
	/* ... and lifted */
	fake_set(&fake, "/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
	meter_cpu_sample(&m, &fake.source, now += 100 * MS);
	assert_true(m.group == 0);
}

static void test_group_v1(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND, used = 0;

	fake_new(&fake);
	fake_set(&fake, "/proc/self/cgroup",
		 "9:name=systemd:/\n5:cpuset:/x\n2:cpuacct,cpu:/docker/12\n1:memory:/y\n0::/z\n");
	/* in a container only the root of its own hierarchy is visible */
	fake_set(&fake, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
	fake_set(&fake, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	meter_cpu_init(&m, WINDOW);
	run_group(&m, &now, "/sys/fs/cgroup/cpuacct/cpuacct.usage", "%lu\n", &used, 200 * MS, 10);
	assert_near(m.group, 1, 1e-6);
	fake_set(&fake, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	meter_cpu_sample(&m, &fake.source, now += 100 * MS);
	assert_true(m.group == 0 && m.unknown[0] == '\0');
}

/* Moved to another group: what the old one has used is not counted there. */
static void test_group_changes(void **state)
{
	struct meter_cpu m;
	uint64_t now = SECOND, used = 1000000000, other = 5;

	fake_new(&fake);
	fake_set(&fake, "/proc/self/cgroup", "0::/a\n");
	fake_set(&fake, "/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
	fake_set(&fake, "/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
	meter_cpu_init(&m, WINDOW);
	run_group(&m, &now, "/sys/fs/cgroup/a/cpu.stat", "usage_usec %lu\n", &used, 50000, 8);
	assert_near(m.group, 0.5, 1e-6);
	fake_set(&fake, "/proc/self/cgroup", "0::/b\n");
	run_group(&m, &now, "/sys/fs/cgroup/b/cpu.stat", "usage_usec %lu\n", &other, 10000, 8);
	assert_near(m.group, 0.1, 1e-6);
}

static void test_unknown(void **state)
{
	static const char *const bad[] = {"",
					  "\n",
					  "cpu\n",
					  "cpu  1 2 3\n",
					  "cpu  x\n",
					  "cpu  -1 0 0 0\n",
					  "cpu  99999999999999999999999 0 0 0\n"};
	struct meter_cpu m;

	fake_new(&fake);
	meter_cpu_init(&m, WINDOW);
	meter_cpu_sample(&m, &fake.source, SECOND);
	assert_string_equal(m.unknown, "/proc/stat");
	assert_true(m.utilization == 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_set(&fake, "/proc/stat", "%s", bad[i]);
		meter_cpu_sample(&m, &fake.source, (2 + i) * SECOND);
		assert_string_equal(m.unknown, "/proc/stat");
		assert_true(m.utilization == 0);
	}
	host(0, 0, 0, 0);
	fake_set(&fake, "/proc/self/cgroup", "0::/a\n");
	fake_set(&fake, "/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
	meter_cpu_sample(&m, &fake.source, 20 * SECOND);
	assert_string_equal(m.unknown, "/sys/fs/cgroup/a/cpu.stat");
}

static void test_damaged_texts(void **state)
{
	struct meter_cpu m;

	fake_new(&fake);
	fake_set(&fake, "/proc/stat", "cpu  123 45 678 9012 345 6 7 8 9 10\ncpu0 1 2 3\n");
	fake_set(&fake, "/proc/self/cgroup", "3:cpu,cpuacct:/a/b\n2:memory:/c\n0::/d/e\n");
	fake_set(&fake, "/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "50000\n");
	fake_set(&fake, "/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	fake_set(&fake, "/sys/fs/cgroup/cpuacct/a/b/cpuacct.usage", "123456789\n");
	fake_set(&fake, "/sys/fs/cgroup/d/e/cpu.max", "50000 100000\n");
	fake_set(&fake, "/sys/fs/cgroup/d/e/cpu.stat", "usage_usec 123456\n");
	meter_cpu_init(&m, WINDOW);
	fake.noise = 1;
	for (uint64_t i = 1; i < 20000; i++) {
		meter_cpu_sample(&m, &fake.source, i * 100 * MS);
		assert_true(m.utilization >= 0 && m.utilization <= 1);
	}
}

static void test_long_group_path(void **state)
{
	struct meter_cpu m;
	char path[600];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	fake_new(&fake);
	host(1, 1, 1, 1);
	fake_set(&fake, "/proc/self/cgroup", "0::%s\n", path);
	meter_cpu_init(&m, WINDOW);
	meter_cpu_sample(&m, &fake.source, SECOND);
	assert_string_equal(m.group_path, "");
	path[240] = '\0'; /* fits, but not with what comes before and behind it */
	fake_set(&fake, "/proc/self/cgroup", "0::%s\n", path);
	meter_cpu_sample(&m, &fake.source, 2 * SECOND);
	assert_string_equal(m.unknown, "");
}

/* ---- the window under all meters ---- */

static void test_rate(void **state)
{
	struct rate r = {0};
	double seconds;

	assert_true(rate_per_second(&r, WINDOW) == 0);
	rate_add(&r, WINDOW, SECOND, 100);
	assert_true(rate_per_second(&r, WINDOW) == 0);
	rate_add(&r, WINDOW, SECOND, 200); /* no time has passed */
	assert_true(rate_per_second(&r, WINDOW) == 0);
	rate_add(&r, WINDOW, SECOND + 100 * MS, 200);
	assert_near(rate_per_second(&r, WINDOW), 1000, 1e-9);
	/* rarer than the window: over the last interval */
	rate_add(&r, WINDOW, 11 * SECOND + 100 * MS, 210);
	assert_near(rate_per_second(&r, WINDOW), 1, 1e-9);
	rate_add(&r, WINDOW, 12 * SECOND, 5); /* another device */
	assert_true(rate_growth(&r, WINDOW, &seconds) == 0 && seconds == 0);
	rate_add(&r, WINDOW, 11 * SECOND, 6); /* back in time */
	assert_true(rate_per_second(&r, WINDOW) == 0);
}

/* However often it is fed, the window is covered, and not much more. */
static void test_rate_window(void **state)
{
	for (uint64_t step = MS / 10; step < 200 * MS; step = step * 3 / 2) {
		struct rate r = {0};
		double seconds;

		for (uint64_t now = 0; now < 3 * SECOND; now += step) {
			rate_add(&r, WINDOW, now, (double)now);
			rate_growth(&r, WINDOW, &seconds);
			if (now > SECOND)
				assert_true(seconds >= 0.5 &&
					    seconds < 0.5 + 0.5 / 14 + step / 1e9);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_reads_each_file_once),
		cmocka_unit_test(test_iowait_goes_back),
		cmocka_unit_test(test_old_kernel_with_few_columns),
		cmocka_unit_test(test_group_v2),
		cmocka_unit_test(test_group_v1),
		cmocka_unit_test(test_group_changes),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_damaged_texts),
		cmocka_unit_test(test_long_group_path),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_rate_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
