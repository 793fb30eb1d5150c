/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Walks over directories (readahead/dir_walk.h), as Ganesha's calls tell of them.
 *
 *   READDIR, LOOKUP that MDCACHE cannot answer, CREATE, MKDIR --> the directory, and each file's parent in its handle
 *   READ of a file from its beginning          --> was it the next of a walk? then perhaps a job
 *
 * A file that is known by its handle only (after a restart, to a client that keeps it) has no parent, and
 * belongs to no walk until it is listed or looked up again: MDCACHE then keeps the handle that it has, and has the new one
 * merged into it.
 */
#ifndef RA_WALK_H
#define RA_WALK_H

#include "call.h"
#include "disk/backing.h"

/* Life, with the module; ENGINE outlives it. Without memory, or with Walk_Memory = 0, nothing is done. */
void walk_start(struct readahead *engine);
/* No READ, nor the disk's threads, are there any more. */
void walk_stop(void);
/* About once a second. */
void walk_sweep(uint64_t now);

/* DIR_HDL is listed, or a name looked up or made in it; its number, for walk_found(). With op_ctx. */
uint64_t walk_dir(struct fsal_obj_handle *dir_hdl);
/* The directory of that number is listed from WHENCE on, with attributes: these may be fetched ahead. */
void walk_list(uint64_t dir, struct fsal_obj_handle *dir_hdl, const fsal_cookie_t *whence);
/* ... and goes on: told for each entry. */
void walk_lists_on(uint64_t dir);
/* OBJ, just made, was found in the directory of that number. */
void walk_found(uint64_t dir, struct fsal_obj_handle *obj);
/* DUPE, which goes, was found, and is what KNOWN stands for, which READs may be looking at. */
void walk_merge(struct ra_handle *known, const struct ra_handle *dupe);

/* A READ that may belong to a walk; dir 0: it does not. */
struct walk_read {
	uint64_t dir, inode;
	struct export_io *io; /* a reference */
	struct flow_id flow;
	/* Set by the caller: */
	uint32_t reader;  /* readers.h */
	uint64_t missing; /* bytes asked for that are not in memory; 0: not known */
};

/* Before the READ of HDL, which came at NOW, is answered; after that the handle may be gone. With op_ctx. */
void walk_read_begin(struct walk_read *read, const struct ra_handle *hdl, uint64_t offset,
		     uint64_t now);
/*
 * CALL is parked, its request described, and what it asks for is not in memory. True: its file comes with a
 * job that is under way for its client, and it waits for that; it may be over at any time. When that is so:
 */
bool walk_read_waits(const struct walk_read *read, struct call *call);
/*
 * Before any READ that was queued is answered, whether it waited for a job or not. True: the job did not come to it, for its
 * turn was over, or what it waited for, a job or another request, hangs; it is queued by itself now, to its client's account
 * as any other, and may be over at any time.
 */
bool walk_read_again(struct call *call);
/* Once it is answered or queued. B: its backing, a use, or NULL. */
void walk_read_end(struct walk_read *read, struct backing *b, bool resident, uint64_t now);

#endif /* RA_WALK_H */
