/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT: its range by turns, then the fsync of the FSAL below, then the errors that are its to tell.
 *
 *   range by turns        fsync below          the descriptor's   a turn that      the error
 *   (up to Commit_Wait)   of the whole file    own error          began before     kept of the file
 *   ------------------> ------------------> ------------------> ---------------> ----------> answer
 *
 * The kernel keeps an error with the file, and each open descriptor tells it once; one that is opened
 * later tells it only if no other has. So, of the descriptors that can know of an error,
 *   the FSAL's  told it by this fsync, if it happened before;
 *   ours        tells it by a turn, which records it: a turn that began before the fsync was over may
 *               have had it already and not recorded it yet, so it is waited for; or it has not told
 *               it yet, and would in a later turn: so it is asked here.
 * Where we found one, it may be news for the FSAL's descriptor: one more fsync has it tell, or the next
 * COMMIT would fail for the same error; and so on, until a round finds nothing.
 * Above a cluster another COMMIT of ours may have had it (fsal_ra/far_write.c): the fsync below waits for that one.
 * Where the FSAL below did nothing and says: come again, no error is asked for. The client would not be told it, and
 * whoever tells it has it no more.
 *
 * COMMITs of a file wait each for its own range. What a COMMIT waits for is taken out of the file's
 * dirty set when it comes; one that comes later waits for the parts of earlier ones that lie in its
 * range, but for nothing that is written after it came. All else that is dirty when the fsync of the whole file begins is taken
 * out too: it is that one's to write, and dirty again only if it fails.
 */
#include "writeback/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/room_gate.h"
#include "common/trace.h"
#include "writeback/left.h"
#include "writeback/refused.h"
#include "writeback/turn.h"

/* A COMMIT of a part is only of that if so much else is dirty, and it is no longer (bytes). */
#define PART_WORTH (UINT64_C(1) << 20)
#define PART_MAX   (UINT64_C(1) << 32)
/*
 * Beside fsyncs, and while others write to the disk, turns keep the disk from no reads: the kernel has it write, and
 * a turn's steps wait among all that. So much more is little then: 4 MiB are still a moment of the disk's time.
 */
#define LITTLE_BESIDE 16
/* A disk that goes on failing has had its answer after so many fsyncs. */
#define ROUNDS_MAX 4
/* After fsync the present turn has little to wait for: longer than this (ns) it hangs. */
#define TURN_HANGS (10 * CLOCK_SECOND)

/*
 * Threads that wait for turns, for whichever file: they are the server's, and a COMMIT may wait for as long as
 * Commit_Wait. Those that wait for an fsync, or for the end of a step, are as many as ask: so they are without us.
 */
static struct room_gate gate = ROOM_GATE_INITIALIZER(ROOM_GATE_MAX);
/* Who was told to come again, for want of one; with wb.lock. */
static struct refused refused;

void writeback_set_commit_threads(uint32_t max)
{
	room_gate_set_max(&gate, max);
}

/* ---- its range by turns; with the lock ---- */

/* Whether nothing that W waits for is left. */
static bool is_clean(const struct dirty_file *f, const struct commit_wait *w)
{
	const struct commit_wait *earlier;

	if (w->own.n || f->done < w->until)
		return false;
	for (earlier = TAILQ_FIRST(&f->commits); earlier != w; earlier = TAILQ_NEXT(earlier, link))
		for (uint32_t i = 0; i < earlier->own.n; i++)
			if (turn_overlaps(&earlier->own.range[i], w->offset, w->len))
				return false;
	return true;
}

static void enter(struct dirty_file *f, struct commit_wait *w)
{
	dirty_move(&f->dirty, &w->own, w->offset, w->len);
	w->until = f->begun;			   /* part of it may be on its way */
	w->served = f->turn ? 2 * f->turn - 1 : 0; /* those that came before go first */
	TAILQ_INSERT_TAIL(&f->commits, w, link);
	wb.stats.commits++;
}

/* What is left of W, whose time is over, later COMMITs wait for, or it is dirty as before. */
static void leave(struct dirty_file *f, struct commit_wait *w)
{
	for (struct commit_wait *v = TAILQ_NEXT(w, link); v != NULL; v = TAILQ_NEXT(v, link))
		dirty_move(&w->own, &v->own, v->offset, v->len);
	dirty_move(&w->own, &f->dirty, 0, UINT64_MAX);
	TAILQ_REMOVE(&f->commits, w, link);
}

/* Queues F for a COMMIT of BY, if it should be and is not; the lock is dropped meanwhile. */
static void push(struct dirty_file *f, const struct flow_id *by)
{
	if (!f->busy && turn_wanted(f) && turn_claim(f, 1, wb.ops->now())) {
		lock_drop(&wb.lock);
		turn_submit(f); /* F stays: it is pinned */
		lock_take(&wb.lock);
	}
	/* else, or if the queue is full, the flusher does it, and the turn wakes us */
	if (f->busy)
		wb.ops->want(&f->backing->device->dispatcher, &f->req, by);
}

/* What W waits for is queued. One step or turn, or until UNTIL: 0, ETIMEDOUT; EAGAIN: it has no place, and gets none. */
static int wait_once(struct dirty_file *f, struct commit_wait *w, uint64_t until)
{
	if (!w->placed && wb.ops->now() < until) {
		w->placed = room_gate_enter(&gate, w->flow.client);
		if (!w->placed)
			return EAGAIN;
	}
	return wb.ops->wait(&f->progress, &wb.lock.mutex, until);
}

/*
 * False: no thread may be spared. Its turn is queued all the same, so less is left when the client asks again for FILE, with
 * what remains of its time. Where that could not be known it is not told to.
 */
static bool wait_clean(struct dirty_file *f, struct commit_wait *w, uint64_t file, uint64_t until)
{
	int err = 0;

	until = refused_until(&refused, file, w->flow.client, until, wb.ops->now());
	enter(f, w);
	while (!is_clean(f, w) && !f->gone && !err) {
		push(f, &w->flow);
		if (!is_clean(f, w) && !f->gone)
			err = wait_once(f, w, until);
	}
	leave(f, w);
	if (w->placed)
		room_gate_leave(&gate, w->flow.client);
	if (err == EAGAIN && !refused_note(&refused, file, w->flow.client, until, wb.ops->now()))
		err = ETIMEDOUT;
	wb.stats.delayed += err == EAGAIN;
	return err != EAGAIN;
}

/* Whether fsync does better than turns: it gathers such writes with others. */
static bool is_fsyncs(const struct commit *c, const struct dirty_file *f)
{
	uint64_t little = c->little;

	if (device_is_crowded(f->backing->device))
		little *= LITTLE_BESIDE;
	return dirty_file_scattered(f) || (little && dirty_file_bytes(f) <= little);
}

/*
 * Until the range is written out, as far as it is known to be dirty, or LEFT to fsync; without the lock. False: it may not
 * wait. *COUNTED is where the device counts what fsync does then: whether that was by turns, or is left to it; NULL: nothing
 * was known.
 */
static bool wait_range(const struct commit *c, const struct file_key *key, uint64_t until,
		       struct left *left, struct device_fsyncs **counted)
{
	struct commit_wait w = {
		.offset = c->offset, .len = c->len ? c->len : UINT64_MAX, .flow = c->flow};
	struct dirty_file *f;
	bool out = false, may = true;

	*counted = NULL;
	lock_take(&wb.lock);
	f = dirty_files_find(key);
	if (f != NULL && !f->gone && is_fsyncs(c, f)) {
		*counted = &f->backing->device->fsyncs;
		left_add(left, f, w.offset, w.len);
		wb.stats.direct++;
	} else if (f != NULL && !f->gone) {
		*counted = &f->backing->device->settling;
		dirty_file_pin(f);
		may = wait_clean(f, &w, c->slot->file_hash, until);
		out = dirty_file_unpin(f);
	}
	lock_drop(&wb.lock);
	if (out)
		dirty_file_free(f);
	return may;
}

/* ---- making it stable ---- */

/* Bytes of the file that are dirty and not part of a COMMIT. */
static uint64_t others_dirty(const struct file_key *key)
{
	const struct dirty_file *f;
	uint64_t bytes;

	lock_take(&wb.lock);
	f = dirty_files_find(key);
	bytes = f != NULL ? dirty_bytes(&f->dirty) : 0;
	lock_drop(&wb.lock);
	return bytes;
}

/*
 * msync() is the one call that makes part of a file stable, data and the metadata to find it; it
 * wants a mapping of a descriptor that could be written through. False: it cannot be done.
 */
static bool sync_part(int fd, uint64_t offset, uint64_t len, int *err)
{
	uint64_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, before + len, PROT_READ, MAP_SHARED, fd, (off_t)(offset - before));

	if (map == MAP_FAILED)
		return false;
	*err = msync(map, before + len, MS_SYNC) ? errno : 0;
	munmap(map, before + len);
	return true;
}

/* The range alone, where that is wanted and worth it; false: it is to be done as ever. */
static bool stabilize_part(const struct commit *c, const struct file_key *key, int *err)
{
	int fd, unopened;
	bool done;

	if (!c->part || !c->len || c->len > PART_MAX || c->offset > INT64_MAX - c->len ||
	    others_dirty(key) < PART_WORTH)
		return false;
	fd = c->slot->open(c->slot, O_RDWR, &unopened);
	if (fd < 0)
		return false;
	done = sync_part(fd, c->offset, c->len, err);
	close(fd);
	lock_take(&wb.lock);
	wb.stats.parts += done;
	lock_drop(&wb.lock);
	return done;
}

/* ---- the errors that are its to tell ---- */

/* What B's descriptor has not told yet. */
static int pending_error(struct backing *b)
{
	int err = 0;

	if (backing_use(b)) {
		err = wb.ops->pending(b);
		backing_unuse(b);
	}
	return err;
}

/* The same of the descriptors that the file's record, and its handle, have. */
static int pending_errors(const struct commit *c, const struct file_key *key)
{
	struct backing *mine = NULL, *slots = backing_peek(c->slot);
	struct dirty_file *f;
	int err = 0, other;

	lock_take(&wb.lock);
	f = dirty_files_find(key);
	if (f != NULL && !f->gone)
		mine = backing_hold(f->backing);
	lock_drop(&wb.lock);
	if (mine != NULL)
		err = pending_error(mine);
	if (slots != NULL && slots != mine) {
		other = pending_error(slots);
		err = err ? err : other;
	}
	if (mine != NULL)
		backing_release(mine);
	if (slots != NULL)
		backing_release(slots);
	return err;
}

/* The error kept of the file, now told. With the lock. */
static int take_error(const struct file_key *key, struct dirty_file *f)
{
	struct kept_error *e = f != NULL ? f->error : errors_take(key);
	int err = e != NULL ? e->err : 0;

	if (e != NULL)
		e->err = 0;
	if (e != NULL && f == NULL)
		errors_keep(e, wb.ops->now()); /* without an error that frees it */
	return err;
}

/*
 * The error that write-backs met and nobody was told of; 0: none. *HANGS: a turn does, so there may
 * be one more.
 */
static int collect_error(const struct commit *c, const struct file_key *key, uint64_t until,
			 bool *hangs)
{
	int pending = pending_errors(c, key), kept;
	struct dirty_file *f;
	bool out = false;

	*hangs = false;
	lock_take(&wb.lock);
	f = dirty_files_find(key);
	if (f != NULL) {
		dirty_file_pin(f);
		*hangs = !dirty_file_wait_turn(f, until);
	}
	kept = take_error(key, f);
	wb.stats.told += kept || pending;
	if (f != NULL)
		out = dirty_file_unpin(f);
	lock_drop(&wb.lock);
	if (out)
		dirty_file_free(f);
	return kept ? kept : pending;
}

/* Makes the range stable, by itself or with all of the file: 0 or an errno. ALONE: it may be by itself. */
static int make_stable(const struct commit *c, const struct file_key *key, struct left *left,
		       bool alone)
{
	int err = 0;

	if (!alone || !stabilize_part(c, key, &err)) {
		left_fsync_begins(left, key);
		err = c->fsync_below(c->arg);
	}
	left_fsync_ends(left, !err);
	return err;
}

/* Makes the range stable, and finds out what is to be told; see above. */
static int stabilize(const struct commit *c, const struct file_key *key, struct left *left)
{
	int err = 0, below, ours, rounds = 0;
	uint64_t until = 0;
	bool hangs;

	do {
		below = make_stable(c, key, left, !rounds);
		if (below == EAGAIN) /* who is to come again must find what there is to tell */
			return err ? err : EAGAIN;
		if (!until)
			until = wb.ops->now() + TURN_HANGS;
		ours = collect_error(c, key, until, &hangs);
		err = err ? err : below ? below : ours;
	} while (ours && ++rounds < ROUNDS_MAX);
	return !err && hangs ? EAGAIN : err;
}

static struct {
	_Atomic uint64_t taken[COMMIT_WAIT_BUCKETS], sum; /* ns */
} commit_waits;

static void count_wait(uint64_t ns)
{
	uint64_t us = ns / 1000;
	int bucket = us ? 64 - __builtin_clzll(us) : 0;

	if (bucket >= COMMIT_WAIT_BUCKETS)
		bucket = COMMIT_WAIT_BUCKETS - 1;
	atomic_fetch_add_explicit(&commit_waits.taken[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&commit_waits.sum, ns, memory_order_relaxed);
}

void writeback_commit_waits(uint64_t waits[COMMIT_WAIT_BUCKETS], uint64_t *sum)
{
	for (int b = 0; b < COMMIT_WAIT_BUCKETS; b++)
		waits[b] = atomic_load_explicit(&commit_waits.taken[b], memory_order_relaxed);
	*sum = atomic_load_explicit(&commit_waits.sum, memory_order_relaxed);
}

/* Its inode number, as other events have it. */
static uint64_t file_in_traces(const struct commit *c)
{
	struct backing *b = backing_peek(c->slot);
	uint64_t file = b != NULL ? b->file : c->inode;

	if (b != NULL)
		backing_release(b);
	return file;
}

/*
 * Where the device counts the fsync of a file that nothing is known to be dirty of, for its turns are over: it has the
 * journal written, and more that is nobody else's. NULL: the device is not known.
 */
static struct device_fsyncs *counts_clean(const struct commit *c)
{
	struct backing *b = backing_peek(c->slot);
	struct device *device = b != NULL ? b->device : c->device;

	if (b != NULL)
		backing_release(b);
	return device != NULL ? &device->settling : NULL;
}

static void trace_commit(const struct commit *c, uint64_t took, int err)
{
	if (trace_wanted())
		trace(TRACE_COMMIT, file_in_traces(c), c->flow.client, c->offset, c->len,
		      took / 1000, (uint64_t)err);
}

int writeback_commit(const struct commit *c)
{
	struct file_key key;
	struct device_fsyncs *counted;
	struct left left = {0};
	uint64_t begun, took;
	int err;

	if (!wb.running || !c->slot->key_len)
		return c->fsync_below(c->arg);
	file_key_of(&key, c->slot);
	begun = wb.ops->now();
	if (!wait_range(c, &key, begun + c->wait, &left, &counted)) {
		trace_commit(c, wb.ops->now() - begun, EAGAIN);
		return EAGAIN;
	}
	if (counted == NULL)
		counted = counts_clean(c);
	if (counted != NULL)
		atomic_fetch_add(&counted->now, 1);
	err = stabilize(c, &key, &left);
	left_release(&left);
	if (counted != NULL) {
		atomic_fetch_add(&counted->over, 1);
		atomic_fetch_sub(&counted->now, 1);
	}
	took = wb.ops->now() - begun;
	count_wait(took);
	trace_commit(c, took, err);
	return err;
}
