/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks as reads tell of them: is something to be fetched ahead? See dir_walk.h. */
#include "readahead/dir_walk.h"

#include <stdlib.h>

#include "readahead/dir_follow.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"

/* So many files of a walk are read before it has come beyond its first two windows. */
#define GOES_ON (DIR_COUNT + 5 * DIR_WINDOW_MIN)
/* Reads in an order that nobody has by chance who reads every other file, or fewer. */
#define NO_CHANCE 16
/* What is halved each second is what came in so long (ms). */
#define LATELY UINT64_C(2000)

struct dir_walks *dir_walks_create(uint64_t memory, struct readahead *engine,
				   struct readahead_counters *lost)
{
	struct dir_walks *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	lock_init(&w->lock, LOCK_LEAF);
	w->engine = engine;
	w->lost = lost;
	w->table.memory = memory;
	return w;
}

void dir_walks_destroy(struct dir_walks *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; i < DIRS_MAX; i++) {
		dir_table_delist(&w->table, &w->table.dirs[i], &dir_owner, w);
		dir_table_forget(&w->table.dirs[i]);
	}
	lock_fini(&w->lock);
	free(w);
}

bool dir_walks_known(struct dir_walks *w, uint64_t id, uint64_t parent)
{
	const struct dir *d;
	bool known;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	known = d != NULL && d->handle.len != 0 && (parent == 0 || d->parent == parent);
	lock_drop(&w->lock);
	return known;
}

void dir_walks_seen(struct dir_walks *w, const struct dir_name *name, const struct dir_handle *h,
		    uint64_t now)
{
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_get(&w->table, name->id, now, &dir_owner, w);
	if (d != NULL) {
		d->inode = name->inode;
		d->handle = *h;
		if (name->parent != 0)
			d->parent = name->parent;
	}
	lock_drop(&w->lock);
}

bool dir_walks_list(struct dir_walks *w, uint64_t id, uint64_t now, struct dir_handle *handle)
{
	bool wanted = false;
	struct dir *d;

	lock_take(&w->lock);
	d = dir_table_find(&w->table, id);
	if (d != NULL && d->handle.len != 0 &&
	    (d->listed == 0 || elapsed(d->listed, now) > DIR_LISTING_KEPT)) {
		wanted = true;
		d->listed = now;
		*handle = d->handle;
	}
	lock_drop(&w->lock);
	return wanted;
}

/* ---- is something to be fetched? --------------------------------------------------------- */

/* Fetched for the walk of C, passed by, and not read: it will not be. */
static void give_up_passed(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
			   struct dir_cursor *c)
{
	struct dir_part *p = d->files;

	for (; !p->whole && c->tail + 2 * DIR_BACK < c->at; c->tail++) {
		uint32_t index = dir_list_at(p->list, p->axis, c->tail);

		if (p->state[index] == DIR_ASKED)
			dir_follow_waste(w, counters, d, p, index);
	}
}

/* Whether D's siblings are to be fetched: the next one is known, or would be if the list were. */
static bool sibling_wanted(struct dir_walks *w, const struct dir *d)
{
	const struct dir *parent = dir_table_find(&w->table, d->parent);
	uint32_t ahead;

	if (parent == NULL || parent->refused || parent->busy)
		return false;
	if (parent->dirs == NULL)
		return parent->files == NULL;
	return dir_follow_next(parent, &ahead) != DIR_NOWHERE && ahead <= DIR_SIBLINGS_MIN;
}

/*
 * Whether a walk in P, which C follows, has come beyond what would have been fetched for nothing if it had ended; and is
 * none of the few reads in a row that come by chance.
 */
static bool goes_on(const struct dir_part *p, const struct dir_cursor *c)
{
	return 2 * p->n_read > dir_list_count(p->list) ||
	       (p->n_read > GOES_ON && (p->whole || dir_cursor_streams(c, NO_CHANCE)));
}

/* The entry INDEX of P was read before, and is no more in memory: whether another walk of it has begun. */
static bool walks_again(struct dir_part *p, uint32_t index)
{
	uint32_t place = dir_list_place(p->list, p->axis, index), last = p->reread_at;
	bool follows = p->reread != 0 && place > last && place - last <= DIR_AHEAD;

	p->reread = follows ? p->reread + 1 : 1;
	p->reread_at = place;
	return p->reread > DIR_GONE;
}

/* The entry INDEX of D's files is read. */
static bool judge(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		  const struct dir_read *read, uint32_t index)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);
	struct dir_part *p = d->files;
	bool asked, coming, trusted, stream;
	struct dir_cursor *c;

	dir_follow_gone(w, counters, d, index, read);
	asked = p->state[index] & DIR_ASKED;
	coming = p->due[index] != 0; /* its pages may be there, but not yet what they are to hold */
	if (!dir_follow_read(w, counters, d, p, index)) {
		if (!read->resident && !d->busy && walks_again(p, index))
			dir_follow_restart(d);
		return false;
	}
	p->reread = 0;
	c = dir_follow_cursor(p, index, read->now);
	if ((coming || !read->resident) && (asked || p->window != 0))
		p->late = true;
	give_up_passed(w, counters, d, c);
	dir_follow_shows(w, d);
	trusted = dir_follow_trusted(w, d);
	if (trusted || dir_follow_most(p))
		p->whole = true;
	stream = dir_cursor_streams(c, DIR_COUNT);
	if (stream && parent != NULL)
		parent->axis = p->axis;
	stream = stream || p->whole;
	d->share = (float)dir_follow_share(w, d, read->price);
	if (d->share <= 0) {
		if (stream && !asked && goes_on(p, c))
			dir_follow_missed(w, d, read->missing);
		return false;
	}
	return p->n_read >= p->again &&
	       ((stream && dir_follow_runs_out(p, p->at)) || (trusted && sibling_wanted(w, d)));
}

/*
 * Whether D's list is worth reading though nothing of it may be fetched now, or its reader's last ones showed no walk: the
 * fewer are read the more did not: one in so many when its FOURTH file is read. It shows whether a walk goes on.
 */
static bool looks_anyway(struct dir_walks *w, const struct dir *d, bool fourth)
{
	struct dir_reader *r = &w->of[d->visits[0].reader];

	if (!fourth)
		return d->unlisted > GOES_ON;
	if (r->passed != 0) {
		r->passed--;
		return false;
	}
	r->passed = DIR_LOOKS + r->in_vain - 1;
	return true;
}

/* Whether the last files read of D lie in a row, by inode: a walk that the list will show. */
static bool is_in_a_row(const struct dir *d)
{
	const uint64_t *inodes = d->n_recent[0] == DIR_RECENT ? d->recent->inodes[0] : NULL;

	for (int i = 1; inodes != NULL && i < DIR_RECENT; i++)
		if (inodes[i] <= inodes[i - 1])
			return false;
	return inodes != NULL && inodes[DIR_RECENT - 1] - inodes[0] < UINT64_C(2) * DIR_RECENT;
}

/* Whether the list of D, of which a few files were read, is to be read now; FOURTH: with the read of the fourth one. */
static bool looks(struct dir_walks *w, const struct dir *d, bool trusted, bool fourth)
{
	bool in_vain = w->of[d->visits[0].reader].in_vain >= DIR_LOOKS;

	return (d->share > 0 && (!in_vain || trusted || is_in_a_row(d))) ||
	       looks_anyway(w, d, fourth);
}

/* Whether D, for whose list there was no room, asks for it again: the more seldom the longer it is read. */
static bool asks_again(const struct dir *d)
{
	return d->crowded && d->unlisted > DIR_GAP && (d->unlisted & (d->unlisted - 1)) == 0;
}

/* The files of D are not known yet. */
static bool judge_unlisted(struct dir_walks *w, struct dir *d, const struct dir_read *read)
{
	bool trusted = dir_follow_trusted(w, d), few = d->n_recent[0] < DIR_COUNT, enough;

	dir_follow_note(d, 0, read->inode);
	enough = d->n_recent[0] >= DIR_COUNT;
	d->share = (float)dir_follow_share(w, d, read->price);
	d->unlisted++;
	d->refused &= !asks_again(d);
	return !d->refused && (enough || trusted) && looks(w, d, trusted, few && enough);
}

static bool read_in(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		    const struct dir_read *read)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);
	uint32_t index;

	if (parent != NULL)
		dir_follow_visit(w, parent, read->reader, read->now);
	dir_follow_visit(w, d, read->reader, read->now);
	d->price = (float)read->price;
	if (!d->begun)
		dir_follow_begun(w, d, read->now);
	if (d->files == NULL)
		return judge_unlisted(w, d, read);
	index = dir_list_find(d->files->list, read->inode);
	return index != DIR_NOWHERE && judge(w, counters, d, read, index);
}

bool dir_walks_read(struct dir_walks *w, struct readahead_counters *counters,
		    const struct dir_read *read, struct dir_handle *handle)
{
	bool wanted = false;
	struct dir *d;

	/* of as few READs no chunk is planned, by which it would be known */
	if (read->is_long && read->missing > RUN_END_FIRST)
		run_lengths_note(w->engine->lengths, read->reader, read->missing, false);
	lock_take(&w->lock);
	dir_follow_reader(w, read->reader, read->now);
	w->all_reads++;
	d = dir_table_find(&w->table, read->dir);
	if (d != NULL) {
		d->account = read->account;
		wanted = read_in(w, counters, d, read) && !d->busy && d->handle.len != 0;
	}
	if (wanted) {
		d->busy = true;
		*handle = d->handle;
	}
	lock_drop(&w->lock);
	return wanted;
}

bool dir_walks_due(struct dir_walks *w, const struct dir_read *read, uint64_t client, uint64_t *job,
		   uint32_t *piece)
{
	const struct dir *d;
	uint32_t index;

	*piece = 0;
	lock_take(&w->lock);
	d = dir_table_find(&w->table, read->dir);
	if (d != NULL && d->files != NULL && d->job.id != 0 && d->job.client == client) {
		index = dir_list_find(d->files->list, read->inode);
		*piece = index != DIR_NOWHERE ? d->files->due[index] : 0;
		*piece = *piece != DIR_DUE_LATE ? *piece : 0;
		*job = d->job.id;
	}
	lock_drop(&w->lock);
	return (*piece)-- != 0;
}

/*
 * Whether a walk over the subdirectories of PARENT has come past D, and none is still to come to it: opens by chance somewhere
 * behind D are no walk past it, though they may take the place of one.
 */
static bool is_passed_over(const struct dir *parent, const struct dir *d)
{
	const struct dir_part *p = parent->dirs;
	uint32_t index = p != NULL ? dir_list_find(p->list, d->inode) : DIR_NOWHERE;
	uint32_t place = index != DIR_NOWHERE ? dir_list_place(p->list, p->axis, index) : 0;
	bool passed = false;

	for (uint32_t i = 0; index != DIR_NOWHERE && i < p->cursors.n; i++) {
		const struct dir_cursor *c = &dir_cursors_on(&p->cursors, p->axis)[i];

		if (c->count != 0 && c->at <= place + DIR_BACK)
			return false;
		passed |= c->at - place < c->span;
	}
	return passed;
}

/*
 * Whether what D holds is still wanted: some of it was read lately, and it was not left, or it stands ready for a walk that is
 * still with a sibling before it. Reads that find nothing of it, as of one file again and again, do not say so.
 */
static bool is_awaited(struct dir_walks *w, const struct dir *d, uint64_t now, uint64_t idle)
{
	const struct dir *parent = dir_table_find(&w->table, d->parent);
	bool moved = elapsed(d->moved, now) < idle;

	if (d->busy)
		return true;
	if (d->files->n_read != 0)
		return moved && !dir_follow_left(w, d);
	if (parent == NULL)
		return moved;
	return !is_passed_over(parent, d) &&
	       (moved || (elapsed(d->used, now) <= DIR_IDLE && elapsed(parent->moved, now) < idle));
}

/* Bytes fetched for walks of READER that he comes to within IDLE, if he goes on as he did lately. */
static uint64_t comes_to(const struct dir_walks *w, uint32_t reader, uint64_t idle)
{
	return w->of[reader].lately * (idle / CLOCK_MS) / LATELY;
}

/* Whether a walk of P has passed over PLACE just now: READs come out of order. */
static bool is_just_passed(const struct dir_part *p, uint32_t place)
{
	for (uint32_t i = 0; i < p->cursors.n; i++) {
		const struct dir_cursor *c = &dir_cursors_on(&p->cursors, p->axis)[i];

		if (place < c->at && c->at - place <= DIR_BACK && dir_cursor_streams(c, DIR_COUNT))
			return true;
	}
	return false;
}

/*
 * What D's reader has too much, and holds for long, is given up: from the end of D on, where walks come last, and not what
 * one may come back to.
 */
static void give_up_surplus(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
			    uint64_t idle)
{
	struct dir_part *p = d->files;
	const struct budget *b = &w->engine->budget;
	uint64_t most = budget_surplus(b, p->payer), held = budget_held(b, p->payer);
	uint64_t use = comes_to(w, p->payer, idle), lost = 0;
	uint32_t place = dir_list_count(p->list);

	if (held < most + use)
		most = held > use ? held - use : 0;
	while (lost < most && p->bytes != 0 && place-- != 0) {
		uint32_t index = dir_list_at(p->list, p->axis, place);

		if (p->held[index] != 0 && !is_just_passed(p, place))
			lost += dir_follow_lose(w, counters, d, p, index);
	}
}

static void give_up_all(struct dir_walks *w, struct readahead_counters *counters, struct dir *d)
{
	for (uint32_t i = 0; d->files->bytes != 0 && i < dir_list_count(d->files->list); i++)
		dir_follow_waste(w, counters, d, d->files, i);
}

void dir_walks_sweep(struct dir_walks *w, struct readahead_counters *counters, uint64_t now,
		     uint64_t idle)
{
	bool is_short = budget_is_short(&w->engine->budget);
	uint64_t silent = is_short && idle > READER_SILENT ? READER_SILENT : idle;

	lock_take(&w->lock);
	for (uint32_t i = 0; i < DIRS_MAX; i++) {
		struct dir *d = &w->table.dirs[i];

		if (d->files == NULL || d->files->bytes == 0)
			continue;
		if (!is_awaited(w, d, now, silent))
			give_up_all(w, counters, d);
		else if (!d->busy)
			give_up_surplus(w, counters, d, idle);
	}
	for (uint32_t r = 0; r <= READERS_MAX; r++)
		w->of[r].lately /= 2;
	lock_drop(&w->lock);
}
