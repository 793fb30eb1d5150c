/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A world for the room of write-back: files whose pages are dirty, on their way, or clean; errors as
 * the kernel keeps them; a disk's queue that an actor serves (baton.h).
 *
 * An error is kept with the file, and each descriptor tells it once; a descriptor opened later tells
 * it only if none has told it yet. The FSAL below has one descriptor a file, ours are backings'.
 */
#ifndef UNIT_WRITEBACK_WORLD_H
#define UNIT_WRITEBACK_WORLD_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "baton.h"
#include "common/clock.h"
#include "common/container.h"
#include "common/log.h"
#include "common/room_gate.h"
#include "support.h"
#include "writeback/commit.h"
#include "writeback/flusher.h"
#include "writeback/turn.h"
#include "writeback/writeback.h"

/* An assertion on any thread; cmocka's are for the main one. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define WORLD_FILES 4
#define WORLD_PAGES 128
#define PAGE	    (64 * KIB) /* of the world: bytes */
#define WORLD_FDS   256
#define WORLD_QUEUE 16

enum page { CLEAN, DIRTY, WRITING };

struct world_file {
	struct backing_slot slot;
	unsigned int number;
	uint8_t page[WORLD_PAGES];
	bool bad[WORLD_PAGES]; /* cannot be written */
	/* Of errors: how many there were; whether the last was told by a descriptor. */
	uint64_t errors;
	bool seen;
	bool below_open;
	uint64_t below_since; /* of the FSAL's descriptor: the error it knows of */
	uint8_t busy; /* bit n: the FSAL has no descriptor to spare for the n-th fsync from now */
	bool nameless;
	bool untold;	       /* the model: an error that no COMMIT was told */
	uint64_t untold_since; /* step */
	unsigned int told, commits, fsyncs;
	unsigned int committing; /* now */
	uint64_t told_at;	 /* step of the last COMMIT that was told */
	uint64_t first_told_at;	 /* ... of the first that was told of the last error */
	unsigned int next_page;	 /* where a writer of it goes on */
};

static struct {
	struct world_file file[WORLD_FILES];
	struct export_io *io;
	struct writeback_settings settings;
	struct flow_id flow;	   /* who writes, and asks for COMMIT */
	uint64_t little;	   /* of a COMMIT */
	struct flow_id charged;	   /* whom the last turn was */
	bool ruled;		   /* clients have the rule .. */
	uint16_t rule;		   /* .. by now */
	uint64_t since[WORLD_FDS]; /* of our descriptors */
	struct world_file *of[WORLD_FDS];
	struct sched_req *queue[WORLD_QUEUE];
	unsigned int queued, queue_max;
	uint64_t slice, turn_bytes, step; /* what a turn may have */
	unsigned int steps, steps_max;	  /* begun and not waited for: now, ever */
	int open_error;			  /* errno, or 0 */
	int begin_error;		  /* of beginning a step: it stays dirty */
	unsigned int looks;		  /* at names of files */
	unsigned int turns;		  /* being executed */
	void (*meanwhile)(void);	  /* happens once, while the next step is waited for */
} world;

/* ---- the kernel's errors of write-out ---- */

static uint64_t world_sample(const struct world_file *f)
{
	return f->seen ? f->errors : 0;
}

static int world_check(struct world_file *f, uint64_t *since)
{
	if (f->errors == *since)
		return 0;
	f->seen = true;
	*since = f->errors;
	return EIO;
}

static void world_error(struct world_file *f)
{
	if (f->seen || !f->errors)
		f->errors++;
	f->seen = false;
	if (!f->untold)
		f->untold_since = baton.steps;
	f->untold = true;
}

/* The page is out, or lost. */
static void world_write_page(struct world_file *f, unsigned int page)
{
	if (f->page[page] == CLEAN)
		return;
	f->page[page] = CLEAN;
	if (f->bad[page])
		world_error(f);
}

/* ---- what is handed in ---- */

static uint64_t world_now(void)
{
	return atomic_fetch_add(&baton.now, 1000) + 1000;
}

static int world_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	if (cond == &wb.wake) /* the flusher's thread: until the end */
		return pthread_cond_wait(cond, lock);
	if (baton.running)
		return baton_wait(cond, lock, until);
	baton.now = until; /* nobody else is there */
	return ETIMEDOUT;
}

static void world_wake(pthread_cond_t *cond)
{
	baton_wake(cond);
	pthread_cond_broadcast(cond);
}

static void world_range(struct world_file *f, uint64_t offset, uint64_t len, enum page from,
			bool start)
{
	for (unsigned int i = 0; i < WORLD_PAGES; i++) {
		if ((i + 1) * PAGE <= offset || i * PAGE >= offset + len || f->page[i] != from)
			continue;
		if (start)
			f->page[i] = WRITING;
		else
			world_write_page(f, i);
	}
}

/* A step is begun, or waited for. */
static void world_step(unsigned int flags)
{
	unsigned int n;

	if (flags & SYNC_FILE_RANGE_WAIT_AFTER)
		__atomic_sub_fetch(&world.steps, 1, __ATOMIC_RELAXED);
	if (flags != SYNC_FILE_RANGE_WRITE)
		return;
	n = __atomic_add_fetch(&world.steps, 1, __ATOMIC_RELAXED);
	if (n > world.steps_max)
		world.steps_max = n;
}

/* For want of memory nothing changes; else what was to be written is thrown away, and only who began is told. */
static int world_begin_fails(struct world_file *f, uint64_t offset, uint64_t len)
{
	if (world.begin_error == ENOMEM)
		return ENOMEM;
	for (uint64_t i = offset / PAGE; i < (offset + len) / PAGE; i++)
		f->page[i] = CLEAN;
	f->untold = true;
	f->untold_since = baton.steps;
	return world.begin_error;
}

static int world_sync(const struct backing *b, uint64_t offset, uint64_t len, unsigned int flags)
{
	struct world_file *f = world.of[b->fd];
	void (*meanwhile)(void) = world.meanwhile;
	int err = 0;

	world_step(flags);
	if (flags == SYNC_FILE_RANGE_WRITE && world.begin_error)
		return world_begin_fails(f, offset, len);
	if (meanwhile != NULL && flags & SYNC_FILE_RANGE_WAIT_AFTER) {
		world.meanwhile = NULL;
		meanwhile();
	}
	if (flags & SYNC_FILE_RANGE_WAIT_BEFORE)
		world_range(f, offset, len, WRITING, false);
	if (flags & SYNC_FILE_RANGE_WRITE)
		world_range(f, offset, len, DIRTY, true);
	if (flags & SYNC_FILE_RANGE_WAIT_AFTER)
		world_range(f, offset, len, WRITING, false);
	if (flags & (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER))
		err = world_check(f, &world.since[b->fd]);
	baton_pause(); /* consumed, and not recorded yet */
	return err;
}

static int world_pending(const struct backing *b)
{
	int err = world_check(world.of[b->fd], &world.since[b->fd]);

	baton_pause();
	return err;
}

static bool world_nameless(const struct backing *b)
{
	bool nameless = world.of[b->fd]->nameless;

	world.looks++;
	baton_pause();
	return nameless;
}

static uint64_t world_place(struct backing *b, uint64_t offset)
{
	return offset;
}

/* May wait for the inode's lock. */
static uint64_t world_find_place(struct backing *b, uint64_t offset)
{
	must(__atomic_load_n(&world.turns, __ATOMIC_RELAXED));
	must(__atomic_load_n(&world.steps, __ATOMIC_RELAXED)); /* the disk has something to do */
	return offset;
}

static enum sched_verdict world_submit(struct dispatcher *d, struct sched_req *r)
{
	if (world.queued >= world.queue_max)
		return SCHED_FULL;
	r->state = REQ_QUEUED;
	world.queue[world.queued++] = r;
	return SCHED_ADDED;
}

static void world_want(struct dispatcher *d, struct sched_req *r, const struct flow_id *by)
{
	r->wanted = true;
}

static struct sched_turn world_allowance(struct dispatcher *d)
{
	return (struct sched_turn){
		.slice = world.slice, .bytes = world.turn_bytes, .step = world.step};
}

static const struct writeback_ops world_ops = {
	.now = world_now,
	.wait = world_wait,
	.wake = world_wake,
	.sync = world_sync,
	.pending = world_pending,
	.nameless = world_nameless,
	.place = world_place,
	.find_place = world_find_place,
	.submit = world_submit,
	.want = world_want,
	.allowance = world_allowance,
};

static void world_refresh(struct flow_id *flow)
{
	lock_assert_held(&wb.lock);
	if (world.ruled)
		flow->rule = world.rule;
}

static int world_open(struct backing_slot *slot, int access, int *err)
{
	struct world_file *f = CONTAINER_OF(slot, struct world_file, slot);
	int fd;

	*err = world.open_error;
	if (*err)
		return -1;
	fd = memfd_create("world", MFD_CLOEXEC);
	assert(fd >= 0 && fd < WORLD_FDS);
	world.of[fd] = f;
	world.since[fd] = world_sample(f);
	return fd;
}

/* ---- clients ---- */

static inline void world_wrote(struct world_file *f, unsigned int page, unsigned int pages)
{
	for (unsigned int i = page; i < page + pages; i++)
		f->page[i] = DIRTY;
	writeback_wrote(&f->slot, world.io, &world.settings, world.flow, page * PAGE, pages * PAGE);
}

/* The FSAL's fsync: everything is out, and its descriptor tells what it has not told yet; or nothing happens. */
static int world_fsync(void *arg)
{
	struct world_file *f = arg;
	bool busy = f->busy & 1;
	int err;

	f->busy >>= 1;
	if (busy) {
		baton_pause();
		return EAGAIN;
	}
	if (!f->below_open)
		f->below_since = world_sample(f);
	f->below_open = true;
	f->fsyncs++;
	for (unsigned int i = 0; i < WORLD_PAGES; i++)
		world_write_page(f, i);
	err = world_check(f, &f->below_since);
	baton_pause();
	return err;
}

/*
 * A COMMIT, and whether its answer is right: an error is told if there was one before it that nobody
 * was told of, and only then; except that COMMITs at the same time may both be told, but none that
 * began after one was; and that one which did not wait for a turn that hangs may tell what that turn
 * has met too.
 */
static int world_commit(struct world_file *f, unsigned int page, unsigned int pages)
{
	struct commit c = {.slot = &f->slot,
			   .offset = page * PAGE,
			   .len = pages * PAGE,
			   .wait = world.settings.commit_wait,
			   .flow = world.flow,
			   .little = world.little,
			   .fsync_below = world_fsync,
			   .arg = f};
	uint64_t begun = baton.steps;
	bool alone = f->committing++ == 0;
	int err = writeback_commit(&c);

	alone &= --f->committing == 0 && f->told_at <= begun;
	f->commits++;
	if (err == EIO) {
		/* else it was told before, or never happened */
		must(f->untold || begun <= f->first_told_at || (baton.timeouts && f->told));
		if (f->untold)
			f->first_told_at = baton.steps;
		f->untold = false;
		f->told++;
		f->told_at = baton.steps;
	} else if (err == 0 && alone) {
		must(!(f->untold && f->untold_since < begun));
	} else {
		must(err == 0 || err == EAGAIN);
	}
	return err;
}

/* ---- actors ---- */

static bool world_has_work(void *arg)
{
	return world.queued != 0;
}

/* The next turn, executed; it is to be finished. */
static struct sched_req *world_execute(void)
{
	struct sched_req *r = world.queue[0];

	memmove(world.queue, world.queue + 1, --world.queued * sizeof(world.queue[0]));
	r->state = REQ_RUNNING;
	world.charged = r->flow;
	__atomic_add_fetch(&world.turns, 1, __ATOMIC_RELAXED);
	r->ops->execute(NULL, r);
	__atomic_sub_fetch(&world.turns, 1, __ATOMIC_RELAXED);
	return r;
}

static void world_finish(struct sched_req *r)
{
	r->ops->finish(NULL, r);
}

/* A thread of the disk's dispatcher. */
static void world_disk(void *arg)
{
	while (baton_idle())
		world_finish(world_execute());
}

/* What is queued, without actors. */
static inline void world_drain(void)
{
	while (world.queued)
		world_finish(world_execute());
}

/* ---- life ---- */

static void world_silent(enum log_level level, const char *format, va_list args)
{
}

static inline void world_init(void)
{
	static const struct dispatcher_ops ops = {.now = clock_now};
	static const struct export_settings settings = {
		.device = {.depth = 1, .limits = {.queue_max = 16}}};
	struct export_settings s = settings;

	log_set_writer(world_silent);
	s.device.policy = sched_policy_find("fifo");
	device_start(&ops, "/sys");
	backing_set_limits(64, SEC);
	world.io = export_io_new(1, NULL, &s);
	assert_non_null(world.io);
}

static inline void world_fini(void)
{
	baton_fini();
	export_io_put(world.io);
	device_stop_all();
}

/* New files, which nobody knows. */
static inline void world_reset(void)
{
	static unsigned int number;
	static uint64_t epoch;

	baton.now = (epoch += 1000 * SEC);
	baton.steps = 1;
	baton.timeouts = false;
	memset(world.file, 0, sizeof(world.file));
	for (unsigned int i = 0; i < WORLD_FILES; i++) {
		struct world_file *f = &world.file[i];

		f->number = ++number;
		backing_slot_init(&f->slot, world_open, &f->number, sizeof(f->number));
	}
	world.settings = (struct writeback_settings){
		.on = true, .chunk = MIB, .age_max = SEC, .commit_wait = SEC};
	world.queued = 0;
	world.queue_max = WORLD_QUEUE;
	world.slice = SEC;
	world.turn_bytes = UINT64_MAX;
	world.step = 2 * MIB;
	world.steps = world.steps_max = 0;
	world.open_error = 0;
	world.little = 0;
	world.flow = (struct flow_id){0};
	world.ruled = false;
	writeback_set_commit_threads(ROOM_GATE_MAX);
}

/* What the files had is gone. */
static inline void world_clear(void)
{
	struct writeback_stats s;

	world_drain();
	writeback_leave(world.io);
	for (unsigned int i = 0; i < WORLD_FILES; i++)
		backing_slot_fini(&world.file[i].slot);
	writeback_stats(&s);
	assert_int_equal(s.files, 0);
	assert_int_equal(backing_count(), 0);
}

static inline void world_start(uint32_t files)
{
	const struct writeback_limits limits = {
		.files = files, .entries = files, .refresh = world_refresh};

	assert_int_equal(writeback_start(&limits, &world_ops), 0);
	world_reset();
}

static inline void world_stop(void)
{
	world_clear();
	writeback_stop();
}

#endif
