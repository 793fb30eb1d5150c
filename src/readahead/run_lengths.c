/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What runs came to, and those that are watched. See run_lengths.h. */
#include "readahead/run_lengths.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "readahead/engine.h"

/* With more runs than this at an end the old ones count half. */
#define RUNS_MAX 32
/* After so long (ns) a run that goes on is taken for as long as it is. */
#define LOOK_LAST UINT64_C(4000000000)
/*
 * One whose reader has all that it asked for has ended when that has asked for nothing more for as long as the run had
 * lasted, within these bounds (ns).
 */
#define SILENT_LEAST UINT64_C(200000000)
#define SILENT_MOST  UINT64_C(1000000000)
/*
 * Who reads many files in turn is silent in each for as long as the others take: one that goes on after all is taken back,
 * and the reader waited for as long from then on, this at most (ns).
 */
#define PATIENCE_MOST UINT64_C(4000000000)
/* For that one that has ended is watched for so long (ns), and where another wants its place for as long as the former. */
#define HELD_MOST  UINT64_C(10000000000)
#define HELD_LEAST UINT64_C(2000000000)
/* One that waits for the disk is not silent for its own sake, unless for so long (ns). */
#define SILENT_WAITING (10 * UINT64_C(1000000000))
/* Bytes read in the time of a seek where that is not known, and where it takes no time: a request has its price. */
#define SEEK_USUAL (UINT64_C(1) << 20)
#define SEEK_LEAST (UINT64_C(256) << 10)

/* A run; size 0: none. */
struct watched {
	struct cursor_ref cursor;
	uint32_t run;
	uint64_t size, began; /* bytes of its file; ns */
	uint64_t length;      /* it was taken to have ended with so many bytes; 0: it goes on */
	uint64_t silent;      /* ... read last at that time (ns) */
};

/* Of one reader. */
struct lengths {
	/* runs that came to that end, from the one before */
	_Atomic uint16_t passed[RUN_ENDS], ended[RUN_ENDS];
	_Atomic uint32_t last;	   /* the cursor that something was fetched for */
	_Atomic uint64_t patience; /* ns: he went on after having been silent for so long */
	_Atomic uint8_t n;	   /* watched now */
	_Atomic bool busy;	   /* guards what follows */
	struct watched watch[RUN_LENGTHS_WATCHED];
};

/* That of nobody, whose number is 0, has what is known of all: no run of it is watched. */
struct run_lengths {
	struct lengths of[READERS_MAX + 1];
};

struct run_lengths *run_lengths_new(void)
{
	return calloc(1, sizeof(struct run_lengths));
}

void run_lengths_free(struct run_lengths *l)
{
	free(l);
}

/* Those of READER; NULL: nobody's. */
static struct lengths *lengths_of(struct run_lengths *l, uint32_t reader)
{
	return reader && reader <= READERS_MAX ? &l->of[reader] : NULL;
}

/* The number of the first end that is not before LENGTH; there may be no such end any more. */
static int end_of(uint64_t length)
{
	int i = 0;

	while (RUN_END_FIRST << i < length)
		i++;
	return i;
}

/* One more in N, of which OTHER has the rest. Two at once may be counted as one. */
static void count(_Atomic uint16_t *n, _Atomic uint16_t *other)
{
	uint16_t now = atomic_load(n), rest = atomic_load(other);

	if (now + rest >= RUNS_MAX) {
		now /= 2;
		atomic_store(other, rest / 2);
	}
	atomic_store(n, now + 1);
}

/* One less in N, if there is one. */
static void uncount(_Atomic uint16_t *n)
{
	uint16_t now = atomic_load(n);

	while (now && !atomic_compare_exchange_weak(n, &now, now - 1))
		;
}

/* A run has passed the ends from FROM on, before TO. */
static void count_passed(struct lengths *of, int from, int to)
{
	for (int i = from; i < to && i < RUN_ENDS; i++)
		count(&of->passed[i], &of->ended[i]);
}

/* A run was LENGTH bytes; ENDED: and no more. */
static void note_of(struct lengths *of, uint64_t length, bool ended)
{
	int end = end_of(length);

	count_passed(of, 0, end);
	if (ended && end < RUN_ENDS)
		count(&of->ended[end], &of->passed[end]);
}

/* The same, of the reader OF and of all. */
static void note(struct run_lengths *l, struct lengths *of, uint64_t length, bool ended)
{
	note_of(of, length, ended);
	note_of(&l->of[0], length, ended);
}

void run_lengths_note(struct run_lengths *l, uint32_t reader, uint64_t length, bool ended)
{
	struct lengths *of = lengths_of(l, reader);

	if (of)
		note(l, of, length, ended);
}

uint64_t run_lengths_reach(struct run_lengths *l, uint32_t reader, uint64_t so_far, uint64_t seek)
{
	struct lengths *of = lengths_of(l, reader);
	double on = 1;	       /* the share of such runs that goes on behind an end */
	bool stranger = false; /* most ended before that */

	if (!of)
		return UINT64_MAX;
	if (seek < SEEK_LEAST)
		seek = seek ? SEEK_LEAST : SEEK_USUAL;
	for (int i = 0; i < RUN_ENDS; i++) {
		uint32_t passed = atomic_load_explicit(&of->passed[i], memory_order_relaxed);
		uint32_t ended = atomic_load_explicit(&of->ended[i], memory_order_relaxed);
		uint64_t end = RUN_END_FIRST << i;

		if (end >= so_far)
			on *= (passed + 1.0) /
			      (passed + ended + 1.0 + (stranger && !passed && !ended));
		stranger |= ended > passed;
		if (end >= so_far && (1 - on) * (double)end >= on * (double)seek)
			return end;
	}
	return UINT64_MAX;
}

/* Whether anything is known of one of them. */
static bool is_known(const struct lengths *of)
{
	return atomic_load_explicit(&of->passed[0], memory_order_relaxed) ||
	       atomic_load_explicit(&of->ended[0], memory_order_relaxed);
}

bool run_lengths_go_on(struct run_lengths *l, uint32_t reader, uint64_t length)
{
	struct lengths *of = lengths_of(l, reader);
	int end = end_of(length);

	if (!of)
		return false;
	if (!is_known(of))
		of = &l->of[0];
	if (end >= RUN_ENDS)
		end = RUN_ENDS - 1;
	return atomic_load_explicit(&of->passed[end], memory_order_relaxed) >
	       atomic_load_explicit(&of->ended[end], memory_order_relaxed);
}

void run_lengths_fetched_at(struct run_lengths *l, uint32_t reader, uint32_t cursor)
{
	struct lengths *of = lengths_of(l, reader);

	if (of)
		atomic_store_explicit(&of->last, cursor, memory_order_relaxed);
}

bool run_lengths_stays(struct run_lengths *l, uint32_t reader, uint32_t cursor)
{
	struct lengths *of = lengths_of(l, reader);

	return of && atomic_load_explicit(&of->last, memory_order_relaxed) == cursor;
}

/* ---- those that are watched -------------------------------------------------------------- */

static bool enter(struct lengths *of)
{
	return !atomic_exchange_explicit(&of->busy, true, memory_order_acquire);
}

static void leave(struct lengths *of)
{
	atomic_store_explicit(&of->busy, false, memory_order_release);
}

/* Those that somebody looks at just now stay watched, and may count for the wrong one. */
void run_lengths_forget(struct run_lengths *l, uint32_t reader)
{
	struct lengths *of = lengths_of(l, reader);

	if (!of)
		return;
	for (int i = 0; i < RUN_ENDS; i++) {
		atomic_store(&of->passed[i], 0);
		atomic_store(&of->ended[i], 0);
	}
	atomic_store(&of->patience, 0);
	atomic_store(&of->last, UINT32_MAX);
	if (!enter(of))
		return;
	memset(of->watch, 0, sizeof(of->watch));
	atomic_store(&of->n, 0);
	leave(of);
}

/* Whether W gives its place to another at NOW: a run that has ended, and will hardly go on. */
static bool gives_way(const struct watched *w, uint64_t now)
{
	return !w->size || (w->length && elapsed(w->silent, now) >= HELD_LEAST);
}

/* W is watched from NOW on, if there is room, it is not already, and nobody else is here. */
static void watch(struct lengths *of, const struct watched *w, uint64_t now)
{
	struct watched *place = NULL;

	if (!enter(of))
		return;
	for (int i = 0; i < RUN_LENGTHS_WATCHED; i++) {
		struct watched *at = &of->watch[i];

		if (at->size && at->cursor.index == w->cursor.index &&
		    at->cursor.generation == w->cursor.generation && at->run == w->run) {
			leave(of);
			return;
		}
		if (gives_way(at, now) && (!place || !at->size))
			place = at;
	}
	if (place && !place->size)
		atomic_fetch_add_explicit(&of->n, 1, memory_order_relaxed);
	if (place)
		*place = *w;
	leave(of);
}

/* *W is what is watched at the place I, if it may be over at NOW, and is not any more. */
static bool take_out(struct lengths *of, int i, uint64_t now, struct watched *w)
{
	bool due;

	if (!enter(of))
		return false;
	*w = of->watch[i];
	due = w->size && elapsed(w->began, now) >= SILENT_LEAST;
	if (due) {
		of->watch[i].size = 0;
		atomic_fetch_sub_explicit(&of->n, 1, memory_order_relaxed);
	}
	leave(of);
	return due;
}

/* Whether the reader OF of C, which W is of, wants no more of what there is. */
static bool has_ended(const struct lengths *of, const struct cursor *c, const struct watched *w,
		      uint64_t now)
{
	uint64_t patience = atomic_load_explicit(&of->patience, memory_order_relaxed);
	uint64_t silence = elapsed(w->began, c->used);

	if (silence < SILENT_LEAST)
		silence = SILENT_LEAST;
	if (silence > SILENT_MOST)
		silence = SILENT_MOST;
	if (silence < patience)
		silence = patience;
	if (c->next > c->done_end)
		silence = SILENT_WAITING;
	return c->next < w->size && elapsed(c->used, now) >= silence;
}

/* Whether a run of LENGTH that began at START of a file of SIZE may as well have ended with that. */
static bool is_whole(uint64_t start, uint64_t length, uint64_t size)
{
	return start + (RUN_END_FIRST << end_of(length)) >= size;
}

/* W was taken to have ended, and has come to LENGTH since. */
static void take_back(struct run_lengths *l, struct lengths *of, const struct watched *w,
		      uint64_t length, uint64_t now)
{
	struct lengths *each[] = {of, &l->of[0]};
	uint64_t gap = elapsed(w->silent, now);
	int end = end_of(w->length);

	if (gap > PATIENCE_MOST)
		gap = PATIENCE_MOST;
	if (gap > atomic_load(&of->patience))
		atomic_store(&of->patience, gap);
	for (int i = 0; i < 2; i++) {
		if (end < RUN_ENDS)
			uncount(&each[i]->ended[end]);
		count_passed(each[i], end, end_of(length));
	}
}

/* Of W, which was taken to have ended and is of LENGTH now: whether it is to be looked at again. */
static bool is_held(struct run_lengths *l, struct lengths *of, const struct watched *w,
		    uint64_t length, uint64_t now)
{
	if (length > w->length) {
		take_back(l, of, w, length, now);
		return false;
	}
	if (length == w->length && elapsed(w->silent, now) < HELD_MOST)
		return true;
	/* rightly so: less patience will do */
	atomic_store(&of->patience, atomic_load(&of->patience) / 2);
	return false;
}

/* How far the run of C, W's, has come; 0: it is another now, or more may have been read than was seen. */
static uint64_t come_to(const struct cursor *c, const struct watched *w)
{
	bool known = c->run == w->run && c->way == WAY_FORWARD && (c->taken || c->charged) &&
		     c->file->unseen < w->began;

	return known ? c->next - c->start : 0;
}

/* What has become of W, at NOW: counted; or, true, it is to be looked at again. */
static bool goes_on(struct readahead *ra, struct lengths *of, struct watched *w, uint64_t now)
{
	struct cursor *c = heur_cursor_get(&ra->table, w->cursor);
	uint64_t length, start, used;
	bool ended, whole;

	if (!c)
		return false;
	start = c->start;
	length = come_to(c, w);
	whole = c->next >= w->size;
	used = c->used;
	ended = has_ended(of, c, w, now);
	heur_file_put(c->file);
	if (!length)
		return false;
	if (w->length)
		return is_held(ra->lengths, of, w, length, now);
	if (!ended && !whole && end_of(length) < RUN_ENDS && elapsed(w->began, now) < LOOK_LAST)
		return true;
	ended = ended && !is_whole(start, length, w->size);
	note(ra->lengths, of, length, ended);
	w->length = length;
	w->silent = used;
	return ended;
}

static void look_at(struct readahead *ra, struct lengths *of, uint64_t now)
{
	struct watched w;

	if (!atomic_load_explicit(&of->n, memory_order_relaxed))
		return;
	for (int i = 0; i < RUN_LENGTHS_WATCHED; i++)
		if (take_out(of, i, now, &w) && goes_on(ra, of, &w, now))
			watch(of, &w, now);
}

void run_lengths_opened(struct readahead *ra, const struct readahead_read *read,
			struct cursor_ref cursor, uint32_t run)
{
	const struct watched w = {
		.cursor = cursor, .run = run, .size = read->size, .began = read->now};
	struct lengths *of = lengths_of(ra->lengths, read->reader);

	if (!of)
		return;
	look_at(ra, of, read->now);
	watch(of, &w, read->now);
}

/* When the last one of WATCH began. */
static uint64_t last_began(const struct watched *watch)
{
	uint64_t last = 0;

	for (int i = 0; i < RUN_LENGTHS_WATCHED; i++)
		if (watch[i].size && watch[i].began > last)
			last = watch[i].began;
	return last;
}

bool run_lengths_read_on(struct readahead *ra, uint32_t reader, uint64_t length)
{
	struct watched watch[RUN_LENGTHS_WATCHED] = {0};
	struct lengths *of = lengths_of(ra->lengths, reader);
	uint32_t beyond, stayed;
	int end = end_of(length);
	uint64_t last;
	bool in;

	if (!of || end >= RUN_ENDS)
		return false;
	in = enter(of); /* else those that are over must do */
	if (in)
		memcpy(watch, of->watch, sizeof(watch));
	beyond = atomic_load(&of->passed[end]);
	stayed = atomic_load(&of->ended[end]);
	if (in)
		leave(of);
	last = last_began(watch);
	for (int i = 0; i < RUN_LENGTHS_WATCHED; i++) {
		const struct watched *w = &watch[i];
		struct cursor *c = NULL;
		uint64_t come;

		if (w->size && !w->length) /* else it is counted already */
			c = heur_cursor_get(&ra->table, w->cursor);
		if (!c)
			continue;
		come = come_to(c, w);
		beyond += come > length;
		/* its reader has begun elsewhere since */
		stayed += come && come <= length && c->next < w->size && c->used < last;
		heur_file_put(c->file);
	}
	return beyond > stayed;
}

void run_lengths_sweep(struct readahead *ra, uint64_t now)
{
	for (uint32_t i = 1; i <= READERS_MAX; i++)
		look_at(ra, &ra->lengths->of[i], now);
}
