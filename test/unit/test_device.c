/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of devices over a made-up sysfs: what is learnt, writes of others, places reused. */
#include "disk_host.h"
#include "faults.h"

#define DEV makedev(250, 1)

static _Atomic uint64_t devices;

static void kernel_says(dev_t dev, bool rotating, unsigned int writes)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%u:%u", host_dir, major(dev), minor(dev));
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%u:%u/queue", host_dir, major(dev), minor(dev));
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%u:%u/queue/rotational", host_dir, major(dev), minor(dev));
	host_write_text(path, rotating ? "1\n" : "0\n");
	snprintf(path, sizeof(path), "%s/%u:%u/inflight", host_dir, major(dev), minor(dev));
	host_write_text(path, writes ? "       0       7\n" : "       0       0\n");
}

static struct device *use(dev_t dev, uint32_t depth)
{
	struct export_settings s = host_settings(depth);
	int err = 0;
	struct device *d = device_use(dev, &s.device, &devices, &err);

	assert_non_null(d);
	return d;
}

/* Observes small reads, each elsewhere, that take NS, until that is believed. */
static void seeks(struct device *d, uint64_t ns)
{
	for (uint64_t i = 1; i < 100; i++)
		host_observe(d, i * 100 * MIB, 4 * KIB, ns);
}

static int setup(void **state)
{
	host_make_dir();
	host_log[0] = '\0';
	log_set_writer(host_log_write);
	device_start(&host_dispatcher_ops, host_dir);
	atomic_store(&devices, 0);
	return 0;
}

static int teardown(void **state)
{
	device_stop_all();
	log_set_writer(NULL);
	host_remove_dir();
	return 0;
}

static void test_a_disk_and_a_flash(void **state)
{
	struct device *d, *f;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	assert_true(device_queues_demand(d) && device_queues_writeback(d));
	assert_int_equal(device_depth(d), 1);
	assert_int_equal(dispatcher_depth(&d->dispatcher), 1);
	assert_non_null(strstr(host_log, "250:1 (rotating)"));
	f = use(makedev(250, 2), 0); /* sysfs does not know it */
	assert_false(device_queues_demand(f));
	assert_int_equal(dispatcher_depth(&f->dispatcher), 8);
	assert_ptr_equal(use(DEV, 0), d);
	assert_int_equal(atomic_load(&devices), 3);
	assert_int_equal(d->exports, 1);
	assert_ptr_equal(device_nth(1), f);
	assert_null(device_nth(2));
}

static void test_seeks_that_cost_nothing_make_flash(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	seeks(d, 10000);
	assert_false(device_queues_demand(d));
	assert_int_equal(dispatcher_depth(&d->dispatcher), 8);
	assert_non_null(strstr(host_log, "treated as flash"));
	seeks(d, 60 * MSEC);
	assert_true(device_queues_demand(d));
	assert_int_equal(dispatcher_depth(&d->dispatcher), 1);
	assert_non_null(strstr(host_log, "a rotating disk again"));
}

/* A step of a chunk came, of LEN bytes at BLOCK, N of them being under way; its share of the time was NS. */
static void step(struct device *d, uint64_t block, uint64_t len, uint64_t ns, uint32_t n,
		 bool goes_on)
{
	struct extent_span span = {.pieces = 1, .block = block, .end = block + len};
	struct sched_limits limits = dispatcher_limits(&d->dispatcher);

	device_observe(d, &span, len, n * ns, n, n, goes_on);
	dispatcher_set_limits(&d->dispatcher, &limits); /* it advises by them */
}

/* COUNT of them, each elsewhere. */
static void steps(struct device *d, int count, uint64_t len, uint64_t ns, uint32_t n)
{
	for (int i = 0; i < count; i++)
		step(d, (uint64_t)(i + 1) * 100 * MIB, len, ns, n, i % 4 != 0);
}

static struct device *use_flash(void)
{
	struct device *d;

	kernel_says(DEV, false, 0);
	d = use(DEV, 0);
	assert_true(device_is_direct(d));
	return d;
}

/* Chunks go beside READs that nobody sees here: they are short. One step that hung makes them no longer. */
static void test_chunks_of_a_flash_are_short(void **state)
{
	struct device *d = use_flash();

	assert_int_equal(dispatcher_chunk(&d->dispatcher), MIB);
	steps(d, 128, 512 * KIB, MSEC, 8);
	assert_int_equal(dispatcher_chunk(&d->dispatcher), 2 * MIB); /* 4 ms of it */
	step(d, 0, 512 * KIB, 30 * MSEC, 1, false);
	assert_int_equal(dispatcher_chunk(&d->dispatcher), 2 * MIB);
}

/* What is asked for ahead makes one step short, and the next one long: neither is the device's bandwidth, or a seek. */
static void test_steps_that_share_a_device_unevenly(void **state)
{
	struct device *d = use_flash();

	for (int i = 0; i < 256; i++)
		step(d, (uint64_t)(i + 1) * 100 * MIB, 512 * KIB, i % 2 ? 1800000 : 200000, 2,
		     i % 4 != 0);
	assert_in_range(dispatcher_chunk(&d->dispatcher), MIB, 3 * MIB);
}

/* A disk, or an array, that says it does not rotate: among several streams each step seeks, also where it goes on. */
static void test_what_seeks_after_all_is_asked_for_much(void **state)
{
	struct device *d = use_flash();
	uint64_t at = 0;

	for (int i = 0; i < 64; i++, at += 512 * KIB) /* one stream; a chunk follows the other */
		step(d, at, 512 * KIB, 4 * MSEC, 1, i % 2 != 0);
	assert_int_equal(dispatcher_chunk(&d->dispatcher), MIB);
	steps(d, 128, 256 * KIB, 11 * MSEC, 8);
	assert_in_range(dispatcher_chunk(&d->dispatcher), 8 * MIB, 16 * MIB);
	atomic_store(&d->steps, 8);
	assert_false(device_is_shared(d, 1));
	atomic_store(&d->steps, 0);
}

/* The same where there never was one stream alone. */
static void test_what_seeks_from_the_beginning(void **state)
{
	struct device *d = use_flash();

	steps(d, 128, 256 * KIB, 11 * MSEC, 8);
	assert_in_range(dispatcher_chunk(&d->dispatcher), 8 * MIB, 16 * MIB);
}

/* READs past the queue are no steps. */
static void test_reads_past_the_queue_are_no_steps(void **state)
{
	struct device *d = use_flash();

	steps(d, 128, 512 * KIB, MSEC, 8);
	for (uint64_t i = 0; i < 100; i++)
		host_observe(d, i * 100 * MIB, 4 * KIB, 10 * MSEC);
	steps(d, 1, 512 * KIB, MSEC, 8);
	assert_int_equal(dispatcher_chunk(&d->dispatcher), 2 * MIB);
	atomic_store(&d->reading, 16);
	assert_false(device_is_shared(d, 1));
	atomic_store(&d->steps, 8);
	assert_true(device_is_shared(d, 1));
	atomic_store(&d->reading, 0);
	atomic_store(&d->steps, 0);
}

/* A file of which each MiB lies elsewhere is read in steps, of which only every other one seeks, within it. */
static void read_in_pieces(struct device *d, uint64_t seek)
{
	struct extent_span span = {.end = 0};

	for (int i = 0; i < 200; i++) {
		span.seeks = i % 2 ? 1 : 0;
		span.pieces = 1 + span.seeks;
		span.block = span.end;
		span.end += 512 * KIB + span.seeks * 100 * MIB;
		device_observe(d, &span, 512 * KIB, 4 * MSEC + span.seeks * seek, 1, 0, false);
	}
}

static void test_a_file_in_pieces_makes_no_flash_of_a_disk(void **state)
{
	struct cost_model cost;
	struct device *d;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	read_in_pieces(d, 9 * MSEC);
	assert_true(device_queues_demand(d));
	cost = dispatcher_cost(&d->dispatcher); /* the seeks are none of the bandwidth's */
	assert_true(cost_run_known(&cost));
	assert_in_range((uint64_t)(cost.ns_per_byte * 512 * KIB), 39 * MSEC / 10, 41 * MSEC / 10);
	assert_false(cost_seek_known(&cost));
	read_in_pieces(d, 10000); /* a virtual machine's */
	assert_false(device_queues_demand(d));
}

static uint32_t together_max(struct device *d)
{
	struct dispatcher_stats s;

	dispatcher_stats(&d->dispatcher, &s);
	return s.drive.max;
}

static void test_a_drives_own_queue(void **state)
{
	struct export_settings s = host_settings(0);
	struct device *d;
	char path[256];

	kernel_says(DEV, true, 0);
	snprintf(path, sizeof(path), "%s/250:1/device", host_dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/250:1/device/queue_depth", host_dir);
	host_write_text(path, "31\n");
	d = use(DEV, 0);
	assert_int_equal(atomic_load(&d->drive_stated), 31);
	assert_int_equal(together_max(d), 31);
	assert_int_equal(dispatcher_depth(&d->dispatcher), 1);
	kernel_says(DEV, true, 7); /* reads go directly while others write */
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	assert_int_equal(together_max(d), 1);
	device_forget_writes();
	assert_int_equal(together_max(d), 31);
	host_write_text(path, "1\n"); /* switched off: seen at the next SIGHUP */
	device_configure(atomic_load(&devices), &s.device);
	assert_int_equal(together_max(d), 1);
	/* one that says nothing, nor its kernel */
	kernel_says(makedev(250, 2), true, 0);
	assert_int_equal(together_max(use(makedev(250, 2), 0)), 1);
}

static void test_a_configured_depth_learns_nothing(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 0);
	d = use(DEV, 2);
	seeks(d, 10000);
	assert_true(device_queues_demand(d));
	assert_int_equal(device_depth(d), 2);
}

static void test_writes_of_others_let_reads_go(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 7);
	d = use(DEV, 0);
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	assert_false(device_queues_demand(d));
	assert_true(device_queues_writeback(d));
	assert_int_equal(dispatcher_depth(&d->dispatcher), 32);
	assert_int_equal(device_depth(d), 1);
	kernel_says(DEV, true, 0);
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	assert_true(device_queues_demand(d));
	assert_int_equal(dispatcher_depth(&d->dispatcher), 1);
}

/* What is learnt while others write must hold when they end. */
static void test_a_lesson_during_others_writes_stays(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 7);
	d = use(DEV, 0);
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	seeks(d, 10000);
	assert_int_equal(dispatcher_depth(&d->dispatcher), 8); /* no READ waits in its queue */
	assert_int_equal(device_depth(d), 8);
	device_forget_writes();
	assert_int_equal(dispatcher_depth(&d->dispatcher), 8);
	assert_false(device_queues_demand(d));
}

static void test_a_reload_configures_the_exports_devices(void **state)
{
	struct export_settings s = host_settings(5);
	struct device *d, *other;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	other = use(makedev(250, 2), 3);
	s.device.policy = sched_policy_find("turns");
	device_configure(1, &s.device);
	assert_int_equal(device_depth(d), 5);
	assert_int_equal(device_depth(other), 3);
}

static void test_a_full_table_reuses_what_nobody_uses(void **state)
{
	struct export_settings s = host_settings(1);
	_Atomic uint64_t gone = 0;
	struct cost_model cost;
	struct device *d;
	int err = 0;

	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		assert_non_null(
			device_use(makedev(251, i), &s.device, i == 9 ? &gone : &devices, &err));
	assert_null(device_use(DEV, &s.device, &devices, &err));
	assert_int_equal(err, ENOSPC);
	d = device_nth(9);
	assert_int_equal(atomic_load(&gone), UINT64_C(1) << 9);
	device_unuse(atomic_load(&gone));
	seeks(d, 10000);
	atomic_store(&d->backings, 1); /* a file is still open there */
	assert_null(device_use(DEV, &s.device, &devices, &err));
	atomic_store(&d->backings, 0);
	assert_ptr_equal(device_use(DEV, &s.device, &devices, &err), d);
	assert_true(d->dev == DEV);
	assert_int_equal(d->taken, 2);
	cost = dispatcher_cost(&d->dispatcher);
	assert_false(cost_seek_known(&cost)); /* another disk's seeks say nothing */
	assert_null(device_use(makedev(252, 1), &s.device, &devices, &err));
}

/* The number is given to another disk while nobody uses it, and the export that said how is gone. */
static void test_an_unused_entry_begins_anew(void **state)
{
	struct export_settings s = host_settings(0);
	struct device *d;
	int err = 0;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	seeks(d, 100000);
	assert_int_equal(device_depth(d), 8); /* they are free */
	device_unuse(1);
	atomic_store(&devices, 0);
	atomic_store(&d->backings, 1); /* a file is still open there */
	assert_ptr_equal(device_use(DEV, &s.device, &devices, &err), d);
	assert_int_equal(d->taken, 1);
	device_unuse(1);
	atomic_store(&devices, 0);
	atomic_store(&d->backings, 0);
	assert_ptr_equal(device_use(DEV, &s.device, &devices, &err), d);
	assert_int_equal(d->taken, 2);
	assert_true(d->rotating && device_queues_demand(d));
	assert_int_equal(device_depth(d), 1);
	device_unuse(1);
	atomic_store(&devices, 0);
	kernel_says(DEV, false, 0);
	assert_ptr_equal(use(DEV, 3), d);
	assert_false(d->rotating);
	assert_int_equal(device_depth(d), 3);
}

/* ... or while it is used; that a seek cost nothing was true of the one before. */
static void test_another_kind_under_the_same_number(void **state)
{
	struct export_settings s = host_settings(0);
	struct device *d;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	seeks(d, 100000);
	kernel_says(DEV, false, 0);
	device_configure(1, &s.device);
	assert_false(d->rotating);
	kernel_says(DEV, true, 0);
	device_forget(d);
	assert_true(d->rotating);
	assert_int_equal(device_depth(d), 1);
}

/* All that pieces of a step apart taught of D. */
static void learn_angles(struct device *d)
{
	for (int i = 1; i < 20; i++)
		access_order_observe(&d->evidence.records, MIB, i - 1, i, 6 * MSEC + 10);
	for (int i = 0; i < 2; i++)
		access_together_observe(&d->evidence.together, MIB, i == 1, ACCESS_RUN, MSEC);
	assert_int_equal(d->evidence.records.step, MIB);
	assert_true(access_phase_expect(&d->evidence.records.phase, 2) > 0);
	assert_int_equal(d->evidence.together.step, MIB);
}

static void assert_no_angles(const struct device *d)
{
	assert_int_equal(d->evidence.records.step, 0);
	for (int i = 0; i < 2 * ACCESS_PIECES; i++)
		assert_true(d->evidence.records.ns[i] == 0);
	for (int i = 1; i < ACCESS_PIECES; i++)
		assert_true(access_phase_expect(&d->evidence.records.phase, i) == 0);
	assert_int_equal(d->evidence.together.step, 0);
	assert_true(d->evidence.together.ns == 0);
}

/* Where its pieces lie, and whether it has arms or a queue, is another for another disk, of the same step too. */
static void test_another_disk_has_no_angles(void **state)
{
	struct export_settings s = host_settings(1);
	_Atomic uint64_t gone = 0;
	struct device *d;
	int err = 0;

	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		assert_non_null(
			device_use(makedev(251, i), &s.device, i == 9 ? &gone : &devices, &err));
	d = device_nth(9);
	learn_angles(d);
	device_forget(d);
	assert_no_angles(d);
	learn_angles(d);
	device_unuse(atomic_load(&gone));
	assert_ptr_equal(device_use(DEV, &s.device, &devices, &err), d);
	assert_no_angles(d);
}

/* So many bytes come from the cluster, and as many each time, 1 MiB a millisecond. */
static void bring(struct device *d, uint64_t *at, unsigned int windows)
{
	for (uint64_t i = 0; i < windows * SEARCH_WINDOW / MIB; i++)
		device_brought(d, MIB, *at += MSEC);
}

/* Of a cluster it is tried what several chunks at once bring: with short ones, and only when one begins. */
static void test_a_clusters_depth(void **state)
{
	struct export_settings s = host_settings(0);
	uint64_t at = SEC;
	struct device *c;
	int err = 0;

	c = device_use_cluster(1, &s.device, &devices, &err);
	assert_non_null(c);
	atomic_store(&c->dispatcher.streams, 4);
	assert_int_equal(device_depth(c), 1);
	assert_int_equal(device_chunk(c, 16 * MIB, 512 * KIB), 16 * MIB);
	bring(c, &at, 1 + SEARCH_PAUSE_MIN);
	assert_int_equal(device_chunk(c, 16 * MIB, 512 * KIB), SEARCH_CHUNK);
	device_began(c, 16 * MIB); /* begun before, and not to be cut any more */
	assert_int_equal(device_depth(c), 1);
	device_began(c, SEARCH_CHUNK);
	assert_int_equal(device_depth(c), 2);
	atomic_store(&c->dispatcher.streams, 1); /* one stream is fetched in pieces side by side */
	assert_int_equal(device_chunk(c, 16 * MIB, 512 * KIB), SEARCH_PIECE);
	bring(c, &at, 2); /* no faster */
	assert_int_equal(device_depth(c), 1);
}

/* A cluster's small reads, or a trial of two lengths, have its requests longer; a trial of the depth ends with that. */
static void test_a_clusters_requests(void **state)
{
	struct export_settings s = host_settings(0);
	uint64_t at = SEC;
	struct device *d, *c;
	uint32_t steps;
	int err = 0;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	c = device_use_cluster(1, &s.device, &devices, &err);
	assert_non_null(c);
	atomic_store(&c->dispatcher.streams, 4);
	assert_int_equal(device_step(d, 512 * KIB, &steps), 512 * KIB);
	assert_int_equal(steps, 0);
	assert_int_equal(device_step(c, 512 * KIB, &steps), 512 * KIB);
	assert_int_equal(steps, 1);
	bring(c, &at, 1 + SEARCH_PAUSE_MIN);
	device_began(c, SEARCH_CHUNK);
	assert_int_equal(device_depth(c), 2);
	for (uint64_t i = 0; i < STEP_SMALLS; i++)
		device_answered_small(c, 2 * MSEC, at + i * MSEC / 4);
	assert_int_equal(device_depth(c), 1);
	assert_int_equal(device_step(c, 512 * KIB, &steps), 512 * KIB * STEP_MAX);
	assert_int_equal(steps, STEP_MAX);
	assert_int_equal(device_step(c, 8 * MIB, &steps), 8 * MIB); /* a buffer has no more */
	assert_int_equal(steps, 1);
	device_forget(c);
	for (unsigned int i = 0; i < 2 * STEP_PAIRS; i++) {
		uint64_t bytes = device_step(c, 512 * KIB, &steps);

		device_stepped(c, steps, bytes, 2 * MSEC);
	}
	assert_int_equal(device_step(c, 512 * KIB, &steps), MIB);
}

/* Nothing is tried of a disk, nor of a cluster whose depth is configured. */
static void test_no_other_depth_is_tried(void **state)
{
	struct export_settings s = host_settings(4);
	uint64_t at = SEC;
	struct device *d, *c;
	int err = 0;

	kernel_says(DEV, true, 0);
	d = use(DEV, 0);
	c = device_use_cluster(1, &s.device, &devices, &err);
	assert_non_null(c);
	bring(c, &at, 1 + SEARCH_PAUSE_MIN);
	assert_int_equal(device_chunk(d, 16 * MIB, 512 * KIB), 16 * MIB);
	assert_int_equal(device_chunk(c, 16 * MIB, 512 * KIB), 16 * MIB);
	device_began(d, MIB);
	device_began(c, MIB);
	assert_int_equal(device_depth(d), 1);
	assert_int_equal(device_depth(c), 4);
}

static void test_threads_and_memory_that_are_not_there(void **state)
{
	struct export_settings s = host_settings(1);
	int err = 0;

	atomic_store(&fail_pthread_create, 1);
	assert_null(device_use(DEV, &s.device, &devices, &err));
	assert_int_equal(err, EAGAIN);
	atomic_store(&fail_calloc, 1);
	assert_null(device_use(DEV, &s.device, &devices, &err));
	assert_int_equal(err, ENOMEM);
	assert_int_equal(atomic_load(&devices), 0);
	use(DEV, 1);
	s.device.depth = 3;
	atomic_store(&fail_pthread_create, 2);
	device_configure(1, &s.device);
	assert_non_null(strstr(host_log, "only 2 of 3 threads"));
	s.device.policy = sched_policy_find("turns");
	atomic_store(&fail_calloc, 1);
	device_configure(1, &s.device);
	assert_int_equal(dispatcher_depth(&device_nth(0)->dispatcher), 3); /* tried again */
}

static void test_prices(void **state)
{
	struct price_snapshot s = {.time = 1, .write = 0.5, .readahead = 0.25};
	double write, readahead;
	struct device *d = use(DEV, 1);

	assert_false(device_prices(0, &write, &readahead));
	board_publish(&d->prices, &s);
	assert_true(device_prices(1, &write, &readahead));
	assert_true(write == 0.5 && readahead == 0.25);
	device_set_price_k(1);
	assert_true(device_price(d) == 0);
}

static void test_prices_of_a_client(void **state)
{
	struct price_snapshot first = {.time = 1, .write = 0.5, .readahead = 0.25},
			      second = {.time = 1, .write = 0.375};
	const struct client_quote q = {
		.client = 7, .place = PLACE_ALL, .write = 0.125F, .readahead = 0.0625F};
	double write, readahead;

	board_publish(&use(DEV, 1)->prices, &first);
	client_board_publish(&device_nth(0)->client_prices, &q, 1);
	assert_true(device_client_prices(1, 7, 1, &write, &readahead));
	assert_true(write == 0.125 && readahead == 0.0625);
	assert_true(device_client_prices(1, 8, 1, &write, &readahead));
	assert_true(write == 0.5 && readahead == 0.25);
	assert_true(device_prices(1, &write, &readahead) && write == 0.5);
	/* of two devices the dearest, by the client's own price where it has one */
	board_publish(&use(DEV + 1, 1)->prices, &second);
	assert_true(device_client_prices(3, 7, 1, &write, &readahead));
	assert_true(write == 0.375 && readahead == 0.0625);
	assert_false(device_client_prices(0, 7, 1, &write, &readahead));
}

/* What the fsync of a COMMIT adds to its turns is ours. */
static void test_fsyncs_after_turns_are_not_others(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 7);
	d = use(DEV, 0);
	atomic_store(&d->settling.now, 1);
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	assert_true(device_queues_demand(d));
	atomic_store(&d->settling.now, 0);
	for (int i = 0; i < 20; i++)
		device_watch_writes(d);
	assert_false(device_queues_demand(d));
}

static void watch_with_fsyncs(struct device *d, uint32_t now, uint32_t over)
{
	atomic_store(&d->fsyncs.now, now);
	for (int i = 0; i < 20; i++) {
		atomic_fetch_add(&d->fsyncs.over, over);
		device_watch_writes(d);
	}
}

/* What the fsync of a COMMIT without turns writes is the kernel's, but for us: reads stay where turns see them. */
static void test_fsyncs_without_turns_are_not_others(void **state)
{
	struct device *d;

	kernel_says(DEV, true, 7);
	d = use(DEV, 0);
	watch_with_fsyncs(d, 1, 0);
	assert_true(device_queues_demand(d));
	assert_true(device_is_written(d));
	assert_int_equal(dispatcher_depth(&d->dispatcher), 32);
	watch_with_fsyncs(d, 0, 1); /* between two looks they begin and are over */
	assert_true(device_queues_demand(d));
	watch_with_fsyncs(d, 0, 0);
	assert_false(device_queues_demand(d));
	assert_true(device_is_written(d));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_disk_and_a_flash),
		TEST(test_seeks_that_cost_nothing_make_flash),
		TEST(test_chunks_of_a_flash_are_short),
		TEST(test_steps_that_share_a_device_unevenly),
		TEST(test_what_seeks_after_all_is_asked_for_much),
		TEST(test_what_seeks_from_the_beginning),
		TEST(test_reads_past_the_queue_are_no_steps),
		TEST(test_a_file_in_pieces_makes_no_flash_of_a_disk),
		TEST(test_a_drives_own_queue),
		TEST(test_a_configured_depth_learns_nothing),
		TEST(test_writes_of_others_let_reads_go),
		TEST(test_fsyncs_after_turns_are_not_others),
		TEST(test_fsyncs_without_turns_are_not_others),
		TEST(test_a_lesson_during_others_writes_stays),
		TEST(test_a_reload_configures_the_exports_devices),
		TEST(test_a_full_table_reuses_what_nobody_uses),
		TEST(test_an_unused_entry_begins_anew),
		TEST(test_another_kind_under_the_same_number),
		TEST(test_another_disk_has_no_angles),
		TEST(test_a_clusters_depth),
		TEST(test_a_clusters_requests),
		TEST(test_no_other_depth_is_tried),
		TEST(test_threads_and_memory_that_are_not_there),
		TEST(test_prices),
		TEST(test_prices_of_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
