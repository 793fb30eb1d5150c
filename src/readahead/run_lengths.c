/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What runs came to, and those that are watched. See run_lengths.h. */
#include "readahead/run_lengths.h"

#include <stdatomic.h>
#include <stdlib.h>

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
	_Atomic uint64_t patience; /* ns: he went on after having been silent for so long */
	_Atomic uint8_t n;	   /* watched now */
	_Atomic bool busy;	   /* guards what follows */
	struct watched watch[RUN_LENGTHS_WATCHED];
};

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

void run_lengths_note(struct run_lengths *l, uint32_t reader, uint64_t length, bool ended)
{
	struct lengths *of;
	uint64_t end = RUN_END_FIRST;

	if (!reader || reader > READERS_MAX)
		return;
	of = &l->of[reader];
	for (int i = 0; i < RUN_ENDS; i++, end *= 2) {
		if (length <= end) {
			if (ended)
				count(&of->ended[i], &of->passed[i]);
			return;
		}
		count(&of->passed[i], &of->ended[i]);
	}
}

uint64_t run_lengths_reach(const struct run_lengths *l, uint32_t reader, uint64_t so_far,
			   uint64_t seek)
{
	const struct lengths *of;
	uint64_t end = RUN_END_FIRST;
	double on = 1;	       /* the share of such runs that goes on behind END */
	bool stranger = false; /* most ended before that */

	if (!reader || reader > READERS_MAX)
		return UINT64_MAX;
	of = &l->of[reader];
	if (seek < SEEK_LEAST)
		seek = seek ? SEEK_LEAST : SEEK_USUAL;
	for (int i = 0; i < RUN_ENDS; i++, end *= 2) {
		uint32_t passed = atomic_load_explicit(&of->passed[i], memory_order_relaxed);
		uint32_t ended = atomic_load_explicit(&of->ended[i], memory_order_relaxed);

		if (end >= so_far)
			on *= (passed + 1.0) /
			      (passed + ended + 1.0 + (stranger && !passed && !ended));
		stranger |= ended > passed;
		if (end < so_far)
			continue;
		if ((1 - on) * (double)end >= on * (double)seek)
			return end;
	}
	return UINT64_MAX;
}

bool run_lengths_go_on(const struct run_lengths *l, uint32_t reader, uint64_t length)
{
	uint32_t passed, ended;
	int i = 0;

	if (!reader || reader > READERS_MAX)
		return false;
	while (i < RUN_ENDS - 1 && RUN_END_FIRST << i < length)
		i++;
	passed = atomic_load_explicit(&l->of[reader].passed[i], memory_order_relaxed);
	ended = atomic_load_explicit(&l->of[reader].ended[i], memory_order_relaxed);
	return passed > ended;
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
	uint64_t end = RUN_END_FIRST;

	while (end < length)
		end *= 2;
	return start + end >= size;
}

/* W, a run of READER, was taken to have ended, and has come to LENGTH since. */
static void take_back(struct run_lengths *l, uint32_t reader, const struct watched *w,
		      uint64_t length, uint64_t now)
{
	struct lengths *of = &l->of[reader];
	uint64_t gap = elapsed(w->silent, now), end = RUN_END_FIRST;
	int i = 0;

	if (gap > PATIENCE_MOST)
		gap = PATIENCE_MOST;
	if (gap > atomic_load(&of->patience))
		atomic_store(&of->patience, gap);
	for (; i < RUN_ENDS && end < w->length; end *= 2)
		i++;
	if (i == RUN_ENDS)
		return;
	uncount(&of->ended[i]);
	for (; i < RUN_ENDS && end < length; i++, end *= 2)
		count(&of->passed[i], &of->ended[i]);
}

/* What has become of W, at NOW: counted for READER; or, true, it is to be looked at again. */
static bool goes_on(struct readahead *ra, uint32_t reader, struct watched *w, uint64_t now)
{
	struct cursor *c = heur_cursor_get(&ra->table, w->cursor);
	uint64_t length, start, used;
	_Atomic uint64_t *patience = &ra->lengths->of[reader].patience;
	bool ended, known, whole;

	if (!c)
		return false;
	known = c->run == w->run && c->way == WAY_FORWARD && (c->taken || c->charged) &&
		c->file->unseen < w->began;
	start = c->start;
	length = c->next - start;
	whole = c->next >= w->size;
	used = c->used;
	ended = has_ended(&ra->lengths->of[reader], c, w, now);
	heur_file_put(c->file);
	if (!known)
		return false;
	if (w->length) {
		bool held = length == w->length && elapsed(w->silent, now) < HELD_MOST;

		if (length > w->length)
			take_back(ra->lengths, reader, w, length, now);
		else if (!held) /* rightly so: less patience will do */
			atomic_store(patience, atomic_load(patience) / 2);
		return held;
	}
	if (!ended && !whole && length <= RUN_END_FIRST << (RUN_ENDS - 1) &&
	    elapsed(w->began, now) < LOOK_LAST)
		return true;
	ended = ended && !is_whole(start, length, w->size);
	run_lengths_note(ra->lengths, reader, length, ended);
	w->length = length;
	w->silent = used;
	return ended;
}

/* Looks at those of READER. */
static void look_at(struct readahead *ra, uint32_t reader, uint64_t now)
{
	struct lengths *of = &ra->lengths->of[reader];

	for (int i = 0; i < RUN_LENGTHS_WATCHED; i++) {
		struct watched w;

		if (take_out(of, i, now, &w) && goes_on(ra, reader, &w, now))
			watch(of, &w, now);
	}
}

void run_lengths_opened(struct readahead *ra, const struct readahead_read *read,
			struct cursor_ref cursor, uint32_t run)
{
	const struct watched w = {cursor, run, read->size, read->now, 0, 0};

	if (!read->reader || read->reader > READERS_MAX)
		return;
	look_at(ra, read->reader, read->now);
	watch(&ra->lengths->of[read->reader], &w, read->now);
}

void run_lengths_sweep(struct readahead *ra, uint64_t now)
{
	for (uint32_t i = 1; i <= READERS_MAX; i++)
		if (atomic_load_explicit(&ra->lengths->of[i].n, memory_order_relaxed))
			look_at(ra, i, now);
}
