/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What walks come to, one entry after the other. Of src/readahead/dir_*.c only; all with the lock. */
#ifndef READAHEAD_DIR_FOLLOW_H
#define READAHEAD_DIR_FOLLOW_H

#include "common/lock.h"
#include "readahead/dir_table.h"
#include "readahead/readers.h"

/* A walk that is silent for so long (ns) is over. */
#define DIR_IDLE UINT64_C(30000000000)
/* A walk that was read on so long ago (ns) goes on. */
#define DIR_LATELY UINT64_C(2000000000)
/* Walks of subdirectories that came to most of their files before others are expected to. */
#define DIR_TRUST 2
/* Files in a row that are gone from memory before the others are taken to be gone as well. */
#define DIR_GONE 3
/* Where nothing may be fetched one in so many directories is listed after a few reads, the others when they go on. */
#define DIR_LOOKS 4
/* ... and one in so many at least, whatever was listed in vain. */
#define DIR_LOOKS_MAX 64
/* Where so few subdirectories are ahead of a walk, more are fetched. */
#define DIR_SIBLINGS_MIN 1
/* Below this share of what was fetched being read a directory's files are fetched no more, until walks show otherwise. */
#define DIR_EFFECTIVENESS_MIN 0.5

/* What is known of one reader. */
struct dir_reader {
	uint32_t reads;			/* files read from their beginning */
	struct effectiveness newcomers; /* the example for directories that are new to him */
	uint64_t used;			/* ns: his last read */
	uint64_t lately; /* bytes fetched for his walks that were read, halved at each sweep */
	uint8_t in_vain; /* directories listed for him in a row, faded, in which no walk showed then */
	uint8_t passed; /* so many more, faded, are not listed after a few reads */
};

struct dir_walks {
	struct lock lock;
	struct readahead *engine;
	struct readahead_counters *lost;
	struct dir_reader of[READERS_MAX + 1]; /* by number */
	uint64_t all_reads;		       /* files read from their beginning */
	struct effectiveness
		newcomers; /* of all: the example for readers of whom nothing is known */
	struct dir_table table;
};

/* The table's; its ARG: the walks. In dir_relist.c. */
extern const struct dir_owner dir_owner;
/* Of that: */
bool dir_follow_is_walked(void *arg, const struct dir *d, uint64_t now);
void dir_follow_drop(void *arg, struct dir *d, struct dir_part *p);
/* The entry INDEX of P is asked for no more, and holds nothing; how much it did, which is the caller's. */
uint32_t dir_follow_unask(struct dir_part *p, uint32_t index);
/* The same, and what it held is wasted, but no directory is judged by it. */
uint32_t dir_follow_lose(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
			 struct dir_part *p, uint32_t index);
/* What P holds of the entry INDEX was not read. */
void dir_follow_waste(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		      struct dir_part *p, uint32_t index);
/* The entry INDEX of D's files is about to be read: if memory lost them, they are to be asked for again. */
void dir_follow_gone(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		     uint32_t index, const struct dir_read *read);
/* Whether who read D last has gone elsewhere. */
bool dir_follow_left(const struct dir_walks *w, const struct dir *d);
/*
 * READER visits D at NOW: if its last walk is over, another one begins. READER's is when he read much elsewhere meanwhile; that
 * of another who was here last, and for whom something was fetched, goes on until he has, too.
 */
void dir_follow_visit(struct dir_walks *w, struct dir *d, uint32_t reader, uint64_t now);
/* READER, of readers.h, reads something at NOW: what was known of him long ago counts less then. */
void dir_follow_reader(struct dir_walks *w, uint32_t reader, uint64_t now);
/* Another walk of D begins. */
void dir_follow_restart(struct dir *d);
/*
 * The share of its window that D gets at PRICE: by what became of what was fetched there, and while little is known of that,
 * in directories new to its reader. Those of others count only for a reader of whom nothing is known, and never so that
 * nothing is fetched for him: who leaves directories behind spoils it for nobody else.
 */
double dir_follow_share(const struct dir_walks *w, const struct dir *d, double price);
/* BYTES of D were read in a walk, and would have been fetched ahead if D had not been found to waste that. */
void dir_follow_missed(struct dir_walks *w, struct dir *d, uint64_t bytes);
/* D's walk comes to what was fetched for it, or something begins to be held for that. */
void dir_follow_moved(struct dir_walks *w, struct dir *d);
/* A walk of D begins, as its parent sees it. */
void dir_follow_begun(struct dir_walks *w, struct dir *d, uint64_t now);
/* Files of D, whose list is known, were read: whether its walk came to most is what its parent counts. */
void dir_follow_shows(struct dir_walks *w, struct dir *d);
/* The entry INDEX of P is read: true for the first time in this walk. */
bool dir_follow_read(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		     struct dir_part *p, uint32_t index);
/* Whether half of P's entries were read in this walk: it will come to the others, in whatever order. */
bool dir_follow_most(const struct dir_part *p);
/* Whether within half of the window behind AT something was neither read nor asked for. */
bool dir_follow_runs_out(const struct dir_part *p, uint32_t at);
/* Whether a walk of D will come to most files, as those of its siblings did. */
bool dir_follow_trusted(struct dir_walks *w, const struct dir *d);
/*
 * The place of the subdirectory of PARENT that is walked next, DIR_NOWHERE: not known, or far behind others that were read.
 * In *AHEAD how many before that were asked for, and are not read: those that the walk has passed over do not count.
 */
uint32_t dir_follow_next(const struct dir *parent, uint32_t *ahead);
/* Reads that came before the list was known, of files (0) or subdirectories (1). */
void dir_follow_note(struct dir *d, int kind, uint64_t inode);
/* The cursors are told of the entry INDEX, and where the walk is. Returns the cursor. */
struct dir_cursor *dir_follow_cursor(struct dir_part *p, uint32_t index, uint64_t now);

#endif
