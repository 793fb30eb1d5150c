/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The first READs at the end of a file. See file_end.h. */
#include "readahead/file_end.h"

#include "readahead/first_read.h"
#include "readahead/heur_file.h"
#include "readahead/types.h"

/* Files of who is taken to go on; and more than this, of which the old ones count half. */
#define TRUSTED 8
#define MOST	64
/* One in so many is worth it. */
#define SHARE 16

static uint32_t get(const _Atomic uint16_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void put(_Atomic uint16_t *n, uint32_t value)
{
	atomic_store_explicit(n, (uint16_t)value, memory_order_relaxed);
}

/* One more of READER's; two at once may be counted as one. */
static void count(struct file_ends *e, uint32_t reader, bool first)
{
	_Atomic uint16_t *begun = &e->of[reader].begun, *more = &e->of[reader].more;

	if (!first) {
		put(more, get(more) < MOST ? get(more) + 1 : MOST);
		return;
	}
	if (get(begun) >= MOST) {
		put(begun, get(begun) / 2);
		put(more, get(more) / 2);
	}
	put(begun, get(begun) + 1);
}

static bool goes_on(const struct file_ends *e, uint32_t reader)
{
	uint32_t begun = get(&e->of[reader].begun);

	return begun <= TRUSTED || get(&e->of[reader].more) * SHARE >= begun;
}

void file_ends_forget(struct file_ends *e, uint32_t reader)
{
	put(&e->of[reader].begun, 0);
	put(&e->of[reader].more, 0);
}

bool file_ends_read(struct file_ends *e, struct heur_file *f, const struct readahead_read *read)
{
	bool first = f->reads == 1, at_end;

	if (f->reads > 2 || read->reader > READERS_MAX)
		return false;
	at_end = read->offset > 0 && read->offset < read->size &&
		 read->size - read->offset <= LAST_READ;
	if (at_end && (first || f->from_end)) {
		if (read->reader != 0)
			count(e, read->reader, first);
		count(e, 0, first);
	}
	f->from_end = first && at_end;
	return f->from_end && goes_on(e, get(&e->of[read->reader].begun) > 1 ? read->reader : 0);
}
