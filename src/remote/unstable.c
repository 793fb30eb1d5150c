/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was written to a cluster and is not stable. See unstable.h. */
#include "remote/unstable.h"

#include <stdatomic.h>

#include "common/clock.h"

/* Of the bound, what files have together before one is due: the rest is for what comes meanwhile. */
#define DUE_PART 0.75
/* The rate is that of so many COMMITs, averaged, of as many bytes at least. */
#define RATE_AVERAGED 4
#define RATE_BYTES    (UINT64_C(1) << 20)

static uint64_t bytes_of(const struct unstable_file *f)
{
	return f->written - f->stable;
}

/* As it is with so many files; 0: none. Lock held. */
static uint64_t bound(const struct unstable *u)
{
	uint64_t needed = u->files * UNSTABLE_FILE;

	return !u->max || u->max > needed ? u->max : needed;
}

void unstable_set_max(struct unstable *u, uint64_t max)
{
	lock_take(&u->lock);
	u->max = max;
	lock_drop(&u->lock);
}

void unstable_read(struct unstable *u, uint64_t now)
{
	atomic_store_explicit(&u->read, now, memory_order_relaxed);
}

/* Whether there is a bound at NOW. Lock held. */
static bool is_bounded(const struct unstable *u, uint64_t now)
{
	uint64_t read = atomic_load_explicit(&u->read, memory_order_relaxed);

	return u->max && read && elapsed(read, now) < UNSTABLE_READERS;
}

/* F is stable up to UPTO of its bytes; returns how many more that are. Lock held. */
static uint64_t settle(struct unstable *u, struct unstable_file *f, uint64_t upto)
{
	uint64_t more = upto > f->stable ? upto - f->stable : 0;

	if (!more)
		return 0;
	f->stable = upto;
	u->bytes -= more;
	if (!bytes_of(f)) {
		TAILQ_REMOVE(&u->by_age, f, link);
		u->files--;
	}
	return more;
}

/* What was written too long ago counts no more. Lock held. */
static void age(struct unstable *u, uint64_t now)
{
	struct unstable_file *f;

	for (int i = 0; i < UNSTABLE_AGED && (f = TAILQ_FIRST(&u->by_age)) != NULL; i++) {
		if (elapsed(f->wrote, now) < UNSTABLE_AGE)
			break;
		settle(u, f, f->written);
	}
}

bool unstable_is_due(struct unstable *u, struct unstable_file *f, uint64_t now)
{
	bool due;

	lock_take(&u->lock);
	age(u, now);
	due = is_bounded(u, now) && !f->due && bytes_of(f) &&
	      (double)bytes_of(f) * u->files >= DUE_PART * (double)bound(u);
	f->due |= due;
	lock_drop(&u->lock);
	return due;
}

void unstable_wrote(struct unstable *u, struct unstable_file *f, uint64_t bytes, uint64_t now)
{
	if (!bytes)
		return;
	lock_take(&u->lock);
	if (bytes_of(f))
		TAILQ_REMOVE(&u->by_age, f, link);
	else
		u->files++;
	TAILQ_INSERT_TAIL(&u->by_age, f, link);
	f->wrote = now;
	f->written += bytes;
	u->bytes += bytes;
	lock_drop(&u->lock);
}

uint64_t unstable_begin(struct unstable *u, const struct unstable_file *f)
{
	uint64_t written;

	lock_take(&u->lock);
	written = f->written;
	lock_drop(&u->lock);
	return written;
}

static void measure(struct unstable *u, uint64_t bytes, uint64_t took)
{
	double seen;

	if (bytes < RATE_BYTES || !took)
		return;
	seen = (double)bytes * 1e9 / (double)took;
	u->rate += (seen - u->rate) / RATE_AVERAGED;
	if (u->rate < UNSTABLE_RATE_LEAST)
		u->rate = UNSTABLE_RATE_LEAST;
}

/* Who waits for it waits for no later one. Lock held. */
static void ours_ends(struct unstable_file *f)
{
	struct unstable_wait *w;

	f->due = false;
	while ((w = LIST_FIRST(&f->waits)) != NULL) {
		LIST_REMOVE(w, link);
		w->is_over = true;
		pthread_cond_signal(&w->over);
	}
}

void unstable_end(struct unstable *u, struct unstable_file *f, uint64_t begun, bool done, bool ours,
		  uint64_t took)
{
	lock_take(&u->lock);
	if (ours)
		ours_ends(f);
	if (done)
		measure(u, settle(u, f, begun), took);
	lock_drop(&u->lock);
}

static void wait_for(struct unstable *u, struct unstable_file *f, struct unstable_wait *w,
		     uint64_t until)
{
	int err = 0;

	clock_cond_init(&w->over);
	LIST_INSERT_HEAD(&f->waits, w, link);
	while (!w->is_over && !err)
		err = clock_cond_wait_until(&w->over, &u->lock.mutex, until);
	if (!w->is_over)
		LIST_REMOVE(w, link);
	pthread_cond_destroy(&w->over);
}

bool unstable_wait_ours(struct unstable *u, struct unstable_file *f, uint64_t until)
{
	struct unstable_wait w = {0};

	lock_take(&u->lock);
	w.is_over = !f->due;
	if (!w.is_over)
		wait_for(u, f, &w, until);
	lock_drop(&u->lock);
	return w.is_over;
}

void unstable_forget(struct unstable *u, struct unstable_file *f)
{
	lock_take(&u->lock);
	settle(u, f, f->written);
	lock_drop(&u->lock);
}

/* Lock held. */
static double level(struct unstable *u, uint64_t now)
{
	age(u, now);
	return is_bounded(u, now) ? (double)u->bytes / (double)bound(u) : 0;
}

double unstable_level(struct unstable *u, uint64_t now, double *rate)
{
	double is;

	lock_take(&u->lock);
	is = level(u, now);
	*rate = u->rate;
	lock_drop(&u->lock);
	return is;
}

double unstable_priced(struct unstable *u, uint64_t now)
{
	const struct unstable_file *newest;
	double is;

	lock_take(&u->lock);
	is = level(u, now);
	newest = TAILQ_LAST(&u->by_age, unstable_files);
	if (newest == NULL || elapsed(newest->wrote, now) >= UNSTABLE_PRICED)
		is = 0;
	lock_drop(&u->lock);
	return is;
}

uint64_t unstable_bytes(struct unstable *u, uint64_t now)
{
	uint64_t bytes;

	lock_take(&u->lock);
	age(u, now);
	bytes = u->bytes;
	lock_drop(&u->lock);
	return bytes;
}
