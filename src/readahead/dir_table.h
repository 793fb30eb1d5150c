/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The directories that are known: a fixed table of records, found by their identity.
 *
 *   record   identity, parent, handle; what became of its children's walks        always there
 *   parts    its files, its subdirectories: a list, cursors, what is fetched      of those being walked
 *
 * The least recently used record goes when one more is needed, the least recently used parts when those of
 * all come to more than their memory: but those of walks that go on stay, or each would take the others' and have its own
 * taken. Those of a job under way stay. The owner's lock.
 */
#ifndef READAHEAD_DIR_TABLE_H
#define READAHEAD_DIR_TABLE_H

#include "readahead/dir_cursor.h"
#include "readahead/dir_walk.h"
#include "readahead/effectiveness.h"

#define DIRS_MAX     4096 /* records: a power of two */
#define DIR_RECENT   8	  /* reads kept of a directory whose list is not known yet */
#define DIR_VISITORS 4	  /* readers of one directory that are told apart */

/* Of an entry. */
enum { DIR_READ = 1, DIR_ASKED = 2 };
/* ... one that is not known: so many no job has but for files in thousands of pieces. */
#define DIR_DUE_LATE UINT16_MAX

/* The files, or the subdirectories, of a directory: with what of them is fetched and with the cursors one block. */
struct dir_part {
	struct dir_list *list;
	struct dir_cursors cursors;
	/* Of files, which alone are fetched; NULL of subdirectories: */
	uint32_t *held; /* bytes fetched of it and not read */
	uint16_t *
		due; /* the piece of the job that is under way with which it is there, + 1; 0: none, */
	uint8_t *state; /* of each entry: DIR_READ, DIR_ASKED */
	/* Where the walk is that was read last. */
	uint32_t at;
	uint32_t hand;	  /* the entry that is looked at next for what is to be given up */
	uint16_t payer;	  /* while bytes are held: the reader who does, of budget.h */
	uint8_t axis;	  /* an enum dir_axis */
	bool whole;	  /* it will come round to what lies before that */
	uint32_t n_read;  /* in this walk */
	uint32_t n_there; /* of these, in the list still, */
	uint32_t n_hits;  /* ... asked for before, less those fetched that were not read */
	uint32_t n_ahead; /* asked for, and not read */
	uint32_t n_left;  /* neither */
	uint64_t bytes;	  /* held */
	uint32_t window;  /* entries to be ahead; 0: none was asked for */
	uint32_t
		again; /* so many must be read before more are asked for: others were not to be had */
	bool late;     /* one came late since the window was last used */
	/* So many in order were read before in this walk, and are not in memory; the place of the last one. */
	uint8_t reread;
	uint32_t reread_at;
	uint8_t gone; /* so many in a row were there, and are not */
};

/* Whose read was the last but so many others', and the how-manieth of all of his that was. */
struct dir_visit {
	uint32_t reader; /* readers.h */
	uint32_t turn;
};

/* Reads of a directory whose lists are not known yet: inodes of files, and of subdirectories. */
struct dir_recent {
	uint64_t inodes[2][DIR_RECENT];
};

struct dir {
	uint64_t id; /* 0: free */
	uint64_t parent, inode;
	uint64_t used;	   /* ns: its last read, */
	uint64_t all_turn; /* ... the how-manieth of everybody's, */
	float price;	   /* ... and of read-ahead then */
	float share;	   /* of its window that it gets, 0..1 */
	uint64_t moved; /* ns: the last read of what was fetched, here or of a parent in a child */
	struct dir_visit visits[DIR_VISITORS]; /* who read here last, the last one first */
	uint64_t stamp;			       /* of its list */
	uint64_t listed;		       /* ns; 0: not yet */
	/* files NULL: the list is not known; dirs NULL: nor that, or there are none */
	struct dir_part *files, *dirs;
	struct dir_recent *recent; /* NULL: none */
	uint8_t n_recent[2];
	uint16_t account;  /* of its last read: given_up.h */
	uint32_t unlisted; /* files read in this walk before the list was known */
	struct dir_job job;
	uint64_t shown; /* bytes, faded: how much it has told of new directories */
	struct effectiveness effectiveness;
	uint16_t children,
		walked_children; /* walks of subdirectories: begun, and come to most files */
	bool busy;		 /* a job is under way */
	bool begun;		 /* its parent knows of this walk, */
	bool counted;		 /* ... counts it, */
	bool walked;		 /* ... and that most files were read */
	bool refused;		 /* its list is not to be had, */
	bool crowded;		 /* ... for now: the memory is that of others */
	uint8_t axis; /* an enum dir_axis: that on which the last walk of a subdirectory was recognised */
	struct dir_handle handle;
	uint32_t next; /* in its bucket: number + 1 */
};

/* There are DIRS_MAX of them, always. */
_Static_assert(sizeof(struct dir) <= 256, "a directory's record has become larger");

struct dir_table {
	struct dir dirs[DIRS_MAX];
	uint32_t bucket[DIRS_MAX]; /* number + 1 */
	uint32_t hand, listed_hand;
	uint64_t memory, parts; /* bytes that parts may take, and do */
};

/* What the table's owner knows of directories, and does about them; ARG is his. */
struct dir_owner {
	/* Whether a walk of D is recognised, and goes on at NOW (ns). */
	bool (*is_walked)(void *arg, const struct dir *d, uint64_t now);
	/* Gives up what a part holds before it goes. */
	void (*drop)(void *arg, struct dir *d, struct dir_part *p);
	/* What OLD knows and holds is NEW's, which takes its place, as far as the entries are the same. */
	void (*carry)(void *arg, struct dir *d, struct dir_part *old, struct dir_part *new);
};

struct dir *dir_table_find(struct dir_table *t, uint64_t id);
/* The same, made if need be. NULL: all that were looked at are busy. */
struct dir *dir_table_get(struct dir_table *t, uint64_t id, uint64_t now,
			  const struct dir_owner *owner, void *arg);
/*
 * D, which was read just now, has these parts from now on (either NULL: none). False: too large, or no memory now; LISTs are
 * gone then, D keeps what it has and nobody loses his. If it has no files it is crowded where others have the memory.
 */
bool dir_table_enlist(struct dir_table *t, struct dir *d, struct dir_list *files,
		      struct dir_list *dirs, const struct dir_owner *owner, void *arg);
/* What was read before D's lists were known is known no more. */
void dir_table_forget(struct dir *d);
/* D has none. */
void dir_table_delist(struct dir_table *t, struct dir *d, const struct dir_owner *owner, void *arg);

#endif
