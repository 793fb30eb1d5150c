/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files are kept from being freed by RCU while their table's lock is let go. See look.h. */
#include "readahead/look.h"

#include <stdlib.h>

#include "common/rcu.h"
#include "readahead/engine.h"
#include "readahead/way.h"

/* Cursors of a file that are summed up: of more, those used last. */
#define SUMMED 64

/* ---- one file; with its lock ------------------------------------------------------------- */

static void add_cursor(struct readahead_file_look *l, const struct cursor *c)
{
	if (c->count > l->count)
		l->count = c->count;
	if (c->window > l->window)
		l->window = c->window;
	l->unread += c->charged;
	l->withheld |= c->withheld;
}

static void look_at(const struct heur_file *f, struct readahead_file_look *l)
{
	const struct cursor_list *lists[] = {&f->set.proven, &f->set.unproven};
	const struct cursor *c;
	int summed = 0;

	*l = (struct readahead_file_look){
		.file = f->name,
		.reads = f->reads,
		.bytes = f->bytes,
		.used = f->set.used,
		.cursors = f->set.n,
		.streams = f->holders,
		.penalty = f->penalty,
		.exact = f->matches / 65536.0,
		.read = f->effectiveness.used,
		.wasted = f->effectiveness.wasted,
	};
	for (int i = 0; i < 2; i++)
		TAILQ_FOREACH_REVERSE(c, lists[i], cursor_list, age) {
			if (summed++ == SUMMED)
				return;
			add_cursor(l, c);
		}
}

/* The bytes that C reads from where its next read should be up to the position TO. */
static uint64_t ahead(const struct cursor *c, uint64_t to)
{
	return to > c->next ? cursor_bytes(c, c->next, to) : 0;
}

static struct readahead_cursor_look look_at_cursor(const struct cursor *c)
{
	return (struct readahead_cursor_look){.way = c->way,
					      .next = way_offset(c->way, c->next, c->next),
					      .run = c->next - c->start,
					      .asked = ahead(c, c->ra_end),
					      .arrived = ahead(c, c->done_end),
					      .unread = c->charged,
					      .taken = c->taken,
					      .used = c->used,
					      .count = c->count,
					      .window = c->window,
					      .queued = c->queued,
					      .withheld = c->withheld};
}

static unsigned int copy_cursors(const struct heur_file *f, struct readahead_cursor_look *out,
				 unsigned int max)
{
	const struct cursor_list *lists[] = {&f->set.proven, &f->set.unproven};
	const struct cursor *c;
	unsigned int n = 0;

	for (int i = 0; i < 2; i++)
		TAILQ_FOREACH_REVERSE(c, lists[i], cursor_list, age) {
			if (n == max)
				return n;
			out[n++] = look_at_cursor(c);
		}
	return n;
}

/* ---- all files --------------------------------------------------------------------------- */

/* The files in the places from *AT on; under RCU. Returns how many; *AT is the next place, 0: none. */
static unsigned int batch(struct heur_table *t, uint32_t *at, struct heur_file **files)
{
	unsigned int n = 0;

	lock_take(&t->insert_lock);
	for (int i = 0; i < LOOK_BATCH && *at < t->size; i++, ++*at)
		if (t->place[*at] != NULL) {
			files[n] = t->place[*at];
			__builtin_prefetch(
				&files[n]->lock); /* none of them is in a cache, most often */
			__builtin_prefetch(&files[n++]->set.used);
		}
	if (*at >= t->size)
		*at = 0;
	lock_drop(&t->insert_lock);
	return n;
}

/* A heap of N, of which the first was read longest ago: its Ith may be out of place. */
static void sift(struct readahead_file_look *heap, unsigned int n, unsigned int i)
{
	struct readahead_file_look l = heap[i];

	for (unsigned int child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && heap[child + 1].used < heap[child].used)
			child++;
		if (l.used <= heap[child].used)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = l;
}

/* Whether F is one of those read last, of which BEST are the first N; if so, L is what is known of it. */
static bool is_late(struct heur_file *f, const struct readahead_file_look *best, unsigned int n,
		    unsigned int max, struct readahead_file_look *l)
{
	bool late;

	lock_take(&f->lock);
	late = n < max || (max > 0 && f->set.used > best[0].used);
	if (late)
		look_at(f, l);
	lock_drop(&f->lock);
	return late;
}

/* L takes its place among the N read last; returns how many there are now. */
static unsigned int enter(struct readahead_file_look *best, unsigned int n, unsigned int max,
			  const struct readahead_file_look *l)
{
	if (n < max) {
		best[n++] = *l;
		for (unsigned int i = n == max ? n / 2 : 0; i-- > 0;)
			sift(best, n, i);
	} else if (l->used > best[0].used) {
		best[0] = *l;
		sift(best, n, 0);
	}
	return n;
}

static int latest_first(const void *a, const void *b)
{
	const struct readahead_file_look *x = a, *y = b;

	return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

unsigned int readahead_files(struct readahead *ra, struct readahead_file_look *f, unsigned int max)
{
	struct heur_file *files[LOOK_BATCH];
	struct readahead_file_look l;
	unsigned int n = 0, known = 0, got;
	uint32_t at = 0;

	do {
		rcu_begin();
		got = batch(&ra->table, &at, files);
		for (unsigned int i = 0; i < got; i++)
			if (is_late(files[i], f, n, max, &l))
				n = enter(f, n, max, &l);
		known += got;
		rcu_end();
	} while (at != 0);
	if (n > 1)
		qsort(f, n, sizeof(*f), latest_first);
	return known;
}

/* The file of this name among the GOT; what is known of it is copied with its lock. -1: none is it. */
static int find_among(struct heur_file **files, unsigned int got, uint64_t file,
		      struct readahead_file_look *f, struct readahead_cursor_look *c,
		      unsigned int max)
{
	for (unsigned int i = 0; i < got; i++) {
		int n = -1;

		lock_take(&files[i]->lock);
		if (!files[i]->dead && files[i]->name == file) {
			look_at(files[i], f);
			n = (int)copy_cursors(files[i], c, max < LOOK_CURSORS ? max : LOOK_CURSORS);
		}
		lock_drop(&files[i]->lock);
		if (n >= 0)
			return n;
	}
	return -1;
}

int readahead_cursors(struct readahead *ra, uint64_t file, struct readahead_file_look *f,
		      struct readahead_cursor_look *c, unsigned int max)
{
	struct heur_file *files[LOOK_BATCH];
	uint32_t at = 0;
	int found = -1;

	do {
		rcu_begin();
		found = find_among(files, batch(&ra->table, &at, files), file, f, c, max);
		rcu_end();
	} while (at != 0 && found < 0);
	return found;
}
