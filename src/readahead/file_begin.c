/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Who begins with files, and how far he comes. See file_begin.h. */
#include "readahead/file_begin.h"

#include "common/clock.h"
#include "readahead/heur_file.h"
#include "readahead/reader_counts.h"
#include "readahead/types.h"

/* Files of a reader by which he is known; and with this many the old ones count half. */
#define KNOWN 8
#define MOST  64

void file_begins_forget(struct file_begins *b, uint32_t reader)
{
	reader_count_set(&b->of[reader].begun, 0);
	for (int i = 0; i < FILE_MARKS; i++)
		reader_count_set(&b->of[reader].came[i], 0);
}

/* READER begins with one more; two at once may be counted as one. */
static void count_begun(struct file_begins *b, uint32_t reader)
{
	_Atomic uint16_t *begun = &b->of[reader].begun;

	if (reader_count(begun) >= MOST) {
		reader_count_halve(begun);
		for (int i = 0; i < FILE_MARKS; i++)
			reader_count_halve(&b->of[reader].came[i]);
	}
	reader_count_more(begun, MOST);
}

/* The reader of F that is known by it has come to NEXT, of SIZE bytes. */
static void count_came(struct file_begins *b, struct heur_file *f, uint64_t next, uint64_t size)
{
	for (; f->begin.mark < FILE_MARKS; f->begin.mark++) {
		if (next < file_mark(f->begin.mark) && next < size)
			return;
		reader_count_more(&b->of[f->begin.reader].came[f->begin.mark], MOST);
	}
}

static void uncount(_Atomic uint16_t *n)
{
	reader_count_set(n, reader_count(n) > 0 ? reader_count(n) - 1 : 0);
}

void file_begins_unseen(struct file_begins *b, struct heur_file *f)
{
	uint32_t reader = f->begin.reader, mark = f->begin.mark;

	if (reader == 0 || mark == FILE_MARKS)
		return;
	uncount(&b->of[reader].begun);
	while (mark > 0)
		uncount(&b->of[reader].came[--mark]);
	f->begin.mark = FILE_MARKS;
}

/* Up to which mark READER comes, mostly; 0: to none; UINT64_MAX: to all. */
static uint64_t comes_to(const struct file_begins *b, uint32_t reader)
{
	uint32_t begun = reader_count(&b->of[reader].begun), mark = FILE_MARKS;

	if (begun < KNOWN)
		return 0;
	while (mark > 0 && 3 * reader_count(&b->of[reader].came[mark - 1]) < 2 * begun)
		mark--;
	if (mark == FILE_MARKS)
		return UINT64_MAX;
	return mark > 0 ? file_mark(mark - 1) : 0;
}

/*
 * Whether READ, of F's beginning, is the first one of somebody. Who begins where another just did finds most of it in memory, and
 * who does again what he did a while ago, and came nowhere then, polls it: they say nothing.
 */
static bool begins(const struct heur_file *f, const struct readahead_read *read)
{
	if (f->begin.reader == 0)
		return true;
	return elapsed(f->begin.last, read->now) >= FILE_LEFT_ALONE &&
	       (f->begin.reader != read->reader || f->begin.mark > 0);
}

uint64_t file_begins_read(struct file_begins *b, struct heur_file *f, const struct cursor *c,
			  const struct readahead_read *read)
{
	uint64_t reach;

	if (c->start != 0 || read->reader == 0 || read->reader > READERS_MAX ||
	    read->size <= FILE_MARK_FIRST)
		return 0;
	if (read->offset == 0 && begins(f, read)) {
		f->begin.reader = read->reader;
		f->begin.mark = 0;
		count_begun(b, read->reader);
	}
	f->begin.last = read->now;
	if (f->begin.reader == read->reader)
		count_came(b, f, c->next, read->size);
	if (read->offset >= FILE_MARK_LAST)
		return 0;
	reach = comes_to(b, read->reader);
	return read->offset < reach ? reach : 0;
}
