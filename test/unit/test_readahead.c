/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The engine as a whole: what it fetches for which readers, its bound on memory, its account. */
#include <pthread.h>

#include "common/trace.h"
#include "engine.h"
#include "readahead/engine.h"

#define READ (32 * KIB)

/* Reads [from, to) in order and fetches at once what is planned; returns the bytes planned. */
static uint64_t read_through(struct engine *e, uint64_t file, uint64_t from, uint64_t to,
			     uint64_t size)
{
	uint64_t planned = 0;

	for (uint64_t at = from; at < to; at += READ) {
		uint32_t len = (uint32_t)(to - at < READ ? to - at : READ);

		planned += engine_fetch(e, engine_read(e, file, at, len, size), size);
	}
	return planned;
}

static void test_a_sequential_reader_is_read_ahead_exactly_once(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 256 * MIB + 12345;

	assert_int_equal(read_through(e, 1, 0, size, size), size);
	engine_check_account(e);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	assert_int_equal(engine_counted(e, READAHEAD_PLANNED), engine_counted(e, READAHEAD_USED));
	assert_true(engine_counted(e, READAHEAD_USED) >= size - 4 * READ);
	assert_int_equal(engine_counted(e, READAHEAD_READS), (size + READ - 1) / READ);
	assert_int_equal(engine_counted(e, READAHEAD_READ_BYTES), size);
	engine_free(e);
}

/* Of each run the first chunk begins, and no other; of a file that is one chunk it is the whole. */
static void test_the_first_chunk_of_a_run(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 256 * MIB;

	for (unsigned int run = 0; run < 3; run++) {
		unsigned int chunks = 0;

		for (uint64_t at = 0; at < 16 * MIB; at += READ) {
			struct readahead_plan p =
				engine_read(e, 1, run * 64 * MIB + at, READ, size);

			if (!p.len)
				continue;
			assert_int_equal(p.begins, chunks == 0);
			assert_false(p.whole);
			chunks++;
			engine_fetch(e, p, size);
		}
		assert_true(chunks > 1);
	}
	for (uint64_t at = 0; at < 4 * MIB; at += READ) {
		struct readahead_plan p = engine_read(e, 2, at, READ, 4 * MIB);

		assert_int_equal(p.whole, p.len != 0);
		assert_int_equal(p.begins, p.whole);
	}
	engine_free(e);
}

/* The window opens at once: after the first four reads an 8 MiB file is on its way. */
static void test_a_small_file_profits(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 8 * MIB, planned = 0;

	for (uint64_t i = 0; i < 4; i++)
		planned += engine_fetch(e, engine_read(e, 1, i * READ, READ, size), size);
	assert_int_equal(planned, size);
	engine_free(e);
}

/* As soon as a second read goes on from the one at its beginning; a larger one, or a part of it, must prove itself. */
static void test_a_small_file_is_fetched_whole(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan plan;

	assert_int_equal(engine_read(e, 1, 0, 32 * KIB, 256 * KIB).len, 0);
	plan = engine_read(e, 1, 32 * KIB, 32 * KIB, 256 * KIB);
	assert_int_equal(plan.offset, 0);
	assert_int_equal(plan.len, 256 * KIB);
	assert_int_equal(plan.ahead, 192 * KIB);
	assert_int_equal(engine_read(e, 1, 64 * KIB, 32 * KIB, 256 * KIB).len, 0);
	assert_int_equal(engine_read(e, 2, 0, 32 * KIB, 256 * KIB + 1).len, 0);
	assert_int_equal(engine_read(e, 2, 32 * KIB, 32 * KIB, 256 * KIB + 1).len, 0);
	assert_int_equal(engine_read(e, 3, 64 * KIB, 32 * KIB, 256 * KIB).len, 0);
	assert_int_equal(engine_read(e, 3, 96 * KIB, 32 * KIB, 256 * KIB).len, 0);
	assert_int_equal(engine_read(e, 4, 0, 32 * KIB, 64 * KIB).len, 0);
	assert_int_equal(engine_read(e, 4, 32 * KIB, 32 * KIB, 64 * KIB).len, 0); /* all of it */
	e->tuning.rules = &rules_endless;
	assert_int_equal(engine_read(e, 5, 0, 32 * KIB, 256 * KIB).len, 0);
	assert_int_equal(engine_read(e, 5, 32 * KIB, 32 * KIB, 256 * KIB).len, 0);
	engine_free(e);
}

static void test_off_the_edges(void **state)
{
	struct engine *e = engine_make("always", 64, 64, 64 * MIB);

	assert_int_equal(engine_read(e, 1, 0, READ, 0).len, 0); /* beyond EOF */
	assert_int_equal(engine_read(e, 1, 10 * MIB, READ, MIB).len, 0);
	assert_int_equal(engine_read(e, 2, 0, READ, 1000).len, 0); /* nothing after it */
	assert_int_equal(engine_read(e, 3, UINT64_MAX - READ, READ, UINT64_MAX).len, 0);
	e->chunk = 0;
	assert_int_equal(engine_read(e, 4, 0, READ, MIB).len, 0);
	engine_check_account(e);
	engine_free(e);
}

/* The file shrinks while it is read ahead: nothing beyond its new end. */
static void test_never_beyond_a_moving_end(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 4, size = 100 * MIB;

	for (uint64_t i = 0; i < 3000; i++) {
		if (i % 100 == 99)
			size = 1 + random_below(&seed, 100 * MIB);
		/* engine_read and engine_start assert it */
		engine_fetch(e, engine_read(e, 1, i * READ, READ, size), size);
	}
	engine_check_account(e);
	engine_free(e);
}

static void test_random_reads_cause_none(void **state)
{
	static const char *const quiet[] = {"default", "slowdown", "cursor"};
	uint64_t size = 256 * MIB;

	for (int h = 0; h < 3; h++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct engine *e = engine_default(quiet[h]);
			uint64_t state_ = seed, planned = 0, reads = 32768;

			for (uint64_t i = 0; i < reads; i++) {
				uint64_t at = random_below(&state_, size / 8192) * 8192;

				planned += engine_fetch(e, engine_read(e, 1, at, 8192, size), size);
			}
			engine_check_account(e);
			if (planned > reads * 8192 / 20)
				fail_msg("%s: %.1f %% planned", quiet[h],
					 100.0 * (double)planned / (double)(reads * 8192));
			engine_free(e);
		}
	}
}

/* As above, but each block once, in random order: a shuffled copy. */
static void test_a_random_permutation_causes_none(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 256 * MIB, seed = 8, planned = 0;
	uint32_t n = (uint32_t)(size / 8192), *order = malloc(n * sizeof(*order));

	assert_non_null(order);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t j = (uint32_t)random_below(&seed, i + 1), swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	for (uint32_t i = 0; i < n; i++)
		planned += engine_fetch(e, engine_read(e, 1, order[i] * 8192ull, 8192, size), size);
	assert_true(planned <= size / 20);
	free(order);
	engine_free(e);
}

/* Notes what P fetches, by READs; returns how many bytes. */
static uint64_t mark(uint8_t *there, const struct readahead_plan *p)
{
	uint64_t step = p->record ? p->step : p->len, part = p->record ? p->record : p->len;
	uint64_t bytes = 0;

	for (uint64_t at = 0; at < p->len; at += step) {
		uint64_t len = p->len - at < part ? p->len - at : part;

		memset(there + (p->offset + at) / READ, 1, len / READ);
		bytes += len;
	}
	return bytes;
}

/*
 * Section 7: an s-stride reader is s sequential ones, and each gets its read-ahead: nearly all is
 * there before it is read. At the end of its part a cursor runs into the next one's, which costs
 * nothing (it is in memory) but is asked for twice: at most a window each.
 */
static void test_strides(void **state)
{
	static const uint64_t strides[] = {2, 4, 8, 64};
	static uint8_t there[256 * MIB / READ];
	uint64_t size = 256 * MIB;

	for (int s = 0; s < 4; s++) {
		struct engine *e = engine_default("cursor");
		uint64_t part = size / strides[s], planned = 0, ahead = 0;

		e->chunk = e->tuning.window_init = MIB;
		memset(there, 0, sizeof(there));
		for (uint64_t i = 0; i < part / READ; i++)
			for (uint64_t k = 0; k < strides[s]; k++) {
				uint64_t at = k * part + i * READ;
				struct readahead_plan p = engine_read(e, 1, at, READ, size);

				ahead += there[at / READ];
				for (; p.len; p = engine_start(e, &p, size))
					planned += mark(there, &p);
			}
		engine_check_account(e);
		assert_in_range(ahead * READ, size - strides[s] * 8 * READ, size);
		assert_in_range(planned, ahead * READ, size + strides[s] * 3 * MIB);
		engine_free(e);
	}
}

static void test_slowdown_and_default_see_no_stride(void **state)
{
	struct engine *e = engine_default("default");
	uint64_t size = 256 * MIB;

	for (uint64_t i = 0; i < 1000; i++)
		for (uint64_t k = 0; k < 8; k++)
			assert_int_equal(engine_read(e, 1, k * size / 8 + i * READ, READ, size).len,
					 0);
	engine_free(e);
}

/* Requests swapped on their way: 10 % of them, up to four places. */
static void test_reordered_requests(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, n = size / READ, seed = 5, planned = 0, order[2048];

	assert_int_equal(n, 2048);
	for (uint64_t i = 0; i < n; i++)
		order[i] = i;
	for (uint64_t i = 0; i + 4 < n; i += 4)
		if (random_below(&seed, 100) < 20) {
			uint64_t j = i + 1 + random_below(&seed, 4), swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
	for (uint64_t i = 0; i < n; i++)
		planned += engine_fetch(e, engine_read(e, 1, order[i] * READ, READ, size), size);
	engine_check_account(e);
	assert_in_range(planned, size * 98 / 100, size);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	engine_free(e);
}

/* A run of N requests from START on, of which any of the next OF comes each time. */
struct shuffled {
	uint64_t start, n, of, sent;
	bool done[1024];
};

/* The next one's offset. */
static uint64_t shuffled_next(struct shuffled *s, uint64_t *seed)
{
	uint64_t first = 0, at;

	while (s->done[first])
		first++;
	do
		at = first + random_below(seed, s->of);
	while (at >= s->n || s->done[at]);
	s->done[at] = true;
	s->sent++;
	return s->start + at * READ;
}

/* Bytes asked for ahead of RUNS such runs of N requests, at places of one file, or ALONE: in a file each; in turn. */
static uint64_t ahead_of_shuffled(uint64_t runs, uint64_t n, uint64_t of, bool alone)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB, seed = 3, planned = 0;
	struct shuffled s[4] = {0};

	for (uint64_t k = 0; k < runs; k++)
		s[k] = (struct shuffled){.start = alone ? 0 : k * 256 * MIB, .n = n, .of = of};
	for (uint64_t i = 0; i < runs * n; i++) {

		planned += engine_fetch(e,
					engine_read(e, alone ? 1 + i % runs : 1,
						    shuffled_next(&s[i % runs], &seed), READ, size),
					size);
	}
	engine_check_account(e);
	engine_free(e);
	return planned;
}

/* Runs out of order are believed as soon where there are several in a file. */
static void test_reordered_runs_of_one_file(void **state)
{
	static const uint64_t works[][3] = {{2, 64, 4},	 {4, 64, 4},  {2, 64, 2},  {3, 64, 6},
					    {4, 128, 8}, {1, 128, 4}, {2, 1000, 8}};

	for (int w = 0; w < 7; w++) {
		const uint64_t *v = works[w];
		uint64_t alone = ahead_of_shuffled(v[0], v[1], v[2], true);
		uint64_t together = ahead_of_shuffled(v[0], v[1], v[2], false);

		if (!alone || together < alone * 3 / 4)
			fail_msg("%ju runs, any of %ju: %ju KiB alone, %ju together",
				 (uintmax_t)v[0], (uintmax_t)v[2], (uintmax_t)(alone / KIB),
				 (uintmax_t)(together / KIB));
	}
}

/* Eight readers, each of whom reads at random within a window of so many requests, then in another of the file. */
static void test_random_within_windows_causes_next_to_none(void **state)
{
	static const uint64_t windows[] = {16, 24, 32, 64, 128, 512};

	for (int w = 0; w < 12; w++) {
		struct engine *e = engine_default("cursor");
		uint64_t requests = windows[w / 2], size = 2048 * MIB, seed = 5, planned = 0;
		struct shuffled s[8] = {0};
		bool again = w % 2; /* or each request once */

		for (int i = 0; i < 20000; i++) {
			struct shuffled *who = &s[random_below(&seed, 8)];
			uint64_t at;

			if (who->sent == who->n)
				*who = (struct shuffled){
					.start = random_below(&seed, size / READ - requests) * READ,
					.n = requests,
					.of = requests};
			at = shuffled_next(who, &seed);
			if (again)
				at = who->start + random_below(&seed, requests) * READ;
			planned += engine_fetch(e, engine_read(e, 1, at, READ, size), size);
		}
		if (planned > 20000 * (uint64_t)READ / 100)
			fail_msg("windows of %ju, %s: %ju KiB", (uintmax_t)requests,
				 again ? "any" : "each once", (uintmax_t)(planned / KIB));
		engine_free(e);
	}
}

static void test_off_by_a_retransmission(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, planned = 0;

	for (uint64_t i = 0; i < size / READ; i++)
		for (int twice = 0; twice < 2; twice++)
			planned += engine_fetch(e, engine_read(e, 1, i * READ, READ, size), size);
	assert_int_equal(planned, size);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	engine_free(e);
}

/* READs that overlap by up to a half of one go on: a reader's, and four readers' of one file. */
static void test_who_overlaps_goes_on(void **state)
{
	static const uint64_t steps[] = {12 * KIB, 8 * KIB, 15 * KIB};

	for (uint64_t w = 0; w < 6; w++) {
		struct engine *e = engine_default("cursor");
		uint64_t step = steps[w % 3], readers = w < 3 ? 1 : 4, asked = 0;

		for (uint64_t i = 0; i < 64 * readers; i++) {
			uint64_t at = i % readers * 16 * MIB + i / readers * step;

			asked += engine_fetch(e, engine_read(e, 1, at, 16 * KIB, 64 * MIB),
					      64 * MIB);
			if (i == 16)
				assert_int_equal(asked != 0, readers == 1);
		}
		assert_true(asked >= readers * MIB);
		engine_check_account(e);
		engine_free(e);
	}
}

/* A few that overlap among others are of who reads anywhere. */
static void test_who_overlaps_by_chance_does_not(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 11, asked = 0;

	for (int i = 0; i < 20000; i++)
		asked += engine_read(e, 2, random_below(&seed, 64 * MIB / 4096) * 4096, 16 * KIB,
				     65 * MIB)
				 .len;
	assert_int_equal(asked, 0);
	engine_free(e);
}

/* 2000 readers of one file, all served from one pool; and a random scanner beside them. */
static void test_two_thousand_cursors_beside_a_scanner(void **state)
{
	struct engine *e = engine_make("cursor", 64, 4000, 1024 * MIB);
	uint64_t size = 4000 * MIB, seed = 2;

	e->chunk = 256 * KIB;
	e->tuning.window_init = 256 * KIB;
	for (uint64_t i = 0; i < 20; i++)
		for (uint64_t k = 0; k < 2000; k++) {
			struct readahead_plan p;

			p = engine_read(e, 1, k * 2 * MIB + k * k % 13 * 64 * KIB + i * 8192, 8192,
					size);
			assert_int_equal(p.count, i + 1);
			engine_fetch(e, p, size);
			p = engine_read(e, 2, random_below(&seed, 1ull << 40) & ~8191ull, 8192,
					1ull << 40);
			assert_int_equal(p.len, 0);
		}
	engine_check_account(e);
	engine_free(e);
}

/* Chunks of a stream that wait for the disk. */
struct waiting {
	struct readahead_plan plan[16];
	unsigned int n;
};

static void wait_for_disk(struct waiting *w, struct readahead_plan plan)
{
	assert_true(w->n < 16);
	w->plan[w->n++] = plan;
}

/* N reads of LEN bytes of file 1, STEP apart: what they ask for waits. */
static void read_apart(struct engine *e, struct waiting *w, uint64_t n, uint64_t step, uint32_t len,
		       uint64_t size)
{
	for (uint64_t i = 0; i < n; i++) {
		struct readahead_plan p = engine_read(e, 1, i * step, len, size);

		if (p.len)
			wait_for_disk(w, p);
	}
}

/* The first of them goes, and has come; returns its length. */
static uint64_t fetch_first(struct engine *e, struct waiting *w, uint64_t size)
{
	struct readahead_plan first = w->plan[0], next = engine_carry_out(e, &first, size);

	memmove(w->plan, w->plan + 1, --w->n * sizeof(w->plan[0]));
	if (next.len)
		wait_for_disk(w, next);
	return first.len;
}

static void test_memory_is_never_exceeded_by_64_streams(void **state)
{
	struct engine *e = engine_make("cursor", 1024, 1024, 64 * MIB);
	struct waiting queue[64] = {{.n = 0}};
	uint64_t size = 256 * MIB, planned = 0, seed = 6;

	e->streams = 64;
	e->reader = 1;
	for (uint64_t i = 0; i < 200; i++)
		for (uint64_t k = 0; k < 64; k++) {
			struct waiting *w = &queue[k];
			struct readahead_plan p = engine_read(e, k, i * READ, READ, size);
			struct readahead_stats s;

			if (p.len) {
				/* one queued ahead of its reader at most */
				for (unsigned int n = 0; n < w->n; n++)
					assert_true(w->plan[n].offset + w->plan[n].len <=
						    (i + 1) * READ);
				wait_for_disk(w, p);
			}
			if (w->n && random_below(&seed, 4) == 0)
				planned += fetch_first(e, w, size);
			readahead_stats(e->ra, &s);
			assert_true(s.unread <= 64 * MIB && s.unread_max <= 64 * MIB);
			assert_true(s.streams <= 64);
		}
	engine_check_account(e);
	assert_true(planned > 64 * 4 * MIB); /* and yet each got its share */
	engine_free(e);
}

/*
 * Sixteen requests of 1 MiB outstanding are more than a chunk, and the disk is elsewhere meanwhile: what is asked
 * for beyond it is in chunks as well, one behind the other.
 */
static void test_who_has_more_outstanding_than_a_chunk(void **state)
{
	struct engine *e = engine_default("cursor");
	struct waiting w = {.n = 0};
	uint64_t size = 1024 * MIB;

	read_apart(e, &w, 32, MIB, MIB, size);
	assert_true(w.n > 3);
	for (unsigned int i = 1; i < w.n; i++)
		assert_true(w.plan[i].offset == w.plan[i - 1].offset + w.plan[i - 1].len);
	assert_true(w.plan[w.n - 1].offset + w.plan[w.n - 1].len >= 32 * MIB);
	while (w.n && w.plan[0].offset < 32 * MIB)
		fetch_first(e, &w, size);
	assert_int_equal(w.n, 1); /* and one ahead of him */
	fetch_first(e, &w, size);
	engine_check_account(e);
	engine_free(e);
}

/*
 * What is behind a chunk was asked for, so only the last one of those that wait can be made shorter; one whose
 * reader is not known any more can, too. A plan that stays longer than its request would have the disk for longer
 * than its turn is.
 */
static void test_the_last_of_those_that_wait_may_be_shortened(void **state)
{
	struct engine *e = engine_default("cursor");
	struct waiting w = {.n = 0};
	uint64_t size = 1024 * MIB, file = 1;

	read_apart(e, &w, 32, MIB, MIB, size);
	for (unsigned int i = 0; i < w.n; i++)
		assert_int_equal(readahead_may_shorten(e->ra, &w.plan[i]), i == w.n - 1);
	readahead_shorten(e->ra, &e->counters, &w.plan[w.n - 1], MIB);
	assert_int_equal(w.plan[w.n - 1].len, MIB);
	engine_check_account(e);
	readahead_forget(e->ra, &file, sizeof(file));
	assert_true(readahead_may_shorten(e->ra, &w.plan[0]));
	readahead_shorten(e->ra, &e->counters, &w.plan[0], MIB);
	assert_int_equal(w.plan[0].len, MIB);
	assert_true(w.plan[0].ahead <= MIB);
	engine_free(e);
}

/* Who reads some here and there is not beyond what waits for him: he left it out. */
static void test_who_skips_has_one_chunk_queued(void **state)
{
	struct engine *e = engine_default("cursor");
	struct waiting w = {.n = 0};
	uint64_t size = 1024 * MIB;

	read_apart(e, &w, 200, 128 * KIB, READ, size);
	assert_true(w.n <= 1);
	engine_free(e);
}

/* Of what was lost only who is followed need be asked: a random reader is not, a stream is. */
static void test_who_is_followed(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB;
	struct readahead_plan p = {0};

	for (uint64_t i = 0; i < 8; i++)
		assert_false(engine_read(e, 1, (i * 37 % 8) * 64 * MIB, READ, size).followed);
	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 2, i * READ, READ, size);
	engine_fetch(e, p, size);
	assert_true(engine_read(e, 2, 4 * READ, READ, size).followed);
	engine_free(e);
}

/* The second READ of a run is known for it, where it is right behind the first: none before it, behind it or near it is. */
static void test_the_second_of_a_run(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB;

	for (uint64_t n = 0; n < 6; n++)
		assert_int_equal(engine_read(e, 1, 64 * MIB + n * READ, READ, size).second, n == 1);
	assert_false(engine_read(e, 1, 128 * MIB, READ, size).second);
	assert_false(engine_read(e, 1, 128 * MIB, READ, size).second);
	assert_false(engine_read(e, 1, 128 * MIB + 2 * READ, READ, size).second);
	assert_false(engine_read(e, 1, 128 * MIB + 3 * READ, READ, size).second);
	assert_false(engine_read(e, 1, 192 * MIB, READ, size).second);
	assert_true(engine_read(e, 1, 192 * MIB + READ, READ, size).second);
	e->tuning.rules = &rules_paper; /* who bring nothing along elsewhere */
	engine_read(e, 2, 64 * MIB, READ, size);
	assert_false(engine_read(e, 2, 64 * MIB + READ, READ, size).second);
	engine_free(e);
}

/* What lies behind a record is not wanted, and who asked for more would not find the rest of one that is on its way. */
static void test_the_second_of_a_record(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB;

	for (uint64_t n = 0; n < 32; n++) {
		engine_read(e, 1, 64 * MIB + n * MIB, READ, size);
		assert_int_equal(engine_read(e, 1, 64 * MIB + n * MIB + READ, READ, size).second,
				 n < 4);
	}
	engine_free(e);
}

/* Eight begin at once, when a chunk is long, and none has read what it asked for: none is left out. */
static void test_a_small_memory_is_shared_by_those_who_begin_together(void **state)
{
	for (uint64_t memory = 16 * MIB; memory <= 256 * MIB; memory *= 2) {
		struct engine *e = engine_make("cursor", 64, 64, memory);
		uint64_t size = 256 * MIB, got[8] = {0}, least = memory / 32;

		e->chunk = 12 * MIB;
		e->streams = 8;
		for (uint64_t i = 0; i < 6; i++)
			for (uint64_t k = 0; k < 8; k++)
				got[k] += engine_read(e, k, i * READ, READ, size).len;
		for (uint64_t k = 0; k < 8; k++)
			assert_true(got[k] >= (least < e->chunk ? least : e->chunk));
		assert_int_equal(engine_counted(e, READAHEAD_REFUSED), 0);
		engine_check_account(e);
		engine_free(e);
	}
}

/* One that goes on alone is still fetched in whole chunks. */
static void test_one_stream_has_whole_chunks_of_an_ample_memory(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB, chunks;

	e->chunk = 12 * MIB;
	read_through(e, 1, 0, 960 * MIB, size);
	chunks = engine_counted(e, READAHEAD_CHUNKS);
	assert_in_range(chunks, 960 / 12, 1024 / 12 + 1);
	engine_free(e);
}

/* What is planned behind the shortened chunk of a stream that has less than two chunks' share of the memory. */
static struct readahead_plan behind_a_shortened_one(struct engine *e, bool has_floor)
{
	uint64_t size = 1024 * MIB;
	struct readahead_plan plan;

	e->chunk = 16 * MIB;
	e->streams = 12;
	for (uint64_t k = 0; k < e->streams; k++) {
		plan = (struct readahead_plan){0};
		for (uint64_t i = 0; i < 6 && plan.len == 0; i++)
			plan = engine_read(e, k, i * READ, READ, size);
		assert_true(plan.len >= 12 * MIB);
		readahead_shorten(e->ra, &e->counters, &plan, 5 * MIB);
	}
	e->has_floor = has_floor;
	return engine_start(e, &plan, size);
}

/*
 * The chunk of who has a floor is shortened, so that he is served the more often: then the next one is to wait behind it,
 * also where there is no room for two whole ones. Who comes to the end of it first waits for another's turn.
 */
static void test_who_has_a_floor_has_two_chunks_in_a_small_share(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan next = behind_a_shortened_one(e, false);

	assert_int_equal(next.len, 0);
	engine_free(e);
	e = engine_default("cursor");
	next = behind_a_shortened_one(e, true);
	assert_in_range(next.len, 5 * MIB, 12 * MIB);
	assert_true(next.offset == 5 * MIB);
	engine_check_account(e);
	engine_free(e);
}

static void test_the_window_grows_when_late_and_shrinks_when_lost(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 1024 * MIB);
	uint64_t size = 1024 * MIB, before, after;
	struct readahead_plan p = {0};

	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 1, i * READ, READ, size);
	before = engine_fetch(e, p, size);
	readahead_late(e->ra, &e->tuning, &p.cursor);
	after = engine_fetch(e, engine_read(e, 1, 4 * READ, READ, size), size);
	assert_in_range(before, 8 * MIB - e->chunk, 8 * MIB + e->chunk);
	assert_in_range(before + after, 16 * MIB - e->chunk, 16 * MIB + e->chunk);

	/*
	 * what had arrived is gone from memory: given up, and asked for again with half the window
	 */
	readahead_lost(e->ra, &e->tuning, &e->counters, &p.cursor, 5 * READ);
	assert_true(engine_counted(e, READAHEAD_WASTED) > 8 * MIB);
	engine_check_account(e);
	p = engine_read(e, 1, 5 * READ, READ, size);
	assert_in_range(p.offset, 5 * READ, 6 * READ);
	assert_in_range(engine_fetch(e, p, size), 1, 8 * MIB + e->chunk);
	engine_free(e);
}

/* While a stream goes on its reads are to be seen: what a reader left behind who is gone keeps nobody. */
static void test_who_fell_silent_keeps_no_file(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
	uint64_t size = 64 * MIB;
	struct readahead_stats s;

	assert_false(engine_read(e, 1, 0, READ, size).unread);
	read_through(e, 1, READ, 8 * READ, size);
	assert_true(engine_read(e, 1, 32 * MIB, READ, size).unread);
	e->now += SEC / 2; /* it goes on, slowly */
	assert_true(engine_read(e, 1, 8 * READ, READ, size).unread);
	e->now += SEC * 3 / 4;
	assert_true(engine_read(e, 1, 33 * MIB, READ, size).unread);
	e->now += SEC / 2;
	readahead_stats(e->ra, &s);
	assert_true(s.unread > 0);
	assert_false(engine_read(e, 1, 34 * MIB, READ, size).unread);
	engine_read(e, 1, 9 * READ, READ, size); /* it is there again */
	assert_true(engine_read(e, 1, 35 * MIB, READ, size).unread);
	engine_free(e);
}

static void test_an_idle_stream_gives_up_its_memory(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
	struct readahead_stats s;
	uint64_t size = 64 * MIB;

	read_through(e, 1, 0, 8 * READ, size);
	readahead_stats(e->ra, &s);
	assert_int_equal(s.streams, 1);
	assert_true(s.unread > 0);
	engine_sweep(e, e->now + 9 * SEC);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	engine_sweep(e, e->now + 11 * SEC);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), s.unread);
	engine_check_account(e);
	e->now += 11 *
		  SEC; /* and goes on where it was, in what is there, which is not fetched again */
	assert_int_equal(read_through(e, 1, 8 * READ, 10 * READ, size), 0);
	assert_true(read_through(e, 1, 10 * READ, size / 2, size) > 0);
	engine_check_account(e);
	engine_free(e);
}

/* What it left is gone from memory when it goes on: all of it is fetched again. */
static void test_an_idle_stream_finds_nothing_left(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
	uint64_t size = 64 * MIB, fetched = read_through(e, 1, 0, 8 * READ, size);
	struct readahead_plan p;

	engine_sweep(e, e->now += 11 * SEC);
	p = engine_read(e, 1, 8 * READ, READ, size);
	assert_true(p.followed && !p.len && !p.known_resident); /* so that it is looked at */
	readahead_lost(e->ra, &e->tuning, &e->counters, &p.cursor, 8 * READ);
	assert_true(read_through(e, 1, 9 * READ, 10 * READ, size) >= fetched / 2);
	engine_check_account(e);
	engine_free(e);
}

/* To read the same again and again is not to read on: it is silent, forward and backward. */
static void test_who_repeats_is_silent(void **state)
{
	static const bool ways[] = {true, false};
	uint64_t size = 64 * MIB;

	for (int w = 0; w < 2; w++) {
		struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
		struct readahead_stats s;
		uint64_t at = 0;

		for (uint64_t i = 0; i < 12; i++) {
			at = ways[w] ? i * READ : size - (i + 1) * READ;
			engine_fetch(e, engine_read(e, 1, at, READ, size), size);
		}
		readahead_stats(e->ra, &s);
		assert_true(s.unread > 0);
		for (int i = 0; i < 4; i++) {
			e->now += 4 * SEC;
			engine_fetch(e, engine_read(e, 1, at, READ, size), size);
			at = ways[w] ? at - READ : at + READ; /* or what lies behind */
			engine_sweep(e, e->now);
		}
		readahead_stats(e->ra, &s);
		assert_int_equal(s.unread, 0);
		engine_check_account(e);
		engine_free(e);
	}
}

/* Who pauses and reads on has wasted nothing: not for the files that come after either. Who does not read on has. */
static void test_a_pause_is_no_example(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 16 * MIB;
	struct effectiveness all;

	for (uint64_t f = 1; f <= 40; f++) {
		read_through(e, f, 0, 12 * READ, size);
		for (int i = 0; i < 3; i++)
			engine_sweep(e, e->now += SEC);
		read_through(e, f, 12 * READ, size, size);
	}
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	all = atomic_load(&e->ra->newcomers);
	assert_int_equal(all.wasted, 0);
	read_through(e, 50, 0, 12 * READ, size);
	for (int i = 0; i < 12; i++)
		engine_sweep(e, e->now += SEC);
	all = atomic_load(&e->ra->newcomers);
	assert_true(engine_counted(e, READAHEAD_WASTED) >= MIB);
	assert_in_range(all.wasted, MIB / 2, MIB); /* the first evidence of a file */
	engine_free(e);
}

/*
 * Large requests, a few and then a gap of a few that nobody reads: what is between is not read through, once the file has shown
 * that. Returns the bytes asked for, for each that was read.
 */
static double with_gaps(uint32_t run, uint64_t *seed)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 1024 * MIB, at = 0, had = 0, asked = 0;

	e->chunk = 16 * MIB;
	e->seek = MIB;
	while (at + 16 * MIB < size) {
		for (uint32_t i = 0; i < run; i++, at += MIB, had += MIB)
			asked += engine_fetch(e, engine_read(e, 1, at, MIB, size), size);
		at += (3 + random_below(seed, 6)) * MIB;
	}
	engine_check_account(e);
	engine_free(e);
	return (double)asked / (double)had;
}

static void test_what_is_skipped_is_not_read_through(void **state)
{
	uint64_t seed = 1;

	for (uint32_t run = 1; run <= 6; run++) {
		double ratio = with_gaps(run, &seed);

		print_message("runs of %u: %.2f bytes asked for of each read\n", run, ratio);
		assert_true(ratio < 1.5);
	}
}

/* The same requests, all of them and up to 8 out of order, are one stream. */
static void test_what_is_late_is_no_gap(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 512 * MIB, seed = 1, asked = 0;

	e->chunk = 16 * MIB;
	e->seek = MIB;
	for (uint64_t at = 0; at < size; at += 8 * MIB) {
		uint64_t order[8];

		for (int i = 0; i < 8; i++)
			order[i] = (uint64_t)i;
		for (int i = 7; i > 0; i--) {
			uint64_t j = random_below(&seed, (uint64_t)i + 1), was = order[i];

			order[i] = order[j];
			order[j] = was;
		}
		for (int i = 0; i < 8; i++)
			asked += engine_fetch(e, engine_read(e, 1, at + order[i] * MIB, MIB, size),
					      size);
	}
	print_message("out of order: %.2f asked for\n", (double)asked / (double)size);
	assert_true(asked > size / 100 * 95);
	engine_check_account(e);
	engine_free(e);
}

/* Of a stream that waits for its chunk nothing is wasted: the windows of its file stay as they are. */
static void test_waiting_is_no_waste(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
	uint64_t size = 64 * MIB;
	struct readahead_plan p = {0};

	e->chunk = MIB;
	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 1, i * READ, READ, size);
	assert_true(p.len > 0);
	for (struct readahead_plan next = engine_start(e, &p, size); next.len;
	     next = engine_start(e, &next, size))
		; /* all are under way */
	engine_sweep(e, e->now + 11 * SEC);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	p.len = 0;
	for (uint64_t at = 32 * MIB; !p.len && at < 34 * MIB; at += READ)
		p = engine_read(e, 1, at, READ, size);
	assert_in_range(engine_fetch(e, p, size), 8 * MIB - e->chunk, 8 * MIB + e->chunk);
	engine_check_account(e);
	engine_free(e);
}

static void test_known_resident_only_where_it_arrived(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB;
	struct readahead_plan p = {0}, q;

	for (uint64_t i = 0; i < 4; i++) {
		p = engine_read(e, 1, i * READ, READ, size);
		assert_false(p.known_resident);
	}
	engine_start(e, &p, size);
	readahead_arrived(e->ra, &p, 6 * READ, e->now);
	assert_true(engine_read(e, 1, 4 * READ, READ, size).known_resident);
	assert_true(engine_read(e, 1, 5 * READ, READ, size).known_resident);
	assert_false(engine_read(e, 1, 6 * READ, READ, size).known_resident);
	readahead_arrived(e->ra, &p, 20 * READ, e->now);
	e->now += SEC; /* too long ago to be sure */
	assert_false(engine_read(e, 1, 7 * READ, READ, size).known_resident);
	q = engine_read(e, 1, 50 * MIB, READ, size);
	assert_false(q.known_resident);
	engine_free(e);
}

/* Which READs lie in what had been asked for ahead of their reader, whether it has come or not. */
static void test_asked(void **state)
{
	struct engine *e = engine_make("cursor", 16, 16, 64 * MIB);
	uint64_t size = 64 * MIB;
	struct readahead_plan p = {0};

	for (uint64_t i = 0; !p.len; i++) {
		p = engine_read(e, 1, MIB + i * READ, READ, size);
		assert_false(p.asked); /* not when it came */
	}
	assert_true(engine_read(e, 1, MIB + 10 * READ, READ, size).asked);
	assert_false(engine_read(e, 1, 50 * MIB, READ, size).asked);
	assert_true(engine_read(e, 1, MIB + 11 * READ, READ, size).asked);
	assert_false(engine_read(e, 2, MIB, READ, size).asked);
	engine_free(e);
}

static void test_a_failed_chunk_is_counted_and_forgotten(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB;
	struct readahead_plan p = {0}, next;
	struct readahead_stats s;

	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 1, i * READ, READ, size);
	next = engine_start(e, &p, size);
	assert_true(next.len > 0);
	readahead_finished(e->ra, &e->counters, &next, next.offset, false, false); /* refused */
	readahead_arrived(e->ra, &p, MIB, e->now);
	readahead_finished(e->ra, &e->counters, &p, MIB, true, true);
	assert_int_equal(engine_counted(e, READAHEAD_PREFETCH_ERRORS), 1);
	engine_check_account(e);
	readahead_stats(e->ra, &s);
	assert_int_equal(s.unread, MIB - 4 * READ); /* what arrived before the error */
	assert_int_equal(engine_read(e, 1, 4 * READ, READ, size).count, 2); /* must prove itself */
	engine_free(e);
}

/* What nobody reads is wasted by the export whose READ it was fetched for, not by any. */
static void test_silence_is_counted_where_it_belongs(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_counters *other = aligned_alloc(64, sizeof(*other));
	struct readahead_stats s;

	memset(other, 0, sizeof(*other));
	e->account = 7;
	read_through(e, 1, 0, 8 * READ, 64 * MIB);
	readahead_stats(e->ra, &s);
	readahead_sweep(e->ra, e->now + 11 * SEC);
	readahead_collect(e->ra, 0, other);
	assert_int_equal(readahead_counted(other, READAHEAD_WASTED), 0);
	readahead_collect(e->ra, 7, &e->counters);
	assert_true(s.unread > 0);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), s.unread);
	readahead_collect(e->ra, 7, other); /* once */
	assert_int_equal(readahead_counted(other, READAHEAD_WASTED), 0);
	engine_check_account(e);
	engine_free(e);
	free(other);
}

/* What a full queue refuses is planned again with every read, and costs the disk nothing. */
static void test_what_is_refused_is_neither_fetched_nor_wasted(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB;

	for (uint64_t i = 0; i < 40; i++) {
		struct readahead_plan p = engine_read(e, 1, i * READ, READ, size);

		if (p.len)
			readahead_finished(e->ra, &e->counters, &p, p.offset, false, false);
	}
	assert_true(engine_counted(e, READAHEAD_PLANNED) > size);
	assert_int_equal(engine_counted(e, READAHEAD_PREFETCHED), 0);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	engine_check_account(e);
	engine_free(e);
}

/* Of a chunk half is there when its reader has gone, and half comes after that: wasted is what came. */
static void test_what_came_unread_is_wasted(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB, end, middle;
	struct readahead_plan p = {0};

	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 1, i * READ, READ, size);
	end = p.offset + p.len;
	middle = end - p.ahead / 2;
	engine_start(e, &p, size);
	readahead_fetched(e->ra, &e->counters, &p, p.offset, middle);
	readahead_arrived(e->ra, &p, middle, e->now);
	readahead_lost(e->ra, &e->tuning, &e->counters, &p.cursor, p.offset + READ * 4);
	assert_int_equal(engine_counted(e, READAHEAD_PREFETCHED), p.ahead - p.ahead / 2);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), p.ahead - p.ahead / 2);
	readahead_forget(e->ra, &(uint64_t){1}, sizeof(uint64_t));
	readahead_fetched(e->ra, &e->counters, &p, middle, end);
	assert_int_equal(engine_counted(e, READAHEAD_PREFETCHED), p.ahead);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), p.ahead);
	engine_check_account(e);
	engine_free(e);
}

#define OPEN 48

struct open_plan {
	struct readahead_plan plan;
	uint64_t size, upto;
	bool started;
};

static void add_plan(struct open_plan *open, struct readahead_plan plan, uint64_t size)
{
	for (int i = 0; plan.len && i < OPEN; i++)
		if (!open[i].plan.len) {
			open[i] =
				(struct open_plan){.plan = plan, .size = size, .upto = plan.offset};
			return;
		}
}

/* One step of the life of one plan: it starts, part of it arrives, it ends well or badly. */
static void advance(struct engine *e, struct open_plan *open, uint64_t *seed)
{
	struct open_plan *o = &open[random_below(seed, OPEN)];
	uint64_t end = o->plan.offset + o->plan.len;

	if (!o->plan.len)
		return;
	switch (random_below(seed, 6)) {
	case 0:
	case 1:
		if (o->started)
			break;
		if (random_below(seed, 2)) /* the disk wants a shorter one by now */
			readahead_shorten(e->ra, &e->counters, &o->plan,
					  1 + random_below(seed, o->plan.len));
		add_plan(open, engine_start(e, &o->plan, o->size), o->size);
		o->started = true;
		break;
	case 2:
	case 3:
		if (!o->started || o->upto == end)
			break;
		if (random_below(seed, 4) == 0) /* some of it was there */
			readahead_already(e->ra, &e->counters, &o->plan, o->upto, end);
		else
			readahead_fetched(e->ra, &e->counters, &o->plan, o->upto, end);
		o->upto += 1 + random_below(seed, end - o->upto);
		readahead_arrived(e->ra, &o->plan, o->upto, e->now);
		break;
	case 4: /* ends as far as it came */
		readahead_finished(e->ra, &e->counters, &o->plan, o->upto, o->started,
				   o->started && random_below(seed, 2));
		o->plan.len = 0;
		break;
	default:
		if (!o->started)
			break;
		readahead_arrived(e->ra, &o->plan, end, e->now);
		readahead_finished(e->ra, &e->counters, &o->plan, end, true, false);
		o->plan.len = 0;
	}
}

/* Any order of any calls: the account is always exact, and memory never exceeded. */
static void test_the_account_is_exact_whatever_happens(void **state)
{
	static const char *const any[] = {"default", "always", "slowdown", "cursor"};

	for (uint64_t seed0 = 1; seed0 <= 24; seed0++) {
		uint64_t seed = seed0, file, at[6] = {0};
		struct engine *e = engine_make(any[seed0 % 4], 4, 8, 24 * MIB);
		struct open_plan open[OPEN] = {{.started = false}};

		for (int i = 0; i < 6000; i++) {
			uint64_t size = (1 + random_below(&seed, 4)) * 20 * MIB;
			struct readahead_plan p;

			file = random_below(&seed, 6);
			switch (random_below(&seed, 16)) {
			case 0:
				at[file] = random_below(&seed, 80 * MIB);
				break;
			case 1:
				at[file] += random_below(&seed, 300 * KIB);
				break;
			case 2:
				if (random_below(&seed, 10) == 0)
					readahead_forget(e->ra, &file, sizeof(file));
				break;
			case 3:
				readahead_late(e->ra, &e->tuning,
					       &open[random_below(&seed, OPEN)].plan.cursor);
				break;
			case 4:
				if (random_below(&seed, 10) == 0)
					readahead_lost(e->ra, &e->tuning, &e->counters,
						       &open[random_below(&seed, OPEN)].plan.cursor,
						       at[file]);
				break;
			case 5:
				if (random_below(&seed, 40) == 0)
					e->now += 11 * SEC;
				break;
			case 6:
				if (random_below(&seed, 40) == 0)
					e->tuning.heuristic =
						heuristic_find(any[random_below(&seed, 4)]);
				e->tuning.rules = rules_nth((uint32_t)random_below(&seed, 5));
				e->chunk = (1 + random_below(&seed, 64)) * 64 * KIB;
				break;
			case 7:
			case 8:
			case 9:
			case 10:
				advance(e, open, &seed);
				break;
			default:
				p = engine_read(e, file, at[file], READ, size);
				add_plan(open, p, size);
				at[file] += READ;
			}
			engine_check_account(e);
		}
		for (file = 0; file < 6; file++)
			readahead_forget(e->ra, &file, sizeof(file));
		engine_check_account(e);
		for (int i = 0; i < OPEN; i++) /* late calls find nothing, and do nothing */
			if (open[i].plan.len) {
				struct readahead_stats s;

				assert_int_equal(engine_start(e, &open[i].plan, MIB).len, 0);
				readahead_arrived(e->ra, &open[i].plan, UINT64_MAX, e->now);
				readahead_finished(e->ra, &e->counters, &open[i].plan, 0, true,
						   false);
				readahead_stats(e->ra, &s);
				assert_int_equal(s.unread, 0);
				assert_int_equal(s.cursors_used, 0);
				assert_int_equal(s.entries, 0);
			}
		engine_free(e);
	}
}

/*
 * A clock read before the lock was taken lies a little behind: that is not a silence of centuries.
 */
static void test_a_clock_slightly_behind(void **state)
{
	struct engine *e = engine_default("cursor");
	uint64_t size = 64 * MIB;
	struct readahead_plan p = {0};

	for (uint64_t i = 0; i < 4; i++)
		p = engine_read(e, 1, i * READ, READ, size);
	e->now -= 1;
	assert_true(engine_start(e, &p, size).len > 0);
	engine_free(e);
}

#define THREADS 4
#define ROUNDS	8000

struct shared {
	struct engine *e;
	uint64_t seed;
};

/* As the plugin's threads would: reads of a few files, chunks carried out, all else in between. */
static void *hammer(void *arg)
{
	struct shared *s = arg;
	struct engine *e = s->e;
	uint64_t seed = s->seed, at[8] = {0}, size = 32 * MIB;
	struct readahead_stats status;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t file = random_below(&seed, 8);
		struct readahead_read read = {
			.key = &file,
			.key_len = sizeof(file),
			.offset = at[file],
			.size = size,
			.len = READ,
			.now = SEC + i * MSEC,
			.chunk = MIB,
			.streams = 4,
		};
		struct readahead_plan plan, next;

		readahead_observe(e->ra, &e->tuning, &e->counters, &read, &plan);
		at[file] = random_below(&seed, 30) ? (at[file] + READ) % size
						   : random_below(&seed, size / READ) * READ;
		while (plan.len) {
			uint64_t upto = plan.offset + random_below(&seed, 2) * plan.len;

			readahead_started(e->ra, &e->tuning, &e->counters, &plan, &read, &next);
			readahead_late(e->ra, &e->tuning, &plan.cursor);
			readahead_arrived(e->ra, &plan, upto, read.now);
			readahead_finished(e->ra, &e->counters, &plan, upto, true, false);
			plan = next;
		}
		if (i % 50 == 0)
			readahead_forget(e->ra, &file, sizeof(file));
		if (i % 60 == 0)
			readahead_sweep(e->ra, read.now);
		readahead_stats(e->ra, &status);
		if (status.unread > status.memory || status.unread_max > status.memory)
			abort();
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct engine *e = engine_make("cursor", 6, 12, 8 * MIB); /* ejects and recycles */
	struct shared shared[THREADS];
	pthread_t threads[THREADS];

	for (uint64_t i = 0; i < THREADS; i++) {
		shared[i] = (struct shared){.e = e, .seed = i};
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &shared[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	engine_check_account(e);
	assert_int_equal(engine_counted(e, READAHEAD_READS), THREADS * ROUNDS);
	assert_true(engine_counted(e, READAHEAD_USED) > 0);
	engine_free(e);
}

/* Whoever asks why sees each read with its cursor's count, and each plan. */
static void test_decisions_can_be_seen(void **state)
{
	static struct trace_record seen[16];
	struct engine *e = engine_default("cursor");
	uint64_t before = trace_last();

	trace_switch(true);
	for (uint64_t i = 0; i < 4; i++)
		engine_read(e, 77, i * READ, READ, MIB);
	trace_switch(false);
	assert_int_equal(trace_read(before, seen, 16), 5);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(seen[i].event, TRACE_OBSERVE);
		assert_int_equal(seen[i].file, 77);
		assert_int_equal(seen[i].args[0], i * READ);
		assert_int_equal(seen[i].args[2], i + 1);
	}
	assert_int_equal(seen[4].event, TRACE_PLAN);
	assert_int_equal(seen[4].args[0], 0); /* from where the run began */
	assert_int_equal(seen[4].args[1], MIB);
	assert_int_equal(seen[4].args[2], MIB - 4 * READ);
	engine_free(e);
}

static void test_the_counters_have_names(void **state)
{
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		assert_non_null(readahead_counter_names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sequential_reader_is_read_ahead_exactly_once),
		cmocka_unit_test(test_the_first_chunk_of_a_run),
		cmocka_unit_test(test_a_small_file_profits),
		cmocka_unit_test(test_a_small_file_is_fetched_whole),
		cmocka_unit_test(test_off_the_edges),
		cmocka_unit_test(test_never_beyond_a_moving_end),
		cmocka_unit_test(test_random_reads_cause_none),
		cmocka_unit_test(test_a_random_permutation_causes_none),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_slowdown_and_default_see_no_stride),
		cmocka_unit_test(test_reordered_requests),
		cmocka_unit_test(test_reordered_runs_of_one_file),
		cmocka_unit_test(test_random_within_windows_causes_next_to_none),
		cmocka_unit_test(test_off_by_a_retransmission),
		cmocka_unit_test(test_who_overlaps_goes_on),
		cmocka_unit_test(test_who_overlaps_by_chance_does_not),
		cmocka_unit_test(test_two_thousand_cursors_beside_a_scanner),
		cmocka_unit_test(test_memory_is_never_exceeded_by_64_streams),
		cmocka_unit_test(test_who_has_more_outstanding_than_a_chunk),
		cmocka_unit_test(test_who_skips_has_one_chunk_queued),
		cmocka_unit_test(test_the_last_of_those_that_wait_may_be_shortened),
		cmocka_unit_test(test_who_is_followed),
		cmocka_unit_test(test_the_second_of_a_run),
		cmocka_unit_test(test_the_second_of_a_record),
		cmocka_unit_test(test_a_small_memory_is_shared_by_those_who_begin_together),
		cmocka_unit_test(test_one_stream_has_whole_chunks_of_an_ample_memory),
		cmocka_unit_test(test_who_has_a_floor_has_two_chunks_in_a_small_share),
		cmocka_unit_test(test_the_window_grows_when_late_and_shrinks_when_lost),
		cmocka_unit_test(test_who_fell_silent_keeps_no_file),
		cmocka_unit_test(test_an_idle_stream_gives_up_its_memory),
		cmocka_unit_test(test_an_idle_stream_finds_nothing_left),
		cmocka_unit_test(test_who_repeats_is_silent),
		cmocka_unit_test(test_a_pause_is_no_example),
		cmocka_unit_test(test_waiting_is_no_waste),
		cmocka_unit_test(test_what_is_skipped_is_not_read_through),
		cmocka_unit_test(test_what_is_late_is_no_gap),
		cmocka_unit_test(test_known_resident_only_where_it_arrived),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_a_failed_chunk_is_counted_and_forgotten),
		cmocka_unit_test(test_silence_is_counted_where_it_belongs),
		cmocka_unit_test(test_what_is_refused_is_neither_fetched_nor_wasted),
		cmocka_unit_test(test_what_came_unread_is_wasted),
		cmocka_unit_test(test_the_account_is_exact_whatever_happens),
		cmocka_unit_test(test_a_clock_slightly_behind),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_decisions_can_be_seen),
		cmocka_unit_test(test_the_counters_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
