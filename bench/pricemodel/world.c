/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Events in order of time (a binary heap), stations, and a run from begin to end. See world.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void swap(struct event *a, struct event *b)
{
	struct event t = *a;

	*a = *b;
	*b = t;
}

void schedule(struct world *w, int64_t at, event_fn *what, void *arg)
{
	unsigned int i = w->n_events++;

	if (w->n_events > w->events_max) {
		w->events_max = w->events_max ? w->events_max * 2 : 1024;
		w->events = realloc(w->events, w->events_max * sizeof(*w->events));
		if (!w->events)
			abort();
	}
	w->events[i] = (struct event){at, w->order++, what, arg};
	for (; i && earlier(&w->events[i], &w->events[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->events[i], &w->events[(i - 1) / 2]);
}

struct event next_event(struct world *w)
{
	struct event first = w->events[0], *e = w->events;
	unsigned int i = 0, child;

	e[0] = e[--w->n_events];
	while ((child = 2 * i + 1) < w->n_events) {
		if (child + 1 < w->n_events && earlier(&e[child + 1], &e[child]))
			child++;
		if (!earlier(&e[child], &e[i]))
			break;
		swap(&e[child], &e[i]);
		i = child;
	}
	return first;
}

int64_t serve(struct station *s, int64_t now, double work)
{
	s->free_at = (s->free_at > now ? s->free_at : now) + ns(work / s->rate);
	s->work += work;
	return s->free_at;
}

uint32_t random_below(struct world *w, uint32_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((w->random >> 32) * n >> 32);
}

/* Exponentially distributed. */
double random_around(struct world *w, double mean)
{
	return -mean * log((random_below(w, 1u << 30) + 1.0) / (1u << 30));
}

void list_add(struct list *l, struct request *r)
{
	r->next = NULL;
	*(l->first ? &l->last->next : &l->first) = r;
	l->last = r;
	l->n++;
}

struct request *list_take(struct list *l)
{
	struct request *r = l->first;

	if (r) {
		l->first = r->next;
		l->n--;
	}
	return r;
}
