/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Walks: clients that read the files of a directory one after the other, as backups, searches and copies
 * of trees do. A directory is a list of files as a file is a list of blocks, and is read ahead the same way.
 *
 *   dir_walks_seen()   a directory was listed, or a name looked up in it
 *   dir_walks_read()   a file is read from its beginning  -> perhaps a job: fetch ahead in its directory
 *
 *   the job:  dir_walks_begin() -> enlist(), where the list is not known: the directory is read
 *                               -> pick(): files to fetch now          --.  for the directory, then for the
 *                               -> sibling(): the directory after this --'  sibling, ...
 *                               -> fetched() for each file; end()
 *
 * A walk is recognised when DIR_COUNT files were read in an order (dir_cursor.h), or half of all in
 * any order. Where most subdirectories of a parent came to be walked, of those whose lists are known, the next one's walk is
 * known at its first read; where they were walked in an order, the next sibling is fetched before. What is asked for in between
 * elsewhere by the same client must not be more than DIR_GAP reads, so that opens by chance come to nothing.
 *
 * The window (entries ahead of the client) begins at DIR_WINDOW_MIN, or with DIR_COUNT where the walk left entries out, and
 * grows where a file came late, to four times those that were asked for and read; what was fetched and not read makes it
 * smaller (effectiveness.h), to nothing in the end, until a walk goes on all the same beyond what would have been fetched.
 * What was fetched for a walk that went on elsewhere is given up when more is asked for, and all when its reader has gone.
 * Where files that were fetched turn out to be gone from memory, what is ahead is fetched once more, from the first window on.
 *
 * No I/O and no clock. All that is known here is a hint: entries renamed, removed or made anew cost a
 * fetch for nothing. Any thread; one lock, a leaf, for a microsecond at most, but for lists that go or change; ten in a job.
 */
#ifndef READAHEAD_DIR_WALK_H
#define READAHEAD_DIR_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readahead/counters.h"
#include "readahead/dir_list.h"

#define DIR_HANDLE_MAX 40   /* bytes of a kernel's handle that are kept */
#define DIR_NAME_MAX   256  /* with its end */
#define DIR_GAP	       64   /* a client's reads elsewhere between two of its walk */
#define DIR_WINDOW_MIN 16   /* files */
#define DIR_WINDOW_MAX 2048 /* files: most directories whole */

/* A listing (ns) that follows another one so soon finds its inodes in memory. */
#define DIR_LISTING_KEPT UINT64_C(5000000000)

struct readahead;
struct dir_walks;

/* How the kernel finds a directory: open_by_handle_at(2). len 0: not known. */
struct dir_handle {
	int type;
	uint8_t len;
	uint8_t bytes[DIR_HANDLE_MAX];
};

/* A read of the file of inode INODE in the directory DIR, from its beginning. */
struct dir_read {
	uint64_t dir, inode;
	uint64_t now;	  /* ns */
	double price;	  /* of read-ahead there, 0..1 */
	bool resident;	  /* it was in memory */
	uint64_t missing; /* bytes of it that were not; 0: not known */
	bool is_long;	  /* its file is: no job brings it whole */
	uint16_t account; /* of what is given up: given_up.h */
	uint32_t reader;  /* whose it is: readers.h; 0: not known */
};

/*
 * MEMORY: bytes for lists; what is fetched and not read is held against ENGINE's. What directories that go
 * held counts with LOST. NULL: no memory.
 */
struct dir_walks *dir_walks_create(uint64_t memory, struct readahead *engine,
				   struct readahead_counters *lost);
/* No job may be under way. */
void dir_walks_destroy(struct dir_walks *w);

/* What is under way for a client: the number of the job, 0: none; and of the client. */
struct dir_job {
	uint64_t id, client;
};

/* A directory. Ids are never 0. */
struct dir_name {
	uint64_t id, parent; /* parent 0: not known */
	uint64_t inode;
};

/* The directory D is there. */
void dir_walks_seen(struct dir_walks *w, const struct dir_name *d, const struct dir_handle *h,
		    uint64_t now);
/* Whether ID's handle is known: then its being seen need not be told again. */
bool dir_walks_known(struct dir_walks *w, uint64_t id, uint64_t parent);
/*
 * ID is listed from its beginning. True: it has not been for DIR_LISTING_KEPT, and what that needs may be fetched
 * ahead for *HANDLE.
 */
bool dir_walks_list(struct dir_walks *w, uint64_t id, uint64_t now, struct dir_handle *handle);
/* True: a job for *HANDLE is to be run, which ends with dir_walks_end(). */
bool dir_walks_read(struct dir_walks *w, struct readahead_counters *counters,
		    const struct dir_read *read, struct dir_handle *handle);
/*
 * Whether the file of READ, which is not in memory, comes with a job that is under way for that client: then
 * it need not be fetched twice, nor the disk be sent to and fro. Which job, and with its how-manieth piece.
 */
bool dir_walks_due(struct dir_walks *w, const struct dir_read *read, uint64_t client, uint64_t *job,
		   uint32_t *piece);
/*
 * What was fetched for walks that have come to none of it for IDLE ns, or where three quarters of the memory are held a
 * second, is given up, and what their clients hold more than they should (budget_surplus()) and do not come to within IDLE;
 * about once a second. COUNTERS NULL: it waits at the accounts of their READs.
 */
void dir_walks_sweep(struct dir_walks *w, struct readahead_counters *counters, uint64_t now,
		     uint64_t idle);

/* ---- within a job ------------------------------------------------------------------------ */

/*
 * The directory D becomes part of a job, for who read last in the directory WALK, which is; false: D is part of one, or there is
 * no room.
 */
bool dir_walks_begin(struct dir_walks *w, const struct dir_name *d, uint64_t walk, uint64_t now);
/* The directory takes part no more. */
void dir_walks_end(struct dir_walks *w, uint64_t id);
/* Whether the list of ID as of STAMP (ns; when it has changed) is known, or one that does as well. */
bool dir_walks_listed(struct dir_walks *w, uint64_t id, uint64_t stamp);
/*
 * ID has these files and subdirectories, whose lists are the callee's from now on; FILES NULL: they are not to be had,
 * and are not asked for again before the next walk, but where older ones are known. Of a directory that is
 * not part of the caller's job (a parent) nothing happens while it is part of another.
 */
void dir_walks_enlist(struct dir_walks *w, uint64_t id, uint64_t stamp, struct dir_list *files,
		      struct dir_list *dirs, bool mine);
/*
 * Up to MAX files of ID, part of the job, to be fetched now: their indices in *LIST, which stays until
 * dir_walks_end(). A SIBLING's are all.
 */
uint32_t dir_walks_pick(struct dir_walks *w, uint64_t id, bool sibling, uint32_t *indices,
			uint32_t max, const struct dir_list **list);
/* The subdirectory of PARENT after those walked and asked for: its name (DIR_NAME_MAX), its inode. */
bool dir_walks_sibling(struct dir_walks *w, uint64_t parent, char *name, uint64_t *inode);
/* Where siblings of ID are expected to be walked: the parent. 0: they are not. */
uint64_t dir_walks_parent(struct dir_walks *w, uint64_t id);
/* Whether who walks ID reads on in long files where they have come to LENGTH, an end of run_lengths.h. */
bool dir_walks_reads_on(struct dir_walks *w, uint64_t id, uint64_t length);
/*
 * LEN bytes of the file INDEX of ID, part of the job, are held from now on: false where memory is full, or the directory 
 * reader has as much of it as each would if all had the same (budget_part()).
 */
bool dir_walks_hold(struct dir_walks *w, struct readahead_counters *counters, uint64_t id,
		    uint32_t index, uint32_t len);
/* The file INDEX of ID, part of JOB, which holds it, is there with the PIECE-th of that. */
void dir_walks_expect(struct dir_walks *w, uint64_t id, uint32_t index, const struct dir_job *job,
		      uint32_t piece);
/* ... and has come, */
void dir_walks_fetched(struct dir_walks *w, uint64_t id, uint32_t index);
/* ... or is not fetched after all, and may be asked for again. */
void dir_walks_unhold(struct dir_walks *w, struct readahead_counters *counters, uint64_t id,
		      uint32_t index);

#endif
