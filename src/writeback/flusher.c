/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The ticking thread. See flusher.h. */
#include "writeback/flusher.h"

#include <stdatomic.h>

#include "disk/device.h"
#include "pricing/price.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacer.h"
#include "writeback/pacing.h"
#include "writeback/share.h"
#include "writeback/turn.h"

/* All files are looked at for removed ones every so many ticks, TABLE_BATCH a tick. */
#define TICKS_SWEEP 20
/* Data left to the kernel is surely out after this (ns): it writes at 30 s. */
#define KERNEL_AGE (40 * CLOCK_SECOND)
/*
 * How late the price of memory rises here: it is highest when writers begin to be paced, and next to
 * nothing below half of that. K_Memory is another matter: what clients are told, who need time to
 * act.
 */
#define MEMORY_K 1e4
/* A price of memory that is worth less than this buys nothing. */
#define PRICE_MIN 1e-2

static struct {
	pthread_t thread;
	void (*name_thread)(const char *name);
	atomic_bool sweep_soon;
	uint32_t ticks, to_sweep; /* files: the thread's */
	uint64_t until;		  /* ns: it ticks; with the table's lock */
} flusher;

/* What one look at the table found. */
struct survey {
	uint64_t now;
	double level;
	struct {
		const struct device *d;
		uint64_t since, age_max; /* of its oldest data, and the export's bound */
	} device[DEVICES_MAX];
	unsigned int devices;
	struct dirty_file *claimed[TABLE_BATCH]; /* to be submitted */
	unsigned int n;
};

static void note_age(struct survey *s, const struct dirty_file *f)
{
	uint64_t since = dirty_since(&f->dirty);
	unsigned int i;

	for (i = 0; i < s->devices && s->device[i].d != f->backing->device; i++)
		;
	if (i == DEVICES_MAX || (i < s->devices && since >= s->device[i].since))
		return;
	s->device[i].d = f->backing->device;
	s->device[i].since = since;
	s->device[i].age_max = f->age_max;
	if (i == s->devices)
		s->devices++;
}

static void claim(struct survey *s, struct dirty_file *f)
{
	if (s->n < TABLE_BATCH && turn_claim(f, s->level, s->now))
		s->claimed[s->n++] = f;
}

/* Goes round from where the last tick stopped: the queue may have had no room for more. */
static void claim_round(struct survey *s)
{
	struct dirty_file *f = wb.next;

	for (uint32_t i = wb.stats.files; i && s->n < TABLE_BATCH; i--) {
		if (f == NULL)
			f = TAILQ_FIRST(&wb.all);
		if (!dirty_file_scattered(f))
			claim(s, f);
		f = TAILQ_NEXT(f, link);
	}
	wb.next = f;
}

/*
 * Counts what waits for our turns anew, since it is only added to meanwhile; and claims what is due,
 * first what COMMITs wait for.
 */
static void look(struct survey *s)
{
	struct dirty_file *f;

	lock_take(&wb.lock);
	dirty_files_count_anew();
	TAILQ_FOREACH(f, &wb.all, link) {
		if (turn_wanted(f))
			claim(s, f);
		if (dirty_file_scattered(f))
			continue;
		dirty_files_add_waiting(f->backing->device, dirty_file_bytes(f) + f->syncing);
		note_age(s, f);
	}
	claim_round(s);
	lock_drop(&wb.lock);
}

/* Age (ns) of the oldest dirty data on D, and the age at which its export wants it out. */
static uint64_t oldest_on(const struct survey *s, const struct device *d, uint64_t *age_max)
{
	for (unsigned int i = 0; i < s->devices; i++)
		if (s->device[i].d == d && s->device[i].since < s->now) {
			*age_max = s->device[i].age_max;
			return s->now - s->device[i].since;
		}
	return 0;
}

/* What the dirty data of each device buys of its time. */
static void set_shares(const struct survey *s)
{
	double memory = price_of(MEMORY_K, s->level / PACING_SETPOINT);
	struct device *d;

	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		struct share_limits l = {
			.price_min = PRICE_MIN,
			.share_max = dispatcher_limits(&d->dispatcher).writeback_share,
		};
		uint64_t age = oldest_on(s, d, &l.age_max);

		dispatcher_set_writeback_share(&d->dispatcher,
					       share_bought(&l, memory, device_price(d), age));
		device_watch_writes(d);
	}
}

/* What is left to the kernel it has written by now. */
static bool is_forgotten(const struct dirty_file *f, const void *arg)
{
	uint64_t now = *(const uint64_t *)arg, since = dirty_since(&f->dirty);

	return dirty_file_scattered(f) && TAILQ_EMPTY(&f->commits) && since < now &&
	       now - since > KERNEL_AGE;
}

static uint32_t files(void)
{
	uint32_t n;

	lock_take(&wb.lock);
	n = wb.stats.files;
	lock_drop(&wb.lock);
	return n;
}

static void sweep(uint64_t now)
{
	uint32_t part;

	if (atomic_exchange(&flusher.sweep_soon, false) || flusher.ticks % TICKS_SWEEP == 0)
		flusher.to_sweep = files();
	if (flusher.ticks++ % TICKS_SWEEP == 0)
		dirty_files_abandon_all(is_forgotten, &now);
	part = flusher.to_sweep < TABLE_BATCH ? flusher.to_sweep : TABLE_BATCH;
	flusher.to_sweep -= part;
	if (part)
		dirty_files_sweep(part);
}

void flusher_tick(uint64_t now)
{
	struct survey s = {.now = now};

	dirty_memory_sample(now);
	pacer_relax(now);
	s.level = dirty_memory_level();
	look(&s);
	set_shares(&s);
	for (unsigned int i = 0; i < s.n; i++)
		turn_submit(s.claimed[i]);
	sweep(now);
}

/* Until a file has dirty data; with the lock. */
static void idle(void)
{
	lock_drop(&wb.lock);
	device_forget_writes(); /* nobody looks any more */
	lock_take(&wb.lock);
	if (!wb.came && !wb.stopping)
		pthread_cond_wait(&wb.wake, &wb.lock.mutex);
}

/* Until the next tick; false: the room stops. With the lock. */
static bool wait_tick(void)
{
	uint64_t until = wb.ops->now() + FLUSHER_TICK;
	int err = 0;

	while (!wb.stopping && !err)
		err = wb.ops->wait(&wb.wake, &wb.lock.mutex, until);
	return !wb.stopping;
}

bool flusher_watches(uint64_t now)
{
	lock_assert_held(&wb.lock);
	if (wb.stats.files || wb.came)
		flusher.until = now + FLUSHER_LINGER;
	wb.came = false;
	return now < flusher.until;
}

static void *run(void *arg)
{
	if (flusher.name_thread != NULL)
		flusher.name_thread("ra_writeback");
	lock_take(&wb.lock);
	while (!wb.stopping) {
		if (!flusher_watches(wb.ops->now())) {
			idle();
			continue;
		}
		if (!wait_tick())
			break;
		lock_drop(&wb.lock);
		flusher_tick(wb.ops->now());
		lock_take(&wb.lock);
	}
	lock_drop(&wb.lock);
	return NULL;
}

int flusher_start(void (*name_thread)(const char *name))
{
	flusher.name_thread = name_thread;
	flusher.ticks = flusher.to_sweep = 0;
	flusher.until = 0;
	wb.came = false;
	return pthread_create(&flusher.thread, NULL, run, NULL);
}

void flusher_stop(void)
{
	lock_take(&wb.lock);
	wb.stopping = true;
	pthread_cond_signal(&wb.wake);
	lock_drop(&wb.lock);
	pthread_join(flusher.thread, NULL);
}

void flusher_sweep_soon(void)
{
	atomic_store_explicit(&flusher.sweep_soon, true, memory_order_relaxed);
}
