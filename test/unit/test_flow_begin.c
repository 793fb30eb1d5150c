/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Streams that begin: how long they wait for their first bytes, at the same time or among others, and what
 * that costs.
 */
#include "disk.h"

#define STREAMS_MAX 32
#define FIRST_READ  (128 * KIB)
#define BEGINS	    80

struct stream {
	struct sched_req chunk, behind; /* of which one is queued when the other runs */
	struct sched_req read;		/* who waits for the first bytes */
	uint64_t client, begun, at;
	uint64_t waited;     /* ns, for the first bytes; 0: they have not come */
	uint64_t had, first; /* bytes; of them in the first turn */
};

struct world {
	struct sched_queue *q;
	struct disk disk;
	struct stream s[STREAMS_MAX];
	unsigned int n;
};

static void set_up(struct world *w, const struct sched_policy *policy, bool known)
{
	struct sched_limits lim = default_limits();

	memset(w, 0, sizeof(*w));
	lim.cost.demand_wait = 65 * MSEC;
	lim.prefetch_max_age = 1000 * SEC;
	w->q = queue_new(policy, &lim);
	w->disk.now = SEC;
	if (known)
		learn_disk(&w->q->cost);
}

static void ask(struct world *w, struct stream *s, struct sched_req *r, bool begins)
{
	uint64_t file = 1 + (uint64_t)(s - w->s);

	*r = (struct sched_req){.class = SCHED_PREFETCH,
				.flow = {.client = s->client},
				.file = file,
				.owner = file,
				.offset = s->at,
				.len = sched_chunk(w->q),
				.block = file * 1024 * MIB + s->at,
				.begins = begins};
	assert_int_equal(sched_submit(w->q, r, w->disk.now), SCHED_ADDED);
}

/* S begins where it is, and waits for its first bytes. */
static void begin_here(struct world *w, struct stream *s)
{
	s->begun = w->disk.now;
	ask(w, s, &s->chunk, true);
	s->read = (struct sched_req){.class = SCHED_DEMAND,
				     .flow = {.client = s->client},
				     .file = s->chunk.file,
				     .offset = s->at,
				     .len = FIRST_READ};
	assert_int_equal(sched_submit(w->q, &s->read, w->disk.now), SCHED_WAITS);
}

/* A stream of CLIENT begins. */
static struct stream *begin(struct world *w, uint64_t client)
{
	struct stream *s = &w->s[w->n++];

	s->client = client;
	begin_here(w, s);
	return s;
}

static struct stream *stream_of(struct world *w, const struct sched_req *r)
{
	return &w->s[r->file - 1];
}

/* R is done to the end: as far as its turn goes, and what is behind it is asked for. */
static struct stream *serve(struct world *w, struct sched_req *r)
{
	struct stream *s = stream_of(w, r);
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);

	cut_to_turn(w->q, r);
	s->at = r->offset + r->len;
	ask(w, s, r == &s->chunk ? &s->behind : &s->chunk, false);
	disk_read(&w->disk, r->block, r->len);
	if (!s->waited) {
		s->first = r->len;
		s->waited = w->disk.now - s->begun;
	}
	s->had += r->len;
	sched_done(w->q, r, w->disk.now, &woken);
	assert_null(sched_check(w->q));
	return s;
}

static struct stream *serve_next(struct world *w)
{
	struct sched_req *r = sched_next(w->q, w->disk.now);

	assert_non_null(r);
	return serve(w, r);
}

static void serve_until(struct world *w, uint64_t end)
{
	while (w->disk.now < end)
		serve_next(w);
}

static uint64_t longest(const struct world *w)
{
	uint64_t most = 0;

	for (unsigned int n = 0; n < w->n; n++) {
		assert_int_not_equal(w->s[n].waited, 0);
		if (w->s[n].waited > most)
			most = w->s[n].waited;
	}
	return most;
}

/* N streams begin at once, of one client or of one each; those of a disk that is not known yet, too. */
static void check_begin_together(unsigned int n, bool one_client, bool known)
{
	struct world w;
	uint64_t whole;

	set_up(&w, &sched_turns, known);
	for (unsigned int i = 0; i < n; i++)
		begin(&w, one_client ? 1 : 1 + i);
	whole = sched_chunk(w.q);
	serve_until(&w, w.disk.now + 3 * SEC);
	print_message("%u streams of %s: first bytes after %.0f ms, turns of %.0f ms\n", n,
		      one_client ? "one client" : "clients", (double)longest(&w) / 1e6,
		      (double)DISK_NS(whole) / 1e6);
	/* the last two would not wait for long */
	assert_true(longest(&w) <
		    n * DISK_SEEK + (n - 2) * DISK_NS(whole) / 3 + 2 * DISK_NS(whole));
	queue_free(w.q);
}

static void test_streams_that_begin_together(void **state)
{
	for (unsigned int n = 6; n <= 16; n += 10)
		for (int how = 0; how < 4; how++)
			check_begin_together(n, how & 1, how & 2);
}

/* From then on all have whole turns, and as much. */
static void test_they_go_on_as_others(void **state)
{
	for (int one_client = 0; one_client < 2; one_client++) {
		struct world w;
		uint64_t least = UINT64_MAX, most = 0, begun, sum = 0;

		set_up(&w, &sched_turns, true);
		begun = w.disk.now;
		for (unsigned int i = 0; i < 8; i++)
			begin(&w, one_client ? 1 : 1 + i);
		serve_until(&w, begun + 20 * SEC);
		for (unsigned int i = 0; i < 8; i++) {
			least = w.s[i].had < least ? w.s[i].had : least;
			most = w.s[i].had > most ? w.s[i].had : most;
			sum += w.s[i].had;
		}
		print_message("%.1f MB/s, each %.1f to %.1f MB\n",
			      (double)sum / (double)(w.disk.now - begun) * 1e3, (double)least / 1e6,
			      (double)most / 1e6);
		assert_true(most - least <= 2 * sched_chunk(w.q));
		assert_true((double)sum / (double)(w.disk.now - begun) * 1e3 > 0.8 * DISK_MB_S);
		queue_free(w.q);
	}
}

/* Nobody else is there who would wait: a seek more is not worth it. */
static void test_alone_it_has_a_whole_turn(void **state)
{
	struct world w;
	uint64_t whole;

	set_up(&w, &sched_turns, true);
	whole = begin(&w, 1)->chunk.len;
	serve_until(&w, w.disk.now + SEC);
	assert_int_equal(w.s[0].first, whole);
	queue_free(w.q);
}

/* Seven go on, and one more comes: he waits for the turn under way, not for a round of them. */
static void test_one_who_begins_among_others(void **state)
{
	for (int one_client = 0; one_client < 2; one_client++) {
		struct world w;
		struct stream *late;
		uint64_t turn;

		set_up(&w, &sched_turns, true);
		for (unsigned int i = 0; i < 7; i++)
			begin(&w, one_client ? 1 : 1 + i);
		serve_until(&w, w.disk.now + 5 * SEC);
		turn = DISK_SEEK + DISK_NS(sched_chunk(w.q));
		late = begin(&w, one_client ? 1 : 8);
		for (int turns = 0; !late->waited; turns++) {
			assert_true(turns < 8);
			serve_next(&w);
		}
		print_message("one more of %s: after %.0f ms, turns of %.0f ms\n",
			      one_client ? "one client" : "clients", (double)late->waited / 1e6,
			      (double)turn / 1e6);
		/* of one client he goes in the order of the scan */
		assert_true(late->waited < (one_client ? 8 : 2) * turn);
		queue_free(w.q);
	}
}

/* One client, over his ceiling, begins many files at a time: who begins among others has his first turn as soon as without. */
static void test_who_is_held_keeps_nobody_from_beginning(void **state)
{
	static struct sched_req chunk[BEGINS], read[BEGINS];
	struct sched_shares *shares = calloc(1, sizeof(*shares));
	struct sched_req one = {.class = SCHED_DEMAND, .flow = {9, 0, 1}, .file = 999, .len = MIB};
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct stream *late;
	struct world w;
	uint64_t turn;

	shares->n_rules = 2;
	shares->rules[0].weight = shares->rules[1].weight = SHARE_WEIGHT_DEFAULT;
	shares->rules[1].ceiling.bandwidth = 1;
	set_up(&w, &sched_turns, true);
	assert_int_equal(sched_set_shares(w.q, shares, w.disk.now), 0);
	free(shares);
	assert_int_equal(sched_submit(w.q, &one, w.disk.now), SCHED_ADDED);
	assert_ptr_equal(sched_next(w.q, w.disk.now), &one);
	sched_done(w.q, &one, w.disk.now + 10 * MSEC, &woken);
	for (unsigned int i = 0; i < 7; i++)
		begin(&w, 1 + i);
	for (unsigned int i = 0; i < BEGINS; i++) {
		chunk[i] = (struct sched_req){.class = SCHED_PREFETCH,
					      .flow = {9, 0, 1},
					      .file = 1000 + i,
					      .owner = 1000 + i,
					      .len = MIB,
					      .begins = true};
		read[i] = (struct sched_req){
			.class = SCHED_DEMAND, .flow = {9, 0, 1}, .file = 1000 + i, .len = 4 * KIB};
		assert_int_equal(sched_submit(w.q, &chunk[i], w.disk.now), SCHED_ADDED);
		assert_int_equal(sched_submit(w.q, &read[i], w.disk.now), SCHED_WAITS);
	}
	serve_until(&w, w.disk.now + 5 * SEC);
	turn = DISK_SEEK + DISK_NS(sched_chunk(w.q));
	late = begin(&w, 8);
	for (int turns = 0; !late->waited; turns++) {
		assert_true(turns < 8);
		serve_next(&w);
	}
	print_message("beside one who is held: after %.0f ms, turns of %.0f ms\n",
		      (double)late->waited / 1e6, (double)turn / 1e6);
	assert_true(late->waited < 2 * turn);
	w.q->writeback.hurry = true;
	queue_free(w.q);
}

/* A client that begins one stream after the other, and reads none on, takes no more than his part from others. */
static void test_who_does_nothing_but_begin(void **state)
{
	struct world w;
	uint64_t had[2] = {0}, end;

	set_up(&w, &sched_turns, true);
	for (unsigned int i = 0; i < 3; i++)
		begin(&w, 1 + i);
	serve_until(&w, w.disk.now + 2 * SEC);
	end = w.disk.now + 10 * SEC;
	for (unsigned int i = 0; i < 4; i++)
		begin(&w, 9);
	while (w.disk.now < end) {
		struct sched_req *r = sched_next(w.q, w.disk.now);
		struct stream *s = stream_of(&w, r);
		struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
		uint64_t begun = w.disk.now;

		if (s->client != 9) {
			serve(&w, r);
			had[0] += w.disk.now - begun;
			continue;
		}
		cut_to_turn(w.q, r);
		disk_read(&w.disk, r->block, r->len);
		sched_done(w.q, r, w.disk.now, &woken);
		had[1] += w.disk.now - begun;
		s->at += 1024 * MIB;
		begin_here(&w, s);
	}
	print_message("who only begins has %.2f of the disk\n",
		      (double)had[1] / (double)(had[0] + had[1]));
	assert_true((double)had[1] / (double)(had[0] + had[1]) < 0.3);
	queue_free(w.q);
}

/* Where there are no turns all is as it was. */
static void test_other_policies_know_none(void **state)
{
	static const char *const names[] = {"fifo", "elevator", "ncscan"};

	for (unsigned int p = 0; p < 3; p++) {
		struct world w;

		set_up(&w, sched_policy_find(names[p]), true);
		for (unsigned int i = 0; i < 8; i++)
			begin(&w, 1 + i);
		assert_true(serve_next(&w)->first >= w.s[0].chunk.len / 2);
		queue_free(w.q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_that_begin_together),
		cmocka_unit_test(test_they_go_on_as_others),
		cmocka_unit_test(test_alone_it_has_a_whole_turn),
		cmocka_unit_test(test_one_who_begins_among_others),
		cmocka_unit_test(test_who_is_held_keeps_nobody_from_beginning),
		cmocka_unit_test(test_who_does_nothing_but_begin),
		cmocka_unit_test(test_other_policies_know_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
