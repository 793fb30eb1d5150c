/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A binary heap of moments. See events.h. */
#include "events.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct event *a, struct event *b)
{
	struct event t = *a;

	*a = *b;
	*b = t;
}

static void make_room(struct events *e)
{
	if (e->n < e->room)
		return;
	e->room = e->room ? 2 * e->room : 256;
	e->heap = realloc(e->heap, e->room * sizeof(*e->heap));
	if (!e->heap)
		abort();
}

void events_at(struct events *e, uint64_t at, void (*fire)(void *arg), void *arg)
{
	size_t i = e->n;

	make_room(e);
	e->heap[e->n++] = (struct event){
		.at = at > e->now ? at : e->now, .order = e->entered++, .fire = fire, .arg = arg};
	for (; i && before(&e->heap[i], &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&e->heap[i], &e->heap[(i - 1) / 2]);
}

static void sink(struct events *e)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < e->n) {
		if (child + 1 < e->n && before(&e->heap[child + 1], &e->heap[child]))
			child++;
		if (!before(&e->heap[child], &e->heap[i]))
			return;
		swap(&e->heap[child], &e->heap[i]);
		i = child;
	}
}

bool events_step(struct events *e, uint64_t limit)
{
	struct event next;

	if (!e->n || e->heap[0].at > limit)
		return false;
	next = e->heap[0];
	e->heap[0] = e->heap[--e->n];
	sink(e);
	e->now = next.at;
	next.fire(next.arg);
	return true;
}

void events_fini(struct events *e)
{
	free(e->heap);
}
