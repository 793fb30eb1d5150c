/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A client's page cache: pages of 4 KiB by file and index, with their data, within a bounded memory.
 *
 *                       READING                          COMMITTING
 *                          |                               ^    |
 *                          v      write()                  |    v
 *     (nothing) -------> CLEAN ------------> DIRTY ---> WRITING ---> UNSTABLE
 *                          ^                   ^           |            |
 *                          |                   +-----------+------------+  written again, or lost
 *                          +--------------------------------------------+  COMMIT
 *
 * What is clean can be dropped; which page that is say two lists, as Linux has them: what was
 * used once is on the inactive list and goes first, what was used again is on the active one, which
 * is at most ACTIVE_SHARE times as long. All other pages must stay.
 *
 * Pure, for one thread; the caller hands in every event. Failing calls change nothing.
 */
#ifndef CANFS_CACHE_H
#define CANFS_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define PAGE_BYTES   4096u
#define ACTIVE_SHARE 2 /* active pages to inactive ones, at most */

enum page_state {
	PAGE_READING,
	PAGE_CLEAN,
	PAGE_DIRTY,
	PAGE_WRITING,
	PAGE_UNSTABLE,
	PAGE_COMMITTING,
	PAGE_STATES
};

struct rpc;
struct page;
TAILQ_HEAD(page_list, page);

/* The part of a file that the cache knows; at the beginning of struct file. */
struct cached_file {
	struct page_list pages;	   /* all of it */
	struct page_list dirty;	   /* PAGE_DIRTY, in the order in which they became so */
	struct page_list unstable; /* PAGE_UNSTABLE, as well */
	uint32_t count[PAGE_STATES];
};

struct page {
	struct page *chain;
	TAILQ_ENTRY(page) lru;	   /* while PAGE_CLEAN */
	TAILQ_ENTRY(page) in_file; /* of pages */
	TAILQ_ENTRY(page) work;	   /* of dirty, unstable, or the rpc's pages */
	struct cached_file *file;
	uint64_t index;
	uint64_t dirtied;  /* ns; since when it has been other than the server's disk */
	uint64_t verifier; /* of the WRITE that took it */
	struct rpc *rpc;   /* READING, WRITING, COMMITTING: by which */
	char *data;
	enum page_state state;
	bool active, referenced; /* of the LRU */
	bool ahead;		 /* read ahead, and not asked for yet */
	bool again;		 /* written again since it went out */
	bool gone;		 /* READING, and not wanted any more: neither found nor kept */
};

struct cache {
	struct page **buckets;
	uint32_t mask;
	struct page_list inactive, active, unused;
	uint32_t n_inactive, n_active;
	uint32_t pages, limit; /* pages that are, that may be */
	uint32_t count[PAGE_STATES];
	uint64_t evicted;
};

/* False: no memory. `bytes`: at least 64 pages. */
bool cache_init(struct cache *c, uint64_t bytes);
/* Also frees the pages of all files. */
void cache_free(struct cache *c);
void cached_file_init(struct cached_file *f);

struct page *cache_find(const struct cache *c, const struct cached_file *f, uint64_t index);
/* A new page, READING and by no rpc yet; its data is anything. NULL: there is no room, as all pages
 * are wanted. */
struct page *cache_add(struct cache *c, struct cached_file *f, uint64_t index);
/* Whether cache_add() would succeed for so many. */
bool cache_has_room(const struct cache *c, uint32_t pages);
/* Into another state; `rpc` where one has it. */
void cache_move(struct cache *c, struct page *p, enum page_state state, struct rpc *rpc);
/* A program used it. */
void cache_touch(struct cache *c, struct page *p);
/* It is no more, whatever its state. */
void cache_drop(struct cache *c, struct page *p);
/* The file's clean pages from `index` on are no more; those that are being read are no longer
 * found, and dropped by who reads them. */
void cache_invalidate(struct cache *c, struct cached_file *f, uint64_t index);

/* Pages that hold data which the server's disk may not have. */
static inline uint32_t cache_unsaved(const uint32_t count[PAGE_STATES])
{
	return count[PAGE_DIRTY] + count[PAGE_WRITING] + count[PAGE_UNSTABLE] +
	       count[PAGE_COMMITTING];
}

#endif
