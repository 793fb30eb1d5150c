/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Jobs of walks, by a real dispatcher over real directories: what comes ahead, once, in turns, and what is given up.
 * Where files lie and what is in memory is made up; what the kernel is asked for is counted.
 */
#include "disk/tree_job.h"

#include <sched.h>

#include "disk/extents.h"
#include "disk/residency.h"
#include "disk/tree_pieces.h"
#include "disk_host.h"

#define DIRS   8
#define FILES  24 /* in each directory */
#define LENGTH (8 * KIB)

static struct readahead *engine;
static struct dir_walks *walks;
static struct readahead_counters lost;
static struct export_io *io;
static struct host_file any; /* of that file system */
static struct backing *b;
static _Atomic uint64_t now;

/* The tree: TOP, its directories, their files. */
static char top[96];
static struct {
	uint64_t id, inode;
	uint64_t files[FILES]; /* inodes */
	atomic_int asked[FILES];
} dirs[DIRS];
static unsigned int n_dirs;
static uint64_t top_id;
static int handled = -1;    /* the directory that a handle leads to; -1: none */
static char elsewhere[160]; /* ... to another one, if not empty */
static atomic_int n_asked, n_opened, n_placed, jobs;
static _Atomic uint64_t place_time; /* that asking where a file lies takes (ns) */
static atomic_int close_at;	    /* the export closes when so many were asked for */
static void (*on_asked)(unsigned int dir, unsigned int file);

static const struct flow_id client = {.client = 3, .export_id = 7};

/* ---- the kernel -------------------------------------------------------------------------- */

int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
bool __wrap_residency_of(struct residency *r, int fd, uint64_t size, uint64_t offset, uint64_t len);
int __wrap_extent_fetch_fiemap(void *arg, uint64_t offset, struct extent *extents, int max,
			       uint64_t *covered);
int __real_posix_fadvise64(int fd, off_t offset, off_t len, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice);

static void path_of(char *path, size_t size, unsigned int dir, int file)
{
	if (file < 0)
		snprintf(path, size, "%s/d%02u", top, dir);
	else
		snprintf(path, size, "%s/d%02u/f%02d", top, dir, file);
}

int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	char path[160];

	atomic_fetch_add(&n_opened, 1);
	if (elsewhere[0])
		return open(elsewhere, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (handled < 0)
		return -1;
	path_of(path, sizeof(path), (unsigned int)handled, -1);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Nothing is in memory. */
bool __wrap_residency_of(struct residency *r, int fd, uint64_t size, uint64_t offset, uint64_t len)
{
	return false;
}

/* Each file lies in one piece. */
int __wrap_extent_fetch_fiemap(void *arg, uint64_t offset, struct extent *extents, int max,
			       uint64_t *covered)
{
	struct stat st;

	atomic_fetch_add(&now, place_time);
	if (atomic_fetch_add(&n_placed, 1) + 1 == close_at)
		export_io_close(io);
	assert_int_equal(fstat(*(int *)arg, &st), 0);
	*extents = (struct extent){.length = (uint64_t)st.st_size, .block = st.st_ino * MIB};
	*covered = (uint64_t)st.st_size;
	return 1;
}

static void count_asked(uint64_t inode)
{
	for (unsigned int d = 0; d < n_dirs; d++)
		for (unsigned int f = 0; f < FILES; f++)
			if (dirs[d].files[f] == inode) {
				atomic_fetch_add(&dirs[d].asked[f], 1);
				atomic_fetch_add(&n_asked, 1);
				if (on_asked)
					on_asked(d, f);
			}
}

int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice)
{
	struct stat st;

	if (advice == POSIX_FADV_WILLNEED && !fstat(fd, &st))
		count_asked(st.st_ino);
	return __real_posix_fadvise64(fd, offset, len, advice);
}

/* ---- a tree and its server --------------------------------------------------------------- */

static uint64_t fake_now(void)
{
	return atomic_load(&now);
}

static const struct dispatcher_ops dispatcher_ops = {.now = fake_now};

static uint64_t identify(const char *path, uint64_t *inode)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	*inode = st.st_ino;
	return tree_id(st.st_dev, st.st_ino);
}

static void make_file(unsigned int dir, unsigned int file)
{
	char path[160];
	int fd;

	path_of(path, sizeof(path), dir, (int)file);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LENGTH), 0);
	close(fd);
	(void)identify(path, &dirs[dir].files[file]);
}

static void make_tree(unsigned int n)
{
	static const struct dir_handle handle = {.type = 1, .len = 8};
	uint64_t inode;
	char path[160];

	snprintf(top, sizeof(top), "%s/top", host_dir);
	assert_int_equal(mkdir(top, 0700), 0);
	top_id = identify(top, &inode);
	n_dirs = n;
	dir_walks_seen(walks, &(struct dir_name){.id = top_id, .inode = inode}, &handle, now);
	for (unsigned int d = 0; d < n; d++) {
		path_of(path, sizeof(path), d, -1);
		assert_int_equal(mkdir(path, 0700), 0);
		dirs[d].id = identify(path, &dirs[d].inode);
		for (unsigned int f = 0; f < FILES; f++)
			make_file(d, f);
		dir_walks_seen(walks,
			       &(struct dir_name){
				       .id = dirs[d].id, .parent = top_id, .inode = dirs[d].inode},
			       &handle, now);
	}
}

static int start(void **state)
{
	struct readahead_limits limits = host_limits();
	struct export_settings s = host_settings(1);

	host_make_dir();
	memset(dirs, 0, sizeof(dirs));
	memset(&lost, 0, sizeof(lost));
	atomic_store(&now, 1000 * SEC);
	atomic_store(&n_asked, 0);
	atomic_store(&n_opened, 0);
	atomic_store(&jobs, 0);
	atomic_store(&n_placed, 0);
	atomic_store(&close_at, 0);
	atomic_store(&place_time, 0);
	elsewhere[0] = '\0';
	on_asked = NULL;
	s.device.limits.queue_max = 2 * TREE_JOBS_MAX;
	device_start(&dispatcher_ops, NULL);
	backing_set_limits(8, 30 * SEC);
	engine = readahead_create(&limits);
	walks = dir_walks_create(16 * MIB, engine, &lost);
	io = export_io_new(7, engine, &s);
	host_file_make(&any, "any", 0);
	b = backing_get(&any.slot, io, fake_now());
	assert_non_null(b);
	return 0;
}

static uint64_t counted(enum readahead_counter which)
{
	return readahead_counted(&io->counters, which);
}

/* At the end nothing is held, whatever became of the jobs. */
static int stop(void **state)
{
	struct readahead_stats s;

	assert_int_equal(export_io_drain(io, 30 * SEC), 0);
	backing_put(b);
	backing_slot_fini(&any.slot);
	export_io_put(io);
	device_stop_all();
	dir_walks_destroy(walks);
	readahead_stats(engine, &s);
	assert_int_equal(s.unread, 0);
	readahead_destroy(engine);
	host_remove_dir();
	return 0;
}

static void wait_idle(void)
{
	while (atomic_load(&io->pending) != 0)
		sched_yield();
}

/* The client reads the file; true: a job for it is under way from then on. */
static bool read_begins(unsigned int dir, unsigned int file)
{
	struct dir_read read = {.dir = dirs[dir].id,
				.inode = dirs[dir].files[file],
				.now = atomic_fetch_add(&now, MSEC) + MSEC,
				.resident = atomic_load(&dirs[dir].asked[file]) != 0,
				.missing = atomic_load(&dirs[dir].asked[file]) ? 0 : LENGTH};
	struct dir_handle handle;

	if (!dir_walks_read(walks, &io->counters, &read, &handle))
		return false;
	atomic_fetch_add(&jobs, 1);
	assert_true(backing_use(b));
	tree_job_submit(walks, dirs[dir].id, &handle, b, io, client);
	backing_unuse(b);
	return true;
}

/* A whole directory, in the order of its names; returns how many files nobody had fetched. */
static unsigned int walk(unsigned int dir)
{
	unsigned int missed = 0;

	handled = (int)dir;
	for (unsigned int f = 0; f < FILES; f++) {
		missed += atomic_load(&dirs[dir].asked[f]) == 0;
		if (read_begins(dir, f))
			wait_idle();
	}
	return missed;
}

/* The walk as far as its first job that fetches; returns the file that it began with. */
static unsigned int walk_until_a_job(unsigned int dir)
{
	handled = (int)dir;
	for (unsigned int f = 0; f < FILES; f++)
		if (read_begins(dir, f))
			return f;
	fail();
	return 0;
}

static void assert_each_once(void)
{
	for (unsigned int d = 0; d < n_dirs; d++)
		for (unsigned int f = 0; f < FILES; f++)
			assert_in_range(atomic_load(&dirs[d].asked[f]), 0, 1);
	assert_int_equal(counted(READAHEAD_PREFETCHED), LENGTH * (uint64_t)atomic_load(&n_asked));
	assert_int_equal(counted(READAHEAD_WASTED), 0);
}

/* ---- what comes -------------------------------------------------------------------------- */

static void test_a_walk_finds_its_files(void **state)
{
	make_tree(1);
	assert_in_range(walk(0), 1, 5); /* until it is known for one */
	assert_each_once();
	assert_true(counted(READAHEAD_CHUNKS) >= 1);
}

/* Of a directory that nobody was in yet: where those before it were walked in an order. */
static void test_siblings_are_fetched_too(void **state)
{
	unsigned int missed = 0;

	make_tree(DIRS);
	for (unsigned int d = 0; d < DIRS; d++)
		missed += walk(d);
	assert_in_range(missed, 1, 3 * 5);
	assert_int_equal(walk(DIRS - 1), 0);
	assert_each_once();
}

static void remove_dir(unsigned int dir)
{
	char path[160];

	for (int f = 0; f < FILES; f++) {
		path_of(path, sizeof(path), dir, f);
		assert_int_equal(unlink(path), 0);
	}
	path_of(path, sizeof(path), dir, -1);
	assert_int_equal(rmdir(path), 0);
}

/* What has gone since the parent was read is passed over. */
static void test_a_sibling_that_is_gone(void **state)
{
	unsigned int walked = 3, gone;

	make_tree(DIRS);
	for (unsigned int d = 0; d < walked; d++)
		(void)walk(d);
	for (gone = walked; atomic_load(&dirs[gone].asked[0]); gone++)
		assert_true(gone + 2 < DIRS);
	remove_dir(gone);
	for (unsigned int d = walked; d < DIRS; d++)
		if (d != gone)
			assert_int_equal(walk(d), 0);
	assert_int_equal(atomic_load(&dirs[gone].asked[0]), 0);
	assert_each_once();
}

/* Files that have gone since their directory was read: the others come. */
static void test_a_file_that_is_gone(void **state)
{
	char path[160];

	make_tree(1);
	(void)walk_until_a_job(0);
	wait_idle();
	path_of(path, sizeof(path), 0, FILES - 2);
	assert_int_equal(unlink(path), 0);
	for (unsigned int f = 0; f < FILES; f++)
		if (read_begins(0, f))
			wait_idle();
	assert_int_equal(atomic_load(&dirs[0].asked[FILES - 2]), 0);
	assert_int_equal(atomic_load(&dirs[0].asked[FILES - 1]), 1);
}

/* ---- turns ------------------------------------------------------------------------------- */

static void take_long(unsigned int dir, unsigned int file)
{
	atomic_fetch_add(&now, 500 * MSEC);
}

/* The disk is not kept for longer than a turn: the rest comes with others. */
static void test_one_turn_after_the_other(void **state)
{
	struct dispatcher_stats s;

	make_tree(DIRS);
	on_asked = take_long;
	for (unsigned int d = 0; d < DIRS; d++)
		(void)walk(d);
	assert_each_once();
	dispatcher_stats(&b->device->dispatcher, &s);
	assert_true(s.counted.served[SCHED_PREFETCH] > (uint64_t)atomic_load(&jobs));
}

/* Nor for as long as it takes to find out where all of its files lie. */
static void test_places_are_asked_for_in_turns(void **state)
{
	struct dispatcher_stats s;

	make_tree(DIRS);
	atomic_store(&place_time, 500 * MSEC);
	for (unsigned int d = 0; d < DIRS; d++)
		(void)walk(d);
	assert_each_once();
	dispatcher_stats(&b->device->dispatcher, &s);
	assert_true(s.counted.served[SCHED_PREFETCH] >= (uint64_t)atomic_load(&n_placed));
}

/* A READ of a file that is on its way. */
static struct {
	struct sched_req req;
	enum sched_verdict verdict;
	atomic_bool tried, came;
} joined;

static void joined_over(struct sched_req *r)
{
	atomic_store(&joined.came, true);
}

static void joined_finish(struct dispatcher *d, struct sched_req *r)
{
	joined_over(r);
}

static const struct sched_req_ops joined_ops = {.complete = joined_over, .finish = joined_finish};

static void join_the_job(unsigned int dir, unsigned int file)
{
	struct dir_read read = {.dir = dirs[dir].id, .inode = dirs[dir].files[file]};
	uint64_t job;
	uint32_t piece;

	if (atomic_exchange(&joined.tried, true))
		return;
	assert_true(dir_walks_due(walks, &read, client.client, &job, &piece));
	assert_int_equal(job, dirs[dir].id);
	joined.req = (struct sched_req){.ops = &joined_ops,
					.class = SCHED_DEMAND,
					.file = job,
					.offset = tree_job_piece(piece),
					.len = LENGTH,
					.flow = client};
	joined.verdict = dispatcher_join(&b->device->dispatcher, &joined.req);
}

static void test_a_read_waits_for_its_file(void **state)
{
	make_tree(1);
	atomic_store(&joined.tried, false);
	atomic_store(&joined.came, false);
	on_asked = join_the_job;
	(void)walk(0);
	assert_true(atomic_load(&joined.tried));
	assert_int_equal(joined.verdict, SCHED_WAITS);
	while (!atomic_load(&joined.came))
		sched_yield();
	assert_each_once();
}

/* ---- what does not come ------------------------------------------------------------------ */

/* A handle that leads nowhere, or to another directory: nothing is fetched, and it is not asked for again. */
static void test_a_directory_that_is_not_there(void **state)
{
	make_tree(2);
	for (handled = -1; handled < 2; handled += 2) {
		atomic_store(&jobs, 0);
		for (unsigned int f = 0; f < FILES; f++)
			(void)read_begins(handled < 0, f);
		assert_int_equal(atomic_load(&jobs), 1);
	}
	assert_int_equal(atomic_load(&n_asked), 0);
}

static void test_an_export_that_is_closing(void **state)
{
	make_tree(1);
	export_io_close(io);
	(void)walk(0);
	assert_int_equal(atomic_load(&n_asked), 0);
}

static void close_export(unsigned int dir, unsigned int file)
{
	export_io_close(io);
}

/* What was begun is awaited, the rest is not fetched, nor held: stop() looks. */
static void test_an_export_that_closes_meanwhile(void **state)
{
	make_tree(1);
	on_asked = close_export;
	(void)walk(0);
	assert_in_range(atomic_load(&n_asked), 1, TREE_FLIGHT);
}

/* ... nor what was not even placed. */
static void test_an_export_that_closes_while_places_are_asked_for(void **state)
{
	make_tree(DIRS);
	atomic_store(&place_time, 500 * MSEC);
	atomic_store(&close_at, 6);
	for (unsigned int d = 0; d < DIRS; d++)
		(void)walk(d);
	assert_int_equal(atomic_load(&n_placed), 6);
}

/* It keeps the disk until it is let go. */
static atomic_bool let_go;

static void hog_execute(struct dispatcher *d, struct sched_req *r)
{
	while (!atomic_load(&let_go))
		sched_yield();
}

static void hog_finish(struct dispatcher *d, struct sched_req *r)
{
}

static const struct sched_req_ops hog_ops = {.execute = hog_execute, .finish = hog_finish};

/* A job of client OF for an empty directory of its own. */
static void submit_empty(uint64_t of, int number)
{
	const struct flow_id flow = {.client = of, .export_id = 7};
	uint64_t id, inode;

	snprintf(elsewhere, sizeof(elsewhere), "%s/e%04d", host_dir, number);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	id = identify(elsewhere, &inode);
	assert_true(dir_walks_begin(walks, &(struct dir_name){.id = id, .inode = inode}, id, now));
	assert_true(backing_use(b));
	tree_job_submit(walks, id, &(struct dir_handle){.type = 1, .len = 8}, b, io, flow);
	backing_unuse(b);
}

/* Of one client as many as are left, of another of these again: more are not begun, and no directory is opened for them. */
static void test_so_many_jobs_at_a_time(void **state)
{
	static struct sched_req hog;
	int i;

	hog = (struct sched_req){.ops = &hog_ops, .class = SCHED_DEMAND, .file = 1, .len = 4 * KIB};
	atomic_store(&let_go, false);
	assert_int_equal(dispatcher_submit(&b->device->dispatcher, &hog), SCHED_ADDED);
	for (i = 0; i < TREE_JOBS_MAX; i++)
		submit_empty(3, i);
	assert_int_equal(atomic_load(&n_opened), TREE_JOBS_MAX / 2);
	for (; i < 2 * TREE_JOBS_MAX; i++)
		submit_empty(4, i);
	assert_int_equal(atomic_load(&n_opened), TREE_JOBS_MAX / 2 + TREE_JOBS_MAX / 4);
	atomic_store(&let_go, true);
	wait_idle();
	submit_empty(3, i);
	assert_int_equal(atomic_load(&n_opened), TREE_JOBS_MAX / 2 + TREE_JOBS_MAX / 4 + 1);
	wait_idle();
}

/* As if many files' extents were to be had from a disk that hangs: its place is that of file order. */
static void test_who_submits_asks_beside_few_only(void **state)
{
	static struct sched_req hog;
	bool beside_many, alone;

	hog = (struct sched_req){.ops = &hog_ops, .class = SCHED_DEMAND, .file = 1, .len = 4 * KIB};
	atomic_store(&let_go, false);
	assert_int_equal(dispatcher_submit(&b->device->dispatcher, &hog), SCHED_ADDED);
	atomic_store(&b->device->asking, EXTENT_ASKERS_MAX);
	submit_empty(3, 0);
	beside_many = b->extents.valid;
	atomic_store(&b->device->asking, 0);
	submit_empty(3, 1);
	alone = b->extents.valid;
	atomic_store(&let_go, true);
	wait_idle();
	assert_false(beside_many);
	assert_true(alone);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_walk_finds_its_files),
		TEST(test_siblings_are_fetched_too),
		TEST(test_a_sibling_that_is_gone),
		TEST(test_a_file_that_is_gone),
		TEST(test_one_turn_after_the_other),
		TEST(test_a_read_waits_for_its_file),
		TEST(test_places_are_asked_for_in_turns),
		TEST(test_a_directory_that_is_not_there),
		TEST(test_an_export_that_is_closing),
		TEST(test_an_export_that_closes_meanwhile),
		TEST(test_so_many_jobs_at_a_time),
		TEST(test_an_export_that_closes_while_places_are_asked_for),
		TEST(test_who_submits_asks_beside_few_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
