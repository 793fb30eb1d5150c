/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parts of many files, fetched in the order in which they lie on the disk.
 *
 *   files       a          b       c
 *   disk        [a1] [c] [b1] [a2]    [b2]     one piece for each extent, by block
 *                ^------ several under way at a time: started by WILLNEED, then awaited
 *
 * Small gaps between pieces are the drive's to read over; what is under way together the kernel merges and
 * the drive orders. One thread.
 */
#ifndef DISK_TREE_PIECES_H
#define DISK_TREE_PIECES_H

#include <stdatomic.h>

#include "disk/tree_dir.h"

/* Pieces under way at a time, and their bytes. */
#define TREE_FLIGHT	  16
#define TREE_FLIGHT_BYTES (UINT64_C(1) << 20)
/* A file up to this long is fetched whole, of a longer one so much. */
#define TREE_WHOLE_MAX (UINT64_C(1) << 20)
#define TREE_HEAD      (UINT64_C(128) << 10)

/* A file to be fetched. */
struct tree_file {
	const struct tree_dir *dir;
	const char *name;
	uint64_t inode;
	uint32_t index; /* in its directory's list */
	uint32_t left;	/* pieces that have yet to come; 0: nothing is to be fetched */
	uint32_t last;	/* the number of its last one */
};

struct tree_piece {
	uint64_t block;
	uint32_t file;
	uint32_t offset, len;
};

struct tree_pieces {
	struct tree_piece *pieces;
	uint32_t n, room;
	uint32_t next, begun; /* awaited, and started, up to here */
	uint64_t flight;      /* bytes under way */
	bool paused;
	bool whole_only;      /* a file of which only a head would be fetched is left out */
	int fds[TREE_FLIGHT]; /* of piece i at i % TREE_FLIGHT */
	atomic_bool *spoilt;  /* their device's: arrival.h */
};

/*
 * Where FILE, whose number is NUMBER, lies: its pieces are added. Returns how many bytes they are; 0: it is not
 * there, empty, or in memory already.
 */
uint32_t tree_pieces_add(struct tree_pieces *p, struct tree_file *file, uint32_t number);
/* All are there. */
void tree_pieces_sort(struct tree_pieces *p);
/* Starts what may be under way, and waits for the next piece, which is returned. NULL: none is left. */
const struct tree_piece *tree_pieces_next(struct tree_pieces *p, const struct tree_file *files);
/* Starts no more: tree_pieces_next() until NULL, then it can be asked again. */
void tree_pieces_pause(struct tree_pieces *p, bool pause);
void tree_pieces_fini(struct tree_pieces *p);

#endif
