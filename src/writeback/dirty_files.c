/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of files with dirty data. See dirty_files.h. */
#include "writeback/dirty_files.h"

#include <stdlib.h>

#include "common/clock.h"

/*
 * A write further than this from the end of the last one is a scattered one (bytes); a file is,
 * when more than half of its writes lately were, averaged over about so many.
 */
#define NEARBY		 (UINT64_C(1) << 20)
#define SCATTERED	 0.5
#define SCATTER_AVERAGED 16

struct dirty_files wb = {.lock = LOCK_INITIALIZER(LOCK_DIRTY)};

static struct dirty_file_list *bucket(const struct file_key *key)
{
	return &wb.hash[key->hash * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

struct dirty_file *dirty_files_find(const struct file_key *key)
{
	struct dirty_file *f;

	lock_assert_held(&wb.lock);
	TAILQ_FOREACH(f, bucket(key), hash)
		if (file_key_same(&f->error->key, key))
			return f;
	return NULL;
}

static bool has_room(struct kept_error **lost)
{
	if (wb.stats.files + errors_count() + wb.expected < wb.entries)
		return true;
	*lost = errors_evict(wb.ops->now());
	return *lost != NULL;
}

/* The entry for the errors of a new file, maybe with one that is to be told; NULL: no room. */
static struct kept_error *entry_for(const struct file_key *key, struct kept_error **lost)
{
	struct kept_error *e;

	if (wb.stats.files >= wb.max)
		return NULL;
	e = errors_take(key);
	if (e != NULL)
		return e;
	return has_room(lost) ? errors_new(key) : NULL;
}

struct dirty_file *dirty_files_insert(const struct file_key *key, struct backing *b,
				      struct kept_error **lost)
{
	struct kept_error *e;
	struct dirty_file *f;

	*lost = NULL;
	e = entry_for(key, lost);
	f = e != NULL ? calloc(1, sizeof(*f)) : NULL;
	if (f == NULL) {
		if (e != NULL)
			errors_keep(e, wb.ops->now());
		return NULL;
	}
	f->error = e;
	f->backing = b;
	TAILQ_INIT(&f->commits);
	clock_cond_init(&f->progress);
	TAILQ_INSERT_TAIL(&wb.all, f, link);
	TAILQ_INSERT_TAIL(bucket(key), f, hash);
	if (wb.stats.files++ == 0) {
		wb.came = true;
		pthread_cond_signal(&wb.wake);
	}
	assert(wb.stats.files <= wb.max &&
	       wb.stats.files + errors_count() + wb.expected <= wb.entries);
	return f;
}

struct kept_error *dirty_files_expect(const struct file_key *key, struct kept_error **lost)
{
	struct kept_error *e;

	lock_assert_held(&wb.lock);
	*lost = NULL;
	e = has_room(lost) ? errors_new(key) : NULL;
	wb.expected += e != NULL;
	return e;
}

bool dirty_files_expected(struct kept_error *place, dev_t dev, uint64_t file, int err)
{
	struct dirty_file *f = dirty_files_find(&place->key);
	struct kept_error *before = err && f == NULL ? errors_take(&place->key) : NULL;
	struct kept_error *e = f != NULL ? f->error : before != NULL ? before : place;
	bool first = err && errors_note(e, dev, file, err);

	wb.expected--;
	wb.stats.errors += err != 0;
	if (f == NULL)
		errors_keep(e, wb.ops->now()); /* without an error that frees it */
	if (e != place)
		errors_keep(place, wb.ops->now());
	return first;
}

bool dirty_file_take_out(struct dirty_file *f)
{
	lock_assert_held(&wb.lock);
	if (f->busy || f->waiters || f->dirty.n)
		return false;
	assert(TAILQ_EMPTY(&f->commits) && !f->running && f->begun == f->done);
	if (wb.swept == f)
		wb.swept = TAILQ_NEXT(f, link);
	if (wb.next == f)
		wb.next = TAILQ_NEXT(f, link);
	TAILQ_REMOVE(&wb.all, f, link);
	TAILQ_REMOVE(bucket(&f->error->key), f, hash);
	wb.stats.files--;
	errors_keep(f->error, wb.ops->now());
	f->error = NULL;
	return true;
}

void dirty_file_free(struct dirty_file *f)
{
	assert(f->error == NULL);
	if (!f->gone)
		backing_unuse(f->backing);
	backing_release(f->backing);
	pthread_cond_destroy(&f->progress);
	free(f);
}

uint64_t dirty_file_bytes(const struct dirty_file *f)
{
	uint64_t bytes = dirty_bytes(&f->dirty);
	const struct commit_wait *w;

	TAILQ_FOREACH(w, &f->commits, link)
		bytes += dirty_bytes(&w->own);
	return bytes;
}

void dirty_files_count_anew(void)
{
	lock_assert_held(&wb.lock);
	wb.n_waiting = 0;
}

/* D's place, or that behind the last. */
static uint32_t place_of(const struct device *d)
{
	uint32_t i = 0;

	lock_assert_held(&wb.lock);
	while (i < wb.n_waiting && wb.waiting[i].device != d)
		i++;
	return i;
}

void dirty_files_add_waiting(const struct device *d, uint64_t bytes)
{
	uint32_t i = place_of(d);

	if (i == DEVICES_MAX)
		return;
	if (i == wb.n_waiting) {
		wb.waiting[i].device = d;
		wb.waiting[wb.n_waiting++].bytes = 0;
	}
	wb.waiting[i].bytes += bytes;
}

uint64_t dirty_files_waiting(const struct device *d)
{
	uint32_t i = place_of(d);

	return i < wb.n_waiting ? wb.waiting[i].bytes : 0;
}

uint32_t dirty_files_disks(uint64_t least)
{
	uint32_t n = 0;

	lock_assert_held(&wb.lock);
	for (uint32_t i = 0; i < wb.n_waiting; i++)
		n += wb.waiting[i].bytes > least;
	return n;
}

bool dirty_file_scattered(const struct dirty_file *f)
{
	return f->scattered > SCATTERED;
}

void dirty_file_note_place(struct dirty_file *f, uint64_t offset, uint64_t len)
{
	uint64_t far = offset > f->next ? offset - f->next : f->next - offset;

	f->scattered += ((far > NEARBY ? 1 : 0) - f->scattered) / SCATTER_AVERAGED;
	f->next = offset + len;
}

void dirty_file_pin(struct dirty_file *f)
{
	lock_assert_held(&wb.lock);
	f->waiters++;
}

bool dirty_file_unpin(struct dirty_file *f)
{
	assert(f->waiters);
	f->waiters--;
	return dirty_file_take_out(f);
}

bool dirty_file_wait_turn(struct dirty_file *f, uint64_t until)
{
	uint64_t turn = f->turn;
	int err = 0;

	assert(f->waiters);
	f->hurried++;
	while (f->running && f->turn == turn && !err)
		err = wb.ops->wait(&f->progress, &wb.lock.mutex, until);
	f->hurried--;
	return !f->running || f->turn != turn;
}

struct abandoned dirty_file_abandon(struct dirty_file *f, bool removed)
{
	struct abandoned a = {0};
	struct commit_wait *w;

	lock_assert_held(&wb.lock);
	if (!f->gone)
		a.backing = backing_hold(f->backing);
	if (removed && !f->error->removed) {
		f->error->removed = true;
		a.untold = f->error->err;
	}
	f->gone = true;
	f->dirty.n = 0;
	TAILQ_FOREACH(w, &f->commits, link)
		w->own.n = 0;
	wb.ops->wake(&f->progress);
	if (f->busy)
		wb.ops->want(&f->backing->device->dispatcher, &f->req, &f->flow);
	if (dirty_file_take_out(f))
		a.file = f;
	return a;
}

void dirty_files_give_back(const struct abandoned *a)
{
	if (a->untold && a->backing != NULL)
		errors_log(a->backing->device->dev, a->backing->file, a->untold,
			   "it was removed before anybody asked", wb.ops->now());
	if (a->file != NULL)
		dirty_file_free(a->file);
	if (a->backing != NULL)
		backing_put(a->backing);
}

void dirty_files_abandon_all(bool (*condition)(const struct dirty_file *f, const void *arg),
			     const void *arg)
{
	struct abandoned some[TABLE_BATCH];
	struct dirty_file *f, *next;
	unsigned int n;

	do {
		n = 0;
		lock_take(&wb.lock);
		for (f = TAILQ_FIRST(&wb.all); f != NULL && n < TABLE_BATCH; f = next) {
			next = TAILQ_NEXT(f, link);
			if (!f->gone && condition(f, arg))
				some[n++] = dirty_file_abandon(f, false);
		}
		lock_drop(&wb.lock);
		for (unsigned int i = 0; i < n; i++)
			dirty_files_give_back(&some[i]);
	} while (n == TABLE_BATCH);
}

/* ---- files without a name ---- */

/* A file whose name is looked at without the lock. */
struct looked {
	struct file_key key;
	struct backing *backing; /* a use and a hold */
};

/* With the lock; false: nothing of it is to be written anyway. */
static bool look_at(struct dirty_file *f, struct looked *l)
{
	if (f->gone || !backing_use(f->backing))
		return false;
	l->backing = backing_hold(f->backing);
	l->key = f->error->key;
	return true;
}

/* Without the lock. UNTIL: as dirty_files_removed(), 0: waits for nothing. Ends L. */
static void abandon_if_nameless(struct looked *l, uint64_t until)
{
	struct abandoned a = {0};
	struct dirty_file *f;

	if (wb.ops->nameless(l->backing)) {
		lock_take(&wb.lock);
		f = dirty_files_find(&l->key);
		if (f != NULL && f->backing == l->backing && !f->gone) {
			dirty_file_pin(f);
			a = dirty_file_abandon(f, true);
			if (until)
				dirty_file_wait_turn(f, until);
			if (dirty_file_unpin(f))
				a.file = f;
		}
		lock_drop(&wb.lock);
	}
	dirty_files_give_back(&a);
	backing_put(l->backing);
}

void dirty_files_sweep(uint32_t max)
{
	struct looked some[TABLE_BATCH];
	struct dirty_file *f;
	unsigned int n = 0;

	lock_take(&wb.lock);
	f = wb.swept != NULL ? wb.swept : TAILQ_FIRST(&wb.all);
	for (; f != NULL && max--; f = TAILQ_NEXT(f, link))
		n += look_at(f, &some[n]);
	wb.swept = f;
	lock_drop(&wb.lock);
	for (unsigned int i = 0; i < n; i++)
		abandon_if_nameless(&some[i], 0);
}

void dirty_files_removed(const struct file_key *key, uint64_t until)
{
	struct dirty_file *f;
	struct looked l;
	bool found;

	lock_take(&wb.lock);
	f = dirty_files_find(key);
	found = f != NULL && look_at(f, &l);
	lock_drop(&wb.lock);
	if (found)
		abandon_if_nameless(&l, until);
}
