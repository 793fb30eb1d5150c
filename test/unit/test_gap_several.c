/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Small reads that a drive takes together, between chunks: those that are over are followed by the next ones of their
 * clients, for a slice, and neither a stream nor who was kept waiting for too long loses his turn by that.
 */
#include "disk.h"

#define PLACES	4 /* at the drive */
#define READERS 4
#define STREAMS 8
#define LATE	99 /* the client who is far ahead of all */

struct load {
	struct sched_queue *q;
	uint64_t now, seed, think;
	struct sched_req read[READERS], chunk[STREAMS], late, wait;
	unsigned int streams;
	struct sched_req *running[PLACES];
	uint64_t ends[PLACES], comes[READERS];
	uint64_t over[STREAMS]; /* a stream's last chunk was */
	uint64_t longest;	/* ns from there to its next one */
	uint64_t reads;
};

static struct sched_req chunk_of(uint64_t client)
{
	return (struct sched_req){.class = SCHED_PREFETCH,
				  .file = client,
				  .owner = client,
				  .len = 8 * MIB,
				  .block = client * 4096 * MIB,
				  .flow = {.client = client}};
}

static void submit(struct load *l, struct sched_req *r)
{
	assert_int_equal(sched_submit(l->q, r, l->now), SCHED_ADDED);
}

static void done(struct load *l, struct sched_req *r)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	sched_done(l->q, r, l->now, &woken);
}

static struct load *make(unsigned int streams, uint64_t think, uint64_t seed)
{
	struct sched_limits limits = default_limits();
	struct load *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->q = queue_new(&sched_turns, &limits);
	learn_disk(&l->q->cost);
	l->now = SEC;
	l->seed = seed;
	l->think = think;
	l->streams = streams;
	for (unsigned int i = 0; i < READERS; i++) {
		l->read[i] = (struct sched_req){.class = SCHED_DEMAND,
						.file = 1000 + i,
						.len = 8 * KIB,
						.block = (i + 1) * 64 * MIB,
						.flow = {.client = 1 + i}};
		submit(l, &l->read[i]);
	}
	for (unsigned int i = 0; i < streams; i++) {
		l->chunk[i] = chunk_of(10 + i);
		submit(l, &l->chunk[i]);
	}
	return l;
}

static void end(struct load *l)
{
	queue_free(l->q);
	free(l);
}

/* The drive takes what it has a place for: up to PLACES reads, or one chunk. */
static void fill(struct load *l)
{
	unsigned int busy = 0;
	bool small = true;
	struct sched_req *r;

	for (unsigned int i = 0; i < PLACES; i++) {
		busy += l->running[i] != NULL;
		small &= !l->running[i] || l->running[i]->class == SCHED_DEMAND;
	}
	for (unsigned int i = 0; small && i < PLACES; i++) {
		if (l->running[i])
			continue;
		l->q->scattered_only = busy != 0;
		r = sched_next(l->q, l->now);
		if (!r)
			return;
		l->running[i] = r;
		busy++;
		small = r->class == SCHED_DEMAND;
		l->ends[i] = l->now + (small ? 6 * MSEC + random_below(&l->seed, 8 * MSEC)
					     : DISK_SEEK + DISK_NS(r->len));
		if (!small && r->flow.client != LATE && l->over[r->flow.client - 10] &&
		    l->now - l->over[r->flow.client - 10] > l->longest)
			l->longest = l->now - l->over[r->flow.client - 10];
	}
}

/* When something happens next; *AT: at this place of the drive, or PLACES: a reader has thought. */
static uint64_t next_event(const struct load *l, unsigned int *at)
{
	uint64_t when = UINT64_MAX;

	*at = PLACES;
	for (unsigned int i = 0; i < READERS; i++)
		if (l->comes[i] && l->comes[i] < when)
			when = l->comes[i];
	for (unsigned int i = 0; i < PLACES; i++)
		if (l->running[i] && l->ends[i] < when) {
			when = l->ends[i];
			*at = i;
		}
	return when;
}

static void come(struct load *l)
{
	for (unsigned int i = 0; i < READERS; i++)
		if (l->comes[i] && l->comes[i] <= l->now) {
			l->comes[i] = 0;
			submit(l, &l->read[i]);
		}
}

static void leave(struct load *l, unsigned int at)
{
	struct sched_req *r = l->running[at];

	l->running[at] = NULL;
	done(l, r);
	if (r == &l->late)
		return;
	if (r->class == SCHED_DEMAND) {
		l->reads++;
		l->comes[r - l->read] = l->now + l->think;
	} else {
		l->over[r->flow.client - 10] = l->now;
		submit(l, r);
	}
}

/* Goes on for NS, or until the late one's chunk goes. */
static void run(struct load *l, uint64_t ns)
{
	uint64_t until = l->now + ns;
	unsigned int at;

	while (l->now < until) {
		fill(l);
		if (l->late.state == REQ_RUNNING)
			return;
		l->now = next_event(l, &at);
		assert_true(l->now != UINT64_MAX);
		if (at < PLACES)
			leave(l, at);
		come(l);
	}
}

/* One stream, four readers who ask for the next block at once: each of the five has about a fifth of the disk. */
static void test_readers_have_their_share(void **state)
{
	struct load *l = make(1, 300000, 1);
	uint64_t chunks;

	run(l, 20 * SEC);
	chunks = l->q->stats.served[SCHED_PREFETCH];
	/* all the time four together would have 400 a second: 8,000; before, 1,000 were all */
	assert_true(l->reads > 3000);
	assert_true(chunks * (DISK_SEEK + DISK_NS(8 * MIB)) > 4 * SEC);
	end(l);
}

/* A stream whose chunk had no place yet beside reads keeps its place in the round. */
static void test_streams_keep_their_places(void **state)
{
	for (unsigned int streams = 4; streams <= STREAMS; streams++) {
		uint64_t longest = 0;

		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct load *l = make(streams, 300000, seed);

			run(l, 10 * SEC);
			longest = l->longest > longest ? l->longest : longest;
			end(l);
		}
		/* a chunk of each, and a gap of a slice between them */
		print_message("%u streams: the longest wait %.0f ms\n", streams,
			      (double)longest / 1e6);
		assert_true(longest < streams * (DISK_NS(8 * MIB) + 75 * MSEC));
	}
}

/* Who is ahead of all has his one read after Max_Wait whatever reads go together. */
static void test_who_is_late_has_his_turn(void **state)
{
	for (unsigned int streams = 1; streams <= STREAMS; streams++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct load *l = make(streams, 300000, seed);
			uint64_t asked;

			l->late = chunk_of(LATE); /* it has had a minute of the disk */
			submit(l, &l->late);
			run(l, 60 * SEC);
			assert_int_equal(l->late.state, REQ_RUNNING);
			for (unsigned int i = 0; i < PLACES; i++)
				if (l->running[i] == &l->late)
					l->ends[i] = l->now += 60 * SEC;
			for (unsigned int i = 0; i < PLACES; i++)
				if (l->running[i])
					leave(l, i);
			run(l, SEC);
			submit(l, &l->late);
			l->wait = (struct sched_req){.class = SCHED_DEMAND,
						     .file = LATE,
						     .len = 32 * KIB,
						     .flow = {.client = LATE}};
			assert_int_equal(sched_submit(l->q, &l->wait, l->now), SCHED_WAITS);
			asked = l->now;
			run(l, 20 * SEC);
			assert_int_equal(l->late.state, REQ_RUNNING);
			assert_true(l->now - asked < 2200 * MSEC);
			end(l);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_have_their_share),
		cmocka_unit_test(test_streams_keep_their_places),
		cmocka_unit_test(test_who_is_late_has_his_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
