/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How many of something there are of a file, by the hash of its key: 0 tells, without a lock, that there is none. Of files that
 * share a place by chance one does not tell.
 */
#ifndef DISK_FILE_TALLY_H
#define DISK_FILE_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FILE_TALLY_PLACES 4096u /* four times as many as there are backings */

/* Zero before. */
struct file_tally {
	_Atomic uint32_t n[FILE_TALLY_PLACES];
};

static inline _Atomic uint32_t *file_tally_place(struct file_tally *t, uint64_t hash)
{
	return &t->n[(hash ^ hash >> 32) % FILE_TALLY_PLACES];
}

/* There is one more, and it may be asked for from then on. */
static inline void file_tally_add(struct file_tally *t, uint64_t hash)
{
	atomic_fetch_add(file_tally_place(t, hash), 1);
}

static inline void file_tally_remove(struct file_tally *t, uint64_t hash)
{
	atomic_fetch_sub(file_tally_place(t, hash), 1);
}

static inline bool file_tally_may_have(struct file_tally *t, uint64_t hash)
{
	return atomic_load(file_tally_place(t, hash)) != 0;
}

#endif
