/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The first READs at the end of a file. See file_end.h. */
#include "readahead/file_end.h"

#include "common/clock.h"
#include "readahead/cursor_set.h"
#include "readahead/engine.h"
#include "readahead/first_read.h"
#include "readahead/heur_file.h"
#include "readahead/reader_counts.h"
#include "readahead/types.h"

/* Files of who is taken to go on; and more than this, of which the old ones count half. */
#define TRUSTED 8
#define MOST	64
/* One in so many is worth it. */
#define SHARE 16
/* Reads of a file, of others too, that are looked at for whether its first reader goes on. */
#define LOOKED 64

/* One more of READER's; two at once may be counted as one. */
static void count(struct file_ends *e, uint32_t reader, bool first)
{
	_Atomic uint16_t *begun = &e->of[reader].begun, *more = &e->of[reader].more;

	if (!first) {
		reader_count_more(more, MOST);
		return;
	}
	if (reader_count(begun) >= MOST) {
		reader_count_halve(begun);
		reader_count_halve(more);
	}
	reader_count_more(begun, MOST);
}

static bool goes_on(const struct file_ends *e, uint32_t reader)
{
	uint32_t begun = reader_count(&e->of[reader].begun);

	return begun <= TRUSTED || reader_count(&e->of[reader].more) * SHARE >= begun;
}

void file_ends_forget(struct file_ends *e, uint32_t reader)
{
	reader_count_set(&e->of[reader].begun, 0);
	reader_count_set(&e->of[reader].more, 0);
}

static bool is_at_end(const struct readahead_read *read)
{
	return read->offset > 0 && first_read_at_end(read->offset, read->size);
}

/* READER begins with a file at its end, or FIRST is false, wants more of it. */
static void count_for_all(struct file_ends *e, uint32_t reader, bool first)
{
	if (reader != 0)
		count(e, reader, first);
	count(e, 0, first);
}

/* Whether that is worth bringing as a whole. */
static bool is_worth(const struct file_ends *e, uint32_t reader)
{
	return goes_on(e, reader_count(&e->of[reader].begun) > 1 ? reader : 0);
}

/* A further read of F: whether it is the first one again, which was told to come again. */
static bool comes_again(struct file_ends *e, struct heur_file *f, const struct readahead_read *read)
{
	bool same = read->offset >= f->end.offset &&
		    read->offset + read->len <= f->end.offset + f->end.len;

	if (read->reader != f->end.reader || same)
		return read->reader == f->end.reader && read->offset == f->end.offset &&
		       read->len == f->end.len;
	if (is_at_end(read))
		count_for_all(e, read->reader, false);
	f->end.len = 0;
	return false;
}

/*
 * READ, of a file that was left alone, goes on where a stream of its reader's stopped. What he began with before is no such
 * place, though all the rest of the end was read since, up to there.
 */
static bool is_of_a_stream(const struct heur_file *f, const struct readahead_read *read)
{
	const struct cursor *c = cursor_set_match(&f->set, read->offset, 0);

	return c && c->next == read->offset && c->reader == read->reader &&
	       f->end.offset != read->offset;
}

/* READ is the first one of F at its end again for who began there last and has gone on nowhere since: he polls it. */
static bool is_known(const struct heur_file *f, const struct readahead_read *read)
{
	return f->end.len != 0 && f->end.reader == read->reader;
}

bool file_ends_read(struct file_ends *e, struct heur_file *f, const struct readahead_read *read)
{
	bool alone = f->reads > 1 && elapsed(f->end.last, read->now) >= FILE_LEFT_ALONE, known;

	f->end.last = read->now;
	if (read->reader > READERS_MAX)
		return false;
	if (f->reads > 1 && !alone)
		return f->end.len != 0 && f->reads - f->end.reads <= LOOKED &&
		       comes_again(e, f, read) && is_worth(e, read->reader);
	if (alone && is_of_a_stream(f, read))
		return false;
	known = is_known(f, read);
	f->end.len = 0;
	f->end.whole = false;
	if (!is_at_end(read))
		return false;
	f->end.reader = read->reader;
	f->end.offset = read->offset;
	f->end.len = read->len;
	f->end.reads = f->reads - 1;
	if (!known)
		count_for_all(e, read->reader, true);
	f->end.whole = is_worth(e, read->reader);
	return f->end.whole;
}
