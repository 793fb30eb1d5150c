/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back under random loads: writes, turns on two threads, COMMITs, the kernel's own write-out,
 * errors, removals, descriptors that are taken away, exports that go, queues that are full. Whatever
 * the order,
 *   - each error is told to its file, and once (world_commit() checks every answer);
 *   - what is dirty is known, unless there was no room or it was left to the kernel: turns write all
 *     of it;
 *   - the table, kept errors and descriptors keep their bounds, and nothing is left at the end.
 * First with a baton, so that a seed is a test; then with real threads.
 */
#include "common/clock.h"
#include "writeback_world.h"

#define SEEDS 60
#define STEPS 40 /* of an actor */
#define FILES 3	 /* that may be known at a time */
#define LOADS 2
#define TICK  (300 * MSEC)

static uint64_t seed;
static bool scattered_too; /* writes that are left to the kernel */
static bool failing;
static uint32_t known; /* Writeback_Files */

static uint32_t chance(uint32_t n)
{
	return (uint32_t)random_below(&seed, n);
}

static struct world_file *any_file(void)
{
	return &world.file[chance(WORLD_FILES)];
}

static void check_bounds(void)
{
	struct writeback_stats s;

	writeback_stats(&s);
	must(s.files + s.kept <= known);
	must(world.queued <= WORLD_QUEUE);
}

static void some_write(struct world_file *f)
{
	unsigned int page = scattered_too ? chance(WORLD_PAGES) : f->next_page;
	unsigned int n = 1 + chance(12);

	if (page + n > WORLD_PAGES)
		page = 0;
	f->next_page = page + n;
	if (failing && chance(3) == 0)
		f->bad[page] = true; /* until it is written */
	world_wrote(f, page, n);
}

static void some_commit(struct world_file *f)
{
	unsigned int page = chance(WORLD_PAGES);

	world.settings.commit_wait = chance(4) ? SEC : 0;
	if (chance(2))
		world_commit(f, 0, 0);
	else
		world_commit(f, page, 1 + chance(WORLD_PAGES - page));
}

static void client(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		struct world_file *f = any_file();

		if (chance(3))
			some_write(f);
		else
			some_commit(f);
		check_bounds();
		baton_pause();
	}
}

static void kernel_writes(struct world_file *f)
{
	unsigned int page = chance(WORLD_PAGES);

	if (f->page[page] != CLEAN && chance(4) == 0)
		f->bad[page] = true;
	world_write_page(f, page);
	f->bad[page] = false;
}

/* What happens to the server besides. */
static void trouble(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		struct world_file *f = any_file();

		switch (chance(10)) {
		case 0:
			f->below_open = false; /* the FSAL closes its own */
			break;
		case 1:
			backing_drop(&f->slot);
			break;
		case 2:
			world.open_error = chance(2) ? EMFILE : 0;
			break;
		case 3:
			if (chance(8) == 0)
				writeback_leave(world.io);
			break;
		case 4:
			world.queue_max = chance(2) ? 1 : WORLD_QUEUE;
			break;
		case 5:
			writeback_unlinked(&f->slot); /* one of several links */
			writeback_renamed();
			break;
		case 6:
			memset(f->bad, false, sizeof(f->bad)); /* repaired */
			break;
		case 7:
			baton.now += TICK;
			flusher_tick(world_now());
			break;
		default:
			kernel_writes(f);
		}
		world.slice = chance(2) ? SEC : 0;
		world.turn_bytes = chance(2) ? UINT64_MAX : random_below(&seed, 8 * MIB);
		world.step = 64 * KIB << random_below(&seed, 6);
		check_bounds();
		baton_pause();
	}
}

/* All that is known to be dirty goes by turns; then every file is asked, and once more. */
static void settle(bool complete)
{
	struct writeback_stats s;

	world.queue_max = WORLD_QUEUE;
	world.open_error = 0;
	for (int i = 0; i < 100; i++) {
		world_drain();
		baton.now += 60 * SEC;
		flusher_tick(world_now());
	}
	writeback_stats(&s);
	assert_int_equal(s.files, 0);
	for (unsigned int i = 0; i < WORLD_FILES; i++) {
		struct world_file *f = &world.file[i];

		for (unsigned int page = 0; complete && page < WORLD_PAGES; page++)
			assert_int_equal(f->page[page], CLEAN);
		memset(f->bad, false, sizeof(f->bad));
		if (world_commit(f, 0, 0) != 0)
			assert_int_equal(world_commit(f, 0, 0), 0);
		assert_false(f->untold);
	}
	writeback_stats(&s);
	assert_int_equal(s.kept, 0);
}

static void run_seed(uint64_t n, bool troubled)
{
	seed = n;
	failing = troubled;
	world_reset();
	world.settings.delay = chance(2) ? 0 : SEC;
	world.settings.chunk = (1 + chance(16)) * PAGE;
	for (int i = 0; i < LOADS; i++)
		baton_actor(client, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_actor(world_disk, NULL, world_has_work);
	if (troubled)
		baton_actor(trouble, NULL, NULL);
	baton_run(chance);
	settle(!troubled && !scattered_too);
	world_clear();
}

static void test_each_error_is_told_once(void **state)
{
	known = FILES;
	world_start(known);
	for (uint64_t n = 1; n <= SEEDS; n++) {
		scattered_too = n % 2;
		run_seed(n, true);
	}
	writeback_stop();
}

static void test_nothing_that_is_dirty_is_forgotten(void **state)
{
	known = WORLD_FILES;
	world_start(known);
	scattered_too = false;
	for (uint64_t n = 1; n <= SEEDS; n++)
		run_seed(n, false);
	writeback_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_error_is_told_once),
		cmocka_unit_test(test_nothing_that_is_dirty_is_forgotten),
	};
	int failed;

	world_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_fini();
	return failed;
}
