/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A read-ahead engine under test, with the plugin's default numbers and a clock of its own. */
#ifndef UNIT_ENGINE_H
#define UNIT_ENGINE_H

#include "readahead/readahead.h"
#include "support.h"
#include "tuning.h"

struct engine {
	struct readahead *ra;
	struct readahead_tuning tuning;
	struct readahead_counters counters;
	uint64_t now, chunk, seek, tail, kept;
	uint32_t streams, reader;
	uint16_t account;
	double price;
	bool brings, direct, has_floor;
};

static inline struct engine *engine_make_limited(const char *heuristic,
						 const struct readahead_limits *limits)
{
	struct engine *e = aligned_alloc(64, sizeof(*e));

	assert_non_null(e);
	memset(e, 0, sizeof(*e));
	e->ra = readahead_create(limits);
	assert_non_null(e->ra);
	e->tuning = tuning_default(heuristic);
	e->now = SEC;
	e->chunk = 4 * MIB;
	e->streams = 1;
	return e;
}

static inline struct engine *engine_make(const char *heuristic, uint32_t table_size,
					 uint32_t cursors, uint64_t memory)
{
	const struct readahead_limits limits = {
		.table_size = table_size,
		.cursors = cursors,
		.cursors_per_file = 4096,
		.memory = memory,
		.idle_time = 10 * SEC,
	};

	return engine_make_limited(heuristic, &limits);
}

static inline struct engine *engine_default(const char *heuristic)
{
	return engine_make(heuristic, 65536, 131072, 256 * MIB);
}

static inline void engine_free(struct engine *e)
{
	readahead_destroy(e->ra);
	free(e);
}

/* One read, a microsecond after the one before. */
static inline struct readahead_plan engine_read(struct engine *e, uint64_t file, uint64_t offset,
						uint32_t len, uint64_t size)
{
	struct readahead_read read = {
		.key = &file,
		.key_len = sizeof(file),
		.offset = offset,
		.size = size,
		.len = len,
		.now = e->now += 1000,
		.chunk = e->chunk,
		.streams = e->streams,
		.seek = e->seek,
		.tail = e->tail,
		.brings = e->brings,
		.direct = e->direct,
		.price = e->price,
		.kept = e->kept,
		.file = file,
		.reader = e->reader,
		.account = e->account,
	};
	struct readahead_plan plan;

	readahead_observe(e->ra, &e->tuning, &e->counters, &read, &plan);
	if (plan.len)
		assert_true(plan.offset + plan.len <= size);
	return plan;
}

/* The chunk goes to the disk; returns the plan behind it. */
static inline struct readahead_plan engine_start(struct engine *e,
						 const struct readahead_plan *plan, uint64_t size)
{
	struct readahead_read at = {.size = size,
				    .now = e->now,
				    .chunk = e->chunk,
				    .streams = e->streams,
				    .seek = e->seek,
				    .tail = e->tail,
				    .direct = e->direct,
				    .price = e->price,
				    .kept = e->kept,
				    .has_floor = e->has_floor};
	struct readahead_plan next;

	readahead_started(e->ra, &e->tuning, &e->counters, plan, &at, &next);
	if (next.len)
		assert_true(next.offset + next.len <= size);
	return next;
}

/* Carries out PLAN; returns the one behind it. */
static inline struct readahead_plan
engine_carry_out(struct engine *e, const struct readahead_plan *plan, uint64_t size)
{
	struct readahead_plan next = engine_start(e, plan, size);
	uint64_t end = plan->offset + plan->len;

	readahead_arrived(e->ra, plan, end, e->now);
	readahead_finished(e->ra, &e->counters, plan, end, true, false);
	return next;
}

/* Carries out PLAN and all that follow from it at once; returns how many bytes. */
static inline uint64_t engine_fetch(struct engine *e, struct readahead_plan plan, uint64_t size)
{
	uint64_t bytes = 0;

	while (plan.len) {
		bytes += plan.len;
		plan = engine_carry_out(e, &plan, size);
	}
	return bytes;
}

static inline uint64_t engine_counted(const struct engine *e, enum readahead_counter which)
{
	return readahead_counted(&e->counters, which);
}

/* Looks for who fell silent by NOW. */
static inline void engine_sweep(struct engine *e, uint64_t now)
{
	readahead_sweep(e->ra, now);
	readahead_collect(e->ra, 0, &e->counters);
}

/* Every byte asked for was read, given up, or is still held against the memory. */
static inline void engine_check_account(struct engine *e)
{
	struct readahead_stats s;

	readahead_collect(e->ra, 0, &e->counters); /* what recycling gave up */
	readahead_stats(e->ra, &s);
	assert_int_equal(engine_counted(e, READAHEAD_PLANNED),
			 engine_counted(e, READAHEAD_USED) + engine_counted(e, READAHEAD_WASTED) +
				 engine_counted(e, READAHEAD_UNFETCHED) + s.unread);
	assert_true(s.unread_max <= s.memory);
	assert_int_equal(s.unread == 0, s.streams == 0);
}

#endif
