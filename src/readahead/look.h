/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the engine knows of files and their cursors, for operators.
 *
 * A look takes the table's lock for LOOK_BATCH places at a time, only to note which files there are, and each file's own
 * lock while it copies what is there: bounded, so no READ waits for it longer than for another READ.
 */
#ifndef READAHEAD_LOOK_H
#define READAHEAD_LOOK_H

#include <stdint.h>

#include "readahead/readahead.h"
#include "readahead/way.h"

#define LOOK_BATCH   64
#define LOOK_CURSORS 256 /* of one file, those used last */

struct readahead_file_look {
	uint64_t
		file; /* as in traces: its inode number, perhaps mixed with a subvolume's; 0: not known */
	uint64_t used;		   /* ns: the last read that a cursor followed */
	uint64_t reads, bytes;	   /* of clients, since it is known */
	uint32_t cursors, streams; /* all of its; those with bytes fetched and unread */
	uint32_t count;		   /* the highest sequentiality count */
	uint32_t window;	   /* bytes, the largest */
	uint64_t unread;	   /* bytes fetched and unread */
	uint32_t penalty;	   /* windows are smaller by two to this */
	double exact;		   /* share of reads that continued a cursor exactly */
	uint32_t read, wasted;	   /* bytes of what was fetched lately, faded */
	bool withheld;		   /* the last chunk of a cursor was not planned, for the price */
};

struct readahead_cursor_look {
	enum way way;
	uint64_t next; /* where its next read should be; of those that go back: where it ends */
	uint64_t run;  /* bytes from where this run began to there */
	uint64_t asked, arrived; /* bytes from there on that were asked for, that are there */
	uint64_t unread;	 /* bytes fetched and unread */
	uint64_t taken; /* bytes that were fetched ahead of it and read, since it is followed */
	uint64_t used;	/* ns: its last read */
	uint32_t count, window; /* bytes */
	bool queued, withheld;
};

/*
 * Fills up to MAX (at most LOOK_FILES_MAX), those read last first; returns how many files are known. One
 * thread at a time.
 */
#define LOOK_FILES_MAX 256
unsigned int readahead_files(struct readahead *ra, struct readahead_file_look *f, unsigned int max);
/*
 * The file that is called FILE, and up to MAX of its cursors, those used last first; returns how many were
 * filled, or -1: it is not known.
 */
int readahead_cursors(struct readahead *ra, uint64_t file, struct readahead_file_look *f,
		      struct readahead_cursor_look *c, unsigned int max);

#endif
