/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back: what is queued when, turns and COMMITs that share a file, files that go, kept errors
 * and their bounds. The world is writeback_world.h's; here all runs on one thread, unless it waits.
 */
#include <sys/sysmacros.h>

#include "writeback/dirty_memory.h"
#include "writeback_world.h"

static struct world_file *const file = &world.file[0];
static unsigned int lines; /* of the log */

static void count_lines(enum log_level level, const char *format, va_list args)
{
	lines++;
}

static int set_up(void **state)
{
	world_start(3);
	log_set_writer(count_lines);
	lines = 0;
	return 0;
}

static int tear_down(void **state)
{
	world_stop();
	return 0;
}

static struct writeback_stats stats(void)
{
	struct writeback_stats s;

	writeback_stats(&s);
	return s;
}

static unsigned int pages(const struct world_file *f, enum page in)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < WORLD_PAGES; i++)
		n += f->page[i] == in;
	return n;
}

/* ---- what is queued when ---- */

static void test_much_at_once_goes_at_once(void **state)
{
	world.settings.delay = 10 * SEC;
	world_wrote(file, 0, 15);
	assert_int_equal(world.queued, 0);
	world_wrote(file, 15, 1); /* Writeback_Chunk of it */
	assert_int_equal(world.queued, 1);
	assert_int_equal(world.queue[0]->len, MIB);
	assert_false(world.queue[0]->wanted);
	world_wrote(file, 16, 16); /* the file's one request is queued */
	assert_int_equal(world.queued, 1);
	world_drain();
	assert_int_equal(pages(file, DIRTY), 0);
	assert_int_equal(stats().files, 0);
	assert_int_equal(stats().pushed, 2 * MIB);
}

/* ---- whom it is charged to ---- */

static const struct flow_id client_a = {.client = 1, .export_id = 2, .rule = 3};
static const struct flow_id client_b = {.client = 4, .export_id = 5};

static bool is_same(struct flow_id a, struct flow_id b)
{
	return a.client == b.client && a.export_id == b.export_id && a.rule == b.rule;
}

static void test_a_turn_is_charged_to_the_last_writer(void **state)
{
	world.settings.delay = 10 * SEC;
	world.slice = 0; /* two steps a turn: 4 MiB */
	world.flow = client_b;
	world_wrote(file, 0, 15);
	world.flow = client_a;
	world_wrote(file, 15, 100);
	assert_int_equal(world.queued, 1);
	assert_true(is_same(world.queue[0]->flow, client_a));
	world.flow = client_b;
	world_wrote(file, 115, 10); /* what is queued stays as it is */
	assert_true(is_same(world.queue[0]->flow, client_a));
	world_finish(world_execute());
	assert_int_equal(world.queued, 1);
	assert_true(is_same(world.queue[0]->flow, client_b));
	world_drain();
}

/* An operator gives the client another rule while its data is dirty: each turn from then on goes by that. */
static void test_a_turn_goes_by_the_rule_of_now(void **state)
{
	world.settings.delay = 10 * SEC;
	world.slice = 0; /* two steps a turn: 4 MiB */
	world.flow = client_a;
	world_wrote(file, 0, 100);
	assert_int_equal(world.queue[0]->flow.rule, client_a.rule);
	world.ruled = true;
	world.rule = 9;
	world_finish(world_execute());
	assert_int_equal(world.queue[0]->flow.rule, 9);
	world.ruled = false; /* the client is known no more: as it was last */
	world_finish(world_execute());
	assert_int_equal(world.charged.rule, 9);
	world_drain();
	assert_int_equal(world.charged.rule, 9);
}

static void commit_as_b(void *arg)
{
	world.flow = client_b;
	must(world_commit(file, 0, 0) == 0);
}

static uint32_t choose_first(uint32_t n)
{
	return 0;
}

static void test_a_turn_for_a_commit_is_charged_to_who_asked(void **state)
{
	world.settings.delay = 10 * SEC;
	world.flow = client_a;
	world_wrote(file, 0, 4);
	assert_int_equal(world.queued, 0); /* too little for a turn of its own */
	baton_actor(commit_as_b, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_run(choose_first);
	assert_true(is_same(world.charged, client_b));
	assert_int_equal(pages(file, DIRTY), 0);
}

static void give_another_rule(void)
{
	world.ruled = true;
	world.rule = 9;
}

static void test_a_turn_for_a_commit_goes_by_the_rule_of_now(void **state)
{
	world.settings.delay = 10 * SEC;
	world.slice = 0;
	world.flow = client_a;
	world_wrote(file, 0, 15);
	world.settings.chunk = 8 * MIB;
	world_wrote(file, 15, 100);
	world.meanwhile = give_another_rule;
	baton_actor(commit_as_b, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_run(choose_first);
	assert_int_equal(world.charged.client, client_b.client);
	assert_int_equal(world.charged.rule, 9);
}

static void test_less_goes_when_it_is_old(void **state)
{
	world.settings.delay = 10 * SEC;
	world_wrote(file, 0, 1);
	flusher_tick(baton.now + 5 * SEC);
	assert_int_equal(world.queued, 0);
	flusher_tick(baton.now + 11 * SEC);
	assert_int_equal(world.queued, 1);
	world_drain();
	assert_int_equal(stats().files, 0);
}

static void test_a_turn_ends_with_its_slice(void **state)
{
	struct sched_req *r;

	world.slice = 0;
	world_wrote(file, 0, 128); /* 8 MiB: four steps, and two are begun at least */
	assert_int_equal(world.queued, 1);
	r = world_execute();
	assert_int_equal(pages(file, DIRTY), 64);
	assert_int_equal(world.queued, 0);
	world_finish(r); /* the rest queues again */
	assert_int_equal(world.queued, 1);
	world_drain();
	assert_int_equal(pages(file, DIRTY), 0);
}

/* All that a turn may write is on its way before the first of it is waited for. */
static void test_a_turn_has_its_bytes(void **state)
{
	world.turn_bytes = 4 * MIB;
	world.step = 512 * KIB;
	world_wrote(file, 0, 128); /* 8 MiB */
	world_finish(world_execute());
	assert_int_equal(pages(file, DIRTY), 64);
	assert_int_equal(world.steps_max, 8);
	assert_int_equal(world.steps, 0);
	world.step = 64 * KIB; /* 64 of them: no more than so many at a time */
	world_finish(world_execute());
	assert_int_equal(pages(file, DIRTY), 0);
	assert_int_equal(world.steps_max, 16);
}

/* No memory to begin with: it is written when it is waited for, nothing is lost, and nobody is told that it is. */
static void test_a_step_that_cannot_be_begun_is_no_error(void **state)
{
	world.begin_error = ENOMEM;
	world_wrote(file, 0, 64);
	world_drain();
	assert_int_equal(pages(file, DIRTY), 0);
	assert_int_equal(errors_count(), 0);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* ext4 throws pages away for which it finds no place, and tells who began: the COMMIT must, whatever waits find. */
static void test_another_error_of_beginning_is_told(void **state)
{
	world.begin_error = EIO;
	world_wrote(file, 0, 64);
	world_drain();
	world.begin_error = 0;
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* Less than one step may go, or the slice is over: one step, and the next turn has the rest. */
static void test_a_turn_has_one_step_at_least(void **state)
{
	world.turn_bytes = 1;
	world.step = 512 * KIB;
	world_wrote(file, 0, 64);
	for (unsigned int left = 56; world.queued; left -= 8) {
		world_finish(world_execute());
		assert_int_equal(pages(file, DIRTY), left);
	}
	assert_int_equal(pages(file, DIRTY), 0);
	assert_int_equal(world.steps_max, 1);
}

static void test_scattered_writes_are_the_kernels(void **state)
{
	world.settings.delay = 10 * SEC;
	for (int i = 0; i < 40; i++)
		world_wrote(file, i % 2 ? 50 : 2, 1);
	flusher_tick(baton.now + 20 * SEC);
	assert_int_equal(world.queued, 0);
	assert_int_equal(stats().files, 1);
	assert_int_equal(world_commit(file, 0, 0), 0);
	assert_int_equal(stats().commits, 0); /* fsync does better */
	assert_int_equal(stats().direct, 1);
	for (int i = 0; i < 40; i++)
		world_wrote(file, i % 2 ? 50 : 2, 1);
	for (int i = 0; i < 20; i++)
		flusher_tick(baton.now + 50 * SEC); /* by then the kernel has written it */
	assert_int_equal(stats().files, 0);
}

/* A COMMIT of little is a seek, by whomever: it waits for no turn. */
static void test_a_commit_of_little_is_fsyncs(void **state)
{
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world.little = 256 * KIB;
	world_wrote(file, 0, 4);
	assert_int_equal(world_commit(file, 0, 4), 0);
	assert_int_equal(stats().commits, 0);
	assert_int_equal(stats().direct, 1);
	assert_int_equal(stats().files, 0); /* nothing is left to write */
	assert_int_equal(pages(file, DIRTY), 0);
	world.settings.commit_wait = 0; /* nobody serves */
	world_wrote(file, 0, 5);
	assert_int_equal(world_commit(file, 0, 1), 0); /* fsync would write all of it */
	assert_int_equal(stats().commits, 1);
	assert_int_equal(stats().direct, 1);
}

static struct {
	unsigned int pages, direct;
} beside;

/* While the fsync of another file is under way: a COMMIT of so much. */
static int fsync_and_commit(void *arg)
{
	unsigned int direct = stats().direct;

	world.settings.commit_wait = 0; /* nobody serves */
	world_wrote(&world.file[1], 0, beside.pages);
	must(world_commit(&world.file[1], 0, beside.pages) == 0);
	beside.direct = stats().direct - direct;
	return world_fsync(arg);
}

static unsigned int left_to_fsync_beside_one(unsigned int pages)
{
	struct commit c = {.slot = &file->slot,
			   .len = PAGE,
			   .wait = SEC,
			   .little = 256 * KIB,
			   .fsync_below = fsync_and_commit,
			   .arg = file};

	beside.pages = pages;
	world_wrote(file, 0, 1);
	assert_int_equal(writeback_commit(&c), 0);
	return beside.direct;
}

/* Beside others' fsyncs a file of some MiB goes with them: turns would come in between, one seek each. */
static void test_beside_fsyncs_more_is_little(void **state)
{
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world.little = 256 * KIB;
	assert_int_equal(left_to_fsync_beside_one(64), 1); /* 4 MiB */
	assert_int_equal(left_to_fsync_beside_one(65), 0);
	world_wrote(&world.file[2], 0, 5);
	assert_int_equal(world_commit(&world.file[2], 0, 5), 0);
	assert_int_equal(stats().commits, 2); /* by a turn, as it has no fsync beside it */
}

static uint32_t settling;

static int fsync_that_counts(void *arg)
{
	settling = atomic_load(&device_nth(0)->settling.now);
	return world_fsync(arg);
}

/* What was dirty of its file is out, and forgotten: what it has the journal write is ours all the same. */
static void test_an_fsync_of_what_is_clean_is_ours(void **state)
{
	struct commit c = {
		.slot = &file->slot, .wait = SEC, .fsync_below = fsync_that_counts, .arg = file};

	world.settings.delay = 10 * SEC;
	world.little = 256 * KIB;
	world_wrote(file, 0, 1);
	assert_int_equal(world_commit(file, 0, 1), 0);
	assert_int_equal(stats().files, 0);
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(settling, 1);
	assert_int_equal(atomic_load(&device_nth(0)->settling.now), 0);
}

/* ... also of one that no backing was opened for, as on flash, beside the disks that others look at. */
static void test_an_fsync_of_what_was_never_opened_is_ours(void **state)
{
	struct backing_slot none = {.key_len = 0};
	struct commit c = {.slot = &none, .fsync_below = fsync_that_counts, .arg = file};

	world_wrote(file, 0, 1); /* there is a device */
	c.device = device_nth(0);
	none.key_len = file->slot.key_len;
	lock_init(&none.lock, LOCK_SLOT);
	settling = 0;
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(settling, 1);
	assert_int_equal(atomic_load(&device_nth(0)->settling.now), 0);
	lock_fini(&none.lock);
}

/* Whether a turn says that others wrote meanwhile. */
static bool crowded_turn(void)
{
	struct sched_req *r;
	bool crowded;

	world_wrote(&world.file[1], 0, 16);
	r = world_execute();
	crowded = r->crowded;
	world_finish(r);
	return crowded;
}

static bool crowded;

static int fsync_and_turn(void *arg)
{
	crowded = crowded_turn();
	return world_fsync(arg);
}

/* It waits for what fsync writes: its time is not what the disk needs for its bytes. */
static void test_a_turn_beside_an_fsync_says_so(void **state)
{
	struct commit c = {.slot = &file->slot,
			   .len = PAGE,
			   .wait = SEC,
			   .little = 256 * KIB,
			   .fsync_below = fsync_and_turn,
			   .arg = file};

	world_wrote(file, 0, 1);
	assert_int_equal(writeback_commit(&c), 0);
	assert_true(crowded);
	assert_false(crowded_turn());
}

static void commit_of_little(void)
{
	world_wrote(file, 0, 1);
	must(world_commit(file, 0, 1) == 0);
}

/* One that begins and is over while the turn lasts has kept it waiting as well. */
static void test_a_turn_around_an_fsync_says_so(void **state)
{
	world.little = 256 * KIB;
	world.meanwhile = commit_of_little;
	assert_true(crowded_turn());
	assert_int_equal(stats().direct, 1);
	assert_false(crowded_turn());
}

/* F's record, or NULL; with the lock. */
static struct dirty_file *record_of(struct world_file *f)
{
	struct file_key key;

	file_key_of(&key, &f->slot);
	return dirty_files_find(&key);
}

/* Whether a turn of F would be claimed with so much of the budget used, AFTER ns. */
static bool is_claimed(struct world_file *f, double level, uint64_t after)
{
	struct dirty_file *d;
	bool is;

	lock_take(&wb.lock);
	d = record_of(f);
	is = turn_claim(d, level, baton.now + after);
	d->busy = false;
	lock_drop(&wb.lock);
	return is;
}

/* Where half of the budget is used, what is being written is not taken apart: its COMMIT is about to come. */
static void test_pressed_files_go_at_rest(void **state)
{
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world_wrote(file, 0, 8);
	assert_false(is_claimed(file, 0.6, 100 * CLOCK_MS));
	assert_false(is_claimed(file, 0.4, 400 * CLOCK_MS));
	assert_true(is_claimed(file, 0.6, 400 * CLOCK_MS));
	world_wrote(&world.file[1], 0, 65); /* so much goes at once */
	assert_true(is_claimed(&world.file[1], 0.6, 0));
	assert_false(is_claimed(&world.file[1], 0.4, 0));
}

/* Who looks reads the clock first: what a client wrote before he has the lock is younger than that, and not as old as time. */
static void test_what_was_written_since_is_young(void **state)
{
	uint64_t before = baton.now;

	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world_wrote(file, 0, 8);
	flusher_tick(before);
	assert_int_equal(world.queued, 0);
	assert_false(is_claimed(file, 0.6, 0 - (baton.now - before))); /* nor is it at rest */
	assert_true(is_claimed(file, 0.6, 400 * CLOCK_MS));
	flusher_tick(before + 11 * SEC);
	assert_int_equal(world.queued, 1);
}

static bool watches(uint64_t now)
{
	bool is;

	lock_take(&wb.lock);
	is = flusher_watches(now);
	lock_drop(&wb.lock);
	return is;
}

/* Its fsync writes to the device: that is looked for though the file comes and goes between two ticks. */
static void test_what_fsyncs_write_is_watched(void **state)
{
	uint64_t now = baton.now;

	world.settings.delay = 10 * SEC;
	world.little = 256 * KIB;
	assert_false(watches(now));
	world_wrote(file, 0, 4);
	assert_int_equal(world_commit(file, 0, 4), 0);
	assert_int_equal(stats().files, 0);
	assert_true(watches(now + 10));
	assert_true(watches(now + FLUSHER_LINGER - 1));
	assert_false(watches(now + 2 * FLUSHER_LINGER));
}

/* Bytes that wait for turns on the files' device. */
static uint64_t waiting(void)
{
	const struct device *d = device_nth(0);
	uint64_t bytes;

	lock_take(&wb.lock);
	bytes = dirty_files_waiting(d);
	lock_drop(&wb.lock);
	return bytes;
}

/* Two thirds of the writes are near one another: it is not a scattered file, and yet far spread. */
static void test_gaps_are_not_waited_for(void **state)
{
	world.settings.delay = 10 * SEC;
	for (uint64_t i = 0; i < 40; i++)
		for (uint64_t j = 0; j < 3; j++)
			writeback_wrote(&file->slot, world.io, &world.settings, world.flow,
					(i << 56) + j * 2 * 4096, 4096);
	assert_int_equal(world.queued, 0); /* less than Writeback_Chunk */
	flusher_tick(baton.now);
	assert_in_range(waiting(), 1, 480 * KIB);
	flusher_tick(baton.now + 11 * SEC);
	assert_int_equal(world.queued, 1);
	world_finish(world_execute()); /* its turn is long enough */
	assert_int_equal(world.queued, 0);
	assert_int_equal(stats().files, 0);
}

static void test_off_is_off(void **state)
{
	world.settings.on = false;
	world_wrote(file, 0, 64);
	assert_int_equal(stats().files, 0);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

static void test_a_full_queue_is_tried_again(void **state)
{
	world.queue_max = 0;
	world_wrote(file, 0, 16);
	assert_int_equal(world.queued, 0);
	world.queue_max = 1;
	flusher_tick(baton.now);
	assert_int_equal(world.queued, 1);
}

/* Much of the budget waits: who adds to a small file is not held back, who heaps up is. */
static void test_writers_of_little_are_not_paced(void **state)
{
	dirty_memory_start(16 * MIB);
	world.queue_max = 0;
	world.settings.delay = 10 * SEC;
	world_wrote(&world.file[1], 0, 100);
	for (unsigned int page = 0; page < 4; page++)
		assert_false(writeback_wrote(&file->slot, world.io, &world.settings, world.flow,
					     page * PAGE, PAGE));
	assert_true(writeback_wrote(&file->slot, world.io, &world.settings, world.flow, 4 * PAGE,
				    PAGE));
	world.queue_max = WORLD_QUEUE;
}

/* F is of another device than all other files. */
static void move_elsewhere(struct world_file *f)
{
	struct export_settings s = {.device = {.depth = 1, .limits = {.queue_max = 16}}};
	struct backing *b = backing_get(&f->slot, world.io, baton.now);
	struct device *d;
	int err = 0;

	assert_non_null(b);
	s.device.policy = sched_policy_find("fifo");
	d = device_use(makedev(251, 1), &s.device, &world.io->devices, &err);
	assert_non_null(d);
	assert_ptr_not_equal(d, b->device);
	atomic_fetch_sub(&b->device->backings, 1);
	atomic_fetch_add(&d->backings, 1);
	b->device = d;
	backing_put(b);
}

static bool may_be_paced(struct world_file *f, unsigned int page)
{
	return writeback_wrote(&f->slot, world.io, &world.settings, world.flow, page * PAGE, PAGE);
}

/* A slow disk's backlog is no reason to hold back who writes to another one. */
static void test_another_devices_backlog_paces_nobody(void **state)
{
	dirty_memory_start(16 * MIB);
	world.queue_max = 0;
	world.settings.delay = 10 * SEC;
	move_elsewhere(file);
	world_wrote(&world.file[1], 0, 100);
	world_wrote(&world.file[2], 0, 100); /* 12.5 MiB in all */
	for (unsigned int page = 0; page < 8; page++)
		assert_false(may_be_paced(file, page));
	flusher_tick(baton.now); /* counts anew */
	assert_false(may_be_paced(file, 8));
	assert_true(may_be_paced(&world.file[1], 100));
	world_wrote(file, 9, 60); /* now its own device has more than a quarter too */
	assert_true(may_be_paced(file, 69));
	flusher_tick(baton.now);
	assert_true(may_be_paced(file, 70));
	dirty_memory_stop();
	world.queue_max = WORLD_QUEUE;
}

/* The budget is the machine's: of eight disks each has an eighth of what makes writers wait. */
static void test_many_disks_share_the_budget(void **state)
{
	static char disks[7];
	unsigned int page;

	dirty_memory_start(16 * MIB);
	world.queue_max = 0;
	world.settings.delay = 10 * SEC;
	lock_take(&wb.lock);
	for (int i = 0; i < 7; i++)
		dirty_files_add_waiting((const struct device *)&disks[i], 2 * MIB);
	lock_drop(&wb.lock);
	for (page = 0; page < 8; page++)
		assert_false(may_be_paced(file, page));
	world_wrote(file, page, 32);
	assert_true(may_be_paced(file, page + 32));
	dirty_memory_stop();
	world.queue_max = WORLD_QUEUE;
}

/* More files than a tick claims, and a queue that is full. */
#define MANY (2 * TABLE_BATCH)

static struct world_file *many_files(void)
{
	struct world_file *many = calloc(MANY, sizeof(*many));

	assert_non_null(many);
	world_stop();
	world_start(MANY);
	world.settings.delay = SEC;
	for (unsigned int i = 0; i < MANY; i++) {
		unsigned int number = 1000000 + i;

		backing_slot_init(&many[i].slot, world_open, &number, sizeof(number));
		world_wrote(&many[i], 0, 1);
	}
	return many;
}

static void forget_many(struct world_file *many)
{
	world_drain();
	writeback_leave(world.io);
	for (unsigned int i = 0; i < MANY; i++)
		backing_slot_fini(&many[i].slot);
	free(many);
}

static void test_a_full_queue_is_tried_in_turn(void **state)
{
	struct world_file *many = many_files();

	baton.now += 2 * SEC;
	world.queue_max = 0;
	flusher_tick(baton.now); /* the first half is refused */
	world.queue_max = 1;
	flusher_tick(baton.now);
	assert_int_equal(world.queued, 1);
	world_drain();
	assert_int_equal(many[TABLE_BATCH].page[0], CLEAN);
	assert_int_equal(many[0].page[0], DIRTY);
	flusher_tick(baton.now);
	world_drain();
	assert_int_equal(many[0].page[0], CLEAN);
	forget_many(many);
}

static void commit_last(void *arg)
{
	struct world_file *many = arg;

	world_commit(&many[MANY - 1], 0, 0);
}

static void tick_and_look(void *arg)
{
	baton.now += 2 * SEC;
	world.queue_max = 1;
	flusher_tick(baton.now);
	must(world.queued == 1);
	must(world.queue[0]->wanted);
	world_drain();
}

static void test_what_a_commit_waits_for_is_tried_first(void **state)
{
	struct world_file *many = many_files();

	world.settings.commit_wait = 3600 * SEC;
	world.queue_max = 0;
	baton_actor(commit_last, many, NULL);
	baton_actor(tick_and_look, many, NULL);
	baton_run(choose_first);
	assert_int_equal(many[MANY - 1].page[0], CLEAN);
	assert_int_equal(many[0].page[0], DIRTY);
	forget_many(many);
}

/* ---- COMMITs that share a file ---- */

static struct {
	unsigned int page, pages;
	int err;
	unsigned int dirty_then; /* pages that were not out yet when it was answered */
} small, large;

static void commit_small(void *arg)
{
	small.err = world_commit(file, small.page, small.pages);
}

static int fsync_nothing(void *arg)
{
	small.dirty_then = pages(file, DIRTY);
	return 0;
}

static void commit_small_by_turns(void *arg)
{
	struct commit c = {.slot = &file->slot,
			   .offset = small.page * PAGE,
			   .len = small.pages * PAGE,
			   .wait = SEC,
			   .fsync_below = fsync_nothing};

	small.err = writeback_commit(&c);
}

static void commit_large(void *arg)
{
	large.err = world_commit(file, large.page, large.pages);
}

static void test_a_commit_waits_for_its_own_range_only(void **state)
{
	small = (typeof(small)){.page = 124, .pages = 2};
	large = (typeof(large)){.page = 0, .pages = 120};
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world.slice = 0; /* two steps a turn */
	world_wrote(file, 0, 120);
	world_wrote(file, 124, 2);
	baton_actor(commit_large, NULL, NULL);
	baton_actor(commit_small_by_turns, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_run(choose_first);
	assert_int_equal(small.err, 0);
	assert_int_equal(large.err, 0);
	/* the large one has two turns; the small one's came in between */
	assert_in_range(small.dirty_then, 1, 120 - 64);
}

static unsigned int others_done, others_done_then;

static int fsync_and_look(void *arg)
{
	others_done++;
	for (unsigned int page = 0; page < 120; page++)
		if (file->page[page] == DIRTY)
			return 0;
	if (!others_done_then)
		others_done_then = others_done;
	return 0;
}

/* Others commit what they have just written, again and again. */
static void commit_again_and_again(void *arg)
{
	struct commit c = {.slot = &file->slot,
			   .offset = 124 * PAGE,
			   .len = 2 * PAGE,
			   .wait = 3600 * SEC,
			   .fsync_below = fsync_and_look};

	for (int i = 0; i < 10; i++) {
		world_wrote(file, 124, 2);
		must(writeback_commit(&c) == 0);
	}
}

static void commit_large_by_turns(void *arg)
{
	struct commit c = {.slot = &file->slot,
			   .len = 120 * PAGE,
			   .wait = 3600 * SEC,
			   .fsync_below = fsync_nothing};

	large.err = writeback_commit(&c);
}

static void test_newer_commits_do_not_starve_an_older_one(void **state)
{
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world.slice = 0;
	others_done = others_done_then = 0;
	world_wrote(file, 0, 120); /* two turns of its own */
	baton_actor(commit_large_by_turns, NULL, NULL);
	for (int i = 0; i < 3; i++)
		baton_actor(commit_again_and_again, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_run(choose_first);
	assert_int_equal(large.err, 0);
	assert_in_range(others_done_then, 1, 12); /* of 30 */
}

static void test_a_later_commit_waits_for_an_earlier_ones_part_of_its_range(void **state)
{
	small.page = 0;
	small.pages = 60;
	large = (typeof(large)){.page = 0, .pages = 60};
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world_wrote(file, 0, 60);
	baton_actor(commit_large, NULL, NULL);
	baton_actor(commit_small_by_turns, NULL, NULL);
	baton_actor(world_disk, NULL, world_has_work);
	baton_run(choose_first);
	assert_int_equal(small.err, 0);
	assert_int_equal(small.dirty_then, 0);
	assert_int_equal(stats().commits, 2);
}

static bool paced;

static void tick_and_write(void *arg)
{
	flusher_tick(baton.now);
	paced = writeback_wrote(&file->slot, world.io, &world.settings, world.flow, 120 * PAGE,
				PAGE);
	world.queue_max = WORLD_QUEUE;
}

/* Writers are paced for what COMMITs wait for, too. */
static void test_what_a_commit_waits_for_still_waits(void **state)
{
	dirty_memory_start(8 * MIB);
	world.queue_max = 0;
	world.settings.delay = 10 * SEC;
	world_wrote(file, 0, 64);
	large = (typeof(large)){.page = 0, .pages = 64};
	paced = false;
	baton_actor(commit_large, NULL, NULL);
	baton_actor(tick_and_write, NULL, NULL);
	baton_run(choose_first);
	assert_true(paced);
	dirty_memory_stop();
}

/* With a flusher that is held up, what was written since the last look would count for ever. */
static void test_writers_look_where_nobody_does(void **state)
{
	dirty_memory_start(UINT64_C(1) << 50);
	dirty_memory_feed("nr_dirty 0\n", world_now());
	dirty_memory_wrote(UINT64_C(1) << 50);
	assert_true(dirty_memory_level() >= 1);
	world_wrote(file, 0, 1);
	assert_true(dirty_memory_level() >= 1);
	baton.now += SEC;
	world_wrote(file, 0, 1);
	assert_true(dirty_memory_level() < 0.5);
	dirty_memory_stop();
}

static void test_a_commit_waits_no_longer_than_its_time(void **state)
{
	uint64_t before = baton.now;

	world.queue_max = 0; /* and nobody serves */
	world.settings.delay = 10 * SEC;
	world_wrote(file, 0, 4);
	small = (typeof(small)){.page = 0, .pages = 2, .err = -1};
	baton_actor(commit_small, NULL, NULL);
	baton_run(choose_first);
	assert_int_equal(small.err, 0);
	assert_in_range(baton.now - before, SEC, 2 * SEC);
	world.queue_max = 1;
	flusher_tick(baton.now + 20 * SEC); /* what it did not wait for, fsync has written */
	assert_int_equal(world.queued, 0);
}

static uint64_t dirty_of(struct world_file *f)
{
	const struct dirty_file *d;
	uint64_t bytes;

	lock_take(&wb.lock);
	d = record_of(f);
	bytes = d != NULL ? dirty_bytes(&d->dirty) : 0;
	lock_drop(&wb.lock);
	return bytes;
}

/* 60 pages are written, and 4 committed, with no time for turns. What is dirty then? */
static uint64_t dirty_after(int (*fsync)(void *arg), int told)
{
	struct commit c = {.slot = &file->slot, .len = 4 * PAGE, .fsync_below = fsync, .arg = file};

	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world_wrote(file, 0, 60);
	assert_int_equal(writeback_commit(&c), told);
	return dirty_of(file);
}

/* What fsync has written, of the whole file, no later COMMIT waits for, nor has it a turn. */
static void test_fsync_leaves_nothing_of_the_file(void **state)
{
	assert_int_equal(dirty_after(world_fsync, 0), 0);
	world_drain(); /* the turn that was queued for it finds nothing */
	assert_int_equal(stats().pushed, 0);
	assert_int_equal(stats().files, 0);
	assert_int_equal(world_commit(file, 10, 10), 0);
	assert_int_equal(stats().commits, 1);
}

static int fsync_and_write(void *arg)
{
	world_wrote(file, 100, 1);
	assert_int_equal(dirty_of(file), PAGE);
	flusher_tick(baton.now); /* counts what fsync has not written yet as well */
	assert_int_equal(waiting(), 61 * PAGE);
	return 0;
}

/* ... but what is written meanwhile has. */
static void test_what_is_written_beside_fsync_is_dirty(void **state)
{
	assert_int_equal(dirty_after(fsync_and_write, 0), PAGE);
	flusher_tick(baton.now);
	assert_int_equal(waiting(), PAGE);
}

static int fsync_fails(void *arg)
{
	return ENOSPC;
}

static int fsync_is_not_tried(void *arg)
{
	return EAGAIN;
}

static void test_what_a_failed_fsync_was_to_write_is_dirty(void **state)
{
	assert_int_equal(dirty_after(fsync_fails, ENOSPC), 60 * PAGE);
	assert_int_equal(dirty_after(fsync_is_not_tried, EAGAIN), 60 * PAGE);
}

static int part_fsyncs;

static int fsync_part(void *arg)
{
	part_fsyncs++;
	return 0;
}

static void test_a_part_alone_only_where_that_is_wanted(void **state)
{
	struct commit c = {
		.slot = &file->slot, .offset = 4096, .len = PAGE, .fsync_below = fsync_part};

	part_fsyncs = 0;
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	world_wrote(file, 20, 40);
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(part_fsyncs, 1); /* the whole file, as the FSAL does it */
	world_wrote(file, 20, 40);
	c.part = true;
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(part_fsyncs, 1);
	assert_int_equal(stats().parts, 1);
	world.open_error = EMFILE;
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(part_fsyncs, 2);
	c.len = 0; /* to the end: no part */
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(part_fsyncs, 3);
}

/* ---- threads that COMMITs keep ---- */

static struct {
	uint64_t client;
	int err;
	uint64_t took; /* ns */
} third;

/* Its client has the file's number. */
static void commit_of_another_client(void *arg)
{
	struct world_file *f = arg;

	world.flow.client = f->number;
	must(world_commit(f, 0, 0) == 0);
}

static void commit_without_a_place(void *arg)
{
	struct world_file *f = arg;
	uint64_t before = baton.now;

	world.flow.client = third.client;
	third.err = world_commit(f, 0, 0);
	third.took = baton.now - before;
}

static void write_to_three(void)
{
	world.settings.delay = 10 * SEC;
	world.settings.chunk = 1024 * MIB;
	for (unsigned int i = 0; i < 3; i++)
		world_wrote(&world.file[i], 0, 4);
	third = (typeof(third)){.client = 1000, .err = -1, .took = UINT64_MAX};
}

/* Nobody serves: those that wait keep the server's threads, and the others must not. */
static void test_no_more_threads_wait_than_may(void **state)
{
	write_to_three();
	writeback_set_commit_threads(2);
	baton_actor(commit_of_another_client, &world.file[0], NULL);
	baton_actor(commit_of_another_client, &world.file[1], NULL);
	baton_actor(commit_without_a_place, &world.file[2], NULL);
	baton_run(choose_first);
	assert_int_equal(third.err, EAGAIN);
	assert_in_range(third.took, 0, CLOCK_MS);
	assert_int_equal(stats().delayed, 1);
	assert_int_equal(world.file[2].fsyncs, 0);
	/* It has a turn as if it waited, and when it comes again there is nothing to wait for. */
	assert_int_equal(world.queued, 3);
	assert_true(world.queue[2]->wanted);
	world_drain();
	assert_int_equal(pages(&world.file[2], DIRTY), 0);
	writeback_set_commit_threads(0);
	assert_int_equal(world_commit(&world.file[2], 0, 0), 0);
	assert_int_equal(stats().delayed, 1);
}

/* The two that had a place have given it back; and one client does not have all of them. */
static void test_a_client_leaves_a_place_to_others(void **state)
{
	write_to_three();
	writeback_set_commit_threads(2);
	for (int i = 0; i < 2; i++) {
		third.client = world.file[i].number; /* the other one: its time begins */
		baton_actor(commit_of_another_client, &world.file[i], NULL);
		baton_actor(commit_without_a_place, &world.file[2], NULL);
		baton_actor(commit_of_another_client, &world.file[1 - i], NULL);
		baton_run(choose_first);
		assert_int_equal(third.err, EAGAIN);
		assert_int_equal(stats().delayed, i + 1);
		for (unsigned int j = 0; j < 2; j++)
			world_wrote(&world.file[j], 0, 4);
	}
}

/* Who comes again and again and finds no place, for others have them or there is none, waits no longer than who has one. */
static void test_nobody_is_refused_for_ever(void **state)
{
	uint64_t begun = baton.now;
	int err = EAGAIN;

	writeback_set_commit_threads(0);
	world.settings.delay = 10 * SEC;
	world.settings.commit_wait = 60 * SEC;
	for (int i = 0; i < 40 && err; i++) {
		world_wrote(file, 0, 4);
		err = world_commit(file, 0, 0);
		world_drain();
		/* another one's, of what is clean */
		assert_int_equal(world_commit(file, 1000, 1), 0);
		baton.now += 5 * SEC;
	}
	assert_int_equal(err, 0);
	assert_in_range(baton.now - begun, 60 * SEC, 70 * SEC);
	baton.now += 70 * SEC;
	world_wrote(file, 0, 4);
	assert_int_equal(world_commit(file, 0, 0), EAGAIN); /* the next one has its own time */
}

/* Little is fsync's, what is clean is nobody's, and with Commit_Wait = 0 nobody waits. */
static void test_who_does_not_wait_needs_no_place(void **state)
{
	writeback_set_commit_threads(0);
	world.settings.delay = 10 * SEC;
	assert_int_equal(world_commit(file, 0, 0), 0);
	world.little = 4 * PAGE;
	world_wrote(file, 0, 4);
	assert_int_equal(world_commit(file, 0, 0), 0);
	world.little = 0;
	world.settings.commit_wait = 0;
	world_wrote(file, 0, 4);
	assert_int_equal(world_commit(file, 0, 0), 0);
	assert_int_equal(stats().delayed, 0);
}

/* ---- turns that hang ---- */

static void test_a_turn_that_hangs_holds_nobody_for_ever(void **state)
{
	struct sched_req *r;
	uint64_t before;

	file->bad[0] = true;
	world_wrote(file, 0, 1);
	r = world_execute(); /* and its end does not come */
	before = baton.now;
	baton_actor(commit_small, NULL, NULL);
	small = (typeof(small)){.page = 0, .pages = 2};
	world_wrote(&world.file[1], 0, 64); /* others go on */
	world_drain();
	baton_run(choose_first);
	assert_int_equal(small.err, EIO);
	assert_in_range(baton.now - before, 10 * SEC, 12 * SEC);
	world_wrote(file, 1, 1);
	baton_actor(commit_small, NULL, NULL);
	small = (typeof(small)){.page = 0, .pages = 2};
	baton_run(choose_first);
	assert_int_equal(small.err, EAGAIN); /* nothing to tell, as far as anybody knows */
	world_finish(r);
	world_drain();
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* ---- errors that are kept ---- */

static void write_in_vain(struct world_file *f)
{
	f->bad[0] = true;
	f->below_open = false;
	world_wrote(f, 0, 2);
	world_drain();
	f->bad[0] = false;
	assert_true(f->untold);
}

static void test_a_kept_error_holds_no_descriptor(void **state)
{
	write_in_vain(file);
	backing_drop(&file->slot);
	assert_int_equal(stats().files, 0);
	assert_int_equal(stats().kept, 1);
	assert_int_equal(backing_count(), 0);
	for (int fd = 0; fd < WORLD_FDS; fd++)
		if (world.of[fd] == file)
			assert_int_equal(fcntl(fd, F_GETFD), -1);
	world.open_error = EMFILE;
	world.settings.on = false;
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(stats().kept, 0);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

static void test_another_file_of_the_same_inode_is_not_told(void **state)
{
	struct world_file *other = &world.file[1];

	write_in_vain(file);
	file->nameless = true;
	writeback_unlinked(&file->slot);
	/* its inode number is given to another; the key has the generation */
	assert_int_equal(world_commit(other, 0, 0), 0);
	world_wrote(other, 0, 2);
	assert_int_equal(world_commit(other, 0, 0), 0);
	assert_int_equal(world_commit(file, 0, 0), EIO);
}

static void test_the_log_says_it_once(void **state)
{
	memset(file->bad, true, sizeof(file->bad));
	for (int i = 0; i < 5; i++) {
		world_wrote(file, 0, 64);
		world_drain();
	}
	assert_int_equal(lines, 1);
	assert_true(stats().errors > 1);
	assert_int_equal(world_commit(file, 0, 0), EIO);
}

static void test_many_files_fail_and_the_log_stays_short(void **state)
{
	for (int i = 0; i < 50; i++) {
		write_in_vain(file);
		assert_int_equal(world_commit(file, 0, 0), EIO);
	}
	assert_in_range(lines, 1, 10);
	baton.now += 60 * SEC;
	lines = 0;
	write_in_vain(file);
	assert_int_equal(lines, 2); /* how many there were meanwhile */
	assert_int_equal(world_commit(file, 0, 0), EIO);
}

static void test_kept_errors_and_files_share_a_bound(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		write_in_vain(&world.file[i]);
	assert_int_equal(stats().kept, 3);
	world_wrote(&world.file[3], 0, 2); /* no room: the kernel's */
	assert_int_equal(stats().files, 0);
	assert_int_equal(stats().untracked, 1);
	/* a file whose own error is kept has room */
	world_wrote(&world.file[1], 0, 2);
	assert_int_equal(stats().files, 1);
	assert_int_equal(stats().kept, 2);
	world_drain();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(world_commit(&world.file[i], 0, 0), EIO);
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
}

/* ---- an FSAL below that says: come again ---- */

/* The kernel writes out what was written, in vain, and no descriptor has told it yet. */
static void kernel_writes_in_vain(struct world_file *f)
{
	world.settings.delay = 10 * SEC;
	world.settings.commit_wait = 0; /* no turn comes before the fsync */
	world_wrote(f, 0, 2);
	f->page[0] = f->page[1] = CLEAN;
	world_error(f);
}

/* The COMMIT is answered so as well: what is to be told waits for one that is told the truth. */
static void test_a_kept_error_is_not_told_to_who_is_to_come_again(void **state)
{
	write_in_vain(file);
	file->busy = 1;
	assert_int_equal(world_commit(file, 0, 0), EAGAIN);
	assert_int_equal(stats().told, 0);
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

static void test_nor_is_one_that_our_descriptor_would_tell(void **state)
{
	kernel_writes_in_vain(file);
	file->busy = 1;
	assert_int_equal(world_commit(file, 0, 0), EAGAIN);
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* Where it was found before the FSAL said so, it is the answer, and asking again finds nothing. */
static void test_what_was_found_before_is_told(void **state)
{
	write_in_vain(file);
	file->busy = 2;
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(file->busy, 0);
	assert_int_equal(world_commit(file, 0, 0), 0);
	kernel_writes_in_vain(file);
	file->busy = 2;
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

static void test_however_often_it_says_so(void **state)
{
	write_in_vain(file);
	file->busy = 7;
	for (int i = 0; i < 3; i++)
		assert_int_equal(world_commit(file, 0, 0), EAGAIN);
	assert_int_equal(stats().kept, 1);
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* ... and left to fsync, which did nothing: it is as dirty as it was, and goes by a turn if the client does not come again. */
static void test_what_fsync_was_to_write_is_dirty_still(void **state)
{
	uint64_t begun = baton.now;

	world.settings.delay = 10 * SEC;
	world.little = COMMIT_LITTLE;
	file->busy = 1;
	world_wrote(file, 0, 2);
	assert_int_equal(world_commit(file, 0, 1), EAGAIN);
	assert_int_equal(stats().files, 1);
	flusher_tick(begun + 9 * SEC);
	assert_int_equal(world.queued, 0);
	flusher_tick(begun + 11 * SEC);
	assert_int_equal(world.queued, 1);
	world_drain();
	assert_int_equal(pages(file, DIRTY), 0);
	assert_int_equal(stats().pushed, 2 * PAGE);
	assert_int_equal(stats().files, 0); /* nor is its descriptor held for good */
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* A scattered file is the kernel's: it is forgotten as soon as that has written it. */
static void test_a_scattered_file_is_not_known_for_good(void **state)
{
	world.settings.delay = 10 * SEC;
	file->busy = 1;
	for (int i = 0; i < 40; i++)
		world_wrote(file, i % 2 ? 50 : 2, 1);
	assert_int_equal(world_commit(file, 0, 0), EAGAIN);
	for (int i = 0; i < 20; i++)
		flusher_tick(baton.now + 50 * SEC);
	assert_int_equal(world.queued, 0);
	assert_int_equal(stats().files, 0);
}

/* The file goes while its fsync is under way: nothing of it is to be written any more, nor known. */
static int gone_meanwhile(void *arg)
{
	struct world_file *f = arg;

	f->nameless = true;
	writeback_unlinked(&f->slot);
	assert_int_equal(stats().files, 1); /* the COMMIT needs it */
	return EAGAIN;
}

static void test_what_went_meanwhile_is_not_dirty(void **state)
{
	struct commit c = {.slot = &file->slot,
			   .wait = SEC,
			   .little = COMMIT_LITTLE,
			   .fsync_below = gone_meanwhile,
			   .arg = file};

	world.settings.delay = 10 * SEC;
	world_wrote(file, 0, 2);
	assert_int_equal(writeback_commit(&c), EAGAIN);
	assert_int_equal(stats().files, 0);
}

/* ---- errors that no turn met ---- */

/* As a turn's: the model is told what the world below has told somebody else, who asked only if there is a place for it. */
static bool fails_elsewhere(struct world_file *f)
{
	struct kept_error *place = writeback_expect(&f->slot);

	if (place == NULL)
		return false;
	f->untold = true;
	f->untold_since = baton.steps;
	writeback_expected(place, 7, f->number, EIO);
	return true;
}

/* ... above a cluster, where nothing is in the table. */
static void test_an_error_that_no_turn_met(void **state)
{
	fails_elsewhere(file);
	assert_int_equal(lines, 1);
	fails_elsewhere(file); /* and again, before anybody asks */
	assert_int_equal(lines, 1);
	assert_int_equal(stats().errors, 2);
	assert_int_equal(stats().kept, 1);
	backing_drop(&file->slot); /* the handle goes */
	assert_int_equal(world_commit(&world.file[1], 0, 0), 0);
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(stats().kept, 0);
	assert_int_equal(world_commit(file, 0, 0), 0);
	world_wrote(file, 0, 2); /* of one that is in the table it is the record's */
	fails_elsewhere(file);
	assert_int_equal(stats().kept, 0);
	assert_int_equal(world_commit(file, 0, 0), EIO);
	assert_int_equal(world_commit(file, 0, 0), 0);
}

/* Where there is no place for one more nobody asks for it, so that it is there for the client's COMMIT. */
static void test_such_errors_share_the_bound(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		assert_true(fails_elsewhere(&world.file[i]));
	assert_int_equal(stats().kept, 3);
	lines = 0;
	assert_false(fails_elsewhere(&world.file[3]));
	assert_false(fails_elsewhere(&world.file[3]));
	assert_int_equal(stats().kept, 3);
	assert_int_equal(lines, 1); /* said once */
	assert_int_equal(world_commit(&world.file[3], 0, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(world_commit(&world.file[i], 0, 0), EIO);
	assert_true(fails_elsewhere(&world.file[3]));
	assert_int_equal(world_commit(&world.file[3], 0, 0), EIO);
}

/* Once there is one nobody else has it, until the error is kept, or there was none. */
static void test_a_place_is_nobody_elses(void **state)
{
	struct kept_error *places[2];

	write_in_vain(&world.file[0]);
	places[0] = writeback_expect(&world.file[1].slot);
	places[1] = writeback_expect(&world.file[1].slot); /* of another handle of the file */
	assert_true(places[0] != NULL && places[1] != NULL);
	assert_false(fails_elsewhere(&world.file[2]));
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 0);
	assert_int_equal(stats().untracked, 1);
	writeback_expected(places[0], 7, 1, 0); /* all went well */
	assert_int_equal(stats().kept, 1);
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
	world_drain();
	world.file[1].untold = true;
	writeback_expected(places[1], 7, 1, EIO);
	assert_int_equal(stats().kept, 2);
	assert_int_equal(world_commit(&world.file[1], 0, 0), EIO);
	assert_int_equal(world_commit(&world.file[0], 0, 0), EIO);
}

static void test_where_no_commit_is_ours_nothing_is_expected(void **state)
{
	file->slot.key_len = 0; /* a handle that is too long */
	assert_null(writeback_expect(&file->slot));
	world_stop(); /* or its thread could not be started */
	assert_null(writeback_expect(&world.file[1].slot));
	world_start(3);
}

/* Their files may have gone unseen, by a RENAME: write-back is not off for ever. */
static void test_errors_nobody_asks_for_are_given_up(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		write_in_vain(&world.file[i]);
	lines = 0;
	world_wrote(&world.file[3], 0, 2);
	world_wrote(&world.file[3], 2, 2);
	assert_int_equal(stats().files, 0);
	assert_int_equal(lines, 1);
	baton.now += ERRORS_KEEP;
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
	assert_int_equal(stats().kept, 2);
	assert_int_equal(lines, 2); /* names the lost one */
	world_drain();
	for (unsigned int i = 1; i < 3; i++)
		assert_int_equal(world_commit(&world.file[i], 0, 0), EIO);
}

static void test_errors_take_no_files_place(void **state)
{
	const struct writeback_limits limits = {.files = 1, .entries = 4};

	world_stop();
	assert_int_equal(writeback_start(&limits, &world_ops), 0);
	world_reset();
	for (unsigned int i = 0; i < 3; i++)
		write_in_vain(&world.file[i]);
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
	assert_int_equal(stats().kept, 3);
	world_wrote(&world.file[0], 0, 2); /* one file */
	assert_int_equal(stats().untracked, 1);
	world_drain();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(world_commit(&world.file[i], 0, 0), EIO);
}

static void turn_and_removal(void *arg)
{
	struct world_file *f = arg;
	struct sched_req *r = world_execute();

	writeback_unlinked(&f->slot); /* waits for the turn, but not for ever */
	world_finish(r);
}

static void test_errors_of_removed_files_make_room(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct world_file *f = &world.file[i];

		f->bad[0] = true;
		world_wrote(f, 0, 2);
		if (i == 1) { /* and is removed before its turn is over */
			f->nameless = true;
			baton_actor(turn_and_removal, f, NULL);
			baton_run(choose_first);
		}
		world_drain();
	}
	assert_int_equal(stats().kept, 3);
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
	assert_int_equal(stats().kept, 2);
	world_drain();
	world.file[1].untold = false; /* nobody can ask */
	assert_int_equal(world_commit(&world.file[1], 0, 0), 0);
	assert_int_equal(world_commit(&world.file[0], 0, 0), EIO);
	assert_int_equal(world_commit(&world.file[2], 0, 0), EIO);
}

static void test_a_kept_error_of_a_file_removed_later_makes_room(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		write_in_vain(&world.file[i]);
		backing_drop(&world.file[i].slot);
	}
	writeback_unlinked(&world.file[0].slot); /* another link is left */
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 0);
	world.open_error = EMFILE;
	writeback_unlinked(&world.file[0].slot); /* it cannot be known */
	world.open_error = 0;
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 0);
	world.open_error = ESTALE;
	writeback_unlinked(&world.file[1].slot);
	writeback_unlinked(&world.file[1].slot);
	world.open_error = 0;
	world_wrote(&world.file[3], 0, 2);
	assert_int_equal(stats().files, 1);
	assert_int_equal(stats().kept, 2);
	world_drain();
	assert_int_equal(world_commit(&world.file[0], 0, 0), EIO);
	assert_int_equal(world_commit(&world.file[2], 0, 0), EIO);
}

/* ---- names that go ---- */

static void test_removal_looks_at_one_file(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		world_wrote(&world.file[i], 0, 2);
	world.looks = 0;
	writeback_unlinked(&world.file[1].slot); /* another link is left */
	assert_int_equal(world.looks, 1);
	assert_int_equal(stats().files, 3);
	world.file[1].nameless = true;
	writeback_unlinked(&world.file[1].slot);
	assert_int_equal(world.looks, 2);
	world_drain();
	assert_int_equal(pages(&world.file[1], DIRTY), 2); /* nothing of it was written */
	writeback_unlinked(&world.file[3].slot);	   /* not known */
	assert_int_equal(world.looks, 2);
}

static void test_a_rename_looks_at_none(void **state)
{
	for (unsigned int i = 0; i < 3; i++)
		world_wrote(&world.file[i], 0, 2);
	flusher_tick(baton.now);
	world.looks = 0;
	world.file[1].nameless = true;
	for (int i = 0; i < 1000; i++)
		writeback_renamed();
	assert_int_equal(world.looks, 0);
	flusher_tick(baton.now); /* soon one tick looks, whatever their number */
	assert_int_equal(world.looks, 3);
	flusher_tick(baton.now);
	assert_int_equal(world.looks, 3);
	world_drain();
	assert_int_equal(pages(&world.file[1], DIRTY), 2);
}

static void test_a_write_that_nobody_knows_is_the_kernels(void **state)
{
	struct backing_slot none;

	world.open_error = EMFILE;
	world_wrote(file, 0, 2);
	assert_int_equal(stats().files, 0);
	backing_slot_init(&none, world_open, NULL, 0);
	assert_false(writeback_wrote(&none, world.io, &world.settings, world.flow, 0, 1));
	writeback_unlinked(&none);
	backing_slot_fini(&none);
	assert_false(writeback_wrote(&file->slot, world.io, &world.settings, world.flow, 0, 0));
}

static int none_open;

static int fsync_below_none(void *arg)
{
	return none_open++ ? EIO : 0;
}

static void test_a_file_without_a_key_is_the_fsals(void **state)
{
	struct backing_slot none;
	struct commit c = {.slot = &none, .fsync_below = fsync_below_none};

	backing_slot_init(&none, world_open, NULL, 0);
	assert_int_equal(writeback_commit(&c), 0);
	assert_int_equal(writeback_commit(&c), EIO);
	backing_slot_fini(&none);
}

static void test_the_end_says_what_was_not_asked_for(void **state)
{
	write_in_vain(file);
	writeback_stop();
	assert_int_equal(lines, 2);
	for (unsigned int i = 0; i < WORLD_FILES; i++)
		backing_slot_fini(&world.file[i].slot);
}

/* ---- the world as it is ---- */

static void test_the_kernel_is_asked_rightly(void **state)
{
	const struct writeback_ops *ops = &writeback_linux_ops;
	struct backing b = {.fd = memfd_create("real", MFD_CLOEXEC)};
	pthread_cond_t cond;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	assert_int_equal(ops->sync(&b, 0, MIB, SYNC_FILE_RANGE_WRITE), 0);
	assert_int_equal(ops->pending(&b), 0);
	assert_true(ops->nameless(&b)); /* it never had one */
	close(b.fd);
	assert_int_equal(ops->sync(&b, 0, MIB, SYNC_FILE_RANGE_WRITE), EBADF);
	assert_int_equal(ops->pending(&b), EBADF);
	assert_false(ops->nameless(&b));
	clock_cond_init(&cond);
	pthread_mutex_lock(&lock);
	assert_int_equal(ops->wait(&cond, &lock, ops->now()), ETIMEDOUT);
	ops->wake(&cond);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&cond);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_much_at_once_goes_at_once),
		TEST(test_a_turn_is_charged_to_the_last_writer),
		TEST(test_a_turn_goes_by_the_rule_of_now),
		TEST(test_a_turn_for_a_commit_is_charged_to_who_asked),
		TEST(test_a_turn_for_a_commit_goes_by_the_rule_of_now),
		TEST(test_less_goes_when_it_is_old),
		TEST(test_a_turn_ends_with_its_slice),
		TEST(test_a_turn_has_its_bytes),
		TEST(test_a_turn_has_one_step_at_least),
		TEST(test_a_step_that_cannot_be_begun_is_no_error),
		TEST(test_another_error_of_beginning_is_told),
		TEST(test_scattered_writes_are_the_kernels),
		TEST(test_a_commit_of_little_is_fsyncs),
		TEST(test_beside_fsyncs_more_is_little),
		TEST(test_an_fsync_of_what_is_clean_is_ours),
		TEST(test_an_fsync_of_what_was_never_opened_is_ours),
		TEST(test_a_turn_beside_an_fsync_says_so),
		TEST(test_a_turn_around_an_fsync_says_so),
		TEST(test_pressed_files_go_at_rest),
		TEST(test_what_was_written_since_is_young),
		TEST(test_what_fsyncs_write_is_watched),
		TEST(test_gaps_are_not_waited_for),
		TEST(test_off_is_off),
		TEST(test_a_full_queue_is_tried_again),
		TEST(test_a_full_queue_is_tried_in_turn),
		TEST(test_what_a_commit_waits_for_is_tried_first),
		TEST(test_a_commit_waits_for_its_own_range_only),
		TEST(test_newer_commits_do_not_starve_an_older_one),
		TEST(test_a_later_commit_waits_for_an_earlier_ones_part_of_its_range),
		TEST(test_what_a_commit_waits_for_still_waits),
		TEST(test_writers_look_where_nobody_does),
		TEST(test_a_commit_waits_no_longer_than_its_time),
		TEST(test_fsync_leaves_nothing_of_the_file),
		TEST(test_what_is_written_beside_fsync_is_dirty),
		TEST(test_what_a_failed_fsync_was_to_write_is_dirty),
		TEST(test_no_more_threads_wait_than_may),
		TEST(test_a_client_leaves_a_place_to_others),
		TEST(test_nobody_is_refused_for_ever),
		TEST(test_who_does_not_wait_needs_no_place),
		TEST(test_a_part_alone_only_where_that_is_wanted),
		TEST(test_a_turn_that_hangs_holds_nobody_for_ever),
		TEST(test_a_kept_error_holds_no_descriptor),
		TEST(test_another_file_of_the_same_inode_is_not_told),
		TEST(test_the_log_says_it_once),
		TEST(test_many_files_fail_and_the_log_stays_short),
		TEST(test_kept_errors_and_files_share_a_bound),
		TEST(test_a_kept_error_is_not_told_to_who_is_to_come_again),
		TEST(test_nor_is_one_that_our_descriptor_would_tell),
		TEST(test_what_was_found_before_is_told),
		TEST(test_however_often_it_says_so),
		TEST(test_what_fsync_was_to_write_is_dirty_still),
		TEST(test_a_scattered_file_is_not_known_for_good),
		TEST(test_what_went_meanwhile_is_not_dirty),
		TEST(test_an_error_that_no_turn_met),
		TEST(test_such_errors_share_the_bound),
		TEST(test_a_place_is_nobody_elses),
		TEST(test_where_no_commit_is_ours_nothing_is_expected),
		TEST(test_errors_nobody_asks_for_are_given_up),
		TEST(test_errors_take_no_files_place),
		TEST(test_errors_of_removed_files_make_room),
		TEST(test_a_kept_error_of_a_file_removed_later_makes_room),
		TEST(test_removal_looks_at_one_file),
		TEST(test_a_rename_looks_at_none),
		TEST(test_a_write_that_nobody_knows_is_the_kernels),
		TEST(test_a_file_without_a_key_is_the_fsals),
		cmocka_unit_test_setup(test_the_end_says_what_was_not_asked_for, set_up),
		cmocka_unit_test(test_the_kernel_is_asked_rightly),
		TEST(test_writers_of_little_are_not_paced),
		TEST(test_another_devices_backlog_paces_nobody),
		TEST(test_many_disks_share_the_budget),
	};
	int failed;

	world_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	world_fini();
	return failed;
}
