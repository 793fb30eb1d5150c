/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT and errors of write-out: every way in which a turn, the kernel's own write-out, fsync and
 * COMMITs can interleave is walked through. An error reaches one COMMIT of its file at least, and none
 * that began after it was told.
 */
#include "writeback_world.h"

/* ---- one error, in all orders ---- */

static struct world_file *const file = &world.file[0];
/* What the present case has besides a turn, an error and two COMMITs, one after the other. */
static struct {
	bool below_open; /* the FSAL has the file open when it happens */
	bool timeouts;	 /* any wait may be too long */
	bool early;	 /* the first COMMIT waits for no turn (Commit_Wait = 0) */
	void (*event)(void *arg);
	void (*before)(void);
	bool little;  /* so little is dirty that it is fsync's */
	bool two;     /* the COMMITs are two clients', at the same time */
	bool by_turn; /* the page fails when the turn waits for it */
	bool busy;    /* the FSAL says once: come again */
} scene;

static void committer(void *arg)
{
	world_commit(file, 0, 0);
}

/* The kernel writes the page of itself, in vain. */
static void kernel(void *arg)
{
	file->page[0] = CLEAN;
	world_error(file);
	baton_pause();
}

/* After all of it: one more COMMIT is told what is left, and a last one nothing. */
static void ends_well(void)
{
	unsigned int told;

	world_drain();
	if (file->untold)
		assert_int_equal(world_commit(file, 0, 0), EIO);
	else if (scene.timeouts || scene.busy) /* what fsync was to write may not be out yet */
		world_commit(file, 0, 0);
	told = file->told;
	assert_true(told == 1 || (told == 2 && (scene.two || scene.timeouts)));
	assert_int_equal(world_commit(file, 0, 0), 0);
	assert_int_equal(world_commit(&world.file[1], 0, 0), 0);
}

/* So many paths by chance, where there are too many to walk them all. */
#define SAMPLE 60
static uint64_t seed = 1;

static uint32_t choose_by_chance(uint32_t n)
{
	return (uint32_t)random_below(&seed, n);
}

static unsigned int walk(void)
{
	bool many = scene.two || scene.timeouts || scene.event || scene.before;
	unsigned int paths = 0;

	world_start(8);
	baton.length = 0;
	do {
		world_reset();
		baton.timeouts = scene.timeouts;
		file->below_open = scene.below_open;
		world.little = scene.little ? 2 * PAGE : 0;
		world.settings.commit_wait = scene.early ? 0 : SEC;
		file->bad[0] = scene.by_turn;
		file->busy = scene.busy;
		world_wrote(file, 0, 2);
		if (scene.before)
			scene.before();
		baton_actor(world_disk, NULL, world_has_work);
		baton_actor(committer, NULL, NULL);
		if (scene.two)
			baton_actor(committer, NULL, NULL);
		if (!scene.by_turn)
			baton_actor(kernel, NULL, NULL);
		if (scene.event)
			baton_actor(scene.event, NULL, NULL);
		baton_run(many ? choose_by_chance : baton_choose_path);
		ends_well();
		world_clear();
		paths++;
	} while (many ? paths < SAMPLE : baton_next_path());
	writeback_stop();
	return paths;
}

static void walk_all(void)
{
	unsigned int paths = 0;

	for (int i = 0; i < 8; i++) {
		scene.below_open = i & 1;
		scene.early = i & 2;
		scene.by_turn = i & 4;
		paths += walk();
	}
	print_message("             %u paths\n", paths);
	memset(&scene, 0, sizeof(scene));
}

static void test_one_error_reaches_one_commit(void **state)
{
	walk_all();
}

/* The same where fsync writes what a turn may have begun. */
static void test_so_it_does_where_it_is_little(void **state)
{
	scene.little = true;
	walk_all();
	scene.little = scene.two = true;
	walk_all();
}

static void test_two_clients_commit_at_once(void **state)
{
	scene.two = true;
	walk_all();
}

/* Whoever is told to come again has not been told the error. */
static void test_the_fsal_says_come_again(void **state)
{
	scene.busy = true;
	walk_all();
	scene.busy = scene.two = true;
	walk_all();
	scene.busy = scene.little = true;
	walk_all();
}

static void goes_with_its_export(void *arg)
{
	writeback_leave(world.io);
	baton_pause();
}

static void test_the_export_goes(void **state)
{
	scene.event = goes_with_its_export;
	walk_all();
}

static void is_removed(void *arg)
{
	file->nameless = true;
	baton_pause();
	writeback_unlinked(&file->slot);
	baton_pause();
}

static void test_the_file_is_removed(void **state)
{
	scene.event = is_removed;
	walk_all();
}

static void is_replaced(void *arg)
{
	file->nameless = true;
	writeback_renamed();
	flusher_tick(world_now());
}

static void test_the_file_is_replaced(void **state)
{
	scene.event = is_replaced;
	walk_all();
}

static void no_descriptor_is_left(void)
{
	backing_drop(&file->slot);
	world.open_error = EMFILE;
}

static void test_no_descriptor_is_left(void **state)
{
	scene.before = no_descriptor_is_left;
	walk_all();
}

static void write_here_and_there(void)
{
	for (int i = 0; i < 20; i++)
		world_wrote(file, i % 2 ? 40 : 2, 1);
}

static void test_a_scattered_file(void **state)
{
	scene.before = write_here_and_there;
	walk_all();
}

static void the_queue_is_full(void)
{
	world_drain();
	file->page[0] = DIRTY;
	world.queue_max = 0;
}

static void test_the_queue_is_full(void **state)
{
	scene.before = the_queue_is_full;
	for (int i = 0; i < 2; i++) {
		scene.below_open = i;
		walk();
	}
	memset(&scene, 0, sizeof(scene));
}

static void test_waits_that_are_too_long(void **state)
{
	scene.timeouts = true;
	walk_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_error_reaches_one_commit),
		cmocka_unit_test(test_so_it_does_where_it_is_little),
		cmocka_unit_test(test_two_clients_commit_at_once),
		cmocka_unit_test(test_the_fsal_says_come_again),
		cmocka_unit_test(test_the_export_goes),
		cmocka_unit_test(test_the_file_is_removed),
		cmocka_unit_test(test_the_file_is_replaced),
		cmocka_unit_test(test_no_descriptor_is_left),
		cmocka_unit_test(test_a_scattered_file),
		cmocka_unit_test(test_the_queue_is_full),
		cmocka_unit_test(test_waits_that_are_too_long),
	};
	int failed;

	world_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_fini();
	return failed;
}
