/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back through the dispatcher.
 *
 *   UNSTABLE WRITE -> page cache (the sub-FSAL), and the range into the file's dirty set
 *   a run of Writeback_Chunk bytes, or data older than Writeback_Delay
 *                  -> one request of the file in the disk's queue, which accelerates or defers it
 *   its turn       -> sync_file_range() step by step, for one slice of time; the rest queues again
 *   COMMIT         -> its range goes first, as demand; then the sub-FSAL's fsync finds little to do
 *
 * Data stays in the page cache and the kernel stays free to write it out itself: by age after 30 s,
 * or beyond its background threshold. A ticking thread keeps the level below that (see dirty_memory.h), by
 * bidding for the disk with the price of memory (writeback/share.h).
 *
 * Scattered writes are left to the kernel: each costs a seek, fewer the more of them are sorted,
 * and the kernel may let more of them gather than our budget does. While it writes them, reads go
 * to it directly: in our queue, one at a time, they would lose against its many writes.
 *
 * The set is only a hint, so nothing depends on it but speed, except for errors: the kernel tells
 * of a failed write-out once, to the first who asks on an open file, and that is us. So an error is
 * kept with the file until a COMMIT has brought it to a client.
 *
 * A file with dirty data keeps its descriptor, closed by Ganesha or not, until the data is out or
 * the file has lost its last link. Lock: wb.lock, around the dispatcher's; backings are opened and
 * closed without it.
 */
#include "writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "params.h"
#include "pricing/price.h"
#include "ra_methods.h"
#include "writeback/dirty_memory.h"
#include "writeback/dirty_set.h"
#include "writeback/pacing.h"
#include "writeback/share.h"

#define MS UINT64_C(1000000) /* in ns */
/* One sync_file_range() covers at most this much, and about so many separate writes. */
#define STEP_BYTES (UINT64_C(2) << 20)
#define STEP_RUNS  4
/* The level is looked at, and old data looked for, this often while anything is dirty (ms). */
#define TICK_MS 50
/* Removed files are looked for every so many ticks. */
#define TICKS_SWEEP 20
/* Data left to the kernel is surely out after this (ns). */
#define KERNEL_AGE (40000 * MS)
/* Files submitted by one tick. */
#define TICK_FILES 64
/* Part of the budget beyond which any dirty data is worth a turn. */
#define LEVEL_HIGH 0.5
/* A COMMIT of a part is only of that if so much else is dirty, and it is no longer (bytes). */
#define PART_WORTH (UINT64_C(1) << 20)
#define PART_MAX   (UINT64_C(1) << 32)
/* Longest wait of a REMOVE for the turn that its file is having (ns). */
#define TURN_TIMEOUT (1000 * MS)
/*
 * How late the price of memory rises here: it is highest when writers begin to be paced, and next to
 * nothing below half of that.
 * K_Memory is another matter: what clients are told, who need time to act.
 */
#define MEMORY_K 1e4
/*
 * A write further than this from the end of the last one is a scattered one (bytes); a file is,
 * when more than half of its writes lately were, averaged over about so many.
 */
#define NEARBY		 (UINT64_C(1) << 20)
#define SCATTERED	 0.5
#define SCATTER_AVERAGED 16
/* Writers are paced only while so much of the budget waits for our turns: others are not theirs. */
#define WORTH_PACING 0.25
/* A price of memory that is worth less than this buys nothing. */
#define PRICE_MIN 1e-2

struct wb_file {
	TAILQ_ENTRY(wb_file) link; /* all */
	TAILQ_ENTRY(wb_file) hash;
	struct sched_req req;
	struct backing *backing;	/* a use and a hold */
	const struct export_io *io;	/* of the last writer; compared, never followed */
	uint64_t chunk, delay, age_max; /* bytes, ns, ns: the last writer's export */
	struct dirty_set dirty;
	struct dirty_set sync; /* of it, what a COMMIT waits for */
	bool busy;	       /* its request is queued or running */
	bool running;	       /* ... running */
	bool syncing;	       /* ... and may have begun what a COMMIT waits for */
	bool gone;	       /* nothing of it is to be written: the use is given back */
	bool removed;	       /* ... and nobody can ask for its error any more */
	uint32_t waiters;      /* COMMITs */
	double scattered;      /* share of its last writes that were far from the one before */
	uint64_t next;	       /* where the last one ended */
	int error;	       /* errno not yet told to a client */
};

TAILQ_HEAD(wb_list, wb_file);
#define WB_HASH 1024

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;  /* the ticking thread */
	pthread_cond_t clean; /* COMMITs: some file has had a turn */
	pthread_t thread;
	bool running, stopping;
	struct wb_list files; /* least recently written first */
	struct wb_list hash[WB_HASH];
	uint64_t waiting; /* bytes for our turns, about */
	uint32_t failed;  /* files with an error to tell */
	struct writeback_view view;
} wb = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct device *device_of(const struct wb_file *f)
{
	return f->backing->device;
}

/* ---- the table; wb.lock held ------------------------------------------------------------- */

static struct wb_list *bucket(const struct device *d, uint64_t ino)
{
	uint64_t h = (ino ^ (uint64_t)(uintptr_t)d) * 0x9e3779b97f4a7c15u;

	return &wb.hash[h >> 54];
}

static struct wb_file *find(const struct device *d, uint64_t ino)
{
	struct wb_file *f;

	TAILQ_FOREACH(f, bucket(d, ino), hash)
		if (f->backing->file == ino && device_of(f) == d)
			return f;
	return NULL;
}

/* A new file; takes over the use and hold of B. */
static struct wb_file *insert(struct backing *b)
{
	struct wb_file *f = gsh_calloc(1, sizeof(*f));

	f->backing = b;
	TAILQ_INSERT_TAIL(&wb.files, f, link);
	TAILQ_INSERT_TAIL(bucket(b->device, b->file), f, hash);
	if (wb.view.files++ == 0)
		pthread_cond_signal(&wb.wake);
	return f;
}

/* Takes F out if nobody needs it; it is then to be freed by free_file(), without the lock. */
static bool take_out(struct wb_file *f)
{
	bool to_tell = f->error && !f->removed;

	if (f->busy || f->waiters || f->dirty.n || f->sync.n || to_tell)
		return false;
	wb.failed -= f->error != 0;
	TAILQ_REMOVE(&wb.files, f, link);
	TAILQ_REMOVE(bucket(device_of(f), f->backing->file), f, hash);
	wb.view.files--;
	return true;
}

static void free_file(struct wb_file *f)
{
	if (!f->gone)
		backing_unuse(f->backing);
	if (f->error)
		LogCrit(COMPONENT_FSAL,
			"RA: inode %" PRIu64 ": write-back failed (%s), nobody asked",
			f->backing->file, strerror(f->error));
	backing_release(f->backing);
	gsh_free(f);
}

static bool is_scattered(const struct wb_file *f)
{
	return f->scattered > SCATTERED;
}

/* Whether F should have a turn; then it is claimed: submit() it, without the lock. */
static bool claim(struct wb_file *f, double level, uint64_t now)
{
	bool due;

	if (f->busy || f->gone || (!f->sync.n && (!f->dirty.n || is_scattered(f))))
		return false;
	due = f->sync.n || level > LEVEL_HIGH || dirty_longest(&f->dirty) >= f->chunk ||
	      now - dirty_since(&f->dirty) >= f->delay;
	f->busy = due;
	return due;
}

/* ---- turns ------------------------------------------------------------------------------- */

static const struct sched_req_ops turn_ops;

/* Queues a claimed file. The request may be over, and F gone, when this returns. */
static void submit(struct wb_file *f)
{
	struct device *d = device_of(f);
	struct sched_req *r = &f->req;
	const struct dirty_set *s;
	bool out;

	pthread_mutex_lock(&wb.lock);
	s = f->sync.n || !f->dirty.n ? &f->sync : &f->dirty;
	*r = (struct sched_req){.ops = &turn_ops,
				.class = SCHED_WRITEBACK,
				.file = f->backing->file,
				.offset = s->n ? dirty_where(s) : 0,
				.wanted = f->waiters != 0};
	r->len = s->n ? s->range[0].end - s->range[0].offset : 0;
	if (r->len > f->chunk)
		r->len = f->chunk;
	pthread_mutex_unlock(&wb.lock);
	r->block = 0;
	if (backing_use(f->backing)) { /* else it is on its way out */
		r->block = backing_place(f->backing, r->offset);
		backing_unuse(f->backing);
	}
	if (dispatcher_submit(&d->dispatcher, r) == SCHED_ADDED)
		return;
	/* the queue is full: the tick tries again */
	pthread_mutex_lock(&wb.lock);
	f->busy = false;
	out = take_out(f);
	pthread_cond_broadcast(&wb.clean);
	pthread_mutex_unlock(&wb.lock);
	if (out)
		free_file(f);
}

static bool next_step(struct wb_file *f, struct dirty_range *step)
{
	bool got;

	pthread_mutex_lock(&wb.lock);
	got = !f->gone && dirty_take(&f->sync, STEP_BYTES, STEP_RUNS, step);
	f->syncing |= got;
	if (!got)
		got = !f->gone && dirty_take(&f->dirty, STEP_BYTES, STEP_RUNS, step);
	pthread_mutex_unlock(&wb.lock);
	return got;
}

/* wb.lock held. */
static void set_error(struct wb_file *f, int err)
{
	wb.failed += f->error == 0;
	f->error = err;
	wb.view.errors++;
}

static void keep_error(struct wb_file *f, int err)
{
	LogMajor(COMPONENT_FSAL,
		 "RA: inode %" PRIu64
		 " of device %u:%u: write-back failed: %s; the next COMMIT will say so",
		 f->backing->file, major(device_of(f)->dev), minor(device_of(f)->dev),
		 strerror(err));
	pthread_mutex_lock(&wb.lock);
	set_error(f, err);
	pthread_mutex_unlock(&wb.lock);
}

/* False: the file went while it was queued. Else it has a use for its turn. */
static bool begin_turn(struct wb_file *f)
{
	pthread_mutex_lock(&wb.lock);
	f->running = !f->gone && backing_use(f->backing);
	pthread_mutex_unlock(&wb.lock);
	return f->running;
}

/* Starts to write a step out, or waits until it is out. */
static void sync_step(struct wb_file *f, const struct dirty_range *step, unsigned int flags)
{
	if (sync_file_range(f->backing->fd, (off_t)step->offset, (off_t)(step->end - step->offset),
			    flags))
		keep_error(f, errno);
}

/*
 * A slice of steps. The next step is begun before the last one is waited for, so that the disk, and
 * a drive's write cache, always have some; and it is begun only if it will fit.
 */
static void turn_execute(struct dispatcher *d, struct sched_req *r)
{
	struct wb_file *f = container_of(r, struct wb_file, req);
	uint64_t slice = dispatcher_writeback_slice(d), begun = clock_now(), last = begun, took = 0;
	struct dirty_range ahead, step;
	bool more;

	r->io_len = 0;
	if (!begin_turn(f))
		return;
	more = next_step(f, &ahead);
	if (more)
		sync_step(f, &ahead, SYNC_FILE_RANGE_WRITE);
	while (more) {
		uint64_t now;

		step = ahead;
		more = last + 2 * took - begun <= slice && next_step(f, &ahead);
		if (more)
			sync_step(f, &ahead, SYNC_FILE_RANGE_WRITE);
		sync_step(f, &step,
			  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				  SYNC_FILE_RANGE_WAIT_AFTER);
		now = clock_now();
		took = now - last;
		last = now;
		r->io_len += step.end - step.offset;
	}
	backing_unuse(f->backing);
}

static void turn_finish(struct dispatcher *d, struct sched_req *r)
{
	struct wb_file *f = container_of(r, struct wb_file, req);
	bool again, out = false;

	pthread_mutex_lock(&wb.lock);
	wb.view.pushed += r->io_len;
	f->busy = f->running = f->syncing = false;
	again = claim(f, dirty_memory_level(), clock_now());
	if (!again)
		out = take_out(f);
	pthread_cond_broadcast(&wb.clean);
	pthread_mutex_unlock(&wb.lock);
	if (again)
		submit(f);
	else if (out)
		free_file(f);
}

static const struct sched_req_ops turn_ops = {
	.execute = turn_execute,
	.finish = turn_finish,
};

/* ---- clients ----------------------------------------------------------------------------- */

/* A use of the backing, if its device is one whose write-back we schedule. */
static struct backing *scheduled_backing(struct backing_slot *slot, struct export_io *io, bool on)
{
	struct backing *b;

	if (!on || !wb.running)
		return NULL;
	b = backing_get(slot, io, clock_now());
	if (b != NULL && !device_queues_writeback(b->device)) {
		backing_put(b);
		b = NULL;
	}
	return b;
}

/* Whether a write of F goes on near where the last one ended. */
static void note_place(struct wb_file *f, uint64_t offset, uint64_t len)
{
	uint64_t far = offset > f->next ? offset - f->next : f->next - offset;

	f->scattered += ((far > NEARBY ? 1 : 0) - f->scattered) / SCATTER_AVERAGED;
	f->next = offset + len;
}

bool writeback_wrote(struct backing_slot *slot, struct export_io *io,
		     const struct writeback_settings *s, uint64_t offset, uint64_t len)
{
	struct backing *b = scheduled_backing(slot, io, s->on);
	uint64_t now = clock_now();
	struct wb_file *f;
	bool due = false, ours = false;
	uint64_t waiting;

	if (b == NULL)
		return false;
	dirty_memory_wrote(len);
	pthread_mutex_lock(&wb.lock);
	f = find(b->device, b->file);
	if (f == NULL && wb.view.files < ra_module_params.writeback_files && !wb.stopping) {
		f = insert(b);
		b = NULL;
	}
	if (f == NULL || f->gone) { /* no room, or it is on its way out: the kernel's to write */
		wb.view.untracked++;
	} else {
		f->io = io;
		f->chunk = s->chunk;
		f->delay = s->delay;
		f->age_max = s->age_max;
		note_place(f, offset, len);
		dirty_add(&f->dirty, offset, len, now);
		ours = !is_scattered(f);
		if (ours)
			wb.waiting += len;
		due = claim(f, dirty_memory_level(), now);
	}
	waiting = wb.waiting;
	pthread_mutex_unlock(&wb.lock);
	if (b != NULL)
		backing_put(b);
	if (due)
		submit(f);
	return ours && (double)waiting > WORTH_PACING * (double)dirty_memory_budget();
}

/* Waits, bounded, until all of F's sync set is out; wb.lock held, F has a waiter. */
static void wait_clean(struct wb_file *f, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	int err = 0;

	while ((f->sync.n || f->syncing) && !f->gone && !err) {
		if (!f->busy && claim(f, 1, clock_now())) {
			pthread_mutex_unlock(&wb.lock);
			submit(f); /* F stays: it has a waiter */
			pthread_mutex_lock(&wb.lock);
			if (f->busy || !f->sync.n)
				continue;
			/* the queue is full: the tick tries again, and its turn wakes us */
		}
		if (f->busy)
			dispatcher_want(&device_of(f)->dispatcher, &f->req);
		err = clock_cond_wait_until(&wb.clean, &wb.lock, until);
	}
}

struct backing *writeback_commit(struct backing_slot *slot, struct export_io *io, uint64_t offset,
				 uint64_t len)
{
	struct writeback_settings s;
	struct backing *b;
	struct wb_file *f;

	export_io_writeback(io, &s);
	b = scheduled_backing(slot, io, s.on);

	/* an error is told also after write-back was switched off */
	if (b == NULL && __atomic_load_n(&wb.failed, __ATOMIC_RELAXED))
		b = backing_get(slot, io, clock_now());
	if (b == NULL)
		return NULL;
	pthread_mutex_lock(&wb.lock);
	f = find(b->device, b->file);
	if (f != NULL && !f->gone && is_scattered(f)) {
		dirty_remove(&f->dirty, offset, len ? len : UINT64_MAX); /* fsync does better */
	} else if (f != NULL && !f->gone) {
		dirty_move(&f->dirty, &f->sync, offset, len ? len : UINT64_MAX);
		f->waiters++;
		f->syncing |= f->running; /* its range may be on its way */
		wb.view.commits++;
		wait_clean(f, s.commit_wait);
		f->waiters--;
	}
	pthread_mutex_unlock(&wb.lock);
	return b;
}

/* Bytes of the file that are dirty and not part of a COMMIT. */
static uint64_t others_dirty(const struct backing *b)
{
	const struct wb_file *f;
	uint64_t bytes;

	pthread_mutex_lock(&wb.lock);
	f = find(b->device, b->file);
	bytes = f != NULL ? dirty_bytes(&f->dirty) : 0;
	pthread_mutex_unlock(&wb.lock);
	return bytes;
}

/*
 * FSAL_VFS would fsync the whole file. msync() is the one call that makes part of a file stable,
 * data and the metadata to find it; it wants a mapping that could be written through.
 */
static bool sync_part(int fd, uint64_t offset, uint64_t len, int *err)
{
	uint64_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, before + len, PROT_READ, MAP_SHARED, fd, (off_t)(offset - before));
	bool done;

	if (map == MAP_FAILED)
		return false;
	done = msync(map, before + len, MS_SYNC) == 0;
	*err = done ? 0 : errno;
	munmap(map, before + len);
	return done;
}

bool writeback_commit_part(struct backing_slot *slot, struct backing *b, uint64_t offset,
			   uint64_t len, int *err)
{
	int fd, unopened;
	bool done;

	*err = 0;
	if (b == NULL || !len || len > PART_MAX || offset > INT64_MAX - len ||
	    others_dirty(b) < PART_WORTH)
		return false;
	fd = slot->open(slot, O_RDWR, &unopened);
	if (fd < 0)
		return false;
	done = sync_part(fd, offset, len, err);
	close(fd);
	return done;
}

int writeback_committed(struct backing *b)
{
	struct wb_file *f;
	bool out = false;
	int err = 0;

	if (b == NULL)
		return 0;
	pthread_mutex_lock(&wb.lock);
	f = find(b->device, b->file);
	if (f != NULL) {
		err = f->error;
		wb.failed -= err != 0;
		f->error = 0;
		out = take_out(f);
	}
	pthread_mutex_unlock(&wb.lock);
	if (out)
		free_file(f);
	backing_put(b);
	return err;
}

/*
 * Nothing of F is to be written any more; wb.lock held. An error it met stays, until it is told or
 * the file is REMOVED: its export may come back, with the same write verifier. What it had is
 * returned: its backing with a hold and the use, to be given back without the lock, and F itself if
 * nobody needs it.
 */
struct abandoned {
	struct backing *backing;
	struct wb_file *file;
};

static struct abandoned abandon(struct wb_file *f, bool removed)
{
	struct abandoned a = {0};

	if (!f->gone)
		a.backing = backing_hold(f->backing);
	f->gone = true;
	f->removed = removed;
	dirty_remove(&f->dirty, 0, UINT64_MAX);
	dirty_remove(&f->sync, 0, UINT64_MAX);
	pthread_cond_broadcast(&wb.clean);
	if (f->busy)
		dispatcher_want(&device_of(f)->dispatcher, &f->req);
	if (take_out(f))
		a.file = f;
	return a;
}

static void give_back(struct abandoned a)
{
	if (a.file != NULL)
		free_file(a.file);
	if (a.backing != NULL)
		backing_put(a.backing);
}

/* Abandons the files that CONDITION picks, and what it picks is REMOVED or not. */
static void abandon_all(bool (*condition)(const struct wb_file *f, const void *arg),
			const void *arg, bool removed)
{
	struct abandoned some[TICK_FILES];
	struct wb_file *f, *next;
	unsigned int n;

	do {
		n = 0;
		pthread_mutex_lock(&wb.lock);
		for (f = TAILQ_FIRST(&wb.files); f != NULL && n < TICK_FILES; f = next) {
			next = TAILQ_NEXT(f, link);
			if (!(removed ? f->removed : f->gone) && condition(f, arg))
				some[n++] = abandon(f, removed);
		}
		pthread_mutex_unlock(&wb.lock);
		for (unsigned int i = 0; i < n; i++)
			give_back(some[i]);
	} while (n == TICK_FILES);
}

static bool is_of_export(const struct wb_file *f, const void *io)
{
	return f->io == io;
}

static bool is_removed(const struct wb_file *f, const void *unused)
{
	struct stat st;

	return !f->gone && !fstat(f->backing->fd, &st) && st.st_nlink == 0;
}

static bool is_any(const struct wb_file *f, const void *unused)
{
	return true;
}

void writeback_leave(const struct export_io *io)
{
	if (wb.running)
		abandon_all(is_of_export, io, false);
}

/* Waits, bounded, until a turn that F may be having is over; wb.lock held. */
static void wait_turn(struct backing *b)
{
	uint64_t until = clock_now() + TURN_TIMEOUT;
	struct wb_file *f;

	while ((f = find(b->device, b->file)) != NULL && f->running)
		if (clock_cond_wait_until(&wb.clean, &wb.lock, until))
			break;
}

void writeback_unlinked(struct backing *b)
{
	struct abandoned a = {0};
	struct wb_file *f;

	if (b == NULL) {
		writeback_removed();
		return;
	}
	pthread_mutex_lock(&wb.lock);
	f = wb.running ? find(b->device, b->file) : NULL;
	if (f != NULL && !f->gone && is_removed(f, NULL)) {
		a = abandon(f, true);
		if (a.file == NULL)
			wait_turn(b);
	}
	pthread_mutex_unlock(&wb.lock);
	give_back(a);
	backing_release(b);
}

void writeback_removed(void)
{
	if (wb.running && __atomic_load_n(&wb.view.files, __ATOMIC_RELAXED))
		abandon_all(is_removed, NULL, true);
}

/* ---- the ticking thread ------------------------------------------------------------------ */

/* Age (ns) of the oldest dirty data on D, and the age at which its export wants it out. */
static uint64_t oldest_on(const struct device *d, uint64_t now, uint64_t *age_max)
{
	uint64_t oldest = UINT64_MAX;
	struct wb_file *f;

	TAILQ_FOREACH(f, &wb.files, link) {
		uint64_t since = dirty_since(&f->dirty);

		if (device_of(f) == d && since < oldest && !is_scattered(f)) {
			oldest = since;
			*age_max = f->age_max;
		}
	}
	return oldest < now ? now - oldest : 0;
}

/* What the dirty data of each device buys of its time. */
static void set_shares(double level, uint64_t now)
{
	double memory = price_of(MEMORY_K, level / PACING_SETPOINT);
	struct device *d;

	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		struct share_limits l = {.price_min = PRICE_MIN};
		uint64_t age;

		pthread_mutex_lock(&wb.lock);
		age = oldest_on(d, now, &l.age_max);
		pthread_mutex_unlock(&wb.lock);
		l.share_max = dispatcher_limits(&d->dispatcher).writeback_share;
		dispatcher_set_writeback_share(&d->dispatcher,
					       share_bought(&l, memory, device_price(d), age));
		device_watch_writes(d);
	}
}

/* What waits for our turns, counted anew: it is only added to meanwhile. */
static void count_waiting(void)
{
	const struct wb_file *f;

	pthread_mutex_lock(&wb.lock);
	wb.waiting = 0;
	TAILQ_FOREACH(f, &wb.files, link)
		if (!is_scattered(f))
			wb.waiting += dirty_bytes(&f->dirty) + dirty_bytes(&f->sync);
	pthread_mutex_unlock(&wb.lock);
}

static void submit_old(double level, uint64_t now)
{
	struct wb_file *claimed[TICK_FILES], *f;
	unsigned int n = 0;

	pthread_mutex_lock(&wb.lock);
	TAILQ_FOREACH(f, &wb.files, link)
		if (n < TICK_FILES && claim(f, level, now))
			claimed[n++] = f;
	pthread_mutex_unlock(&wb.lock);
	for (unsigned int i = 0; i < n; i++)
		submit(claimed[i]);
}

/* What is left to the kernel it has written by now: it does so at 30 s. */
static bool is_forgotten(const struct wb_file *f, const void *arg)
{
	uint64_t now = *(const uint64_t *)arg, since = dirty_since(&f->dirty);

	return is_scattered(f) && !f->sync.n && since < now && now - since > KERNEL_AGE;
}

static void tick(unsigned int n)
{
	uint64_t now = clock_now();
	double level;

	dirty_memory_sample(now);
	level = dirty_memory_level();
	count_waiting();
	set_shares(level, now);
	submit_old(level, now);
	if (n % TICKS_SWEEP == 0) {
		abandon_all(is_removed, NULL, true);
		abandon_all(is_forgotten, &now, false);
	}
}

static void *ticker(void *arg)
{
	unsigned int n = 0;

	SetNameFunction("ra_writeback");
	pthread_mutex_lock(&wb.lock);
	while (!wb.stopping) {
		if (!wb.view.files) {
			pthread_mutex_unlock(&wb.lock);
			device_forget_writes(); /* nobody looks any more */
			pthread_mutex_lock(&wb.lock);
			if (!wb.view.files && !wb.stopping)
				pthread_cond_wait(&wb.wake, &wb.lock);
			continue;
		}
		pthread_mutex_unlock(&wb.lock);
		tick(n++);
		pthread_mutex_lock(&wb.lock);
		if (!wb.stopping)
			clock_cond_wait_until(&wb.wake, &wb.lock, clock_now() + TICK_MS * MS);
	}
	pthread_mutex_unlock(&wb.lock);
	return NULL;
}

/* ---- life -------------------------------------------------------------------------------- */

int writeback_start(void)
{
	int err;

	TAILQ_INIT(&wb.files);
	for (int i = 0; i < WB_HASH; i++)
		TAILQ_INIT(&wb.hash[i]);
	clock_cond_init(&wb.wake);
	clock_cond_init(&wb.clean);
	wb.stopping = false;
	memset(&wb.view, 0, sizeof(wb.view));
	dirty_memory_start(ra_module_params.dirty_budget);
	err = pthread_create(&wb.thread, NULL, ticker, NULL);
	wb.running = !err;
	return err;
}

void writeback_stop(void)
{
	if (!wb.running)
		return;
	pthread_mutex_lock(&wb.lock);
	wb.stopping = true;
	pthread_cond_signal(&wb.wake);
	pthread_mutex_unlock(&wb.lock);
	pthread_join(wb.thread, NULL);
	wb.running = false;
	/* the kernel has the data; queued requests end when devices stop */
	abandon_all(is_any, NULL, true);
	dirty_memory_stop();
}

void writeback_view(struct writeback_view *v)
{
	pthread_mutex_lock(&wb.lock);
	*v = wb.view;
	pthread_mutex_unlock(&wb.lock);
}
