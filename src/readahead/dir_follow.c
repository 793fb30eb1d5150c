/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks, entry by entry, and what a directory's siblings tell of it. See dir_follow.h. */
#include "readahead/dir_follow.h"

#include <stdlib.h>
#include <string.h>

#include "readahead/dir_held.h"
#include "readahead/engine.h"

/* Beyond so many walks of its subdirectories a directory's old ones fade. */
#define CHILDREN_MEMORY 64
/* What is known of new directories fades beyond so many bytes: sooner than of an old one, for each adds to it. */
#define NEWCOMERS_MEMORY (4 * EFFECTIVENESS_WEIGHT)
#define NEWCOMERS_FILE	 (NEWCOMERS_MEMORY / 64) /* ... of one file at most */
/* What is known of a directory, and of a reader, is halved for each such time (ns) between two walks, or reads. */
#define FADES UINT64_C(60000000000)
/* Directories above one that are asked whether walks of their children are to be expected. */
#define TRUST_LEVELS 3
/* Subdirectories behind a walk that are looked at for the next one: at each READ at the beginning of a file, with the lock. */
#define NEXT_LOOKS 256

/* ---- what it was worth ------------------------------------------------------------------- */

/* Few large files must not speak for many. */
static uint32_t of_a_file(uint32_t bytes)
{
	return bytes < NEWCOMERS_FILE ? bytes : NEWCOMERS_FILE;
}

static void learn_new(struct effectiveness *n, uint32_t used, uint32_t wasted)
{
	effectiveness_add(n, used, wasted);
	for (; n->used + n->wasted > NEWCOMERS_MEMORY; n->wasted /= 2)
		n->used /= 2;
}

/*
 * What became of bytes that were fetched ahead in D, or would have been. Of new directories that says the less the more
 * D has shown: else one that is large would speak for all.
 */
static void learn(struct dir_walks *w, struct dir *d, uint32_t used, uint32_t wasted)
{
	uint32_t weight = 1 + (uint32_t)(d->shown / NEWCOMERS_MEMORY);
	uint32_t some_used = of_a_file(used), some_wasted = of_a_file(wasted);

	d->shown += some_used + some_wasted;
	learn_new(&w->newcomers, some_used / weight, some_wasted / weight);
	learn_new(&w->of[d->visits[0].reader].newcomers, some_used / weight, some_wasted / weight);
	effectiveness_add(&d->effectiveness, used, wasted);
}

double dir_follow_share(const struct dir_walks *w, const struct dir *d, double price)
{
	double all = effectiveness_of(&w->newcomers, 1), e;

	if (all < DIR_EFFECTIVENESS_MIN)
		all = DIR_EFFECTIVENESS_MIN;
	e = effectiveness_of(&w->of[d->visits[0].reader].newcomers, all);
	e = effectiveness_of(&d->effectiveness, e);
	return e < DIR_EFFECTIVENESS_MIN ? 0 : effectiveness_share(price, e);
}

void dir_follow_missed(struct dir_walks *w, struct dir *d, uint64_t bytes)
{
	learn(w, d, bytes < EFFECTIVENESS_WEIGHT ? (uint32_t)bytes : EFFECTIVENESS_WEIGHT, 0);
}

/* ---- what is held ------------------------------------------------------------------------ */

/* P's entry INDEX holds nothing more; how much it did. */
static uint32_t release(struct dir_part *p, uint32_t index)
{
	uint32_t held;

	if (p->held == NULL)
		return 0;
	held = p->held[index];
	p->held[index] = p->due[index] = 0;
	p->bytes -= held;
	return held;
}

uint32_t dir_follow_unask(struct dir_part *p, uint32_t index)
{
	if (p->state[index] == DIR_ASKED) {
		p->state[index] = 0;
		p->n_ahead--;
		p->n_left++;
	}
	return release(p, index);
}

uint32_t dir_follow_lose(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
			 struct dir_part *p, uint32_t index)
{
	uint32_t held = dir_follow_unask(p, index);

	if (held != 0)
		dir_held_wasted(w->engine, counters, p->payer, d->account, held);
	return held;
}

void dir_follow_waste(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		      struct dir_part *p, uint32_t index)
{
	uint32_t held = dir_follow_lose(w, counters, d, p, index);

	if (held == 0)
		return;
	p->n_hits -= p->n_hits != 0;
	readers_count(w->engine->readers, d->visits[0].reader, READER_WASTED, held);
	learn(w, d, 0, held);
}

/* That the memory of lists is needed elsewhere is no fault of a walk that goes on. */
void dir_follow_drop(void *arg, struct dir *d, struct dir_part *p)
{
	struct dir_walks *w = arg;
	bool left = p->n_read != 0 && dir_follow_left(w, d);

	for (uint32_t i = 0; p->bytes != 0 && i < dir_list_count(p->list); i++) {
		if (left)
			dir_follow_waste(w, w->lost, d, p, i);
		else
			(void)dir_follow_lose(w, w->lost, d, p, i);
	}
}

/* ---- walks ------------------------------------------------------------------------------- */

/* What was read may be read again; what is held still is ahead. */
static void part_restart(struct dir_part *p)
{
	uint32_t n;

	if (p == NULL)
		return;
	n = dir_list_count(p->list);
	p->n_read = p->n_there = p->n_hits = p->n_ahead = p->n_left = p->window = p->again =
		p->reread = 0;
	p->whole = p->late = false;
	memset(p->cursors.of, 0, DIR_AXES * p->cursors.n * sizeof(*p->cursors.of));
	for (uint32_t i = 0; i < n; i++) {
		bool held = p->held != NULL && p->held[i] != 0;

		p->state[i] = held ? DIR_ASKED : 0;
		p->n_ahead += held;
		p->n_left += !held;
	}
}

/* Whether READ says that P's entry INDEX was fetched, and is not there; of long files only the head was. */
static bool is_gone(const struct dir_part *p, uint32_t index, const struct dir_read *read)
{
	return read->missing != 0 && read->missing <= p->held[index];
}

/* Neither the client's fault nor the guess's: wasted, but no directory is judged by it. */
void dir_follow_gone(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		     uint32_t index, const struct dir_read *read)
{
	struct dir_part *p = d->files;

	if (read->resident)
		p->gone = 0;
	if (d->busy || !is_gone(p, index, read) || ++p->gone < DIR_GONE)
		return;
	for (uint32_t i = 0; i < dir_list_count(p->list); i++)
		if (p->state[i] == DIR_ASKED)
			(void)dir_follow_lose(w, counters, d, p, i);
	p->gone = 0;
	p->window = 0;
}

/* How often what is known is halved after SILENT ns. */
static uint32_t halves(uint64_t silent)
{
	return silent / FADES < 31 ? (uint32_t)(silent / FADES) : 31;
}

static void fade(struct effectiveness *e, uint32_t n)
{
	e->used >>= n;
	e->wasted >>= n;
}

void dir_follow_reader(struct dir_walks *w, uint32_t reader, uint64_t now)
{
	struct dir_reader *r = &w->of[reader];
	uint64_t silent = elapsed(r->used, now);

	fade(&r->newcomers, halves(silent));
	r->in_vain >>= halves(silent);
	r->passed >>= halves(silent);
	r->used += silent;
	r->reads++;
}

void dir_follow_restart(struct dir *d)
{
	d->begun = d->counted = d->walked = d->refused = d->crowded = false;
	d->unlisted = 0;
	dir_table_forget(d);
	part_restart(d->files);
	part_restart(d->dirs);
}

/*
 * READER reads in D; how many reads he had elsewhere since he was here last. Of who was not that is not known: everybody's,
 * since anybody was.
 */
static uint64_t reads_between(struct dir_walks *w, struct dir *d, uint32_t reader)
{
	uint64_t between = w->all_reads - d->all_turn;
	int n = 0;

	while (n < DIR_VISITORS - 1 && d->visits[n].reader != reader)
		n++;
	if (d->visits[n].reader == reader)
		between = (uint32_t)(w->of[reader].reads - d->visits[n].turn);
	memmove(&d->visits[1], &d->visits[0], (size_t)n * sizeof(d->visits[0]));
	d->visits[0] = (struct dir_visit){.reader = reader, .turn = w->of[reader].reads};
	return between;
}

bool dir_follow_left(const struct dir_walks *w, const struct dir *d)
{
	const struct dir_visit *last = &d->visits[0];

	return (uint32_t)(w->of[last->reader].reads - last->turn) > DIR_GAP;
}

/* Whether a walk of P is recognised by COUNT reads, the last one not before SINCE (ns). */
static bool is_recognised(const struct dir_part *p, uint32_t count, uint64_t since)
{
	if (p == NULL)
		return false;
	for (uint32_t i = 0; i < DIR_AXES * p->cursors.n; i++)
		if (dir_cursor_streams(&p->cursors.of[i], count) && p->cursors.of[i].used >= since)
			return true;
	return p->whole && p->window != 0;
}

/* Who reads files here and there walks nothing, however many. A child may be walked for long before the next one is. */
bool dir_follow_is_walked(void *arg, const struct dir *d, uint64_t now)
{
	uint64_t since = now > DIR_IDLE ? now - DIR_IDLE : 0;

	return d->used >= since && !dir_follow_left(arg, d) &&
	       (is_recognised(d->files, DIR_COUNT, since) || is_recognised(d->dirs, DIR_TRUST, 0));
}

void dir_follow_visit(struct dir_walks *w, struct dir *d, uint32_t reader, uint64_t now)
{
	uint64_t silent = elapsed(d->used, now);
	bool fetched = d->files != NULL && d->files->window != 0;
	bool left = !fetched || d->visits[0].reader == reader || dir_follow_left(w, d);
	bool over = (reads_between(w, d, reader) > DIR_GAP && left) || silent > DIR_IDLE;

	d->all_turn = w->all_reads;
	d->used = now > d->used ? now : d->used;
	if (!over || d->busy)
		return;
	fade(&d->effectiveness, halves(silent));
	d->shown >>= halves(silent);
	dir_follow_restart(d);
}

struct dir_cursor *dir_follow_cursor(struct dir_part *p, uint32_t index, uint64_t now)
{
	struct dir_cursor *c;

	p->axis = dir_cursors_read(&p->cursors, p->list, index, p->axis, now, &c);
	p->at = c->at;
	return c;
}

/* What is fetched beside D is still to be wanted: its reader goes on. */
static void parent_moved(struct dir_walks *w, const struct dir *d)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);

	if (parent != NULL)
		parent->moved = d->used;
}

void dir_follow_moved(struct dir_walks *w, struct dir *d)
{
	d->moved = d->used;
	parent_moved(w, d);
}

bool dir_follow_read(struct dir_walks *w, struct readahead_counters *counters, struct dir *d,
		     struct dir_part *p, uint32_t index)
{
	uint32_t held = release(p, index);

	if (held != 0) {
		dir_follow_moved(w, d);
		w->of[p->payer].lately += held;
		dir_held_used(w->engine, counters, p->payer, held);
		readers_count(w->engine->readers, d->visits[0].reader, READER_USED, held);
		learn(w, d, held, 0);
	}
	if (p->state[index] & DIR_READ)
		return false;
	if (held == 0)
		parent_moved(w, d);
	if (p->state[index] & DIR_ASKED) {
		p->n_ahead--;
		p->n_hits++;
	} else {
		p->n_left--;
	}
	p->state[index] |= DIR_READ;
	p->n_read++;
	p->n_there++;
	return true;
}

void dir_follow_note(struct dir *d, int kind, uint64_t inode)
{
	uint8_t n = d->n_recent[kind];
	uint64_t *inodes;

	if (d->recent == NULL)
		d->recent = calloc(1, sizeof(*d->recent));
	if (d->recent == NULL)
		return;
	inodes = d->recent->inodes[kind];
	for (uint8_t i = 0; i < n && i < DIR_RECENT; i++)
		if (inodes[i] == inode)
			return;
	if (n == DIR_RECENT) {
		memmove(&inodes[0], &inodes[1], (DIR_RECENT - 1) * sizeof(inodes[0]));
		n--;
	}
	inodes[n] = inode;
	d->n_recent[kind] = (uint8_t)(n + 1);
}

bool dir_follow_most(const struct dir_part *p)
{
	return p->n_read >= DIR_COUNT && 2 * p->n_there >= dir_list_count(p->list);
}

bool dir_follow_runs_out(const struct dir_part *p, uint32_t at)
{
	uint32_t n = dir_list_count(p->list), window = p->window / 2;

	if (p->n_left == 0)
		return false;
	if (p->whole && p->n_ahead <= window)
		return true;
	for (uint32_t place = at + 1; place < n && place <= at + window + 1; place++)
		if (p->state[dir_list_at(p->list, p->axis, place)] == 0)
			return true;
	return false;
}

/* ---- parents ----------------------------------------------------------------------------- */

static void count(struct dir *parent, struct dir *d)
{
	d->counted = true;
	if (++parent->children <= CHILDREN_MEMORY)
		return;
	parent->children /= 2;
	parent->walked_children /= 2;
	parent->refused &= !parent->crowded; /* there may be room for its list by now */
}

/*
 * Of a child whose list is not known, and may never be for there are few files in it, nothing can be said: it counts where
 * walks of PARENT's children have left files out, beside the one that goes on.
 */
static bool leaves_children(const struct dir *parent)
{
	return parent->children > parent->walked_children + 1;
}

/* LEVELS of directories above D hear of it: more are not asked, and a tree may be thousands deep. */
static void begun(struct dir_walks *w, struct dir *d, uint64_t now, bool known, int levels)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);
	uint32_t index;

	d->begun = true;
	if (parent == NULL)
		return;
	if (known || leaves_children(parent))
		count(parent, d);
	if (!parent->begun && levels > 1)
		begun(w, parent, now, true, levels - 1);
	if (parent->dirs == NULL) {
		dir_follow_note(parent, 1, d->inode);
		return;
	}
	index = dir_list_find(parent->dirs->list, d->inode);
	if (index == DIR_NOWHERE)
		return;
	(void)dir_follow_read(w, w->lost, parent, parent->dirs, index);
	(void)dir_follow_cursor(parent->dirs, index, now);
}

void dir_follow_begun(struct dir_walks *w, struct dir *d, uint64_t now)
{
	begun(w, d, now, d->files != NULL, TRUST_LEVELS);
}

static void walked(struct dir_walks *w, struct dir *d)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);

	d->walked = true;
	if (parent == NULL)
		return;
	if (!d->counted)
		count(parent, d);
	parent->walked_children++;
	if (!parent->walked && parent->walked_children >= DIR_TRUST)
		walked(w, parent);
}

void dir_follow_shows(struct dir_walks *w, struct dir *d)
{
	struct dir *parent = dir_table_find(&w->table, d->parent);

	if (parent != NULL && !d->counted)
		count(parent, d);
	if (!d->walked && 2 * d->files->n_read > dir_list_count(d->files->list))
		walked(w, d);
}

bool dir_follow_trusted(struct dir_walks *w, const struct dir *d)
{
	for (int level = 0; level < TRUST_LEVELS; level++) {
		const struct dir *parent = dir_table_find(&w->table, d->parent);

		if (parent == NULL)
			return false;
		if (parent->walked_children >= DIR_TRUST)
			return parent->walked_children * 3 >= (parent->children - 1) * 2;
		if (parent->children > DIR_TRUST + 1)
			return false;
		d = parent;
	}
	return false;
}

uint32_t dir_follow_next(const struct dir *parent, uint32_t *ahead)
{
	const struct dir_part *p = parent->dirs;
	uint32_t n = p != NULL ? dir_list_count(p->list) : 0, end;
	const struct dir_cursor *c;

	*ahead = 0;
	if (n == 0 || p->n_left == 0 || p->n_read < DIR_TRUST)
		return DIR_NOWHERE;
	c = dir_cursors_at(&p->cursors, p->axis, p->at);
	if (c == NULL || !dir_cursor_streams(c, DIR_TRUST))
		return DIR_NOWHERE;
	end = n - p->at > NEXT_LOOKS ? p->at + 1 + NEXT_LOOKS : n;
	for (uint32_t place = p->at + 1; place < end; place++) {
		uint8_t state = p->state[dir_list_at(p->list, p->axis, place)];

		if (state == 0)
			return place;
		*ahead += state == DIR_ASKED;
	}
	return DIR_NOWHERE;
}
