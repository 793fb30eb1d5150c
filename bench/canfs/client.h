/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An NFSv3 client as Linux 2.6.18's was, of which CA-NFS is a modification (FAST 2009, section
 * 3.4): page cache, read-ahead, write-behind, close-to-open; without a kernel.
 *
 *                        name.c  \                                +--------- slots ---------+
 *    programs --> op.c --> read.c  >-- writeback.c --> slots.c --> | demand ahead background | --> io
 *      ^                  write.c /         ^                      +-------------------------+
 *      |                  cache.c        market.c <------- FSSTAT -------- answers <-----------------+
 *      +-- waits.c <--------------------------------------------------------+
 *
 * Plain. Written data goes to the server as soon as there is a whole WRITE of it, unstable, and stays in
 * memory until a COMMIT: "marked as dirty at both the client and the server" (2.1). COMMIT comes when what is
 * unsaved exceeds the flush point (a tenth of memory: Linux' dirty_background_ratio), after 30 s,
 * and at fsync and close. At dirty_ratio writers are blocked.
 *
 * CA. By auction (pricing/auction.h) data is kept (defer: no WRITE at all, the flush point is all
 * that may be dirty), sent as above, or sent and committed at once (accelerate). What may be dirty is more
 * than the plain client's where the read cache can spare it, and less where it cannot. 30 s, fsync
 * and close are as they were. Read-ahead gets of its window what its confidence is worth at the
 * server's price, and twice the window where that is low.
 *
 * Close-to-open: an open asks for the attributes, and drops what is cached of a file that others
 * have changed (attr.c); a close writes back all and waits.
 *
 * Pure, for one thread: every entry is handed the time (ns of any one clock), I/O is ops. Nothing
 * here calls back but op->done, from within any entry; which must not call in again at once.
 */
#ifndef CANFS_CLIENT_H
#define CANFS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"
#include "pricing/auction.h"
#include "pricing/fsstat_price.h"
#include "pricing/ghost_worth.h"
#include "readahead/effectiveness.h"
#include "rpc.h"

#define CLIENT_TICK UINT64_C(50000000) /* ns: client_tick() wants to be called this often */

struct client_settings {
	bool ca;		  /* obeys prices */
	bool defer, accelerate;	  /* ca: what it may do; both is the paper's */
	bool price_readahead;	  /* ca */
	bool lazy_close;	  /* close saves nothing: as if nobody else opened the file */
	bool eager;		  /* plain and send: WRITE as soon as there is a whole one */
	uint64_t memory;	  /* bytes of page cache */
	double flush_point;	  /* share of memory: write-back begins */
	double dirty_limit;	  /* plain: share of memory: writers wait */
	double dirty_most;	  /* ca: the same, where the read cache can spare it */
	uint64_t expiry;	  /* ns: data this old is written back */
	uint32_t rsize, wsize;	  /* bytes, multiples of PAGE_BYTES */
	uint32_t readahead;	  /* bytes, at most */
	uint32_t slots;		  /* calls at a time */
	uint32_t commit_batch;	  /* bytes of a file that are worth a COMMIT under pressure */
	double link;		  /* bytes/s of the own network, 0: not known */
	uint32_t fsstat_every;	  /* READs or WRITEs */
	uint64_t fsstat_interval; /* ns */
	struct auction_terms terms;
};
extern const struct client_settings client_defaults;

/* States of the file that this client has made or seen: attr.c. */
#define OWN_STATES 32
struct own_states {
	struct file_attr made[OWN_STATES]; /* after answers to our own calls */
	struct file_attr seen[OWN_STATES]; /* before them, and not ours so far */
	uint32_t n_made, n_seen;
	bool foreign; /* somebody else's change was seen for certain */
};

struct file {
	struct cached_file cached; /* first */
	struct client *client;
	TAILQ_ENTRY(file) next; /* of those with unsaved data */
	bool listed;
	uint32_t id;	   /* for the ghost caches */
	char *name, *base; /* base: the last part of it, in dir */
	struct nfs_handle dir, handle;
	bool known; /* handle is valid */
	uint64_t size;
	struct file_attr attr; /* the newest that is known */
	struct own_states own;
	uint32_t opens;
	uint32_t syncing; /* fsync and close that wait */
	struct op_list sync_waiters;
	struct rpc *commit;		   /* under way */
	bool expired;			   /* all of it is to be saved */
	bool failed;			   /* to write; told at the next fsync or close */
	uint64_t accessed, accessed_ahead; /* pages, faded: its confidence */
};
TAILQ_HEAD(file_list, file);

/* Where a program stands in a file: Linux' struct file_ra_state. */
struct reader {
	uint64_t next;	  /* offset expected */
	uint64_t ahead;	  /* read ahead up to here */
	uint64_t trigger; /* beyond here the next window is fetched */
	uint32_t window;  /* bytes, 0: not in order */
};

enum op_kind {
	OP_OPEN,   /* LOOKUP or GETATTR */
	OP_CREATE, /* an empty file, open */
	OP_READ,
	OP_WRITE,
	OP_APPEND, /* a write at the end, `offset` tells where */
	OP_FSYNC,
	OP_CLOSE,
	OP_STAT,
	OP_REMOVE,
	OP_KINDS
};
extern const char *const op_kind_names[OP_KINDS];

/* What a program asks for. The caller's until done() is called. */
struct op {
	TAILQ_ENTRY(op) next; /* of those that wait for the same */
	enum op_kind kind;
	struct file *file;
	struct reader *reader; /* OP_READ; may be NULL */
	uint64_t offset, length;
	uint64_t content; /* the file's first word: content.h; written, or compared */
	bool verify;
	void (*done)(struct op *op, uint64_t now);
	void *owner;
	/* the client's */
	struct client *client;
	/* Goes on with it; whether it is finished, else it waits for something. */
	bool (*step)(struct op *op, uint64_t now);
	uint64_t at; /* how far it is */
	uint64_t began, blocked_since;
	uint64_t blocked; /* ns: a write that had to wait for memory */
	uint64_t wrong;	  /* words that were not as they should be */
	bool missed;	  /* a READ was needed */
	uint64_t counted; /* up to here it is in the statistics */
	bool waited;	  /* it was under way before, and not finished at once */
	int status;
};

struct client_counts {
	uint64_t calls[CALL_KINDS], bytes[CALL_KINDS];
	uint64_t pages_hit, pages_hit_ahead,
		pages_missed;	 /* hit_ahead: of the hits, just read ahead */
	uint64_t ahead_wasted;	 /* pages */
	uint64_t written, saved; /* bytes by programs, bytes that came to be on disk */
	uint64_t cancelled;	 /* bytes overwritten or removed before they went out */
	uint64_t blocked, blocked_ns;
	uint64_t first_blocked; /* ns: when a write waited for memory first; 0: never */
	uint64_t way_ns[AUCTION_WAYS];
	uint64_t wrong, errors;
	char error[160]; /* the first */
};

/* How long pages were kept, from write() to their COMMIT's beginning (figure 8). */
#define WRITE_BACK_SECONDS 60
struct write_back_times {
	uint64_t pages, in_second[WRITE_BACK_SECONDS]; /* the last one: and later */
	uint64_t kept
		[WRITE_BACK_SECONDS]; /* at the end, so old; how old they had become is not known */
	bool ended;
};

struct io_ops {
	/* Sends it; client_answer() follows, later, once. */
	void (*send)(void *io, struct rpc *rpc);
};

struct client {
	struct client_settings set;
	const struct io_ops *ops;
	void *io;
	struct cache cache;
	struct nfs_handle root; /* FSSTAT asks for it */
	struct file_list
		dirty; /* files with unsaved data, those first that have had it for longest */
	TAILQ_HEAD(, rpc) queued[CALL_CLASSES];
	uint32_t inflight, background; /* calls under way; of write-back, queued ones included */
	struct op_list blocked;	       /* wait for memory */
	bool waking, running;

	/* market.c */
	struct ghost_cache *ghost;
	struct ghost_worth reads;
	double worth; /* of the read cache, 0..1 */
	struct rate net;
	uint64_t net_bytes;
	struct fsstat_detector detector;
	bool asking;
	uint32_t since_fsstat;	   /* READs and WRITEs */
	uint64_t asked, heard;	   /* ns */
	double price, price_ahead; /* the server's, as last heard */
	double bid, ask, limit;	   /* limit: pages that may be unsaved */
	enum auction_way way;
	uint64_t judged;

	uint64_t last_expiry;
	uint32_t file_ids;
	struct client_counts n;
	struct write_back_times write_back;
};

/* 0, or -1 without memory. `settings` as they are good: client_settings_bad(). */
int client_init(struct client *c, const struct client_settings *settings, const struct io_ops *ops,
		void *io, uint64_t now);
/* Nothing may be under way. Files are the caller's: file_free() each before. */
void client_free(struct client *c);
/* What is wrong with them, with the range; NULL: nothing. */
const char *client_settings_bad(const struct client_settings *s);

/* `name` is copied; what is before its last slash is dir's. NULL: no memory. */
struct file *file_new(struct client *c, const struct nfs_handle *dir, const char *name);
void file_free(struct file *f);

/* Starts it; op->done() comes from within, or later. */
void client_submit(struct client *c, struct op *op, uint64_t now);
void client_answer(struct client *c, struct rpc *rpc, const struct answer *answer, uint64_t now);
void client_tick(struct client *c, uint64_t now);
/* What is committed from now on is no longer in `write_back`, where it is `kept` instead. */
void client_end_times(struct client *c, uint64_t now);

#endif
