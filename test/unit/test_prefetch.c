/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prefetches and demand reads at a real file, by a real dispatcher with a clock of its own; what goes
 * wrong goes wrong at pread() and posix_fadvise(), and a wait for a byte is a pread() of it.
 */
#include "disk/prefetch.h"

#include <pthread.h>
#include <sched.h>

#include "disk/arrival.h"
#include "disk/fetch.h"
#include "disk/scratch.h"
#include "disk_host.h"
#include "faults.h"

#define STEP	 (64 * KIB)
#define FILE_LEN (4 * MIB)

static struct readahead *engine;
static struct export_io *io;
static struct host_file file;
static struct backing *b;
static _Atomic uint64_t now;
static _Atomic int fetches, copies; /* what the kernel was asked to bring; what was copied */
static _Atomic uint64_t longest, fetched_bytes;

static const struct flow_id reader = {.client = 3, .export_id = 7, .rule = 1};
static uint64_t chunk;	/* that the engine takes the disk to want */
static const char *key; /* of the file that is read */

static uint64_t fake_now(void)
{
	return atomic_load(&now);
}

static const struct dispatcher_ops dispatcher_ops = {.now = fake_now};

bool __real_arrival_await(struct arrival *a, uint64_t offset);
bool __wrap_arrival_await(struct arrival *a, uint64_t offset);
bool __wrap_arrival_await(struct arrival *a, uint64_t offset)
{
	ssize_t got;
	char byte;

	do
		got = pread(a->fd, &byte, 1, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got == 1 && __real_arrival_await(a, offset);
}

static void count_fetch(int fd, size_t len, off_t offset)
{
	if (len == 0)
		return; /* advice for the whole file */
	atomic_fetch_add(&fetches, 1);
	atomic_fetch_add(&fetched_bytes, len);
	if (len > atomic_load(&longest))
		atomic_store(&longest, len);
}

static void count_copy(int fd, size_t len, off_t offset)
{
	if (len <= 1)
		return;	     /* it waits */
	host_tell_taken(fd); /* once they are read again nobody knows */
	atomic_fetch_add(&copies, 1);
}

/* A hole: nothing of it is in memory. */
static void file_of_hole(struct host_file *f, const char *name)
{
	int fd;

	host_file_make(f, name, 0);
	fd = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, FILE_LEN), 0);
	close(fd);
}

static int start(void **state)
{
	struct readahead_limits limits = host_limits();
	struct export_settings s = host_settings(1);

	host_make_dir();
	log_set_writer(host_log_write);
	atomic_store(&now, 1000 * SEC);
	atomic_store(&fetches, 0);
	atomic_store(&copies, 0);
	atomic_store(&longest, 0);
	atomic_store(&fetched_bytes, 0);
	on_advice = count_fetch;
	on_pread = count_copy;
	chunk = 256 * KIB;
	key = "f";
	device_start(&dispatcher_ops, NULL);
	backing_set_limits(8, 30 * SEC);
	engine = readahead_create(&limits);
	s.device.policy = sched_policy_find("turns");
	io = export_io_new(7, engine, &s);
	file_of_hole(&file, "f");
	b = backing_get(&file.slot, io, 1000 * SEC);
	assert_non_null(b);
	/* whatever disk this is: no windows (test_kernel_windows.c) */
	atomic_store(&b->device->window, 0);
	atomic_store(&b->device->next_window, UINT64_MAX);
	return 0;
}

static int stop(void **state)
{
	atomic_store(&fail_pread, 0);
	assert_int_equal(export_io_drain(io, 30 * SEC), 0);
	on_pread = on_advice = NULL;
	atomic_store(&advice_max, SIZE_MAX);
	if (b != NULL)
		backing_put(b);
	backing_slot_fini(&file.slot);
	export_io_put(io);
	device_stop_all();
	readahead_destroy(engine);
	scratch_trim(UINT64_MAX);
	log_set_writer(NULL);
	host_remove_dir();
	return 0;
}

/* ---- tools ------------------------------------------------------------------------------- */

static uint64_t counted(enum readahead_counter which)
{
	return readahead_counted(&io->counters, which);
}

/* A client reads LEN bytes at OFFSET. */
static struct readahead_plan observe(uint64_t offset, uint32_t len)
{
	struct readahead_read r = {.key = key,
				   .key_len = 1,
				   .offset = offset,
				   .len = len,
				   .size = FILE_LEN,
				   .now = fake_now(),
				   .chunk = chunk,
				   .streams = 1};
	struct readahead_tuning t;
	struct readahead_plan plan = {0};

	export_io_tuning(io, &t);
	readahead_observe(engine, &t, &io->counters, &r, &plan);
	return plan;
}

/* A stream reads on until something is to be fetched ahead of it. */
static struct readahead_plan plan_some(void)
{
	struct readahead_plan plan = {0};

	for (uint64_t at = 0; !plan.len; at += STEP) {
		assert_true(at < FILE_LEN);
		plan = observe(at, STEP);
	}
	return plan;
}

static void wait_idle(void)
{
	struct export_stats stats;

	do {
		sched_yield();
		exports_stats(&stats, 1);
	} while (stats.pending);
}

static uint64_t served(void)
{
	struct dispatcher_stats s;

	dispatcher_stats(&b->device->dispatcher, &s);
	return s.counted.served[SCHED_PREFETCH];
}

/* A request that keeps the device's only thread until it is let go. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running, over;
	struct sched_req req;
} hog = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void hog_execute(struct dispatcher *d, struct sched_req *r)
{
	pthread_mutex_lock(&hog.lock);
	hog.running = true;
	pthread_cond_broadcast(&hog.changed);
	while (!hog.over)
		pthread_cond_wait(&hog.changed, &hog.lock);
	pthread_mutex_unlock(&hog.lock);
}

static void hog_finish(struct dispatcher *d, struct sched_req *r)
{
}

static const struct sched_req_ops hog_ops = {.execute = hog_execute, .finish = hog_finish};

static void hog_start(void)
{
	hog.running = hog.over = false;
	hog.req = (struct sched_req){
		.ops = &hog_ops, .class = SCHED_DEMAND, .file = 1, .len = 4 * KIB};
	assert_int_equal(dispatcher_submit(&b->device->dispatcher, &hog.req), SCHED_ADDED);
	pthread_mutex_lock(&hog.lock);
	while (!hog.running)
		pthread_cond_wait(&hog.changed, &hog.lock);
	pthread_mutex_unlock(&hog.lock);
}

static void hog_end(void)
{
	pthread_mutex_lock(&hog.lock);
	hog.over = true;
	pthread_cond_broadcast(&hog.changed);
	pthread_mutex_unlock(&hog.lock);
}

/* A small read that somebody waits for. */
static atomic_int small_done;
static struct sched_req small;
static enum sched_verdict verdict;

static void small_execute(struct dispatcher *d, struct sched_req *r)
{
}

static void small_finish(struct dispatcher *d, struct sched_req *r)
{
	atomic_fetch_add(&small_done, 1);
}

static void small_complete(struct sched_req *r)
{
	atomic_fetch_add(&small_done, 1);
}

static const struct sched_req_ops small_ops = {
	.execute = small_execute, .complete = small_complete, .finish = small_finish};

static enum sched_verdict submit_small(uint64_t file_id, uint64_t offset, uint64_t block)
{
	small = (struct sched_req){.ops = &small_ops,
				   .class = SCHED_DEMAND,
				   .file = file_id,
				   .offset = offset,
				   .len = 4 * KIB,
				   .block = block};
	return dispatcher_submit(&b->device->dispatcher, &small);
}

/* ---- a chunk ----------------------------------------------------------------------------- */

static void test_a_chunk_is_read_in_steps(void **state)
{
	struct readahead_plan plan = plan_some();

	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(atomic_load(&longest), STEP);
	assert_true(atomic_load(&fetched_bytes) >= plan.len);
	assert_int_equal(atomic_load(&copies), 0);
	assert_int_equal(counted(READAHEAD_PREFETCH_ERRORS), 0);
	assert_true(counted(READAHEAD_PREFETCHED) >= plan.ahead);
	assert_true(served() >= 1);
	/* the engine knows that it is there */
	assert_true(observe(plan.offset, STEP).known_resident);
}

static void test_what_is_in_memory_is_not_fetched(void **state)
{
	struct readahead_plan plan = plan_some();
	char *page = calloc(1, FILE_LEN);
	int fd = open(file.path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, page, FILE_LEN, 0), FILE_LEN);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(served(), 0);
	assert_int_equal(atomic_load(&fetches), 0);
	assert_int_equal(counted(READAHEAD_PREFETCHED), 0);
	close(fd);
	free(page);
}

/* Part of it is in memory: those steps read nothing. */
static void test_steps_in_memory_are_skipped(void **state)
{
	struct readahead_plan plan = plan_some();
	char *page = calloc(1, STEP);
	int fd = open(file.path, O_WRONLY | O_CLOEXEC);

	assert_true(plan.len >= 2 * STEP);
	assert_int_equal(pwrite(fd, page, STEP, (off_t)plan.offset), STEP);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(served() >= 1);
	assert_true(counted(READAHEAD_PREFETCHED) % STEP == 0);
	assert_int_equal(counted(READAHEAD_PREFETCHED), atomic_load(&fetched_bytes));
	close(fd);
	free(page);
}

/* Of what the kernel was asked for: how far it went when somebody first waited; where the farthest began. */
static struct {
	uint64_t first_end; /* of the first of several chunks at once: only that counts */
	_Atomic uint64_t asked, first_asked, farthest;
	atomic_bool waited, mixed; /* something before the farthest was asked for after it */
} order;

static void note_wait(int fd, size_t len, off_t offset)
{
	if (!atomic_exchange(&order.waited, true))
		atomic_store(&order.first_asked, atomic_load(&fetched_bytes));
}

static void note_first_wait(int fd, size_t len, off_t offset)
{
	if ((uint64_t)offset < order.first_end && !atomic_exchange(&order.waited, true))
		atomic_store(&order.first_asked, atomic_load(&order.asked));
}

static void note_order(int fd, size_t len, off_t offset)
{
	count_fetch(fd, len, offset);
	if (len == 0)
		return;
	if ((uint64_t)offset < order.first_end)
		atomic_fetch_add(&order.asked, len);
	if (atomic_exchange(&order.farthest, (uint64_t)offset) > (uint64_t)offset)
		atomic_store(&order.mixed, true);
}

/* All that a stream of this file wants, while others write to the disk, or do not; reads queue, or do not. */
static void bring_stream(bool written, bool queues)
{
	struct readahead_plan plan = plan_some();
	struct sched_limits limits = dispatcher_limits(&b->device->dispatcher);

	order.first_end = plan.offset + MIB;
	atomic_store(&order.asked, 0);
	atomic_store(&order.first_asked, 0);
	atomic_store(&order.farthest, 0);
	atomic_store(&order.waited, false);
	atomic_store(&order.mixed, false);
	limits.cost.chunk_default = MIB;
	dispatcher_set_limits(&b->device->dispatcher, &limits);
	on_pread = note_first_wait;
	on_advice = note_order;
	assert_int_equal(dispatcher_set_depth(&b->device->dispatcher, 4), 0);
	atomic_store(&b->device->queues, queues);
	atomic_store(&b->device->written, written);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(served() >= 2);
	assert_int_equal(atomic_load(&copies), 0);
}

/* What comes between two requests costs seeks: few large ones, and one chunk of a stream at a time. */
static void test_beside_others_writes_much_is_asked_for_at_once(void **state)
{
	chunk = MIB;
	assert_true(2 * dispatcher_seek_bytes(&b->device->dispatcher) > MIB);
	bring_stream(true, false);
	assert_int_equal(order.first_asked, MIB); /* the whole chunk */
	assert_false(order.mixed);
}

static void test_beside_our_fsyncs_much_is_asked_for_at_once(void **state)
{
	chunk = MIB;
	bring_stream(true, true);
	assert_int_equal(order.first_asked, MIB);
	assert_false(order.mixed);
}

static void test_else_a_step_is(void **state)
{
	chunk = MIB;
	bring_stream(false, true);
	assert_true(order.first_asked <= 2 * STEP);
}

/* Flash, at which others' chunks are too: its READs go there past us, and wait for all that was asked for before. */
static void test_a_step_is_short_beside_others(void **state)
{
	struct readahead_plan plan;

	chunk = 4 * MIB;
	plan = plan_some();
	atomic_store(&b->device->queues, false);
	atomic_store(&b->device->own_queues, false);
	atomic_store(&b->device->steps, 7);
	prefetch_submit(prefetch_new(io, b, &plan, 8 * STEP, reader));
	wait_idle();
	assert_int_equal(atomic_load(&longest), FETCH_SHARED);
}

/* 16 KiB of each 128: those, each once, and nothing between them. */
/* Asked for, and not only waited for. */
static bool is_absent(size_t len, off_t offset)
{
	return len != 0 && !backing_resident(b, (uint64_t)offset, len);
}

static void count_absent(int fd, size_t len, off_t offset)
{
	if (is_absent(len, offset))
		count_fetch(fd, len, offset);
}

static void test_records_are_read_and_nothing_between(void **state)
{
	struct readahead_plan plan = {0};
	uint64_t at = 0;

	chunk = FILE_LEN;
	on_advice = count_absent;
	for (; !plan.len && at < FILE_LEN; at += 128 * KIB)
		plan = observe(at, 16 * KIB);
	assert_int_equal(plan.record, 16 * KIB);
	assert_int_equal(plan.step, 128 * KIB);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(served() >= 1);
	assert_int_equal(atomic_load(&longest), 16 * KIB);
	/* that of the read itself is not ahead of it */
	assert_int_equal(atomic_load(&fetched_bytes), counted(READAHEAD_PREFETCHED) + 16 * KIB);
	for (uint64_t r = at; r < plan.offset + plan.len; r += 128 * KIB) {
		assert_true(backing_resident(b, r, 16 * KIB));
		assert_false(backing_resident(b, r + 16 * KIB, 4 * KIB));
		assert_true(observe(r, 16 * KIB).known_resident);
	}
	assert_int_equal(counted(READAHEAD_WASTED), 0);
}

/* Records asked for since one was last waited for, and the most of them. */
static atomic_uint begun, together;

static void count_begun(int fd, size_t len, off_t offset)
{
	if (is_absent(len, offset) && atomic_fetch_add(&begun, 1) + 1 > atomic_load(&together))
		atomic_store(&together, atomic_load(&begun));
}

static void forget_begun(int fd, size_t len, off_t offset)
{
	atomic_store(&begun, 0);
}

/* A plan of records of 16 KiB, of each 128, to be brought as TOGETHER says. */
static struct readahead_plan plan_of_records(bool together_now)
{
	struct readahead_plan plan = {0};

	chunk = FILE_LEN;
	for (uint64_t at = 0; plan.len < ACCESS_RUN * 128 * KIB && at < FILE_LEN; at += 128 * KIB) {
		if (plan.len) { /* the first ones are few, until they were read */
			prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
			wait_idle();
		}
		plan = observe(at, 16 * KIB);
	}
	assert_int_equal(plan.record, 16 * KIB);
	assert_true(plan.len / plan.step >= ACCESS_RUN);
	b->device->evidence.together =
		(struct access_together){.together = together_now, .quiet = UINT32_MAX};
	atomic_store(&begun, 0);
	atomic_store(&together, 0);
	on_advice = count_begun;
	on_pread = forget_begun;
	return plan;
}

/* Whether all its records are there, and nothing between them. */
static void check_records(const struct readahead_plan *plan)
{
	for (uint64_t r = plan->offset; r < plan->offset + plan->len; r += plan->step) {
		assert_true(backing_resident(b, r, plan->record));
		assert_false(backing_resident(b, r + plan->record, 4 * KIB));
	}
	assert_int_equal(counted(READAHEAD_WASTED), 0);
}

/* A drive that is faster so is given a run, or more, of records before the first of them is waited for. */
static void test_records_go_together(void **state)
{
	struct readahead_plan plan = plan_of_records(true);

	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_in_range(atomic_load(&together), ACCESS_RUN, ACCESS_UNDER_WAY);
	check_records(&plan);
}

/* Any other has the next one to go to when it has read one, and no more. */
static void test_the_next_record_is_asked_for_before_one_is_there(void **state)
{
	struct readahead_plan plan = plan_of_records(false);

	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(atomic_load(&together), 2);
	check_records(&plan);
}

static atomic_bool had_a_gap;

/* A small read comes with the first record; what is begun after that had its gap is counted. */
static void begin_beside_a_small_one(int fd, size_t len, off_t offset)
{
	if (!atomic_load(&fetches))
		verdict = submit_small(2, 0, 0);
	count_fetch(fd, len, offset);
	atomic_fetch_add(&now, 40 * MSEC);
	if (atomic_load(&small_done) && !atomic_exchange(&had_a_gap, true))
		atomic_store(&together, 0);
	count_begun(fd, len, offset);
}

/* Where others wait for their turns too, they wait for one record at most. */
static void test_beside_others_one_record_is_asked_for(void **state)
{
	struct readahead_plan plan = plan_of_records(false);

	atomic_store(&fetches, 0);
	atomic_store(&small_done, 0);
	atomic_store(&had_a_gap, false);
	on_advice = begin_beside_a_small_one;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(verdict, SCHED_ADDED);
	assert_true(atomic_load(&had_a_gap));
	assert_int_equal(atomic_load(&together), 1);
	check_records(&plan);
}

/* One that cannot be read: nobody waits for ever, and what follows is left. */
static void test_a_bad_record_among_others(void **state)
{
	struct readahead_plan plan = plan_of_records(true);

	atomic_store(&fail_pread_errno, EIO);
	atomic_store(&fail_pread, 2); /* the wait for the first, and its copy */
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(counted(READAHEAD_PREFETCH_ERRORS) >= 1);
	assert_true(backing_resident(b, plan.offset + 128 * KIB, 16 * KIB));
}

static _Atomic uint64_t advised; /* as far as this */

static void note_advice(int fd, size_t len, off_t offset)
{
	if ((uint64_t)offset + len > atomic_load(&advised))
		atomic_store(&advised, (uint64_t)offset + len);
}

/* What is dropped to have a bad sector alone in its page is no more than the kernel's read-ahead has in one unit. */
static void test_a_bad_sector_where_windows_are_too_large(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;
	bool already;

	atomic_store(&b->device->window, 2 * KERNEL_WINDOW_MAX);
	atomic_store(&b->device->next_window, UINT64_MAX);
	atomic_store(&fail_pread_errno, EIO);
	atomic_store(&fail_pread, 1);
	on_advice = note_advice;
	fetch_chunk_begin(&c, d, b, 0, MIB);
	assert_int_equal(fetch_chunk_next(&c, 0, MIB, &already), MIB);
	fetch_chunk_end(&c);
	on_advice = NULL;
	assert_int_equal(atomic_load(&advised), MIB);
}

/* A device that starts less at a call than it is asked for: copied, until the pieces are small enough. */
static void test_what_was_cut_short_is_copied(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;

	atomic_store(&advice_max, 256 * KIB);
	demand_fetch(d, b, 0, MIB);
	assert_true(backing_resident(b, 0, MIB));
	assert_int_equal(atomic_load(&copies), 1);
	demand_fetch(d, b, MIB, MIB);
	assert_int_equal(atomic_load(&copies), 2);
	demand_fetch(d, b, 2 * MIB, MIB);
	assert_true(backing_resident(b, 0, 3 * MIB));
	assert_int_equal(atomic_load(&copies), 2);
	assert_int_equal(atomic_load(&b->device->piece), 256 * KIB);
}

/* N steps of 1 MiB, one after the other, of a file of which nothing is in memory. */
static void fetch_steps(int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED), 0);
		demand_fetch(&b->device->dispatcher, b, (uint64_t)(i % 4) * MIB, MIB);
	}
}

/* Memory is short for a moment: pieces are small until they have come whole for a while, and then as large as before. */
static void test_pieces_become_large_again(void **state)
{
	atomic_store(&advice_max, 4 * KIB);
	fetch_steps(6);
	assert_int_equal(atomic_load(&b->device->piece), FETCH_PIECE_MIN);
	atomic_store(&advice_max, SIZE_MAX);
	atomic_store(&copies, 0);
	fetch_steps(100);
	assert_int_equal(atomic_load(&copies), 0);
	atomic_store(&longest, 0);
	fetch_steps(1);
	assert_int_equal(atomic_load(&longest), MIB);
}

/* A device that never starts more is not asked for more again and again: what is cut short costs a copy. */
static void test_larger_pieces_are_tried_ever_less(void **state)
{
	atomic_store(&advice_max, 256 * KIB);
	fetch_steps(2);
	atomic_store(&copies, 0);
	fetch_steps(500);
	assert_in_range(atomic_load(&copies), 1, 6);
	assert_in_range(atomic_load(&b->device->piece), 256 * KIB, 512 * KIB);
}

static void cut_file(int fd, size_t len, off_t offset)
{
	if (offset + 1 == MIB / 2)
		assert_int_equal(truncate(file.path, MIB - HOST_PAGE), 0);
}

/* What is not there for the file is shorter by now was not cut short. */
static void test_a_file_that_shrinks_says_nothing_of_pieces(void **state)
{
	on_pread = cut_file;
	demand_fetch(&b->device->dispatcher, b, 0, MIB);
	assert_int_equal(atomic_load(&b->device->piece), 0);
}

static void test_a_reply_is_filled(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	char first[100], second[200];
	struct iovec iov[2] = {{first, sizeof(first)}, {second, sizeof(second)}};

	assert_int_equal(demand_reply(d, b, iov, 2, FILE_LEN / 2, 300, false), 300);
	assert_int_equal(demand_reply(d, b, iov, 2, FILE_LEN - 150, 300, false), 150);
	assert_int_equal(demand_reply(d, b, iov, 2, FILE_LEN, 300, false), 0);
	assert_int_equal(demand_reply(d, b, iov, 2, UINT64_MAX - 300, 300, false), 0);
	assert_int_equal(cached_reply(b, iov, 2, FILE_LEN / 2), 300);
	assert_int_equal(atomic_load(&fetches), 0);
}

static void test_a_chunk_too_long_for_now_is_shortened(void **state)
{
	struct readahead_plan plan;

	chunk = 2 * MIB; /* the disk wanted that much when the stream was alone */
	plan = plan_some();
	assert_true(plan.len >= MIB);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(atomic_load(&fetched_bytes) <= served() * 384 * KIB);
}

/* Each STEP of a file lies far from the one before. */
static void scatter(struct extent_map *m)
{
	lock_take(&m->lock);
	for (m->n = 0; m->n < EXTENT_MAP_MAX; m->n++)
		m->extents[m->n] =
			(struct extent){.offset = (uint64_t)m->n * STEP,
					.length = STEP,
					.block = (uint64_t)(m->n * 7919 % 1000) * 100 * MIB};
	m->from = 0;
	m->to = UINT64_MAX;
	m->valid = true;
	lock_drop(&m->lock);
}

/* A stream of a file that is called NAME there, in pieces, has its first chunk queued. */
static void queue_in_pieces(struct backing *of, const char *name, struct flow_id flow)
{
	struct readahead_plan plan;

	key = name;
	plan = plan_some();
	assert_true(plan.len >= MIB);
	prefetch_submit(prefetch_new(io, of, &plan, STEP, flow));
	scatter(&of->extents);
}

/*
 * Pieces of much less than a seek's worth, and another stream waits: a turn of 4 MiB has few of them, and the disk
 * is asked for these at once.
 */
static void test_a_turn_in_pieces_has_fewer_bytes(void **state)
{
	static const struct flow_id other = {.client = 4, .export_id = 7, .rule = 1};
	struct sched_limits limits = dispatcher_limits(&b->device->dispatcher);
	struct host_file second;
	struct backing *its;

	limits.cost.chunk_default = 4 * MIB;
	dispatcher_set_limits(&b->device->dispatcher, &limits);
	atomic_store(&order.waited, false);
	file_of_hole(&second, "g");
	its = backing_get(&second.slot, io, 1000 * SEC);
	assert_non_null(its);
	chunk = 2 * MIB;
	on_pread = note_wait;
	hog_start();
	queue_in_pieces(b, "f", reader);
	queue_in_pieces(its, "g", other);
	hog_end();
	wait_idle();
	assert_int_equal(order.first_asked, 4 * STEP);
	backing_put(its);
	backing_slot_fini(&second.slot);
}

static atomic_int chunks_seen, strangers_seen;

/* On the disk's thread, which holds no lock: whom what is queued and running is for. */
static void look_at_flows(int fd, size_t len, off_t offset)
{
	struct dispatcher *d = &b->device->dispatcher;
	const struct sched_list *lists[] = {&d->queue.active, &d->queue.aged};
	const struct sched_req *r;

	lock_take(&d->lock);
	for (int i = 0; i < 2; i++)
		TAILQ_FOREACH(r, lists[i], age) {
			atomic_fetch_add(&chunks_seen, 1);
			if (r->flow.client != reader.client ||
			    r->flow.export_id != reader.export_id || r->flow.rule != reader.rule)
				atomic_fetch_add(&strangers_seen, 1);
		}
	lock_drop(&d->lock);
}

/* The chunk that the read planned, and the one that is planned behind it. */
static void test_chunks_are_for_the_client_whose_read_planned_them(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&chunks_seen, 0);
	atomic_store(&strangers_seen, 0);
	on_advice = look_at_flows;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(served() >= 2);
	assert_true(atomic_load(&chunks_seen) >= 2);
	assert_int_equal(atomic_load(&strangers_seen), 0);
}

/* ---- what goes wrong --------------------------------------------------------------------- */

static void test_a_failed_read_is_counted_and_forgotten(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&fail_pread_errno, EIO);
	atomic_store(&fail_pread, 1000000);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_true(counted(READAHEAD_PREFETCH_ERRORS) >= 1);
	assert_false(observe(plan.offset, STEP).known_resident);
}

static void test_a_signal_is_no_failure(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&fail_pread_errno, EINTR);
	atomic_store(&fail_pread, 3);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(counted(READAHEAD_PREFETCH_ERRORS), 0);
	assert_true(counted(READAHEAD_PREFETCHED) >= plan.ahead);
}

/* Whether the file system was asked where the file lies, whatever it said. */
static bool was_asked(void)
{
	return b->extents.to != 0;
}

/* As if many files' extents were to be had from a disk that hangs. */
static void test_who_submits_asks_beside_few_only(void **state)
{
	struct readahead_plan plan = plan_some();
	uint64_t block, reach;
	bool beside_many, beside_few;

	hog_start();
	atomic_store(&b->device->asking, EXTENT_ASKERS_MAX);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	block = backing_block_if_few(b, 0);
	reach = backing_reach_if_few(b, 0, MIB, 0);
	beside_many = was_asked();
	atomic_store(&b->device->asking, EXTENT_ASKERS_MAX - 1);
	(void)backing_block_if_few(b, 0);
	beside_few = was_asked();
	hog_end();
	wait_idle();
	assert_true(block >= UINT64_C(1) << 62); /* file order */
	assert_int_equal(reach, MIB);
	assert_false(beside_many);
	assert_true(beside_few);
	assert_int_equal(atomic_load(&b->device->asking), EXTENT_ASKERS_MAX - 1);
	assert_true(counted(READAHEAD_PREFETCHED) >= plan.ahead);
}

static void test_no_memory(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&fail_calloc, 1);
	assert_null(prefetch_new(io, b, &plan, STEP, reader));
	prefetch_submit(NULL);
	assert_int_equal(counted(READAHEAD_PREFETCH_ERRORS), 1);
	plan = observe(FILE_LEN / 2, STEP);
	plan = plan_some();
	atomic_store(&advice_max, 4 * KIB);
	atomic_store(&fail_aligned_alloc, 1); /* no scratch for the rest */
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(counted(READAHEAD_PREFETCH_ERRORS), 2);
	atomic_store(&fail_aligned_alloc, 0);
}

/* Planned only: the disk did nothing for it. */
static void check_unfetched(void)
{
	assert_int_equal(counted(READAHEAD_PREFETCHED), 0);
	assert_int_equal(counted(READAHEAD_WASTED), 0);
	assert_true(counted(READAHEAD_UNFETCHED) > 0);
	assert_int_equal(counted(READAHEAD_UNFETCHED), counted(READAHEAD_PLANNED));
}

static void test_a_closing_export_takes_none(void **state)
{
	struct readahead_plan plan = plan_some();

	export_io_close(io);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	assert_int_equal(served(), 0);
	check_unfetched();
	assert_int_equal(export_io_drain(io, 0), 0);
}

static void close_export(int fd, size_t len, off_t offset)
{
	count_fetch(fd, len, offset);
	export_io_close(io);
}

static void test_an_export_that_closes_stops_it(void **state)
{
	struct readahead_plan plan = plan_some();

	on_advice = close_export;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(atomic_load(&fetches), 1);
}

static void drop_file(int fd, size_t len, off_t offset)
{
	count_fetch(fd, len, offset);
	backing_drop(&file.slot);
}

static void test_a_removed_file_stops_it(void **state)
{
	struct readahead_plan plan = plan_some();

	on_advice = drop_file;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(atomic_load(&fetches), 1);
}

static void test_a_file_removed_before_its_turn(void **state)
{
	struct readahead_plan plan = plan_some();

	hog_start();
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	backing_drop(&file.slot);
	backing_unuse(b); /* nobody has it open now */
	assert_int_equal(fcntl(b->fd, F_GETFD), -1);
	hog_end();
	wait_idle();
	assert_int_equal(atomic_load(&fetches), 0);
	backing_release(b);
	b = NULL;
}

static void test_one_too_old_is_dropped(void **state)
{
	struct readahead_plan plan = plan_some();

	hog_start();
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	atomic_fetch_add(&now, 11 * SEC); /* Prefetch_Max_Age */
	hog_end();
	wait_idle();
	assert_int_equal(atomic_load(&fetches), 0);
	check_unfetched();
}

static void test_a_full_queue_takes_none(void **state)
{
	struct export_settings s = host_settings(1);
	struct readahead_plan plan = plan_some();

	s.device.limits.queue_max = 1;
	assert_int_equal(export_io_configure(io, &s), 0);
	atomic_store(&small_done, 0);
	hog_start();
	assert_int_equal(submit_small(2, 0, 0), SCHED_ADDED);
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	hog_end();
	assert_int_equal(served(), 0);
	check_unfetched();
	while (!atomic_load(&small_done))
		sched_yield();
}

static void *stop_devices(void *arg)
{
	(void)arg;
	device_stop_all();
	return NULL;
}

/* Until D's threads are told to end. */
static void wait_stopping(struct dispatcher *d)
{
	bool stopping;

	do {
		sched_yield();
		lock_take(&d->lock);
		stopping = d->stopping;
		lock_drop(&d->lock);
	} while (!stopping);
}

/*
 * At the server's end the last prefetch gives its export back, and with that its devices, on the thread
 * of one of them: none may be gone by then.
 */
static void test_the_last_prefetch_outlives_its_export(void **state)
{
	struct export_settings s = host_settings(1);
	struct readahead_plan plan;
	struct dispatcher *d;
	pthread_t thread;
	int err = 0;

	backing_put(b);
	backing_drop(&file.slot);
	export_io_put(io);
	device_stop_all();
	io = export_io_new(8, engine, &s);
	assert_non_null(device_use(makedev(251, 1), &s.device, &io->devices, &err));
	b = backing_get(&file.slot, io, 2000 * SEC);
	assert_non_null(b);
	assert_ptr_equal(b->device, device_nth(1));
	d = &b->device->dispatcher;
	plan = plan_some();
	hog_start();
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	export_io_close(io);
	export_io_put(io);
	backing_put(b);
	b = NULL;
	backing_drop(&file.slot);
	pthread_create(&thread, NULL, stop_devices, NULL);
	wait_stopping(d);
	hog_end();
	pthread_join(thread, NULL);
	io = export_io_new(7, engine, &s); /* for the end of the test */
	assert_non_null(io);
}

/* ---- readers beside it ------------------------------------------------------------------- */

static _Atomic int small_after; /* fetches before the small read was served */

static void submit_at_first(int fd, size_t len, off_t offset)
{
	if (!atomic_load(&fetches))
		verdict = submit_small(2, 0, 0);
	if (!atomic_load(&small_done))
		atomic_store(&small_after, atomic_load(&fetches) + 1);
	count_fetch(fd, len, offset);
	atomic_fetch_add(&now, 40 * MSEC); /* what a step takes */
}

/* A gap is opened for a small read of another file before the chunk ends. */
static void test_a_small_read_is_served_in_a_gap(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&small_done, 0);
	on_advice = submit_at_first;
	plan.len = 512 * KIB;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(verdict, SCHED_ADDED);
	assert_int_equal(atomic_load(&small_done), 1);
	assert_true(atomic_load(&small_after) < 8);
}

static uint64_t join_at;

static void join_at_first(int fd, size_t len, off_t offset)
{
	if (!atomic_load(&fetches))
		verdict = submit_small(b->file, join_at, backing_block(b, join_at));
	if (!atomic_load(&small_done))
		atomic_store(&small_after, atomic_load(&fetches) + 1);
	count_fetch(fd, len, offset);
}

/* A reader of the chunk gets its step at once, not the chunk's end. */
static void test_a_reader_gets_its_step(void **state)
{
	struct readahead_plan plan = plan_some();

	atomic_store(&small_done, 0);
	on_advice = join_at_first;
	join_at = plan.offset + STEP;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(verdict, SCHED_WAITS);
	assert_int_equal(atomic_load(&small_done), 1);
	assert_int_equal(atomic_load(&small_after), 2);
}

static struct readahead_plan stopping;
static bool goes_on_reading;
static uint64_t more; /* steps that its reader has asked for */

/* Its reader asks for more with each step, or for nothing. */
static void read_beside(int fd, size_t len, off_t offset)
{
	count_fetch(fd, len, offset);
	atomic_fetch_add(&now, 4 * MSEC);
	if (goes_on_reading)
		(void)observe(stopping.offset + 4 * STEP + more++ * STEP, STEP);
}

static void bring_young(bool on, bool in_pieces)
{
	struct sched_limits limits = dispatcher_limits(&b->device->dispatcher);

	limits.cost.chunk_default = 4 * MIB;
	dispatcher_set_limits(&b->device->dispatcher, &limits);
	chunk = MIB;
	stopping = plan_some();
	assert_in_range(stopping.len, MIB / 2, 2 * MIB);
	stopping.young = true;
	goes_on_reading = on;
	more = 0;
	on_advice = read_beside;
	if (in_pieces)
		scatter(&b->extents);
	prefetch_submit(prefetch_new(io, b, &stopping, STEP, reader));
	wait_idle();
	assert_true(backing_resident(b, stopping.offset, 2 * STEP));
}

/* A whole chunk for who may want no more than he has ends with the first step of which he has asked for nothing. */
static void test_a_chunk_ends_where_its_reader_stops(void **state)
{
	bring_young(false, false);
	assert_true(backing_resident(b, stopping.offset + 4 * STEP, STEP));
	assert_false(backing_resident(b, stopping.offset + 5 * STEP, 1));
	assert_false(backing_resident(b, stopping.offset + 15 * STEP, 1));
	assert_int_equal(counted(READAHEAD_UNFETCHED), stopping.ahead - STEP);
}

/* What was asked for at once comes though its reader has stopped: it is not left uncounted (bring()). */
static void test_what_was_asked_for_comes(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;
	bool already;

	fetch_chunk_together(&c, d, b, 0, MIB, 2 * MIB, STEP);
	assert_true(fetch_chunk_comes(&c, 0));
	assert_int_equal(fetch_chunk_next(&c, 0, STEP, &already), STEP);
	assert_true(fetch_chunk_comes(&c, STEP));
	assert_true(fetch_chunk_comes(&c, MIB - 1));
	assert_false(fetch_chunk_comes(&c, MIB));
	fetch_chunk_end(&c);
	fetch_chunk_begin(&c, d, b, 2 * MIB, MIB);
	assert_false(fetch_chunk_comes(&c, 2 * MIB));
	assert_int_equal(fetch_chunk_next(&c, 2 * MIB, STEP, &already), STEP);
	assert_false(fetch_chunk_comes(&c, 2 * MIB + STEP));
	fetch_chunk_end(&c);
}

static void test_a_chunk_goes_on_as_its_reader_does(void **state)
{
	bring_young(true, false);
	assert_true(backing_resident(b, stopping.offset, stopping.len));
}

/* In pieces as much as goes by itself comes together, and of who has asked for no more that is all. */
static void test_in_pieces_it_ends_before(void **state)
{
	bring_young(false, true);
	assert_true(backing_resident(b, stopping.offset, 4 * STEP));
	assert_false(backing_resident(b, stopping.offset + 4 * STEP, 1));
}

static void test_in_pieces_it_goes_on_too(void **state)
{
	bring_young(true, true);
	assert_true(backing_resident(b, stopping.offset, stopping.len));
}

static uint64_t waits_at; /* somebody else waits for a chunk there; 0: nobody */

/* What he asked for came by itself; SILENT for so long (ns) he asks for nothing until his chunk's turn comes. */
static void come_to_turn(uint64_t silent)
{
	struct readahead_plan plan = plan_some();
	char *page = calloc(4, STEP);
	int fd = open(file.path, O_WRONLY | O_CLOEXEC);

	assert_true(plan.offset == 0 && plan.len > 4 * STEP);
	plan.young = true;
	assert_int_equal(pwrite(fd, page, 4 * STEP, 0), 4 * STEP);
	hog_start();
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	atomic_store(&small_done, 0);
	if (waits_at != 0)
		verdict = submit_small(b->file, waits_at, waits_at);
	atomic_fetch_add(&now, silent);
	hog_end();
	wait_idle();
	waits_at = 0;
	close(fd);
	free(page);
}

static void test_who_has_gone_has_no_turn(void **state)
{
	struct readahead_plan plan;

	chunk = MIB;
	come_to_turn(3 * MSEC);
	assert_int_equal(atomic_load(&fetches), 0);
	assert_int_equal(counted(READAHEAD_PREFETCHED), 0);
	plan = observe(4 * STEP, STEP); /* he goes on all the same */
	assert_true(plan.len != 0);
	readahead_finished(engine, &io->counters, &plan, plan.offset, false, false);
}

static void test_who_may_be_about_to_ask_has_his_turn(void **state)
{
	chunk = MIB;
	come_to_turn(MSEC);
	assert_true(atomic_load(&fetches) > 0);
}

/* Another one, who waits for a part of it, has that, and what lies before. */
static void test_others_wait_for_who_has_gone(void **state)
{
	chunk = MIB;
	waits_at = 6 * STEP;
	come_to_turn(3 * MSEC);
	assert_int_equal(verdict, SCHED_WAITS);
	assert_int_equal(atomic_load(&small_done), 1);
	assert_true(backing_resident(b, 4 * STEP, 2 * STEP + 4 * KIB));
	assert_false(backing_resident(b, 7 * STEP, 1));
}

/* So has he himself, whose READ is at the disk, or was until a moment ago. */
static void test_who_waits_for_the_disk_has_not_gone(void **state)
{
	chunk = MIB;
	atomic_store(&b->demands, 1);
	come_to_turn(3 * MSEC);
	assert_true(atomic_load(&fetches) > 0);
	atomic_store(&b->demands, 0);
}

static void test_who_was_answered_just_now_has_not_gone(void **state)
{
	chunk = MIB;
	atomic_store(&b->demand_end, 1000 * SEC + 2 * MSEC);
	come_to_turn(3 * MSEC);
	assert_true(atomic_load(&fetches) > 0);
}

/* A stranger's file that fits in a chunk begins nothing, but where it costs more to seek in than to read. */
static void test_a_whole_file_in_pieces_begins(void **state)
{
	const struct readahead_plan whole = {
		.len = FILE_LEN, .begins = true, .whole = true, .young = true};
	struct readahead_plan plan = whole;

	prefetch_judge(&plan, b);
	assert_false(plan.begins);
	scatter(&b->extents);
	plan = whole;
	prefetch_judge(&plan, b);
	assert_true(plan.begins);
	plan.young = false;
	prefetch_judge(&plan, b);
	assert_false(plan.begins);
	plan = whole;
	plan.whole = false;
	prefetch_judge(&plan, b);
	assert_true(plan.begins);
}

/* As of a cluster: its FSAL can be asked and waited for only. */
static void test_a_young_chunk_of_who_cannot_begin(void **state)
{
	const struct backing_ops *all = b->ops;
	static struct backing_ops waiting; /* the teardown of one that fails has it still */

	waiting = *all;
	waiting.begin = NULL;
	b->ops = &waiting;
	bring_young(true, false);
	assert_true(backing_resident(b, stopping.offset, stopping.len));
	b->ops = all;
}

/* One of a record gets that as soon as it and those before it are there; each of them is waited for. */
static void test_a_reader_gets_its_record(void **state)
{
	struct readahead_plan plan = plan_of_records(false);

	atomic_store(&small_done, 0);
	atomic_store(&fetches, 0);
	on_advice = join_at_first;
	join_at = plan.offset + plan.step;
	prefetch_submit(prefetch_new(io, b, &plan, STEP, reader));
	wait_idle();
	assert_int_equal(verdict, SCHED_WAITS);
	assert_int_equal(atomic_load(&small_done), 1);
	assert_true(atomic_load(&small_after) <= 2 * 2);
}

/* ---- demand ------------------------------------------------------------------------------ */

static void test_a_long_read_needs_no_long_buffer(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;

	demand_fetch(d, b, 100, FILE_LEN - 200);
	assert_int_equal(atomic_load(&longest), MIB);
	assert_int_equal(atomic_load(&fetches), 4);
	assert_int_equal(atomic_load(&copies), 0);
	assert_true(scratch_free_bytes() <= MIB);
	demand_fetch(d, b, 0, UINT64_C(64) << 20); /* ends with the file */
	assert_true(atomic_load(&fetches) <= 9);
}

static void test_a_demand_read_that_cannot_be_fetched(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;

	demand_fetch(d, b, 0, 0);
	assert_int_equal(atomic_load(&fetches), 0);
	atomic_store(&fail_pread_errno, EIO);
	atomic_store(&fail_pread, 1);
	atomic_store(&fail_aligned_alloc, 1); /* what failed is not read again */
	demand_fetch(d, b, 0, FILE_LEN);
	assert_int_equal(atomic_load(&copies), 0);
	atomic_store(&fetches, 1);
	backing_drop(&file.slot);
	backing_unuse(b);
	demand_fetch(d, b, 0, STEP);
	assert_int_equal(atomic_load(&fetches), 1);
	backing_release(b);
	b = NULL;
}

/* ---- what is observed -------------------------------------------------------------------- */

/* Reads of 4 KiB all over the file; how many of them the dispatcher took for the disk's. */
static uint32_t observed(void)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct cost_model cost;

	backing_invalidate(&file.slot, 0, UINT64_MAX);
	dispatcher_forget_cost(d);
	for (uint64_t i = 1; i <= 8; i++)
		demand_fetch(d, b, i * 5 % 8 * (FILE_LEN / 8), 4 * KIB);
	cost = dispatcher_cost(d);
	return cost.jumps;
}

static int open_to_write(void)
{
	int fd = open(file.path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* They take microseconds: a few of them made a rotating disk pass for flash. */
static void test_holes_say_nothing_of_the_disk(void **state)
{
	assert_int_equal(observed(), 0);
}

static void test_unwritten_extents_say_nothing_of_the_disk(void **state)
{
	int fd = open_to_write();

	assert_int_equal(posix_fallocate(fd, 0, FILE_LEN), 0);
	close(fd);
	assert_int_equal(observed(), 0);
}

static void write_all(void)
{
	char page[4 * KIB] = "x";
	int fd = open_to_write();

	for (uint64_t at = 0; at < FILE_LEN; at += sizeof(page))
		assert_int_equal(pwrite(fd, page, sizeof(page), (off_t)at), sizeof(page));
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

/* All of the file is written, and none of it in memory. */
static void leave_on_disk_only(void)
{
	struct extent_span span;

	write_all();
	host_file_evict(&file);
	backing_invalidate(&file.slot, 0, UINT64_MAX);
	if (!backing_written(b, 0, FILE_LEN, &span) || backing_resident(b, 0, 4 * KIB))
		skip(); /* a file system without places, or without a disk */
}

static void test_memory_says_nothing_of_the_disk(void **state)
{
	write_all();
	assert_int_equal(observed(), 0);
}

/* Most of a step may have been there: it took less than the disk takes for as much. */
static void test_what_was_there_in_part_says_nothing(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;
	bool already;

	leave_on_disk_only();
	demand_fetch(d, b, 384 * KIB, 4 * KIB);
	dispatcher_forget_cost(d);
	fetch_chunk_begin(&c, d, b, 0, MIB);
	for (uint64_t at = 0; at < MIB; at += 256 * KIB) {
		/* what goes on where the one before ended tells the bandwidth */
		assert_int_equal(dispatcher_cost(d).runs, 0);
		assert_int_equal(fetch_chunk_next(&c, at, 256 * KIB, &already), 256 * KIB);
		assert_false(already);
	}
	assert_int_equal(dispatcher_cost(d).runs, 1);
	fetch_chunk_end(&c);
}

/* Brings the first MiB, asked for at once; how many such the dispatcher knows of then. */
static uint32_t bring_at_once(bool disturbed)
{
	struct dispatcher *d = &b->device->dispatcher;
	bool there = backing_resident(b, 0, MIB), already;
	struct fetch_chunk c;

	fetch_chunk_together(&c, d, b, 0, MIB, MIB, 0);
	for (uint64_t at = 0; at < MIB; at += 256 * KIB) {
		assert_int_equal(fetch_chunk_next(&c, at, 256 * KIB, &already), 256 * KIB);
		assert_int_equal(already, there);
		assert_true(at == 768 * KIB || dispatcher_cost(d).amongs == 0);
		if (disturbed)
			fetch_chunk_disturbed(&c);
	}
	fetch_chunk_end(&c);
	assert_int_equal(dispatcher_cost(d).jumps + dispatcher_cost(d).runs, 0);
	return dispatcher_cost(d).amongs;
}

/* All of it tells what seeks among several take, no step does; nor if there was something else, or part was there. */
static void test_what_was_asked_for_at_once_is_observed_as_a_whole(void **state)
{
	leave_on_disk_only();
	assert_int_equal(bring_at_once(true), 0);
	host_file_evict(&file);
	assert_int_equal(bring_at_once(false), 1);
	dispatcher_forget_cost(&b->device->dispatcher);
	assert_int_equal(bring_at_once(false), 0);
	host_file_evict(&file);
	demand_fetch(&b->device->dispatcher, b, 384 * KIB, 4 * KIB); /* in the middle */
	dispatcher_forget_cost(&b->device->dispatcher);
	assert_int_equal(bring_at_once(false), 0);
}

/* As many pieces as come in a turn, then as many again: a step goes no farther than was asked for. */
static void test_what_takes_longer_than_a_turn_is_asked_for_in_groups(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;
	bool already;

	leave_on_disk_only();
	fetch_chunk_together(&c, d, b, 0, MIB, 256 * KIB, 0);
	for (uint64_t at = 0; at < MIB; at += 256 * KIB) {
		assert_int_equal(fetch_chunk_next(&c, at, MIB - at, &already), 256 * KIB);
		assert_int_equal(fetch_chunk_is_asked(&c), at == 768 * KIB);
	}
	fetch_chunk_end(&c);
	assert_int_equal(dispatcher_cost(d).amongs, 4);
	/* a rest goes with the last one */
	fetch_chunk_together(&c, d, b, 0, 320 * KIB, 256 * KIB, 0);
	assert_int_equal(fetch_chunk_next(&c, 0, MIB, &already), 320 * KIB);
	fetch_chunk_end(&c);
}

/* As where another client reads the same: what is there when it is asked for at once was not brought by that. */
static void test_what_is_there_is_not_asked_for_at_once(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;
	bool already;

	leave_on_disk_only();
	demand_fetch(d, b, 0, 512 * KIB);
	fetch_chunk_together(&c, d, b, 0, MIB, MIB, 0);
	for (uint64_t at = 0; at < MIB; at += 256 * KIB) {
		assert_int_equal(fetch_chunk_next(&c, at, 256 * KIB, &already), 256 * KIB);
		assert_int_equal(already, at < 512 * KIB);
	}
	fetch_chunk_end(&c);
	fetch_chunk_together(&c, d, b, 0, MIB, MIB, 0);
	assert_int_equal(fetch_chunk_next(&c, 0, MIB, &already), MIB);
	assert_true(already);
	fetch_chunk_end(&c);
}

/* What has no place on the disk is at none of its addresses either: the next read of that one is no run. */
static void test_what_has_no_place_is_asked_for_at_none(void **state)
{
	struct dispatcher *d = &b->device->dispatcher;
	struct fetch_chunk c;

	fetch_chunk_together(&c, d, b, 0, MIB, MIB, 0);
	assert_int_equal(d->queue.observed, backing_block(b, MIB - 1) + 1);
	fetch_chunk_end(&c);
}

static void test_what_the_disk_read_is_observed(void **state)
{
	leave_on_disk_only();
	assert_int_equal(observed(), 8);
}

static void an_fsync_is_over(int fd, size_t len, off_t offset)
{
	atomic_fetch_add(&b->device->fsyncs.over, 1);
}

/*
 * What an fsync writes may have come in between, before there are enough looks to see it: such reads took seeks of
 * 23 to 60 ms for this disk's, and none that follow says otherwise.
 */
static void test_a_read_beside_an_fsync_says_nothing_of_seeks(void **state)
{
	leave_on_disk_only();
	atomic_store(&b->device->fsyncs.now, 1);
	assert_int_equal(observed(), 0);
	atomic_store(&b->device->fsyncs.now, 0);
	host_file_evict(&file);
	on_pread = an_fsync_is_over; /* it came and went meanwhile */
	assert_int_equal(observed(), 0);
	on_pread = NULL;
	host_file_evict(&file);
	assert_int_equal(observed(), 8);
}

/* Where seeks were found to cost nothing, nothing queues: some reads are measured all the same. */
static void test_some_reads_past_the_queue_are_measured(void **state)
{
	struct device *d = b->device;

	assert_null(direct_read_begin(b, 0, STEP)); /* nothing to learn of it */
	atomic_store(&d->learns, DEVICE_LEARNS_DEAR);
	for (int i = 0; i < 10; i++) {
		assert_ptr_equal(direct_read_begin(b, 0, STEP), d);
		assert_int_equal(atomic_load(&d->reading), 1);
		direct_read_end(d);
	}
	assert_int_equal(atomic_load(&fetches), 1);
	atomic_fetch_add(&now, SEC);
	direct_read_end(direct_read_begin(b, FILE_LEN / 2, STEP));
	assert_int_equal(atomic_load(&fetches), 2);
	assert_int_equal(atomic_load(&d->reading), 0);
	atomic_store(&d->learns, DEVICE_LEARNS_NOTHING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_a_chunk_is_read_in_steps),
		TEST(test_what_is_in_memory_is_not_fetched),
		TEST(test_steps_in_memory_are_skipped),
		TEST(test_beside_others_writes_much_is_asked_for_at_once),
		TEST(test_beside_our_fsyncs_much_is_asked_for_at_once),
		TEST(test_else_a_step_is),
		TEST(test_a_step_is_short_beside_others),
		TEST(test_records_are_read_and_nothing_between),
		TEST(test_records_go_together),
		TEST(test_the_next_record_is_asked_for_before_one_is_there),
		TEST(test_beside_others_one_record_is_asked_for),
		TEST(test_a_bad_record_among_others),
		TEST(test_a_bad_sector_where_windows_are_too_large),
		TEST(test_what_was_cut_short_is_copied),
		TEST(test_pieces_become_large_again),
		TEST(test_larger_pieces_are_tried_ever_less),
		TEST(test_a_file_that_shrinks_says_nothing_of_pieces),
		TEST(test_a_reply_is_filled),
		TEST(test_a_chunk_too_long_for_now_is_shortened),
		TEST(test_a_turn_in_pieces_has_fewer_bytes),
		TEST(test_chunks_are_for_the_client_whose_read_planned_them),
		TEST(test_a_failed_read_is_counted_and_forgotten),
		TEST(test_a_signal_is_no_failure),
		TEST(test_who_submits_asks_beside_few_only),
		TEST(test_no_memory),
		TEST(test_a_closing_export_takes_none),
		TEST(test_in_pieces_it_ends_before),
		TEST(test_in_pieces_it_goes_on_too),
		TEST(test_who_has_gone_has_no_turn),
		TEST(test_who_may_be_about_to_ask_has_his_turn),
		TEST(test_others_wait_for_who_has_gone),
		TEST(test_who_waits_for_the_disk_has_not_gone),
		TEST(test_who_was_answered_just_now_has_not_gone),
		TEST(test_a_whole_file_in_pieces_begins),
		TEST(test_a_young_chunk_of_who_cannot_begin),
		TEST(test_an_export_that_closes_stops_it),
		TEST(test_a_removed_file_stops_it),
		TEST(test_a_file_removed_before_its_turn),
		TEST(test_one_too_old_is_dropped),
		TEST(test_a_full_queue_takes_none),
		TEST(test_the_last_prefetch_outlives_its_export),
		TEST(test_a_small_read_is_served_in_a_gap),
		TEST(test_a_reader_gets_its_step),
		TEST(test_a_reader_gets_its_record),
		TEST(test_a_chunk_ends_where_its_reader_stops),
		TEST(test_what_was_asked_for_comes),
		TEST(test_a_chunk_goes_on_as_its_reader_does),
		TEST(test_a_long_read_needs_no_long_buffer),
		TEST(test_a_demand_read_that_cannot_be_fetched),
		TEST(test_holes_say_nothing_of_the_disk),
		TEST(test_unwritten_extents_say_nothing_of_the_disk),
		TEST(test_memory_says_nothing_of_the_disk),
		TEST(test_what_was_there_in_part_says_nothing),
		TEST(test_what_was_asked_for_at_once_is_observed_as_a_whole),
		TEST(test_what_takes_longer_than_a_turn_is_asked_for_in_groups),
		TEST(test_what_is_there_is_not_asked_for_at_once),
		TEST(test_what_has_no_place_is_asked_for_at_none),
		TEST(test_what_the_disk_read_is_observed),
		TEST(test_a_read_beside_an_fsync_says_nothing_of_seeks),
		TEST(test_some_reads_past_the_queue_are_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
