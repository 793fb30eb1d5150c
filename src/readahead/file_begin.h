/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much of a file is wanted by who begins with it. Who shows previews reads the first part of one file after another, who
 * copies photographs all of each: by the first READ with what it brings along, the next one, and so on, that costs the disk three
 * turns a file. Which part it is the files say that he began with before:
 *
 *     marks                  128K  192K  256K  384K  512K  768K   1M
 *     of 32 files he came to   32    31    31     2     1     0    0     the first READ of the next one brings 256K
 *
 * A mark counts from two thirds on. Who came to the end of a file has come to all; one of which the first READ brings all
 * anyway says nothing. Who comes to all of them reads on.
 */
#ifndef READAHEAD_FILE_BEGIN_H
#define READAHEAD_FILE_BEGIN_H

#include <stdatomic.h>
#include <stdint.h>

#include "readahead/readers.h"

struct cursor;
struct heur_file;
struct readahead_read;

/* Two of them for each power of two, the first and the last of: bytes. */
#define FILE_MARKS	7
#define FILE_MARK_FIRST (UINT64_C(128) << 10)
#define FILE_MARK_LAST	(FILE_MARK_FIRST << (FILE_MARKS - 1) / 2)

/* What readers did, by number (readers.h). Zeroed: nothing is known. */
struct file_begins {
	struct {
		_Atomic uint16_t begun, came[FILE_MARKS]; /* files; ... of which so much was read */
	} of[READERS_MAX + 1];
};

/* The bytes of a mark. */
static inline uint64_t file_mark(uint32_t mark)
{
	uint64_t octave = FILE_MARK_FIRST << (mark / 2);

	return octave + mark % 2 * (octave / 2);
}

/* READER's number is another one's from now on. Any thread. */
void file_begins_forget(struct file_begins *b, uint32_t reader);
/* Not all READs of F are told from now on: how far its reader comes is not known, and it says nothing. With F's lock. */
void file_begins_unseen(struct file_begins *b, struct heur_file *f);
/*
 * READ, which F's cursor C has followed forwards, is looked at. Up to where F is worth bringing at once, from its beginning
 * on; UINT64_MAX: all of it, however long; 0: nothing is known of that, or the READ is none that begins. With F's lock.
 */
uint64_t file_begins_read(struct file_begins *b, struct heur_file *f, const struct cursor *c,
			  const struct readahead_read *read);

#endif
