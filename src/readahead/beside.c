/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was asked for of a file lately, by whichever cursor. See beside.h. */
#include "readahead/beside.h"

#include <string.h>

#include "common/clock.h"
#include "readahead/file_memory.h"
#include "readahead/heur_table.h"

/* What one cursor asks for in this part of BESIDE_TIME is one range. */
#define TOGETHER_SHARE 10

struct asked {
	uint64_t from, to;   /* offsets */
	uint64_t time;	     /* ns */
	struct cursor *by;   /* it may have been recycled: */
	uint64_t generation; /* ... then it is of another one, */
	uint32_t run;	     /* ... or goes elsewhere */
};

struct beside {
	struct asked of[BESIDE_MAX]; /* by where they begin */
	uint32_t n;
};

/* Whether C asks for ranges of the file without gaps; where these begin among its positions. */
static bool asks_for_ranges(const struct cursor *c, uint64_t *base)
{
	*base = c->way == WAY_STRIDE ? WAY_RECORDS : 0;
	return c->way == WAY_FORWARD || (c->way == WAY_STRIDE && c->record >= c->step);
}

/* Files that one cursor reads need none. */
static struct beside *beside_of(struct heur_file *f)
{
	struct heur_table *t = f->table;

	if (!f->beside && f->set.n >= 2)
		f->beside = file_memory_new(&t->besides, t->size / BESIDE_FILES_SHARE + 1,
					    sizeof(*f->beside));
	return f->beside;
}

void beside_free(struct heur_file *f)
{
	file_memory_free(&f->table->besides, f->beside);
	f->beside = NULL;
}

/* Whether A was asked for by a cursor of F that goes on with that. */
static bool is_of(const struct asked *a, const struct heur_file *f)
{
	return __atomic_load_n(&a->by->file, __ATOMIC_ACQUIRE) == f &&
	       a->by->generation == a->generation && a->by->run == a->run;
}

/* Asked for so long ago that it may have gone. */
static bool is_old(const struct asked *a, uint64_t now)
{
	return elapsed(a->time, now) > BESIDE_TIME;
}

static void drop(struct beside *b, uint32_t i)
{
	memmove(&b->of[i], &b->of[i + 1], (--b->n - i) * sizeof(b->of[0]));
}

/* Room for one more: without the oldest. */
static void make_room(struct beside *b)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < b->n; i++)
		if (b->of[i].time < b->of[oldest].time)
			oldest = i;
	if (b->n == BESIDE_MAX)
		drop(b, oldest);
}

/* Whether what C asks for from FROM on, at NOW, is of A: it goes on with it. */
static bool goes_on(const struct asked *a, const struct cursor *c, uint64_t from, uint64_t now)
{
	return a->to == from && a->by == c && is_of(a, c->file) &&
	       now - a->time < BESIDE_TIME / TOGETHER_SHARE;
}

void beside_note(const struct cursor *c, uint64_t from, uint64_t to, uint64_t now)
{
	struct beside *b = beside_of(c->file);
	uint64_t base;
	uint32_t i;

	if (!b || !asks_for_ranges(c, &base))
		return;
	for (i = 0; i < b->n; i++)
		if (goes_on(&b->of[i], c, from - base, now)) {
			b->of[i].to = to - base;
			return;
		}
	make_room(b);
	for (i = b->n++; i > 0 && b->of[i - 1].from > from - base; i--)
		b->of[i] = b->of[i - 1];
	b->of[i] = (struct asked){.from = from - base,
				  .to = to - base,
				  .time = now,
				  .by = (struct cursor *)c,
				  .generation = c->generation,
				  .run = c->run};
}

uint64_t beside_skip(const struct cursor *c, uint64_t from, uint64_t now, uint64_t *next)
{
	const struct beside *b = c->file->beside;
	uint64_t base, at;

	*next = UINT64_MAX;
	if (!b || !asks_for_ranges(c, &base))
		return from;
	at = from - base;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct asked *a = &b->of[i];

		if (is_old(a, now) || a->to <= at)
			continue;
		if (a->from > at) {
			*next = base + a->from;
			break;
		}
		at = a->to;
	}
	return base + at;
}

uint64_t beside_before(const struct cursor *c, uint64_t from, uint64_t now)
{
	const struct beside *b = c->file->beside;
	uint64_t base, end = 0;

	if (!b || !asks_for_ranges(c, &base))
		return 0;
	for (uint32_t i = 0; i < b->n && b->of[i].from < from - base; i++)
		if (!is_old(&b->of[i], now) && b->of[i].to > end)
			end = b->of[i].to;
	return end ? base + end : 0;
}

struct cursor *beside_owner(const struct cursor *c, uint64_t offset)
{
	const struct heur_file *f = c->file;
	uint32_t n = f->beside ? f->beside->n : 0;

	for (uint32_t i = 0; i < n && f->beside->of[i].from <= offset; i++) {
		const struct asked *a = &f->beside->of[i];

		if (offset < a->to && a->by != c && is_of(a, f))
			return a->by;
	}
	return NULL;
}

bool beside_passed(const struct cursor *c, const struct cursor *other, uint64_t at)
{
	const struct cursor *next = TAILQ_NEXT(c, order);

	return next && next != other && next->way == c->way && next->start <= at;
}

void beside_never(struct heur_file *f, uint64_t from, uint64_t to)
{
	for (uint32_t i = f->beside ? f->beside->n : 0; i-- > 0;) {
		struct asked *a = &f->beside->of[i];

		if (a->to <= from || a->from >= to)
			continue;
		if (a->from < from)
			a->to = from;
		else
			drop(f->beside, i);
	}
}

/* Whether OFFSET, which is A's, has come for the cursor of F that asked for it; one that is gone is believed to have. */
static bool has_come(const struct asked *a, const struct heur_file *f, uint64_t offset)
{
	if (!is_of(a, f))
		return true;
	return (a->by->way == WAY_STRIDE ? WAY_RECORDS : 0) + offset < a->by->done_end;
}

bool beside_gone(struct heur_file *f, uint64_t offset)
{
	for (uint32_t i = 0; f->beside && i < f->beside->n; i++) {
		const struct asked *a = &f->beside->of[i];

		if (a->from <= offset && offset < a->to && has_come(a, f, offset)) {
			f->beside->n = 0;
			return true;
		}
	}
	return false;
}
