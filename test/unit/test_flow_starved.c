/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One small read at a time beside a flood, and chunks of anybody that its reads join: its own, left over from a stream;
 * the flooder's; those of who is over his ceiling. Whatever comes together, none of its reads waits for Max_Wait.
 *
 *   flood    thousands queued, and chunks     |r r r r [ chunk  r r r ] r r r
 *   limited  chunks, over its ceiling         |      [ chunk ]          held
 *   small    one read after the other         |  s       s joins one of these, or not     s
 */
#include "disk.h"

#define SEEDS	50
#define LASTS	(30 * SEC)
#define FLOOD	1000
#define CHUNKS	6
#define PLACES	(128 * MIB / (8 * KIB)) /* of a file */
#define THINK	(300 * 1000)
#define STEP	(512 * KIB)
#define CEILING 10000000 /* bytes/s */

enum who { SMALL, FLOODER, LIMITED, WHO };

struct world {
	struct sched_queue *q;
	struct disk disk;
	struct sched_req flood[FLOOD], chunks[CHUNKS], small;
	uint64_t seed, asks_at, longest; /* ns */
	unsigned int joined;
};

static struct sched_req req(enum sched_class class, enum who who, uint64_t file, uint64_t offset,
			    uint64_t len)
{
	return (struct sched_req){.flow = {.client = 1 + who, .rule = who == LIMITED},
				  .class = class,
				  .file = file,
				  .offset = offset,
				  .block = file * 1024 * MIB + offset,
				  .len = len};
}

static uint64_t place(struct world *w)
{
	return random_below(&w->seed, PLACES) * 8 * KIB;
}

/* A chunk of anybody, in the file of the small reads or of the flood. */
static void ask_chunk(struct world *w, struct sched_req *c)
{
	enum who who = (enum who)random_below(&w->seed, WHO);

	*c = req(SCHED_PREFETCH, who, random_below(&w->seed, 4) ? SMALL : FLOODER, place(w),
		 sched_chunk(w->q));
	c->owner = 1 + (uint64_t)(c - w->chunks);
	sched_submit(w->q, c, w->disk.now);
}

/* What has come by now. */
static void ask(struct world *w)
{
	for (unsigned int i = 0; i < FLOOD; i++)
		if (w->flood[i].state == REQ_IDLE) {
			w->flood[i] = req(SCHED_DEMAND, FLOODER, FLOODER, place(w), 8 * KIB);
			sched_submit(w->q, &w->flood[i], w->disk.now);
		}
	for (unsigned int i = 0; i < CHUNKS; i++)
		if (w->chunks[i].state == REQ_IDLE && !random_below(&w->seed, 30))
			ask_chunk(w, &w->chunks[i]);
	if (w->small.state == REQ_IDLE && w->asks_at <= w->disk.now) {
		w->small = req(SCHED_DEMAND, SMALL, SMALL, place(w), 8 * KIB);
		w->joined += sched_submit(w->q, &w->small, w->disk.now) == SCHED_WAITS;
	}
}

static void over(struct world *w, struct sched_req *r)
{
	uint64_t wait = w->disk.now - r->submitted;

	if (r != &w->small)
		return;
	if (wait > w->longest)
		w->longest = wait;
	w->asks_at = w->disk.now + THINK;
}

static void serve(struct world *w, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	uint64_t slice = w->disk.now, at = 0, n;

	if (r->class == SCHED_PREFETCH)
		sched_shorten(w->q, r, sched_chunk_of(w->q, r));
	for (; at < r->io_len && !r->dropped; at += n) {
		bool first = true;
		struct sched_req *small;

		n = r->io_len - at < STEP ? r->io_len - at : STEP;
		sched_observe(w->q, r->block + at, n, disk_read(&w->disk, r->block + at, n));
		ask(w);
		while (r->class == SCHED_PREFETCH &&
		       (small = sched_next_in_gap(w->q, r, w->disk.now - slice, first,
						  w->disk.now))) {
			first = false;
			serve(w, small);
		}
		if (!first)
			slice = w->disk.now;
	}
	sched_done(w->q, r, w->disk.now, &woken);
	over(w, r);
	while ((r = TAILQ_FIRST(&woken))) {
		TAILQ_REMOVE(&woken, r, link);
		over(w, r);
	}
}

static struct sched_queue *queue_of(const struct sched_policy *policy)
{
	static const struct sched_shares shares = {
		.n_rules = 2, .rules = {{100}, {100, .ceiling = {.bandwidth = CEILING}}}};
	struct sched_limits l = default_limits();
	struct sched_queue *q;

	l.cost.demand_wait = 65 * MSEC;
	l.cost.chunk_max = 16 * MIB;
	q = queue_new(policy, &l);
	learn_disk(&q->cost);
	assert_int_equal(sched_set_shares(q, &shares, SEC), 0);
	return q;
}

static void flooded(const struct sched_policy *policy, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->q = queue_of(policy);
	w->seed = seed;
	w->disk.now = SEC;
	while (w->disk.now < LASTS) {
		struct sched_req *r;

		ask(w);
		r = sched_next(w->q, w->disk.now);
		if (r)
			serve(w, r);
		else
			w->disk.now += MSEC;
		if (w->small.state != REQ_IDLE)
			w->longest = w->disk.now - w->small.submitted > w->longest
					     ? w->disk.now - w->small.submitted
					     : w->longest;
	}
	if (w->longest > w->q->limits.cost.max_wait * 5 / 4)
		fail_msg("%s, seed %llu: a read waited %.0f ms, %u joined", policy->name,
			 (unsigned long long)seed, (double)w->longest / 1e6, w->joined);
	queue_free(w->q);
	free(w);
}

static void test_no_read_waits_for_long(void **state)
{
	for (unsigned int p = 0; sched_policy_nth(p); p++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			flooded(sched_policy_nth(p), seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_read_waits_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
