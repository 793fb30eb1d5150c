/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Mutexes with a rank, so that the order in which they may be taken is written once and asserted.
 *
 * A thread may take a lock only of a higher rank than any that it holds. The table below is the
 * order; where assertions are off (NDEBUG) a lock is a pthread mutex and no more.
 */
#ifndef COMMON_LOCK_H
#define COMMON_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The order, outermost first. Locks that are never held together may share a rank. */
enum lock_rank {
	LOCK_PRICES,	 /* pricing/price_thread: a turn of the loop */
	LOCK_SHARES,	 /* shares/shares: what is in force */
	LOCK_EXPORTS,	 /* disk/export_io: the list of exports */
	LOCK_EXPORT,	 /* disk/export_io: one export's requests */
	LOCK_DEVICES,	 /* disk/device: the table of devices */
	LOCK_DIRTY,	 /* writeback: the table of dirty files */
	LOCK_BACKINGS,	 /* disk/backing_slot: the list of open descriptors */
	LOCK_SLOT,	 /* disk/backing_slot: one handle's descriptor */
	LOCK_DISPATCHER, /* sched/dispatcher: one device's queue */
	LOCK_TABLE,	 /* readahead/heur_table: entering and ejecting files */
	LOCK_FILE,	 /* readahead/heur_table: one file's cursors */
	LOCK_POOL,	 /* readahead/cursor_pool: its lists */
	LOCK_EXTENTS,	 /* disk/extents: one file's map */
	LOCK_CLIENTS,	 /* shares/client_table: entering a client */
	LOCK_LEAF,	 /* nothing is taken under these */
	LOCK_RANKS
};

struct lock {
	pthread_mutex_t mutex;
#ifndef NDEBUG
	enum lock_rank rank;
#endif
};

#ifdef NDEBUG
#define LOCK_INITIALIZER(r)                                                                        \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER                                                          \
	}
#else
#define LOCK_INITIALIZER(r)                                                                        \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, r                                                       \
	}
/* Bit r: this thread holds a lock of rank r. */
extern _Thread_local uint32_t lock_held;
#endif

static inline void lock_init(struct lock *l, enum lock_rank rank)
{
	pthread_mutex_init(&l->mutex, NULL);
#ifndef NDEBUG
	l->rank = rank;
#else
	(void)rank;
#endif
}

static inline void lock_fini(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

static inline void lock_take(struct lock *l)
{
#ifndef NDEBUG
	assert(lock_held >> l->rank == 0 && "locks out of order: see common/lock.h");
	lock_held |= UINT32_C(1) << l->rank;
#endif
	pthread_mutex_lock(&l->mutex);
}

static inline void lock_drop(struct lock *l)
{
	/* before it is free: behind that it may be another's, or gone */
#ifndef NDEBUG
	lock_held &= ~(UINT32_C(1) << l->rank);
#endif
	pthread_mutex_unlock(&l->mutex);
}

/*
 * Takes L if nobody holds it. Whoever only tries waits for nobody, so there is no order to keep, and
 * none is noted: nothing else is taken under it.
 */
static inline bool lock_try(struct lock *l)
{
	return pthread_mutex_trylock(&l->mutex) == 0;
}

static inline void lock_drop_tried(struct lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

/* Asserts that the caller holds a lock of L's rank: for functions that say "with the lock". */
static inline void lock_assert_held(const struct lock *l)
{
#ifndef NDEBUG
	assert(lock_held & (UINT32_C(1) << l->rank));
#else
	(void)l;
#endif
}

#endif
