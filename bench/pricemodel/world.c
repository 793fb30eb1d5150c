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

static struct event next_event(struct world *w)
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

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct result result_of(struct world *w)
{
	struct result r = {.foreground = w->n_latencies / w->workload->seconds,
			   .write = w->write_sum / w->published};
	double wanted = 0, written = 0;

	for (unsigned int i = 0; i < w->workload->writers; i++) {
		wanted += w->writers[i].wanted;
		written += w->writers[i].written;
	}
	r.written = wanted > 0 ? written / wanted : 1;
	for (int i = 0; i < PRICE_RESOURCES; i++)
		r.price[i] = w->price_sum[i] / w->published;
	for (unsigned int i = 0; i < w->n_latencies; i++)
		r.mean += w->latencies[i] / w->n_latencies;
	qsort(w->latencies, w->n_latencies, sizeof(double), by_size);
	if (w->n_latencies) {
		r.p50 = w->latencies[w->n_latencies / 2];
		r.p99 = w->latencies[w->n_latencies * 99ull / 100];
	}
	return r;
}

struct result world_run(const struct workload *workload, const struct auction *auction,
			bool writers)
{
	struct world *w = calloc(1, sizeof(*w));
	struct workload used = *workload;
	struct result result;

	if (!w)
		abort();
	if (!writers)
		used.writers = 0;
	w->workload = &used;
	w->auction = auction;
	w->random = 1;
	w->end = ns(workload->seconds);
	server_start(w);
	clients_start(w);
	while (w->n_events) {
		struct event e = next_event(w);

		if (e.at > w->end)
			break;
		w->now = e.at;
		e.what(w, e.arg);
	}
	result = result_of(w);
	server_stop(w);
	free(w->events);
	free(w->latencies);
	free(w); /* requests still under way go with the program */
	return result;
}
