/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The nfsheur table: file handle -> what is known of the file's access pattern.
 *
 * NFSv3 has no open and close, so a server remembers the files read lately by their handle. Ellard
 * & Seltzer (FREENIX 2003, section 6.3) found that a table too small, or one that ejects entries
 * before it is full, undoes any heuristic: here an entry is ejected only when the table is full,
 * by second chance (CLOCK). Lookups take no lock (liburcu's lock-free hash table); an insertion
 * takes one. Each file has a lock of its own for its cursors.
 *
 * The table that the paper found is to be had too, for comparison: with PROBES a file has so many
 * places, from that of its hash on, as where a hash table is searched by a limited number of probes;
 * when all are taken the least recently used of these goes, however empty the others are.
 *
 * The table outlives Ganesha's own handles: an entry is found again when the handle is recreated.
 */
#ifndef READAHEAD_HEUR_TABLE_H
#define READAHEAD_HEUR_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/lock.h"
#include "common/rcu.h"
#include "readahead/cursor_pool.h"
#include "readahead/heur_file.h"

struct heur_table {
	struct cds_lfht *hash;
	struct lock insert_lock;
	struct heur_file **place;  /* every entry; insert lock */
	uint32_t size, used, hand; /* used, hand: of the clock */
	uint32_t probes;	   /* 0: any place will do */
	_Atomic uint64_t uses;	   /* with probes: lookups so far */
	struct cursor_pool *pool;
	_Atomic uint64_t evictions;
	_Atomic uint32_t entries, pending; /* pending: ejected, not yet freed by RCU */
	_Atomic uint32_t histories;	   /* of its files: stride.h */
	_Atomic uint32_t besides;	   /* of its files: beside.h */
};

/* A table of at most SIZE files (>= 1), with PROBES or, if 0, without. Returns 0 or ENOMEM. */
int heur_table_init(struct heur_table *t, uint32_t size, uint32_t probes, struct cursor_pool *pool);
void heur_table_fini(struct heur_table *t);

/*
 * The entry of KEY with its lock held, made when absent and CREATE is true; NULL when absent or out
 * of memory. The caller unlocks with heur_file_put(). Any thread; needs no registration with RCU.
 */
struct heur_file *heur_file_get(struct heur_table *t, const void *key, size_t key_len, bool create);
void heur_file_put(struct heur_file *f);

/* Drops KEY's entry, if there is one, and gives its cursors back. */
void heur_table_forget(struct heur_table *t, const void *key, size_t key_len);

/*
 * The cursor of a reference with its file's lock held, or NULL when it was recycled since.
 * heur_file_put(c->file) afterwards.
 */
struct cursor *heur_cursor_get(struct heur_table *t, struct cursor_ref ref);
/* As above, the Ith of the pool, whatever it follows; NULL where it follows nothing. */
struct cursor *heur_cursor_nth(struct heur_table *t, uint32_t i);

static inline struct cursor_ref heur_cursor_ref(const struct heur_table *t, const struct cursor *c)
{
	return (struct cursor_ref){.index = (uint32_t)(c - t->pool->cursors),
				   .generation = c->generation};
}

#endif
