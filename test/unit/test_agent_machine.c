/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What mounts share: how much is dirty, whether memory is short, and the flushing point. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <string.h>

#include "agent_files.h"
#include "machine.h"

#define BACKGROUND "/proc/sys/vm/dirty_background_ratio"
#define LIMIT	   "/proc/sys/vm/dirty_ratio"

static bool recordable;
static unsigned int records;

static bool record(void *arg)
{
	(void)arg;
	records++;
	return recordable;
}

static const struct knob_recorder recorder = {record, NULL};
static const struct traffic none;

static void set_dirty(unsigned int dirty, unsigned int writeback)
{
	files_put("/proc/vmstat",
		  "nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\nnr_dirty %u\n"
		  "nr_writeback %u\nnr_dirty_threshold 400000\n"
		  "nr_dirty_background_threshold 200000\n",
		  dirty, writeback);
}

static int files(void **state)
{
	recordable = true;
	records = 0;
	files_put(BACKGROUND, "10\n");
	files_put(LIMIT, "20\n");
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n");
	set_dirty(0, 0);
	return 0;
}

static void test_dirty_memory(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 0, false);
	set_dirty(75000, 75000);
	machine_look(&m);
	assert_true(m.dirty == 0.5 && !m.memory_short);
	assert_int_equal(machine_dirty(&m, "0:47"), 150000u * (uint64_t)sysconf(_SC_PAGESIZE));
	set_dirty(600000, 0);
	machine_look(&m);
	assert_true(m.dirty >= 1);
	files_put("/proc/vmstat", "nonsense\n");
	machine_look(&m);
	assert_true(m.dirty == 0);
}

static void test_memory_is_short(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 0, false);
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 900000 kB\n");
	machine_look(&m);
	assert_true(m.memory_short);
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\n");
	machine_look(&m);
	assert_false(m.memory_short);
}

static void test_flush_point_is_raised_and_put_back(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 60);
	assert_int_equal(files_number(LIMIT), 80);
	assert_int_equal(records, 2); /* before each */
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(records, 2);
	machine_flush_point(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 20);
}

static void test_flush_point_without_a_record(void **state)
{
	struct machine m;

	recordable = false;
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 20);
	assert_true(!m.raised && !m.limit.held && !m.background.held);
	recordable = true;
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 60);
	machine_set_flush_point(&m, 70); /* by SIGHUP */
	assert_int_equal(files_number(LIMIT), 20);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(LIMIT), 90);
	machine_flush_point(&m, false, &recorder);
}

/* Set in bytes, higher already, not there: left alone, and said once. */
static void test_limits_that_are_left_alone(void **state)
{
	struct machine m;

	files_put(BACKGROUND, "0\n");
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(LIMIT), 20);
	assert_non_null(strstr(files_said, "left alone"));
	files_put(BACKGROUND, "70\n");
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(files_number(BACKGROUND), 70);
	unlink(files_path(LIMIT));
	machine_init(&m, files_root, 60, false);
	machine_flush_point(&m, true, &recorder);
	assert_int_equal(m.flush_point, 0);
	assert_non_null(strstr(files_said, "cannot be read"));
	assert_int_equal(records, 0);
}

/* Raised, at second 1 not wanted any more, and much is dirty. */
static void begin_to_drain(struct machine *m)
{
	machine_init(m, files_root, 60, false);
	machine_flush_follow(m, true, &recorder);
	set_dirty(300000, 0);
	machine_look(m);
	machine_network(m, &none, 1000000000);
	machine_flush_follow(m, false, &recorder);
}

/* The limit where writers wait stays until what is dirty has drained, of 400,000 pages, which are 80 % of memory here; the
 * point from where the kernel writes follows that, so that nobody waits. */
static void test_the_limit_follows_when_it_has_drained(void **state)
{
	struct machine m;

	begin_to_drain(&m);
	assert_int_equal(files_number(BACKGROUND), 55);
	assert_int_equal(files_number(LIMIT), 80);
	machine_flush_follow(&m, true, &recorder); /* again, before it has drained */
	assert_int_equal(files_number(BACKGROUND), 60);
	set_dirty(390000, 0); /* a writer goes on */
	machine_look(&m);
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 60);
	set_dirty(150000, 0);
	machine_look(&m);
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 25);
	assert_int_equal(files_number(LIMIT), 80);
	set_dirty(75010, 0);
	machine_look(&m);
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 80);
	set_dirty(74000, 0);
	machine_look(&m);
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(LIMIT), 20);
	assert_false(m.limit.held || m.background.held);
}

/* Where writers never stop it goes back all the same. */
static void test_the_limit_follows_at_last(void **state)
{
	struct machine m;

	begin_to_drain(&m);
	machine_network(&m, &none, (1 + FLUSH_DRAIN_MAX) * UINT64_C(1000000000));
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(LIMIT), 20);
}

/* While it drains no record can be made, or somebody sets the point (0: in bytes): it is back, or theirs. */
static void test_a_point_that_cannot_follow(void **state)
{
	static const unsigned int theirs[] = {0, 5, 70};
	struct machine m;

	for (unsigned int i = 0; i < 4; i++) {
		int stands = i == 3 ? 10 : (int)theirs[i];

		files(state);
		begin_to_drain(&m);
		if (i < 3)
			files_put(BACKGROUND, "%u\n", theirs[i]);
		else
			recordable = false;
		set_dirty(260000, 0);
		machine_look(&m);
		machine_flush_follow(&m, false, &recorder);
		assert_int_equal(files_number(BACKGROUND), stands);
		assert_false(m.background.held);
		assert_int_equal(files_number(LIMIT), 80);
		machine_flush_point(&m, false, &recorder);
		assert_int_equal(files_number(BACKGROUND), stands);
		assert_int_equal(files_number(LIMIT), 20);
	}
}

/* ... or the limit: then what is dirty cannot be told any more, and the point is back at once. */
static void test_a_limit_that_ends_draining(void **state)
{
	struct machine m;

	begin_to_drain(&m);
	files_put(LIMIT, "0\n");
	machine_flush_follow(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(files_number(LIMIT), 0);
	assert_false(m.raised || m.limit.held || m.background.held);
}

/* While it drains somebody sets the limit: raised again it goes back to theirs; in bytes, or higher, it is left alone. */
static void test_a_limit_that_somebody_sets_while_it_drains(void **state)
{
	static const unsigned int theirs[] = {33, 0, 90};
	struct machine m;

	for (unsigned int i = 0; i < 3; i++) {
		files(state);
		begin_to_drain(&m);
		files_put(LIMIT, "%u\n", theirs[i]);
		machine_flush_follow(&m, true, &recorder);
		assert_int_equal(files_number(LIMIT), i ? (int)theirs[i] : 80);
		assert_int_equal(m.flush_point, i ? 0 : 60);
		machine_flush_point(&m, false, &recorder);
		assert_int_equal(files_number(LIMIT), theirs[i]);
		assert_int_equal(files_number(BACKGROUND), 10);
	}
}

/* Whoever sets a limit meanwhile has it: that is said, and not that it is as it was. */
static void test_a_limit_that_somebody_sets_meanwhile(void **state)
{
	static const char *const knobs[] = {BACKGROUND, LIMIT};
	struct machine m;
	char says[FILES_PATH + 64];

	for (unsigned int i = 0; i < 2; i++) {
		machine_init(&m, files_root, 60, false);
		machine_flush_point(&m, true, &recorder);
		files_put(knobs[i], "33\n");
		machine_flush_point(&m, false, &recorder);
		assert_int_equal(files_number(knobs[i]), 33);
		snprintf(says, sizeof(says), "%s: stays as it is: somebody else has turned it",
			 files_path(knobs[i]));
		assert_string_equal(files_said, says);
		files(state);
	}
	machine_flush_point(&m, true, &recorder);
	machine_flush_point(&m, false, &recorder);
	assert_string_equal(files_said, "dirty memory: put the flushing point back");
}

/* With room that a deferral would make, memory is not full yet. */
static void test_room_that_a_deferral_makes(void **state)
{
	struct machine m;

	set_dirty(300000, 0);
	machine_init(&m, files_root, 0, false);
	machine_look(&m);
	assert_true(m.dirty >= 1);
	machine_init(&m, files_root, 60, false);
	machine_look(&m); /* 400000 are 20 %, so 70 % are 1400000 */
	assert_true(m.dirty > 0.21 && m.dirty < 0.22);
	files_put(LIMIT, "0\n"); /* bytes: it cannot be raised */
	machine_look(&m);
	assert_true(m.dirty >= 1);
}

static void net(unsigned int received, unsigned int sent)
{
	files_put("/proc/net/dev",
		  "Inter-|   Receive | Transmit\n face |bytes packets\n"
		  "  eth0: %u 0 0 0 0 0 0 0 %u 0 0 0 0 0 0 0\n",
		  received, sent);
}

/* What our own mounts send does not make the way dear: it would wait for itself. */
static void test_network_of_others(void **state)
{
	const double full = 1e9 * 0.95 / 8; /* bytes a second */
	struct machine m;

	mkdir(files_path("/proc/net"), 0700);
	mkdir(files_path("/sys/class/net"), 0700);
	mkdir(files_path("/sys/class/net/eth0"), 0700);
	mkdir(files_path("/sys/class/net/eth0/device"), 0700);
	files_put("/sys/class/net/eth0/device/uevent", "DRIVER=x\n");
	files_put("/sys/class/net/eth0/speed", "1000\n");
	machine_init(&m, files_root, 0, false);
	for (unsigned int i = 0; i < 9;
	     i++) { /* others send half of what the link can, we a quarter */
		net(0, (unsigned int)(0.75 * full * i));
		machine_network(&m, &(struct traffic){0, 0.25 * full * i},
				(1 + i) * UINT64_C(1000000000));
	}
	assert_true(m.network > 0.49 && m.network < 0.51);
	machine_network(&m, &(struct traffic){0, 4 * full}, UINT64_C(10500000000));
	assert_true(m.network == 0); /* more than the card has counted */
	unlink(files_path("/proc/net/dev"));
	machine_network(&m, &none, UINT64_C(12000000000));
	assert_true(m.network == 0);
}

/* A link carries as much the other way at once: what mounts receive is not taken from what others send. */
static void test_both_directions_of_the_network(void **state)
{
	const double full = 1e9 * 0.95 / 8; /* bytes a second */
	struct machine m;

	machine_init(&m, files_root, 0, false);
	for (unsigned int i = 0; i < 9; i++) { /* others send 0.6, and receive 0.1 */
		net((unsigned int)(0.6 * full * i), (unsigned int)(0.9 * full * i));
		machine_network(&m, &(struct traffic){0.5 * full * i, 0.3 * full * i},
				(1 + i) * UINT64_C(1000000000));
	}
	assert_true(m.network > 0.59 && m.network < 0.61);
	unlink(files_path("/proc/net/dev"));
}

/* Looks half a second apart: so much, of what the link can, all and mounts have moved meanwhile. */
static void moves(struct machine *m, unsigned int looks, double all, double mounts)
{
	static const double half = 1e9 * 0.95 / 8 / 2; /* bytes */
	static double carried, ours;
	static unsigned int count;

	for (unsigned int i = 0; i < looks; i++) {
		carried += all * half;
		ours += mounts * half;
		net(0, (unsigned int)carried);
		machine_network(m, &(struct traffic){0, ours},
				(200 + ++count) * UINT64_C(500000000));
	}
}

/* A burst of the mounts', beginning or over, is nobody else's; and hides nobody. */
static void test_bursts_of_our_own(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 0, false);
	moves(&m, 2, 0, 0); /* the card is found */
	for (unsigned int i = 0; i < 10; i++) {
		moves(&m, 1, i < 4 ? 1 : 0, i < 4 ? 1 : 0);
		assert_true(m.network == 0);
	}
	moves(&m, 4, 0.5, 0); /* others */
	assert_true(m.network > 0.49 && m.network < 0.51);
	moves(&m, 1, 1, 0.5); /* and we begin */
	assert_true(m.network > 0.49 && m.network < 0.51);
	unlink(files_path("/proc/net/dev"));
}

static void test_dry_run(void **state)
{
	struct machine m;

	machine_init(&m, files_root, 60, true);
	machine_flush_point(&m, true, &recorder);
	assert_string_equal(files_said, "dirty memory: would raise the flushing point");
	machine_flush_point(&m, false, &recorder);
	assert_int_equal(files_number(BACKGROUND), 10);
	assert_int_equal(records, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_dirty_memory, files),
		cmocka_unit_test_setup(test_memory_is_short, files),
		cmocka_unit_test_setup(test_flush_point_is_raised_and_put_back, files),
		cmocka_unit_test_setup(test_flush_point_without_a_record, files),
		cmocka_unit_test_setup(test_limits_that_are_left_alone, files),
		cmocka_unit_test_setup(test_the_limit_follows_when_it_has_drained, files),
		cmocka_unit_test_setup(test_the_limit_follows_at_last, files),
		cmocka_unit_test_setup(test_a_point_that_cannot_follow, files),
		cmocka_unit_test_setup(test_a_limit_that_ends_draining, files),
		cmocka_unit_test_setup(test_a_limit_that_somebody_sets_while_it_drains, files),
		cmocka_unit_test_setup(test_a_limit_that_somebody_sets_meanwhile, files),
		cmocka_unit_test_setup(test_room_that_a_deferral_makes, files),
		cmocka_unit_test_setup(test_network_of_others, files),
		cmocka_unit_test_setup(test_both_directions_of_the_network, files),
		cmocka_unit_test_setup(test_bursts_of_our_own, files),
		cmocka_unit_test_setup(test_dry_run, files),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
