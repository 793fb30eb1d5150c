/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a job that fetches ahead of a walk asks and tells. See dir_walk.h. */
#include <assert.h>
#include <string.h>

#include "readahead/dir_follow.h"
#include "readahead/dir_held.h"
#include "readahead/engine.h"

/* So long (ns) for each of its entries the list of a directory does when that has changed: 20 times what listing takes. */
#define RELIST_REST UINT64_C(20000)

/* Entries that are looked at in a job for what is to be given up: each of 24 cursors may be asked, some 20 us in all. */
#define LEFT_LOOKS 1024

bool dir_walks_begin(struct dir_walks *w, const struct dir_name *name, uint64_t walk, uint64_t now)
{
	const struct dir *of;
	struct dir *d;
	bool mine;

	lock_take(&w->lock);
	d = dir_table_get(&w->table, name->id, now, &dir_owner, w);
	of = dir_table_find(&w->table, walk);
	mine = d != NULL && !d->busy;
	if (mine) {
		of = of != NULL ? of : d;
		dir_follow_visit(w, d, of->visits[0].reader, now);
		d->busy = true;
		d->inode = name->inode;
		d->parent = name->parent;
		d->share = (float)dir_follow_share(w, d, of->price);
	}
	lock_drop(&w->lock);
	return mine;
}

void dir_walks_end(struct dir_walks *w, uint64_t id)
{
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy);
	d->busy = false;
	d->job.id = 0;
	lock_drop(&w->lock);
}

static uint32_t entries_of(const struct dir_part *p)
{
	return p != NULL ? dir_list_count(p->list) : 0;
}

/*
 * Whether D's list is of STAMP, or so little older that it does for as long: one that changes all the time would
 * be read, and what is known of it moved, at each job.
 */
static bool is_of(const struct dir *d, uint64_t stamp)
{
	uint64_t rest = RELIST_REST * ((uint64_t)entries_of(d->files) + entries_of(d->dirs));

	return d->stamp == stamp || (stamp > d->stamp && stamp - d->stamp < rest);
}

bool dir_walks_listed(struct dir_walks *w, uint64_t id, uint64_t stamp)
{
	const struct dir *d;
	bool listed;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	listed = d != NULL &&
		 (d->refused || ((d->files != NULL || d->dirs != NULL) && is_of(d, stamp)));
	lock_drop(&w->lock);
	return listed;
}

/* The cursors hear of what was read before there was a list. */
static void replay(struct dir_walks *w, struct dir *d, int kind, uint64_t now)
{
	struct dir_part *p = kind == 0 ? d->files : d->dirs;

	for (uint8_t i = 0; p != NULL && i < d->n_recent[kind]; i++) {
		uint32_t index = dir_list_find(p->list, d->recent->inodes[kind][i]);

		if (index == DIR_NOWHERE || !dir_follow_read(w, w->lost, d, p, index))
			continue;
		(void)dir_follow_cursor(p, index, now);
	}
}

/* Nothing more of P is asked for before some more were read. */
static void pause_asking(struct dir_part *p)
{
	p->again = p->n_read + DIR_WINDOW_MIN / 2;
}

/* D has been listed, and no walk of it is recognised yet: nor will be where there was no room. */
static void count_listing(struct dir_walks *w, const struct dir *d)
{
	struct dir_reader *r = &w->of[d->visits[0].reader];

	r->in_vain += r->in_vain < DIR_LOOKS_MAX - DIR_LOOKS;
}

static void free_both(struct dir_list *files, struct dir_list *dirs)
{
	dir_list_free(files);
	dir_list_free(dirs);
}

void dir_walks_enlist(struct dir_walks *w, uint64_t id, uint64_t stamp, struct dir_list *files,
		      struct dir_list *dirs, bool mine)
{
	struct dir *d;
	bool first;

	if (files != NULL && dirs != NULL && dir_list_count(dirs) == 0) { /* most have none */
		dir_list_free(dirs);
		dirs = NULL;
	}
	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	first = mine && d != NULL && d->files == NULL;
	if (d == NULL || (d->busy && !mine)) {
		free_both(files, dirs);
	} else if (files == NULL) {
		free_both(files, dirs);
		d->refused = true;
		if (d->files != NULL)
			pause_asking(d->files);
	} else if (dir_table_enlist(&w->table, d, files, dirs, &dir_owner, w)) {
		d->stamp = stamp;
		replay(w, d, 0, d->used);
		replay(w, d, 1, d->used);
		dir_table_forget(d);
		if (d->files->n_read != 0)
			dir_follow_shows(w, d);
	} else if (d->files != NULL) {
		d->stamp = stamp; /* what is known of it has to do */
	} else {
		d->refused = true;
	}
	if (first && (d->files != NULL || d->crowded))
		count_listing(w, d);
	lock_drop(&w->lock);
}

/* Whether the walk of P has passed over files: so may one who opens some by chance, which is short then. */
static bool leaves_out(const struct dir_part *p)
{
	const struct dir_cursor *c = dir_cursors_at(&p->cursors, p->axis, p->at);

	return !p->whole && c != NULL && c->count >= DIR_COUNT && c->span > c->count;
}

/*
 * How many entries of P are to be asked for: the window, grown where one came late to as much as those fetched before prove
 * that were read. Other reads prove nothing: who opens files here and there has many.
 */
static uint32_t window_of(struct dir_part *p, double share, bool trusted)
{
	uint32_t first = leaves_out(p) ? DIR_COUNT : DIR_WINDOW_MIN;
	uint32_t proven = 4 * p->n_hits > first ? 4 * p->n_hits : first;
	uint32_t window = p->window != 0 ? p->window : first;

	if (p->late)
		window *= 4;
	if (window > proven)
		window = proven;
	if (trusted || window > DIR_WINDOW_MAX)
		window = DIR_WINDOW_MAX;
	p->late = false;
	p->window = window;
	return (uint32_t)(window * share);
}

/* Whether a walk of P may still come to the entry INDEX with what was asked for ahead of it: each in its own order. */
static bool is_awaited(const struct dir_part *p, uint32_t index)
{
	for (enum dir_axis axis = 0; axis < DIR_AXES; axis++) {
		uint32_t place = dir_list_place(p->list, axis, index);

		for (uint32_t i = 0; i < p->cursors.n; i++) {
			const struct dir_cursor *c = &dir_cursors_on(&p->cursors, axis)[i];

			if (dir_cursor_streams(c, DIR_COUNT) && place + DIR_BACK >= c->at &&
			    place <= c->at + p->window + DIR_AHEAD)
				return true;
		}
	}
	return false;
}

/*
 * What was fetched for walks of D that went on elsewhere, or were none, is given up where it has become much: or else nobody
 * would learn from it as long as the directory is read. Of a large directory one part after the other is looked at: the
 * lock is held.
 */
static void give_up_left(struct dir_walks *w, struct dir *d)
{
	struct dir_part *p = d->files;
	uint32_t n = dir_list_count(p->list), looks = n < LEFT_LOOKS ? n : LEFT_LOOKS;

	if (p->whole || p->n_ahead <= p->window)
		return;
	for (; looks > 0; looks--, p->hand++) {
		uint32_t index = p->hand = p->hand < n ? p->hand : 0;

		if (p->state[index] == DIR_ASKED && !is_awaited(p, index))
			dir_follow_waste(w, NULL, d, p, index);
	}
}

/* Asks for the entry at PLACE, if nobody has. */
static bool ask(struct dir_part *p, uint32_t place, uint32_t *index)
{
	*index = dir_list_at(p->list, p->axis, place);
	if (p->state[*index] != 0)
		return false;
	p->state[*index] = DIR_ASKED;
	p->n_ahead++;
	p->n_left--;
	return true;
}

/* Up to MAX entries behind where the walk is, and if all will be read those before it. */
static uint32_t take(struct dir_part *p, uint32_t from, uint32_t *indices, uint32_t max)
{
	uint32_t count = dir_list_count(p->list), n = 0;

	for (uint32_t place = from; place < count && n < max; place++)
		n += ask(p, place, &indices[n]);
	for (uint32_t place = 0; p->whole && place < from && place < count && n < max; place++)
		n += ask(p, place, &indices[n]);
	return n;
}

/* The places where walks of P are, that which was read last first; how many. They were read on lately, as of NOW. */
static uint32_t places_of(const struct dir_part *p, uint64_t now, uint32_t *places)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->cursors.n; i++) {
		const struct dir_cursor *c = &dir_cursors_on(&p->cursors, p->axis)[i];

		if (!dir_cursor_streams(c, DIR_COUNT) || c->used + DIR_LATELY < now)
			continue;
		places[n++] = c->at;
		if (c->at == p->at) {
			places[n - 1] = places[0];
			places[0] = p->at;
		}
	}
	return n;
}

/*
 * A window of entries behind each walk of P that soon runs out of them, MAX in all: clients who go through one directory
 * in parts wait for the same disk, and what is fetched for all of them lies closer together.
 */
static uint32_t take_for_all(struct dir_part *p, uint64_t now, uint32_t window, uint32_t *indices,
			     uint32_t max)
{
	uint32_t places[DIR_CURSORS], n_places = places_of(p, now, places), n = 0;

	for (uint32_t i = 0; i < n_places; i++) {
		uint32_t share = max / n_places < window ? max / n_places : window;

		if (i == 0 || dir_follow_runs_out(p, places[i]))
			n += take(p, places[i] + 1, &indices[n], share);
	}
	return n;
}

/* Whether the walk of D is recognised: its list may be known only now. */
static bool recognised(struct dir_part *p)
{
	const struct dir_cursor *c = dir_cursors_at(&p->cursors, p->axis, p->at);

	if (c != NULL && dir_cursor_streams(c, DIR_COUNT))
		return true;
	p->whole = dir_follow_most(p);
	return p->whole;
}

/* Nothing shows yet in which order a walk of P goes: in that of its siblings'. */
static void expect_order(struct dir_part *p, const struct dir *parent)
{
	uint32_t last;

	if (parent == NULL || p->n_read >= DIR_COUNT || dir_list_count(p->list) == 0)
		return;
	last = dir_list_at(p->list, p->axis, p->at);
	p->axis = parent->axis;
	p->at = dir_list_place(p->list, p->axis, last);
}

uint32_t dir_walks_pick(struct dir_walks *w, uint64_t id, bool sibling, uint32_t *indices,
			uint32_t max, const struct dir_list **list)
{
	uint32_t n = 0, window;
	struct dir_part *p;
	struct dir *d;
	bool trusted;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy);
	p = d->files;
	trusted = sibling || dir_follow_trusted(w, d);
	if (p != NULL && trusted) {
		p->whole = true;
		expect_order(p, dir_table_find(&w->table, d->parent));
	}
	if (p != NULL && (trusted || recognised(p))) {
		give_up_left(w, d);
		if (p->window == 0)
			w->of[d->visits[0].reader].in_vain = 0;
		window = window_of(p, d->share, trusted);
		*list = p->list;
		window = window < max ? window : max;
		n = p->whole ? 0 : take_for_all(p, d->used, window, indices, max);
		if (n == 0)
			n = take(p, p->n_read != 0 ? p->at + 1 : 0, indices, window);
	}
	lock_drop(&w->lock);
	return n;
}

bool dir_walks_sibling(struct dir_walks *w, uint64_t parent, char *name, uint64_t *inode)
{
	uint32_t place = DIR_NOWHERE, index, ahead;
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, parent);
	if (d != NULL)
		place = dir_follow_next(d, &ahead);
	if (place != DIR_NOWHERE && ask(d->dirs, place, &index)) {
		strncpy(name, dir_list_name(d->dirs->list, index), DIR_NAME_MAX - 1);
		name[DIR_NAME_MAX - 1] = 0;
		*inode = dir_list_inode(d->dirs->list, index);
	} else {
		place = DIR_NOWHERE;
	}
	lock_drop(&w->lock);
	return place != DIR_NOWHERE;
}

uint64_t dir_walks_parent(struct dir_walks *w, uint64_t id)
{
	uint64_t parent = 0;
	const struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	if (d != NULL && d->share > 0 && dir_follow_trusted(w, d))
		parent = d->parent;
	lock_drop(&w->lock);
	return parent;
}

bool dir_walks_reads_on(struct dir_walks *w, uint64_t id, uint64_t length)
{
	const struct dir *d;
	uint32_t reader;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	reader = d != NULL ? d->visits[0].reader : 0;
	lock_drop(&w->lock);
	return run_lengths_read_on(w->engine, reader, length);
}

/*
 * Whether P's reader may hold LEN more for walks: a window of files may be any number of bytes, and all of it is held before
 * the first one is read. Nor more than he would have to give up at once. P's first file is, however large.
 */
static bool may_hold(const struct dir_walks *w, const struct dir_part *p, uint32_t len)
{
	const struct budget *b = &w->engine->budget;

	return p->bytes == 0 || (budget_held(b, p->payer) + len <= budget_part(b, p->payer) &&
				 budget_surplus(b, p->payer) == 0);
}

bool dir_walks_hold(struct dir_walks *w, struct readahead_counters *counters, uint64_t id,
		    uint32_t index, uint32_t len)
{
	bool held = true;
	struct dir_part *p;
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy && d->files != NULL);
	p = d->files;
	if (p->state[index] == 0) { /* passed by meanwhile */
		p->state[index] = DIR_ASKED;
		p->n_ahead++;
		p->n_left--;
	}
	if (p->state[index] == DIR_ASKED && p->held[index] == 0) {
		if (p->bytes == 0) {
			p->payer = (uint16_t)d->visits[0].reader;
			d->moved = d->used;
		}
		held = may_hold(w, p, len) && dir_held_take(w->engine, counters, p->payer, len);
		p->held[index] = held ? len : 0;
		p->bytes += p->held[index];
	}
	lock_drop(&w->lock);
	return held;
}

void dir_walks_expect(struct dir_walks *w, uint64_t id, uint32_t index, const struct dir_job *job,
		      uint32_t piece)
{
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy && d->files != NULL);
	d->job = *job;
	if (d->files->held[index] != 0)
		d->files->due[index] = piece < DIR_DUE_LATE ? (uint16_t)(piece + 1) : DIR_DUE_LATE;
	lock_drop(&w->lock);
}

void dir_walks_fetched(struct dir_walks *w, uint64_t id, uint32_t index)
{
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy && d->files != NULL);
	d->files->due[index] = 0;
	lock_drop(&w->lock);
}

void dir_walks_unhold(struct dir_walks *w, struct readahead_counters *counters, uint64_t id,
		      uint32_t index)
{
	struct dir_part *p;
	uint32_t held;
	struct dir *d;
	bool asked;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	assert(d != NULL && d->busy && d->files != NULL);
	p = d->files;
	asked = p->state[index] == DIR_ASKED;
	held = dir_follow_unask(p, index);
	if (held != 0)
		dir_held_returned(w->engine, counters, p->payer, held);
	else if (asked)
		pause_asking(p); /* it is not to be had now */
	lock_drop(&w->lock);
}
