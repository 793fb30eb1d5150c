/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients. A reader keeps some requests outstanding during its working hours. A writer's
 * application writes in bursts into the client's memory, and blocks when that is full; its
 * write-back daemon looks at the prices (section 2.3): it sends while the client's own price, from
 * the share of memory that is dirty, is at least the server's, and keeps the data while it is not;
 * after 30 s it sends anyway.
 */
#include <stdlib.h>

#include "world.h"

#define TICK	  (10 * MS)
#define IN_FLIGHT (16.0 * WRITE_SIZE)
#define DEADLINE  30 /* s */
/* At the ceiling the client bids a little more than the server asks: section 3.2. */
#define EPSILON 1e-6

static struct request *request_new(struct world *w, unsigned int client, int kind, uint64_t bytes)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->kind = kind;
	r->client = client;
	r->bytes = bytes;
	r->issued = w->now;
	return r;
}

static void send(struct world *w, void *arg)
{
	struct request *r = arg;
	double bytes = r->kind == READ ? 128 : (double)r->bytes;

	schedule(w, serve(&w->in, w->now, bytes), w->arrive, r);
}

/* ---- foreground ---- */

/* How much of the foreground is at work now, 0..1. */
static double level(const struct world *w)
{
	static const double levels[] = {0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25};

	return levels[w->now / (LEVEL_SECONDS * SECOND) %
		      (int)(sizeof(levels) / sizeof(levels[0]))];
}

static void read_next(struct world *w, void *arg)
{
	const struct workload *k = w->workload;
	struct request *r = arg;
	double span = k->span;

	if (k->grows)
		span *= 0.2 + 0.8 * level(w);
	else if (r->client >= level(w) * k->readers) { /* not its turn in this level */
		schedule(w, (w->now / SECOND + 1) * SECOND, read_next, r);
		return;
	}
	r->issued = w->now;
	r->kind = k->stable ? STABLE : READ;
	r->bytes = (uint64_t)k->read_size;
	r->offset = random_below(w, (uint32_t)(span / k->read_size)) * r->bytes;
	send(w, r);
}

static void note_latency(struct world *w, int64_t latency)
{
	if (w->n_latencies == w->latencies_max) {
		w->latencies_max = w->latencies_max ? 2 * w->latencies_max : 4096;
		w->latencies = realloc(w->latencies, w->latencies_max * sizeof(double));
		if (!w->latencies)
			abort();
	}
	w->latencies[w->n_latencies++] = (double)latency / 1e9;
}

/* ---- background ---- */

static double own_price(const struct world *w, const struct writer *c)
{
	double p = price_of(w->auction->k_client, c->dirty / w->workload->client_memory) *
		   (1 + EPSILON);

	return p > w->auction->p_min ? p : w->auction->p_min;
}

static double overdue(const struct world *w, const struct writer *c)
{
	int64_t second = w->now / SECOND;
	double young = 0;

	for (int64_t i = second > DEADLINE ? second - DEADLINE : 0; i <= second; i++)
		young += c->age[i % 64];
	return c->dirty - young;
}

static bool willing(const struct world *w, const struct writer *c)
{
	return w->auction->off || own_price(w, c) >= c->server_price || overdue(w, c) > 0;
}

static void flush(struct world *w, unsigned int n)
{
	struct writer *c = &w->writers[n];

	while (c->dirty - c->in_flight >= WRITE_SIZE && c->in_flight < IN_FLIGHT && willing(w, c)) {
		c->in_flight += WRITE_SIZE;
		schedule(w, serve(&c->link, w->now, WRITE_SIZE), send,
			 request_new(w, n, ASYNC, WRITE_SIZE));
	}
}

/* The application writes what it wants, as far as there is memory. */
static void produce(struct world *w, struct writer *c)
{
	const struct workload *k = w->workload;
	double step = (double)TICK / 1e9, room = k->client_memory - c->dirty, bytes;

	if (w->now < c->burst_from)
		return;
	bytes = k->burst_rate * step;
	c->wanted += bytes;
	bytes = bytes < room ? bytes : room;
	c->written += bytes;
	c->dirty += bytes;
	c->age[w->now / SECOND % 64] += bytes;
	if (w->now >= c->burst_from + ns(k->burst / k->burst_rate))
		c->burst_from += ns(k->period);
}

static void writer_tick(struct world *w, void *arg)
{
	struct writer *c = arg;

	c->age[(w->now / SECOND + 1) % 64] = 0;
	if (w->now >= c->ask_at) {
		c->server_price = w->prices.write;
		c->ask_at += SECOND;
	}
	produce(w, c);
	flush(w, (unsigned int)(c - w->writers));
	schedule(w, w->now + TICK, writer_tick, c);
}

void client_done(struct world *w, void *arg)
{
	struct request *r = arg;
	struct writer *c;

	if (r->kind != ASYNC) {
		note_latency(w, w->now - r->issued);
		schedule(w, w->now + ns(random_around(w, w->workload->think)), read_next, r);
		return;
	}
	c = &w->writers[r->client];
	c->in_flight -= (double)r->bytes;
	c->dirty -= (double)r->bytes;
	flush(w, r->client);
	free(r);
}

void clients_start(struct world *w)
{
	const struct workload *k = w->workload;

	for (unsigned int i = 0; i < k->readers; i++)
		schedule(w, i * MS, read_next, request_new(w, i, READ, 0));
	for (unsigned int i = 0; i < k->writers; i++) {
		w->writers[i].link.rate = k->client_link;
		w->writers[i].burst_from = ns(k->period * (i + 0.3) / k->writers);
		w->writers[i].ask_at = SECOND * i / k->writers;
		schedule(w, TICK, writer_tick, &w->writers[i]);
	}
}
