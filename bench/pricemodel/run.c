/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One run: the server and its clients are put together, and events happen until the time is over. */
#include <stdlib.h>

#include "world.h"

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
	w->arrive = server_arrive;
	w->done = client_done;
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
