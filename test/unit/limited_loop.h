/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Floors and ceilings in the dispatch queue: clients in a closed loop on a simulated disk that does one
 * thing at a time.
 *
 *   random   reads of 8 KiB, as many outstanding as is said
 *   stream   chunks as long as the queue advises, the next one queued when one begins
 *   writer   write-backs of 4 MiB, a COMMIT waiting for each
 *
 * What arrives is noted with its time, so that any window can be looked at afterwards.
 */
#ifndef UNIT_LIMITED_LOOP_H
#define UNIT_LIMITED_LOOP_H

#include "disk.h"

enum work { RANDOM, STREAM, WRITER };

#define MB	    UINT64_C(1000000)
#define CLIENTS_MAX 20
#define ITEMS_MAX   64
#define STEP	    (512 * KIB)
#define SLOT	    (50 * MSEC) /* what arrives is noted by these */
#define SLOTS	    2000

struct client {
	struct flow_id id;
	enum work work;
	unsigned int outstanding;
	uint64_t think; /* ns between an answer and the next request */
	uint64_t bytes[SLOTS], requests, disk_time, wait_max;
};

struct item {
	struct sched_req req; /* first */
	struct client *client;
	uint64_t ready; /* ns: it is asked for then */
};

struct loop {
	struct sched_queue *q;
	struct disk disk;
	struct client clients[CLIENTS_MAX];
	struct item items[ITEMS_MAX];
	unsigned int n_clients, n_items;
	uint64_t seed, idle, looks; /* ns without anything to do; how often it was asked in vain */
	struct sched_shares shares;
};

/* ---- the loop ---------------------------------------------------------------------------- */

static inline void ask(struct loop *l, struct item *i)
{
	struct client *c = i->client;
	unsigned int n = (unsigned int)(i - l->items);
	uint64_t offset = i->req.offset + i->req.len;

	if (c->work == RANDOM)
		offset = random_below(&l->seed, 1000000) * 8 * KIB;
	i->req = (struct sched_req){.flow = c->id, .file = n + 1, .offset = offset};
	i->req.block = (uint64_t)n * 100000 * MIB + offset;
	i->req.class = c->work == RANDOM   ? SCHED_DEMAND
		       : c->work == STREAM ? SCHED_PREFETCH
					   : SCHED_WRITEBACK;
	i->req.wanted = c->work == WRITER;
	i->req.owner = n + 1;
	i->req.len = c->work == RANDOM ? 8 * KIB : c->work == STREAM ? sched_chunk(l->q) : 4 * MIB;
	assert_int_equal(sched_submit(l->q, &i->req, l->disk.now), SCHED_ADDED);
}

/* All that is to be asked for by now. */
static inline void ask_all(struct loop *l)
{
	for (unsigned int n = 0; n < l->n_items; n++)
		if (l->items[n].req.state == REQ_IDLE && l->items[n].ready <= l->disk.now)
			ask(l, &l->items[n]);
}

static inline void arrived(struct loop *l, struct client *c, uint64_t bytes)
{
	assert_true(l->disk.now / SLOT < SLOTS);
	c->bytes[l->disk.now / SLOT] += bytes;
}

static inline void end(struct loop *l, struct item *i)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	uint64_t wait = l->disk.now - i->req.submitted;
	const char *wrong;

	i->client->wait_max = wait > i->client->wait_max ? wait : i->client->wait_max;
	i->client->requests++;
	sched_done(l->q, &i->req, l->disk.now, &woken);
	i->client->disk_time += i->req.disk_time;
	i->ready = l->disk.now + i->client->think;
	assert_true(TAILQ_EMPTY(&woken));
	wrong = sched_check(l->q);
	if (wrong)
		fail_msg("%s", wrong);
}

static inline void serve(struct loop *l, struct item *i);

static inline void serve_gap(struct loop *l, struct item *chunk, uint64_t since)
{
	bool first = true;
	struct sched_req *r;

	ask_all(l);
	while ((r = sched_next_in_gap(l->q, &chunk->req, l->disk.now - since, first,
				      l->disk.now))) {
		serve(l, (struct item *)r);
		first = false;
	}
}

static inline void serve(struct loop *l, struct item *i)
{
	uint64_t left, since = l->disk.now, n, at = i->req.block;

	if (i->req.class == SCHED_PREFETCH)
		sched_shorten(l->q, &i->req, sched_chunk_of(l->q, &i->req));
	for (left = i->req.io_len; left; left -= n) {
		n = left < STEP ? left : STEP;
		if (i->req.class == SCHED_WRITEBACK)
			disk_read(&l->disk, at, n);
		else
			sched_observe(l->q, at, n, disk_read(&l->disk, at, n));
		at += n;
		arrived(l, i->client, n);
		if (i->req.class == SCHED_PREFETCH && left > n)
			serve_gap(l, i, since);
	}
	end(l, i);
}

/* Goes on until UNTIL; nothing may be asked twice at one time without an answer. */
static inline void run(struct loop *l, uint64_t until)
{
	while (l->disk.now < until) {
		struct sched_req *r;
		uint64_t next = UINT64_MAX;

		ask_all(l);
		r = sched_next(l->q, l->disk.now);
		if (r) {
			serve(l, (struct item *)r);
			continue;
		}
		for (unsigned int n = 0; n < l->n_items; n++)
			if (l->items[n].req.state == REQ_IDLE && l->items[n].ready < next)
				next = l->items[n].ready;
		if (sched_hold_until(l->q, l->disk.now) < next)
			next = sched_hold_until(l->q, l->disk.now);
		assert_true(next > l->disk.now && next != UINT64_MAX);
		l->idle += next - l->disk.now;
		l->looks++;
		l->disk.now = next;
	}
}

static inline struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct sched_limits limits = default_limits();

	assert_non_null(l);
	limits.writeback_share = 0.5;
	limits.writeback_turn = 100 * MSEC;
	limits.writeback_idle = 10 * MSEC;
	l->q = queue_new(&sched_turns, &limits);
	learn_disk(&l->q->cost);
	l->disk.now = SEC;
	l->seed = 1;
	l->shares.n_rules = 4;
	for (int i = 0; i < 4; i++)
		l->shares.rules[i].weight = SHARE_WEIGHT_DEFAULT;
	return l;
}

static inline void loop_free(struct loop *l)
{
	queue_free(l->q);
	free(l);
}

static inline struct client *add(struct loop *l, enum work work, uint16_t rule,
				 unsigned int outstanding)
{
	struct client *c = &l->clients[l->n_clients++];

	*c = (struct client){.id = {.client = l->n_clients, .export_id = 1, .rule = rule},
			     .work = work,
			     .outstanding = outstanding};
	for (unsigned int i = 0; i < outstanding; i++)
		l->items[l->n_items++].client = c;
	assert_true(l->n_items <= ITEMS_MAX);
	return c;
}

static inline void set_shares(struct loop *l)
{
	assert_int_equal(sched_set_shares(l->q, &l->shares, l->disk.now), 0);
	assert_null(sched_check(l->q));
}

/* ---- what came out ----------------------------------------------------------------------- */

static inline uint64_t bytes_between(const struct client *c, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (uint64_t at = from / SLOT; at < to / SLOT; at++)
		sum += c->bytes[at];
	return sum;
}

/* The share (percent) of windows of LENGTH, from FROM to TO, in which C had LEAST..MOST bytes. */
static inline double windows_within(const struct client *c, uint64_t from, uint64_t to,
				    uint64_t length, uint64_t least, uint64_t most)
{
	unsigned int all = 0, good = 0;
	uint64_t low = UINT64_MAX, high = 0;

	for (; from + length <= to; from += SLOT, all++) {
		uint64_t had = bytes_between(c, from, from + length);

		good += had >= least && had <= most;
		low = had < low ? had : low;
		high = had > high ? had : high;
	}
	print_message("%u windows: %.1f to %.1f MB, %.1f %% within\n", all, (double)low / 1e6,
		      (double)high / 1e6, 100.0 * good / all);
	return 100.0 * good / all;
}

#endif
