/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How soon a burst of writes is seen: before the kernel begins to send it, where its server's prices may say
 * that it should wait; and no sooner than that is worth.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <math.h>

#include "agent_files.h"
#include "watch.h"

#define PAGE	 4096.0
#define LITTLE	 17920 /* pages that gather before the kernel writes: a machine of 700 MB */
#define MUCH	 1000000
#define MIB	 (1ul << 20)
#define INTERVAL 2.0

static struct watch_host host;
static double now;			 /* s */
static unsigned long written, elsewhere; /* on the mount, on one without prices */

static void gather(unsigned long pages, unsigned long dirty)
{
	files_put("/proc/vmstat",
		  "nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\nnr_dirty %lu\n"
		  "nr_writeback 0\nnr_dirty_threshold %lu\nnr_dirty_background_threshold %lu\n",
		  dirty, 2 * pages, pages);
	machine_look(&host.machine);
}

static void count(void)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n"
		  "\tbytes:\t0 %lu 0 0 0 0 7 8\n\t  READ: 0 5\n\t  WRITE: 6 6\n"
		  "device s:/o mounted on /mnt/o with fstype nfs4 statvers=1.1\n"
		  "\tbytes:\t0 %lu 0 0 0 0 7 8\n\t  READ: 0 5\n\t  WRITE: 6 6\n",
		  written, elsewhere);
}

static int machine(void **state)
{
	struct settings s;
	char error[64];

	host = (struct watch_host){0};
	now = 1000;
	written = elsewhere = MIB;
	settings_init(&s);
	s.root = files_root;
	s.interval = INTERVAL;
	assert_true(settings_set(&s, "mount", "/mnt/n", error, sizeof(error)));
	assert_true(settings_set(&s, "mount", "/mnt/o", error, sizeof(error)));
	machine_init(&host.machine, files_root, 0, false);
	watch_list(&host, &s);
	gather(LITTLE, 0);
	count();
	watch_use_look(&host, now);
	host.watches[0].detector.believed = true;
	watch_use_look(&host, now += INTERVAL);
	host.watches[0].asked = host.watches[0].ask_at = now + INTERVAL;
	mount_use_asked(&host.watches[0].use);
	return 0;
}

static int machine_ends(void **state)
{
	settings_free(&host.settings);
	return 0;
}

/* SECONDS later so much was written on the mount, and so many pages are dirty: was it seen? */
static bool sees(double seconds, unsigned long bytes, unsigned long dirty)
{
	const double before = host.used;

	written += bytes;
	count();
	gather(LITTLE, dirty);
	watch_use_look(&host, now += seconds);
	return host.used > before;
}

static void test_before_the_kernel_sends_it(void **state)
{
	assert_true(fabs(host.burst_time - LITTLE * PAGE / BURST_RATE) < 0.01);
	assert_false(sees(0.05, 0, 0)); /* nothing has grown */
	assert_true(sees(0.05, 8 * MIB, 2048));
	assert_true(host.watches[0].use.written_at == now);
	assert_true(sees(0.1, 8 * MIB, 4096));
}

static void test_where_there_is_room_there_is_no_hurry(void **state)
{
	gather(MUCH, 0);
	watch_use_look(&host, now);
	assert_true(host.burst_time > USE_PACE);
}

/* No prices, a deferral that there is already, or none that is wanted. */
static void test_where_it_would_not_be_deferred(void **state)
{
	struct watch *w = host.watches;

	w->decision.way = WRITE_DEFER;
	assert_false(sees(0.1, 8 * MIB, 2048));
	assert_true(isinf(host.burst_time));
	w->decision.way = WRITE_NORMAL;
	w->detector.believed = false;
	assert_false(sees(0.1, 8 * MIB, 4096));
	w->detector.believed = true;
	host.settings.decide.defer = false;
	assert_false(sees(0.1, 8 * MIB, 8192));
	assert_true(sees(USE_PACE, 8 * MIB, 16384));
}

/* A tenth of a second says little of the network, whose use is a mean of two. */
static void test_the_network_is_looked_at_as_before(void **state)
{
	const double before = host.networked;

	assert_true(sees(0.1, 8 * MIB, 2048));
	assert_true(host.networked == before);
	assert_true(sees(USE_PACE, 8 * MIB, 4096));
	assert_true(host.networked == now);
}

/* What is looked at that often is one file. */
static void test_a_glance(void **state)
{
	gather(LITTLE, 4096);
	unlink(files_path("/proc/meminfo"));
	machine_glance(&host.machine);
	assert_int_equal(host.machine.meter.dirty_pages, 4096);
	assert_true(host.machine.background_pages == LITTLE);
}

/* Looks within 10 s, with 80 MiB a second that become dirty, and BYTES of them on a mount without prices. */
static unsigned int looks_beside(unsigned long bytes)
{
	unsigned int looks = 0;

	for (unsigned int i = 1; i <= 100; i++) {
		elsewhere += bytes;
		looks += sees(0.1, 0, 2048 * i);
	}
	return looks;
}

/* Who writes to a file system of this machine's own does not have all mounts counted ten times a second. */
static void test_others_that_write(void **state)
{
	assert_in_range(looks_beside(0), 15, 25);
}

/* Nor who writes where nothing could be deferred. */
static void test_a_mount_without_prices_that_is_written_to(void **state)
{
	assert_in_range(looks_beside(8 * MIB), 15, 25);
	assert_true(host.watches[1].use.written_at > 0);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine, machine_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_before_the_kernel_sends_it),
		ON_A_MACHINE(test_where_there_is_room_there_is_no_hurry),
		ON_A_MACHINE(test_where_it_would_not_be_deferred),
		ON_A_MACHINE(test_the_network_is_looked_at_as_before),
		ON_A_MACHINE(test_a_glance),
		ON_A_MACHINE(test_others_that_write),
		ON_A_MACHINE(test_a_mount_without_prices_that_is_written_to),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
