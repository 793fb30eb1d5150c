/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients in a closed loop on a simulated disk that does one thing at a time:
 *
 *   random   n reads of 8 KiB outstanding, the next some time after each answer
 *   stream   chunks as long as the queue advises, the next one queued when one begins
 *   begin    chunks that begin a stream each, and are waited for; no stream goes on
 *   writer   write-backs as long as the queue advises, a COMMIT waiting for each
 */
#ifndef UNIT_CLIENT_LOOP_H
#define UNIT_CLIENT_LOOP_H

#include "disk.h"

enum work { RANDOM, STREAM, BEGIN, WRITER };

#define ITEMS_MAX 4096
#define USEC	  1000ull
#define THINK	  (300 * USEC)

struct client {
	struct flow_id id;
	enum work work;
	unsigned int outstanding;
	uint64_t stall; /* ns: its next read takes so much longer */
	/* Counted in the present window. */
	uint64_t disk_time, served, wait_max, bytes;
};

struct item {
	struct sched_req req;	/* first */
	struct sched_req waits; /* who begins waits for the first of it */
	struct client *client;
	uint64_t ready; /* ns: it is asked for then */
	bool gone;	/* no more */
};

struct loop {
	struct sched_queue *q;
	struct disk disk;
	struct client *clients;
	unsigned int n_clients, n_items;
	struct item items[ITEMS_MAX];
	uint64_t seed;
};

static inline void ask(struct loop *l, struct item *i)
{
	struct client *c = i->client;
	unsigned int n = (unsigned int)(i - l->items);
	uint64_t place = random_below(&l->seed, 1000000);

	i->req = (struct sched_req){.flow = c->id, .file = n + 1, .offset = place * 8 * KIB};
	i->req.block = (uint64_t)n * MIB + i->req.offset;
	switch (c->work) {
	case RANDOM:
		i->req.class = SCHED_DEMAND;
		i->req.len = 8 * KIB;
		break;
	case STREAM:
		i->req.class = SCHED_PREFETCH;
		i->req.owner = n + 1;
		i->req.len = sched_chunk(l->q);
		break;
	case BEGIN:
		i->req.class = SCHED_PREFETCH;
		i->req.owner = 1 + random_below(&l->seed, 1000);
		i->req.begins = true;
		i->req.len = sched_chunk(l->q);
		break;
	case WRITER:
		i->req.class = SCHED_WRITEBACK;
		i->req.wanted = true;
		i->req.len = 4 * MIB;
		break;
	}
	assert_int_equal(sched_submit(l->q, &i->req, l->disk.now), SCHED_ADDED);
	if (c->work != BEGIN)
		return;
	i->waits = (struct sched_req){.class = SCHED_DEMAND,
				      .flow = c->id,
				      .file = i->req.file,
				      .offset = i->req.offset,
				      .len = 128 * KIB};
	assert_int_equal(sched_submit(l->q, &i->waits, l->disk.now), SCHED_WAITS);
}

/* The item asked for next; NULL: all are under way. */
static inline struct item *next_item(struct loop *l)
{
	struct item *next = NULL;

	for (unsigned int n = 0; n < l->n_items; n++)
		if (l->items[n].req.state == REQ_IDLE && !l->items[n].gone &&
		    (!next || l->items[n].ready < next->ready))
			next = &l->items[n];
	return next;
}

/* Time passes until NOW: what is asked for meanwhile comes at its time. */
static inline void pass(struct loop *l, uint64_t now)
{
	struct item *i;

	while ((i = next_item(l)) && i->ready <= now) {
		if (i->ready > l->disk.now)
			l->disk.now = i->ready;
		ask(l, i);
	}
	l->disk.now = now;
}

/* LEN bytes at BLOCK are read. */
static inline void fetch(struct loop *l, uint64_t block, uint64_t len)
{
	uint64_t begun = l->disk.now, end;

	disk_read(&l->disk, block, len);
	end = l->disk.now;
	l->disk.now = begun;
	pass(l, end);
	sched_observe(l->q, block, len, end - begun);
}

static inline void serve(struct loop *l, struct sched_req *r);

/* A chunk goes in steps, with gaps between them. */
static inline void serve_chunk(struct loop *l, struct sched_req *r)
{
	uint64_t step = 512 * KIB, slice = l->disk.now;

	if (r->begins)
		cut_to_turn(l->q, r);
	for (uint64_t at = 0; at < r->len; at += step) {
		uint64_t n = r->len - at < step ? r->len - at : step;
		struct sched_req *small;
		bool first = true;

		fetch(l, r->block + at, n);
		while ((small = sched_next_in_gap(l->q, r, l->disk.now - slice, first,
						  l->disk.now))) {
			first = false;
			serve(l, small);
		}
		if (!first)
			slice = l->disk.now;
	}
}

static inline void serve(struct loop *l, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct item *i = (struct item *)r;

	assert_false(r->dropped);
	if (r->class == SCHED_PREFETCH) {
		serve_chunk(l, r);
	} else if (r->class == SCHED_WRITEBACK) {
		pass(l, l->disk.now + DISK_SEEK + sched_writeback_turn(l->q, l->disk.now).slice);
		l->disk.head = UINT64_MAX;
	} else {
		fetch(l, r->block, r->io_len);
		pass(l, l->disk.now + i->client->stall);
		i->client->stall = 0;
	}
	sched_done(l->q, r, l->disk.now, &woken);
	assert_true((i->client->work == BEGIN) == !TAILQ_EMPTY(&woken));
	i->client->served++;
	i->client->bytes += r->len;
	i->client->disk_time += r->disk_time;
	if (l->disk.now - r->submitted > i->client->wait_max)
		i->client->wait_max = l->disk.now - r->submitted;
	i->ready = l->disk.now + (i->client->work == RANDOM ? THINK : 0);
}

/* Nothing may go to the disk now. */
static inline void idle(struct loop *l)
{
	uint64_t hold = sched_hold_until(l->q, l->disk.now);
	struct item *next = next_item(l);

	if (next && next->ready < hold)
		hold = next->ready;
	assert_true(hold != UINT64_MAX);
	pass(l, hold > l->disk.now ? hold : l->disk.now + 100 * USEC);
}

/* Runs for NS, then begins to count, and runs for NS again. */
static inline void run(struct loop *l, uint64_t ns)
{
	for (int window = 0; window < 2; window++) {
		uint64_t end = l->disk.now + ns;

		for (unsigned int c = 0; c < l->n_clients; c++)
			l->clients[c].disk_time = l->clients[c].served = l->clients[c].wait_max =
				l->clients[c].bytes = 0;
		while (l->disk.now < end) {
			struct sched_req *r;

			pass(l, l->disk.now);
			r = sched_next(l->q, l->disk.now);
			if (r)
				serve(l, r);
			else
				idle(l);
		}
	}
	assert_null(sched_check(l->q));
}

static inline struct loop *loop_new(const char *policy, struct client *clients, unsigned int n)
{
	struct sched_limits lim = default_limits();
	struct loop *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	lim.cost.demand_wait = 65 * MSEC;
	lim.queue_max = 16384;
	lim.writeback_share = 0.82;
	lim.writeback_turn = 130 * MSEC;
	lim.writeback_idle = 20 * MSEC;
	l->q = queue_new(sched_policy_find(policy), &lim);
	learn_disk(&l->q->cost);
	l->disk.now = SEC;
	l->seed = 42;
	l->clients = clients;
	l->n_clients = n;
	for (unsigned int c = 0; c < n; c++)
		for (unsigned int i = 0; i < clients[c].outstanding; i++) {
			assert_true(l->n_items < ITEMS_MAX);
			l->items[l->n_items++].client = &clients[c];
		}
	return l;
}

static inline void loop_free(struct loop *l)
{
	queue_free(l->q);
	free(l);
}

static inline double share(const struct client *clients, unsigned int n, unsigned int of)
{
	uint64_t sum = 0;

	for (unsigned int c = 0; c < n; c++)
		sum += clients[c].disk_time;
	return (double)clients[of].disk_time / (double)sum;
}

static inline void show(const char *what, const struct client *clients, unsigned int n)
{
	print_message("%s:\n", what);
	for (unsigned int c = 0; c < n; c++)
		print_message(
			"  client %d: share %.3f, %5.1f/s, %6.1f MB/s, waits at most %.0f ms\n",
			(int)clients[c].id.client, share(clients, n, c),
			(double)clients[c].served / 20, (double)clients[c].bytes / 20e6,
			(double)clients[c].wait_max / 1e6);
}

#endif
