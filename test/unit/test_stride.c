/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records a step apart: that their step is found, and that they are fetched and nothing between them. */
#include "engine.h"
#include "readahead/heur_table.h"
#include "readahead/stride.h"
#include "readahead/stride_history.h"
#include "readahead/way.h"

#define READ (32 * KIB)
#define SIZE (256 * MIB)

/* ---- the step ------------------------------------------------------------------------------ */

static uint64_t found(const uint64_t *begun, int n, bool back)
{
	struct stride_history h = {.n = 0};

	for (int i = 0; i < n; i++)
		stride_note(&h, begun[i] * 4096);
	return stride_find(&h, back) / 4096;
}

static uint64_t found_after(const uint64_t *begun, int n)
{
	return found(begun, n, false);
}

static void test_four_a_step_apart(void **state)
{
	assert_int_equal(found_after((uint64_t[]){5, 15, 25}, 3), 0);
	assert_int_equal(found_after((uint64_t[]){5, 15, 25, 35}, 4), 10);
	assert_int_equal(found_after((uint64_t[]){5, 15, 26, 35}, 4), 0);
	assert_int_equal(found_after((uint64_t[]){15, 5, 25, 35}, 4), 10);
	/* three in turn, of steps 10, 7 and 100 */
	assert_int_equal(
		found_after((uint64_t[]){5, 1000, 3000, 15, 1007, 3100, 25, 1014, 3200, 35, 1021},
			    11),
		7);
	assert_int_equal(found_after((uint64_t[]){10, 0}, 2), 0);
	assert_int_equal(found_after((uint64_t[]){0}, 1), 0);
}

static void test_four_from_the_end(void **state)
{
	assert_int_equal(found((uint64_t[]){35, 25, 15}, 3, true), 0);
	assert_int_equal(found((uint64_t[]){35, 25, 15, 5}, 4, true), 10);
	assert_int_equal(found((uint64_t[]){35, 25, 15, 5}, 4, false), 0);
	assert_int_equal(found((uint64_t[]){5, 15, 25, 35}, 4, true), 0);
	assert_int_equal(found((uint64_t[]){35, 25, 900, 15, 800, 5}, 6, true), 10);
	assert_int_equal(found((uint64_t[]){30, 20, 10, 0}, 4, true), 10);
	assert_int_equal(
		found((uint64_t[]){9000 + 3 * 8193, 9000 + 2 * 8193, 9000 + 8193, 9000}, 4, true),
		0); /* further apart than is looked for */
}

/* ---- what is fetched ------------------------------------------------------------------------ */

/* By KiB, of the file. */
static uint8_t there[SIZE / KIB];

struct result {
	uint64_t hits, reads, bytes; /* reads, reads, fetched */
};

static uint64_t mark(const struct readahead_plan *p)
{
	uint64_t step = p->record ? p->step : p->len, part = p->record ? p->record : p->len;
	uint64_t bytes = 0;

	for (uint64_t at = 0; at < p->len; at += step) {
		uint64_t len = p->len - at < part ? p->len - at : part;

		memset(there + (p->offset + at) / KIB, 1, (len + KIB - 1) / KIB);
		bytes += len;
	}
	return bytes;
}

static void read_one(struct engine *e, uint64_t offset, uint32_t len, struct result *r)
{
	struct readahead_plan p = engine_read(e, 1, offset, len, SIZE);

	r->reads++;
	r->hits += there[offset / KIB];
	while (p.len) {
		struct readahead_plan next = engine_start(e, &p, SIZE);

		r->bytes += mark(&p);
		readahead_arrived(e->ra, &p, p.offset + p.len, e->now);
		readahead_finished(e->ra, &e->counters, &p, p.offset + p.len, true, false);
		p = next;
	}
}

/* Of every STEP bytes the first RECORD, in requests of at most READ. */
static struct result read_records(struct engine *e, uint64_t record, uint64_t step)
{
	struct result r = {0};

	memset(there, 0, sizeof(there));
	for (uint64_t at = 0; at + record <= SIZE; at += step)
		for (uint64_t in = 0; in < record; in += READ)
			read_one(e, at + in, (uint32_t)(record - in < READ ? record - in : READ),
				 &r);
	return r;
}

/* The same from the end: the requests of a record as before. */
static struct result read_records_back(struct engine *e, uint64_t record, uint64_t step)
{
	struct result r = {0};

	memset(there, 0, sizeof(there));
	for (uint64_t n = (SIZE - record) / step + 1; n-- > 0;)
		for (uint64_t in = 0; in < record; in += READ)
			read_one(e, n * step + in,
				 (uint32_t)(record - in < READ ? record - in : READ), &r);
	return r;
}

static void check_records(struct result (*read)(struct engine *, uint64_t, uint64_t))
{
	static const uint64_t works[][2] = {{64 * KIB, MIB},	  {47008, MIB},
					    {4 * KIB, 512 * KIB}, {96 * KIB, 2 * MIB},
					    {READ, 376064 * 2},	  {READ, 8 * MIB}};

	for (int w = 0; w < 6; w++) {
		struct engine *e = engine_default("cursor");
		uint64_t record = works[w][0], n = SIZE / works[w][1];
		struct result r = read(e, record, works[w][1]);
		uint64_t requests = r.reads / n;

		if (r.hits + 8 * requests < r.reads || r.bytes > n * record)
			fail_msg("work %d: %ju of %ju reads were there, %ju of %ju bytes fetched",
				 w, (uintmax_t)r.hits, (uintmax_t)r.reads, (uintmax_t)r.bytes,
				 (uintmax_t)(n * record));
		assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
		engine_check_account(e);
		engine_free(e);
	}
}

static void test_the_records_and_nothing_between(void **state)
{
	check_records(read_records);
	check_records(read_records_back);
}

/* A record of 8 KiB in each 64, from the end: as near as requests of one run may be, where reading on costs less. */
static void test_from_the_end_close_together(void **state)
{
	static const uint64_t steps[] = {64 * KIB, 32 * KIB, 128 * KIB};

	for (int i = 0; i < 3; i++) {
		struct engine *e = engine_default("cursor");
		struct result r;

		e->seek = MIB;
		r = read_records_back(e, 8 * KIB, steps[i]);
		if (r.hits + 16 < r.reads)
			fail_msg("step %ju: %ju of %ju were there", (uintmax_t)steps[i],
				 (uintmax_t)r.hits, (uintmax_t)r.reads);
		assert_in_range(r.bytes, SIZE - 32 * steps[i], SIZE);
		assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
		engine_check_account(e);
		engine_free(e);
	}
}

/* Two requests of the reader's are under way, and servers' threads exchange some. */
static void test_from_the_end_out_of_order(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};
	uint64_t seed = 5;

	memset(there, 0, sizeof(there));
	for (uint64_t n = SIZE / MIB; n >= 2; n -= 2) {
		uint64_t first = 1 + random_below(&seed, 2);

		read_one(e, (n - first) * MIB, 47008, &r);
		read_one(e, (n - 3 + first) * MIB, 47008, &r);
	}
	assert_true(r.hits + 14 >= r.reads);
	assert_true(r.bytes <= r.reads * 47008);
	engine_check_account(e);
	engine_free(e);
}

/* Four clients, each of whom reads his part of the file from the end, in turn: a step for each, and nothing for nobody. */
static void test_from_the_ends_of_parts(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};
	uint64_t bytes = 0;

	memset(there, 0, sizeof(there));
	for (uint64_t n = SIZE / MIB / 4; n-- > 0;)
		for (uint64_t part = 0; part < 4; part++)
			read_one(e, part * SIZE / 4 + n * MIB, READ, &r);
	assert_true(r.hits + 40 >= r.reads);
	for (uint64_t k = 0; k < SIZE / KIB; k++)
		bytes += there[k] ? KIB : 0;
	assert_true(bytes <= r.reads * READ);
	assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
	engine_check_account(e);
	engine_free(e);
}

/* Where a seek costs as much as reading on, all is fetched, in pieces that lie together. */
static void test_reads_through_where_that_is_cheaper(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r;

	e->seek = MIB;
	r = read_records(e, READ, 256 * KIB);
	assert_true(r.hits + 8 >= r.reads);
	assert_in_range(r.bytes, SIZE - 16 * 256 * KIB, SIZE);
	engine_check_account(e);
	engine_free(e);

	e = engine_default("cursor");
	e->seek = MIB;
	r = read_records(e, READ, MIB); /* ... and not where it is dearer */
	assert_true(r.bytes <= r.reads * READ);
	engine_free(e);
}

/* What is held for readers to come is the records' bytes, within the memory. */
static void test_memory(void **state)
{
	struct engine *e = engine_make("cursor", 16, 256, MIB);
	struct readahead_stats s;

	read_records(e, 64 * KIB, MIB);
	readahead_stats(e->ra, &s);
	assert_true(s.unread_max <= MIB);
	assert_true(engine_counted(e, READAHEAD_USED) > 0);
	engine_check_account(e);
	engine_free(e);
}

/* Pages of which P brings anything, of the parts of it that begin at the offset FROM or behind it. */
static uint64_t pages_of(const struct readahead_plan *p, uint64_t from)
{
	uint64_t step = p->record ? p->step : p->len, part = p->record ? p->record : p->len;
	uint64_t end = p->offset + p->len, pages = 0, next = 0;

	for (uint64_t at = p->offset; at < end; at += step) {
		uint64_t to = at + part < end ? at + part : end;
		uint64_t begin = at > from ? at : from;

		if (begin >= to)
			continue;
		begin = begin / 4096 > next ? begin / 4096 : next;
		next = (to + 4095) / 4096;
		pages += next - begin;
	}
	return pages;
}

/* RECORD bytes of each STEP from AT on, of each of FILES files; returns pages that came and were not read. */
static uint64_t pages_ahead(struct engine *e, uint64_t files, uint32_t record, uint64_t step,
			    uint64_t at)
{
	uint64_t size = 1024 * 1024 * MIB, pages = 0;

	for (uint64_t f = 1; f <= files; f++) {
		struct readahead_plan all[256];
		int n = 0;

		for (uint64_t i = 0; i < 120; i++, at += step) {
			struct readahead_plan p = engine_read(e, f, at, record, size);

			for (; p.len; p = engine_carry_out(e, &p, size)) {
				assert_true(n < 256);
				all[n++] = p;
			}
		}
		while (n-- > 0)
			pages += pages_of(&all[n], at);
		at -= 120 * step;
	}
	return pages;
}

/* Memory and disk move in pages: who wants a byte of each has as many held for him as who wants all of them. */
static void test_memory_is_of_whole_pages(void **state)
{
	static const struct {
		uint32_t record;
		uint64_t step, at, seek;
	} works[] = {{1, 8 * KIB, 0, 16 * KIB},
		     {1, 400 * KIB, 0, 1100 * KIB},
		     {1, 300 * KIB + 1, 5, 1100 * KIB},
		     {2, 12 * KIB, 4095, 16 * KIB},
		     {1, 5000, 0, 0},
		     {512, 64 * KIB, 512, 200 * KIB},
		     {4096, 400 * KIB, 0, 1100 * KIB},
		     {4096, 400 * KIB, 100, 1100 * KIB}};

	for (int w = 0; w < 8; w++) {
		struct engine *e = engine_default("cursor");
		uint64_t pages;

		e->seek = works[w].seek;
		e->chunk = 12 * MIB;
		e->reader = 1;
		pages = pages_ahead(e, 1000, works[w].record, works[w].step, works[w].at);
		if (pages * 4096 > 256 * MIB || !pages)
			fail_msg("%u bytes of %ju: %ju MiB", works[w].record,
				 (uintmax_t)works[w].step, (uintmax_t)(pages * 4096 / MIB));
		engine_check_account(e);
		engine_free(e);
	}
}

/* What the disk brought is counted as what was asked of it: in pages. */
static void test_pages_are_counted_as_they_come(void **state)
{
	for (int back = 0; back < 2; back++) {
		struct engine *e = engine_default("cursor");
		uint64_t at = SIZE / 2;
		struct readahead_plan p = {0};

		for (; !p.len; at = back ? at - MIB : at + MIB)
			p = engine_read(e, 1, at, 5000, SIZE);
		for (uint64_t in = 0; in < p.len; in += p.step)
			readahead_fetched(e->ra, &e->counters, &p, p.offset + in,
					  p.offset + in + p.record);
		assert_int_equal(engine_counted(e, READAHEAD_PREFETCHED),
				 engine_counted(e, READAHEAD_PLANNED));
		engine_free(e);
	}
}

/* A byte of each step is found, whatever is charged for it: forwards and from the end. */
static void test_single_bytes(void **state)
{
	for (int back = 0; back < 2; back++) {
		struct engine *e = engine_default("cursor");
		struct result r = {0};

		memset(there, 0, sizeof(there));
		for (uint64_t i = 0; i < SIZE / MIB; i++)
			read_one(e, (back ? SIZE / MIB - 1 - i : i) * MIB, 1, &r);
		if (r.hits + 8 < r.reads || r.bytes > r.reads)
			fail_msg("%ju of %ju, %ju bytes", (uintmax_t)r.hits, (uintmax_t)r.reads,
				 (uintmax_t)r.bytes);
		assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
		engine_check_account(e);
		engine_free(e);
	}
}

/* A few records at first, more when those were read: who begin a step apart may be many readers who go on. */
static void test_few_at_first(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan first = {0}, p = {0};
	uint64_t at = 0;

	for (; !first.len; at += 4 * MIB)
		first = engine_read(e, 1, at, READ, SIZE);
	assert_int_equal(first.record, READ);
	assert_in_range(first.len, 1, 4 * first.step);
	engine_fetch(e, first, SIZE);
	for (; !p.len; at += 4 * MIB)
		p = engine_read(e, 1, at, READ, SIZE);
	assert_in_range(p.len, 5 * p.step, 12 * p.step);
	engine_fetch(e, p, SIZE);
	engine_free(e);
}

/* Who waits for the chunks of many others waits for a few records of each; one of a few gets many. */
static void test_fewer_among_many(void **state)
{
	static const uint32_t streams[] = {1, 64, 256, 1000};
	static const uint64_t least[] = {64, 64, 16, 4}, most[] = {128, 128, 32, 8};

	for (int i = 0; i < 4; i++) {
		struct engine *e = engine_default("cursor");
		uint64_t longest = 0;

		e->streams = streams[i];
		for (uint64_t at = 0; at < SIZE; at += MIB) {
			struct readahead_plan p = engine_read(e, 1, at, READ, SIZE);

			if (p.len > longest && p.record)
				longest = p.len;
			engine_fetch(e, p, SIZE);
		}
		assert_in_range(longest / MIB, least[i], most[i]);
		engine_free(e);
	}
}

/* Several in turn, of different steps. */
static void test_interleaved(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};

	memset(there, 0, sizeof(there));
	for (uint64_t i = 0; i < 60; i++) {
		read_one(e, i * MIB, READ, &r);
		read_one(e, 128 * MIB + i * 2 * MIB, READ, &r);
		read_one(e, 64 * MIB + 300 * KIB + i * MIB, READ, &r);
	}
	assert_true(r.hits >= 180 - 3 * 8);
	assert_true(r.bytes <= SIZE / 8);
	engine_check_account(e);
	engine_free(e);
}

/* Pairs of neighbours change places on their way. */
static void test_out_of_order(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};
	uint64_t seed = 5;

	memset(there, 0, sizeof(there));
	for (uint64_t i = 0; i < 200; i += 2) {
		uint64_t first = random_below(&seed, 2);

		read_one(e, (i + first) * MIB, 47008, &r);
		read_one(e, (i + 1 - first) * MIB, 47008, &r);
	}
	assert_true(r.hits >= 200 - 14);
	engine_check_account(e);
	engine_free(e);
}

/* Bytes from the disk for READS of 8 KiB anywhere in a file of SIZE bytes, what was fetched with them too. */
static uint64_t read_at_random(const struct readahead_rules *rules, uint64_t size, uint64_t seek,
			       uint64_t reads)
{
	struct engine *e = engine_default("cursor");
	uint64_t seed = 3, bytes = 0;

	e->tuning.rules = rules;
	e->seek = seek;
	memset(there, 0, sizeof(there));
	while (reads--) {
		uint64_t at = random_below(&seed, size / 8192) * 8192;
		struct readahead_plan p = engine_read(e, 1, at, 8192, size);

		for (; p.len; p = engine_start(e, &p, size)) {
			mark(&p);
			readahead_finished(e->ra, &e->counters, &p, p.offset + p.len, true, false);
		}
		memset(there + at / KIB, 1, 8);
	}
	for (uint64_t k = 0; k < size / KIB; k++)
		bytes += there[k] ? KIB : 0;
	engine_check_account(e);
	engine_free(e);
	return bytes;
}

static void test_random_reads_have_no_step(void **state)
{
	static const uint64_t sizes[] = {4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB};

	for (int i = 0; i < 16; i++) {
		uint64_t size = sizes[i % 4], seek = i / 4 % 2 ? 1125 * KIB : 0;
		uint64_t reads = i / 8 ? 20000 : 1000;
		uint64_t bytes = read_at_random(&rules_extended, size, seek, reads);
		uint64_t before = read_at_random(&rules_forward, size, seek, reads);

		if (bytes > before + before / 20)
			fail_msg("%ju MiB, seek %ju KiB: %ju KiB fetched, %ju before",
				 (uintmax_t)(size / MIB), (uintmax_t)(seek / KIB),
				 (uintmax_t)(bytes / KIB), (uintmax_t)(before / KIB));
	}
}

/* A forward stream is fetched as without these rules, byte by byte. */
static void test_forward_streams_are_as_before(void **state)
{
	struct engine *e[2] = {engine_default("cursor"), engine_default("cursor")};
	uint64_t seed = 9;

	e[1]->tuning.rules = &rules_forward;
	for (uint64_t i = 0; i < 4000; i++) {
		uint64_t at = (i + (random_below(&seed, 10) ? 0 : random_below(&seed, 4))) * READ;
		struct readahead_plan p[2];

		for (int k = 0; k < 2; k++) {
			p[k] = engine_read(e[k], 1, at, READ, SIZE);
			engine_fetch(e[k], p[k], SIZE);
		}
		assert_int_equal(p[0].offset, p[1].offset);
		assert_int_equal(p[0].len, p[1].len);
		assert_int_equal(p[0].ahead, p[1].ahead);
	}
	engine_free(e[0]);
	engine_free(e[1]);
}

/* ---- a little ahead each time ------------------------------------------------------------- */

/* Tiles of 128 KiB x 32 rows of a matrix of 1 MiB a row: a request of each of the 8 x 8 in turn. */
static void test_tiles(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};

	e->seek = 1125 * KIB;
	memset(there, 0, sizeof(there));
	for (uint64_t in = 0; in < 128; in++)
		for (uint64_t tile = 0; tile < 64; tile++)
			read_one(e,
				 (tile / 8 * 32 + in / 4) * MIB + tile % 8 * 128 * KIB +
					 in % 4 * READ,
				 READ, &r);
	if (r.hits * 20 < r.reads * 19)
		fail_msg("%ju of %ju", (uintmax_t)r.hits, (uintmax_t)r.reads);
	engine_check_account(e);
	engine_free(e);
}

/* 64 clients, each with 31 parts that lie together, a request of each in turn; all clients at once. */
static void test_many_parts_of_many_clients(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};
	struct readahead_stats s;

	e->seek = 1125 * KIB;
	e->streams = 64;
	memset(there, 0, sizeof(there));
	for (uint64_t in = 0; in < 4; in++)
		for (uint64_t part = 0; part < 31; part++)
			for (uint64_t client = 0; client < 64; client++)
				read_one(e,
					 ((client * 31 + part) * (SIZE / READ) / 2000 + in) * READ,
					 READ, &r);
	if (r.hits * 10 < r.reads * 9)
		fail_msg("%ju of %ju", (uintmax_t)r.hits, (uintmax_t)r.reads);
	readahead_stats(e->ra, &s);
	assert_true(s.unread_max <= 256 * MIB);
	engine_check_account(e);
	engine_free(e);
}

/* The same clients, the first four requests of each: most are recognised before anything was answered. */
static void test_parts_are_known_by_four_requests(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};

	e->seek = 1125 * KIB;
	e->streams = 64;
	memset(there, 0, sizeof(there));
	for (uint64_t client = 0; client < 64; client++)
		for (uint64_t part = 0; part < 4; part++)
			read_one(e, (client * 31 + part) * (SIZE / READ) / 2000 * READ, READ, &r);
	if (engine_counted(e, READAHEAD_CHUNKS) < 20)
		fail_msg("%ju chunks", (uintmax_t)engine_counted(e, READAHEAD_CHUNKS));
	engine_check_account(e);
	engine_free(e);
}

/*
 * 8 KiB of each 64 KiB are read through, and of each eight requests two change places: it is one run all the same, in which
 * each chunk begins where the one before ended.
 */
static void test_a_pace_out_of_order(void **state)
{
	static const uint64_t order[8] = {0, 1, 3, 2, 4, 7, 5, 6};
	struct engine *e = engine_default("cursor");
	uint64_t asked = 0;

	e->seek = 1125 * KIB;
	for (uint64_t i = 0; i < 16 * MIB / (64 * KIB); i++) {
		uint64_t n = i < 8 ? i : i - i % 8 + order[i % 8];
		struct readahead_plan p = engine_read(e, 1, n * 64 * KIB, 8 * KIB, 64 * MIB);

		for (; p.len; p = engine_carry_out(e, &p, 64 * MIB)) {
			assert_int_equal(p.offset, asked);
			asked += p.len;
		}
	}
	assert_true(asked > 16 * MIB);
	engine_check_account(e);
	engine_free(e);
}

/* Of a step that costs less to leave out than to read, nothing is read through. */
static void test_no_pace_where_seeks_are_cheap(void **state)
{
	struct engine *e = engine_default("cursor");
	struct result r = {0};

	e->seek = 64 * KIB;
	memset(there, 0, sizeof(there));
	for (uint64_t i = 0; i < 200; i++)
		read_one(e, i * 160 * KIB, READ, &r);
	for (uint64_t at = 0; at < SIZE; at += 160 * KIB)
		assert_false(there[(at + READ) / KIB]);
	assert_true(r.hits + 8 >= r.reads);
	engine_free(e);
}

/* RECORD bytes from AT on, as one request, again and again, each GAP further, or anything up to twice that; to END. */
struct leaver {
	uint64_t at, end;
	uint32_t record, gap;
	bool any_gap;
};

static void leave_out(struct engine *e, struct leaver *who, uint64_t *seed, struct result *r)
{
	uint64_t pages = who->gap / 4096;

	if (who->at + who->record > who->end)
		return;
	read_one(e, who->at, who->record, r);
	who->at += who->record;
	who->at += who->any_gap ? random_below(seed, 2 * pages + 1) * 4096 : who->gap;
}

/* A little is left out each time, less than two requests: some of a reader's, or of four readers' in the file. */
static void test_a_little_is_left_out(void **state)
{
	static const struct leaver works[] = {{.record = 64 * KIB, .gap = 32 * KIB},
					      {.record = 47008, .gap = 49152 - 47008},
					      {.record = 8 * KIB, .gap = 4 * KIB},
					      {.record = 128 * KIB, .gap = 128 * KIB},
					      {.record = READ, .gap = READ / 2, .any_gap = true},
					      {.record = READ, .gap = READ, .any_gap = true}};

	for (int w = 0; w < 12; w++) {
		struct engine *e = engine_default("cursor");
		struct result r = {0};
		uint64_t seed = 7, readers = w < 6 ? 1 : 4;
		struct leaver who[4];

		e->seek = 1125 * KIB;
		memset(there, 0, sizeof(there));
		for (uint64_t k = 0; k < readers; k++) {
			who[k] = works[w % 6];
			who[k].at = k * SIZE / 4;
			who[k].end = who[k].at + 20 * MIB;
		}
		for (int i = 0; i < 20000; i++)
			leave_out(e, &who[i % readers], &seed, &r);
		if (r.hits + 24 * readers < r.reads || r.bytes > readers * 64 * MIB)
			fail_msg("work %d: %ju of %ju were there", w, (uintmax_t)r.hits,
				 (uintmax_t)r.reads);
		engine_check_account(e);
		engine_free(e);
	}
}

/* The same from the end to the beginning. */
static void test_a_little_is_left_out_backward(void **state)
{
	static const uint64_t works[][2] = {
		{64 * KIB, 96 * KIB}, {47008, 49152}, {READ, 40 * KIB}, {100 * KIB, 128 * KIB}};

	for (int w = 0; w < 4; w++) {
		struct engine *e = engine_default("cursor");
		struct result r = {0};
		uint32_t record = (uint32_t)works[w][0];

		e->seek = 1125 * KIB;
		memset(there, 0, sizeof(there));
		for (uint64_t at = 64 * MIB / works[w][1] * works[w][1]; at; at -= works[w][1])
			read_one(e, at, record, &r);
		if (r.hits + 16 < r.reads || r.bytes > 65 * MIB)
			fail_msg("work %d: %ju of %ju were there", w, (uintmax_t)r.hits,
				 (uintmax_t)r.reads);
		assert_int_equal(engine_counted(e, READAHEAD_WASTED), 0);
		engine_check_account(e);
		engine_free(e);
	}
}

/* Nothing of it is read where that is dearer than to leave it out, or may be. */
static void test_nor_left_out_where_that_is_cheaper(void **state)
{
	for (int known = 0; known < 2; known++) {
		struct engine *e = engine_default("cursor");
		struct result r = {0};

		e->seek = known ? 64 * KIB : 0;
		memset(there, 0, sizeof(there));
		for (uint64_t at = 0; at < 32 * MIB; at += 96 * KIB)
			read_one(e, at, 64 * KIB, &r);
		assert_int_equal(r.bytes, 0);
		engine_free(e);
	}
}

/* A run that is over soon: what it left out is not fetched once its reader is beyond it. */
static void test_what_was_left_out_is_not_fetched_later(void **state)
{
	struct engine *e = engine_default("cursor");
	struct readahead_plan p = {0};
	uint64_t at = 64 * MIB;

	e->seek = 1125 * KIB;
	for (; !p.len && at < SIZE; at += 48 * KIB)
		p = engine_read(e, 1, at, READ, SIZE);
	assert_int_equal(p.offset, at - 48 * KIB);
	assert_true(at <= 64 * MIB + 8 * 48 * KIB);
	engine_fetch(e, p, SIZE);
	engine_free(e);
}

/* ---- what changes meanwhile ----------------------------------------------------------------- */

/*
 * A column of a table to which rows are appended. A chunk ends with the file, where no record begins; behind it
 * the records go on where they are.
 */
static void test_a_file_that_grows(void **state)
{
	const uint64_t column = 128 * KIB, step = MIB;
	struct engine *e = engine_default("cursor");
	uint64_t size = 8 * MIB + 300 * KIB, at = column, sparse = 0;

	for (; at + READ <= 128 * MIB; at += step) {
		struct readahead_plan p;

		while (at + READ + 2 * step > size)
			size += 3 * MIB + 77 * KIB;
		for (p = engine_read(e, 1, at, READ, size); p.len;
		     p = engine_carry_out(e, &p, size))
			if (p.record) {
				assert_int_equal((p.offset - column) % step, 0);
				sparse++;
			}
	}
	assert_true(sparse > 8);
	engine_check_account(e);
	engine_free(e);
}

/* What was read ahead of another was in vain, and the disk is dear: whose records go on shows that his would not be. */
static void test_a_price_is_no_end(void **state)
{
	const uint64_t size = 4096 * MIB;
	struct engine *e = engine_default("cursor");
	struct readahead_plan p = {0};
	uint64_t n = 0;

	for (uint64_t at = 0; at < 64 * MIB; at += 16 * MIB) { /* streams that stop */
		for (uint64_t i = 0; i < 8; i++)
			engine_fetch(e, engine_read(e, 1, at + i * READ, READ, size), size);
		engine_sweep(e, e->now += 11 * SEC);
	}
	assert_true(engine_counted(e, READAHEAD_WASTED) > 8 * MIB);
	e->price = 1;
	for (uint64_t at = 96 * MIB; !p.len && at < size; at += MIB, n++)
		p = engine_read(e, 1, at, 4 * READ, size);
	assert_in_range(n, 16, 2000); /* at first the price counts */
	assert_true(p.record > 0);
	engine_fetch(e, p, size);
	engine_check_account(e);
	engine_free(e);
}

/* ---- what is remembered -------------------------------------------------------------------- */

/* Files read at random keep no history, files read in one run never have one, and few may. */
static void test_histories_are_few(void **state)
{
	static struct heur_table table = {.size = 16};
	static struct heur_file file[8] = {[0 ... 7] = {.table = &table}};

	for (int i = 0; i < 8; i++) {
		assert_null(stride_history_of(&file[i]));
		assert_int_equal(stride_history_of(&file[i]) != NULL, i < 16 / 8 + 1);
	}
	assert_int_equal(table.histories, 3);
	stride_forget(&file[0]);
	assert_null(stride_history_of(&file[0])); /* not at once */
	for (int i = 0; i < STRIDE_TRIED_AGAIN && !file[0].history; i++)
		stride_history_of(&file[0]);
	assert_non_null(file[0].history);
	for (int i = 0; i < 8; i++)
		stride_forget(&file[i]);
	assert_int_equal(table.histories, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_four_a_step_apart),
		cmocka_unit_test(test_the_records_and_nothing_between),
		cmocka_unit_test(test_four_from_the_end),
		cmocka_unit_test(test_from_the_end_close_together),
		cmocka_unit_test(test_from_the_end_out_of_order),
		cmocka_unit_test(test_from_the_ends_of_parts),
		cmocka_unit_test(test_reads_through_where_that_is_cheaper),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_is_of_whole_pages),
		cmocka_unit_test(test_pages_are_counted_as_they_come),
		cmocka_unit_test(test_single_bytes),
		cmocka_unit_test(test_few_at_first),
		cmocka_unit_test(test_fewer_among_many),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_out_of_order),
		cmocka_unit_test(test_random_reads_have_no_step),
		cmocka_unit_test(test_forward_streams_are_as_before),
		cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_many_parts_of_many_clients),
		cmocka_unit_test(test_parts_are_known_by_four_requests),
		cmocka_unit_test(test_a_pace_out_of_order),
		cmocka_unit_test(test_no_pace_where_seeks_are_cheap),
		cmocka_unit_test(test_a_little_is_left_out),
		cmocka_unit_test(test_a_little_is_left_out_backward),
		cmocka_unit_test(test_nor_left_out_where_that_is_cheaper),
		cmocka_unit_test(test_what_was_left_out_is_not_fetched_later),
		cmocka_unit_test(test_a_file_that_grows),
		cmocka_unit_test(test_a_price_is_no_end),
		cmocka_unit_test(test_histories_are_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
