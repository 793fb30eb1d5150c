/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The interface of the engine: what happened to a read or a chunk, told to its cursor. See
 * readahead.h.
 */
#include "readahead/readahead.h"

#include <assert.h>
#include <stdlib.h>

#include "common/trace.h"
#include "readahead/beside.h"
#include "readahead/engine.h"
#include "readahead/evidence.h"
#include "readahead/first_read.h"
#include "readahead/plan.h"
#include "readahead/rules.h"
#include "readahead/way.h"

/* A range that arrived this long ago or less is taken to be in memory still (ns). */
#define ARRIVAL_TRUST 500000000u

static void forget_reader(void *engine, uint32_t number)
{
	struct readahead *ra = engine;

	run_lengths_forget(ra->lengths, number);
	file_begins_forget(&ra->begins, number);
	file_ends_forget(&ra->ends, number);
}

struct readahead *readahead_create(const struct readahead_limits *limits)
{
	struct readahead *ra = calloc(1, sizeof(*ra));

	if (!ra)
		return NULL;
	if (cursor_pool_init(&ra->pool, limits->cursors, limits->cursors_per_file, evidence_retired,
			     ra)) {
		free(ra);
		return NULL;
	}
	ra->lengths = run_lengths_new();
	ra->readers = readers_new(forget_reader, ra);
	ra->given_up = calloc(GIVEN_UP_ACCOUNTS, sizeof(*ra->given_up));
	if (ra->readers == NULL || ra->lengths == NULL || ra->given_up == NULL ||
	    budget_init(&ra->budget, limits->memory, ra->pool.cursors, ra->pool.size) ||
	    heur_table_init(&ra->table, limits->table_size, limits->table_probes, &ra->pool)) {
		budget_fini(&ra->budget);
		readers_free(ra->readers);
		run_lengths_free(ra->lengths);
		free(ra->given_up);
		cursor_pool_fini(&ra->pool);
		free(ra);
		return NULL;
	}
	ra->idle_time = limits->idle_time;
	return ra;
}

void readahead_destroy(struct readahead *ra)
{
	if (!ra)
		return;
	heur_table_fini(&ra->table);
	budget_fini(&ra->budget);
	cursor_pool_fini(&ra->pool);
	readers_free(ra->readers);
	run_lengths_free(ra->lengths);
	free(ra->given_up);
	free(ra);
}

struct readers *readahead_readers(struct readahead *ra)
{
	return ra->readers;
}

void readahead_set_memory(struct readahead *ra, uint64_t bytes)
{
	atomic_store(&ra->budget.memory, bytes);
}

void readahead_set_idle(struct readahead *ra, uint64_t idle_time)
{
	atomic_store(&ra->idle_time, idle_time);
}

/* READ as C sees it: by its positions. */
static struct readahead_read seen_by(const struct cursor *c, const struct readahead_read *read)
{
	struct readahead_read at = *read;

	at.offset = way_from(c->way, read->offset, read->offset + read->len);
	return at;
}

/* A file up to this long (bytes) is fetched whole when a second read goes on from the one at its beginning. */
#define SMALL_FILE (UINT64_C(256) << 10)

/* Whether C's is such a file: as the kernel has it by then, but with one request. */
static bool is_small(const struct readahead_tuning *t, const struct cursor *c,
		     const struct readahead_read *read)
{
	return t->rules->lengths && c->start == 0 && c->count >= 2 && c->way == WAY_FORWARD &&
	       read->size <= SMALL_FILE;
}

/* Whether C's reader, who began with the file, comes no further in most of them than his READs bring by themselves. */
static bool has_begun_only(const struct cursor *c, const struct readahead_read *read,
			   const struct readahead_plan *plan)
{
	return read->brings && cursor_is_first(c) && c->start == 0 &&
	       plan->comes_to <= FIRST_READS && c->next <= plan->comes_to;
}

/*
 * Whether READ is the second one of C's run, right behind the first; not where a file's records are read, behind which nothing
 * is wanted. The paper's rules know of none.
 */
static bool is_second(const struct readahead_tuning *t, const struct cursor *c,
		      const struct readahead_read *read)
{
	return t->rules->lengths && c->way == WAY_FORWARD && c->count == 2 && c->unit &&
	       read->offset == c->start + c->unit && c->file->set.n_strided == 0;
}

/* What C says of READ, which it has followed. True: that is the first chunk of its run. */
static bool plan_for(struct readahead *ra, const struct readahead_tuning *t,
		     struct readahead_counters *counters, struct cursor *c,
		     const struct readahead_read *read, struct readahead_plan *plan)
{
	bool first = !c->ra_end;

	cursor_check(c);
	plan->cursor = heur_cursor_ref(&ra->table, c);
	plan->count = c->count;
	plan->second = is_second(t, c, read);
	plan->followed = c->ra_end || c->file->beside;
	plan->asked = read->offset < c->ra_end && read->offset + read->len > c->start;
	plan->known_resident = read->offset + read->len <= c->done_end &&
			       read->offset >= c->start && read->offset >= c->own &&
			       elapsed(c->done_time, read->now) < ARRIVAL_TRUST &&
			       (!way_is_stride(c->way) || read->len <= c->record);
	if (!c->repeats && !has_begun_only(c, read, plan) &&
	    (t->rules->sequential(t, c->file, c) || is_small(t, c, read)))
		plan_chunk(ra, t, counters, c, read, plan);
	return first && plan->len;
}

void readahead_observe(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_read *read,
		       struct readahead_plan *plan)
{
	struct heur_file *f;
	struct cursor *c;
	bool opened = false;

	*plan = (struct readahead_plan){0};
	readahead_count_read(counters, read->len);
	readers_count(ra->readers, read->reader, READER_READS, 1);
	if (!read->len || read->offset > WAY_OFFSETS - read->len)
		return; /* no file has anything there */
	f = heur_file_get(&ra->table, read->key, read->key_len, true);
	if (!f)
		return;
	f->name = read->file;
	f->reads++;
	f->bytes += read->len;
	plan->ends = t->rules->lengths && file_ends_read(&ra->ends, f, read);
	c = t->rules->follow(ra, t, counters, f, read);
	plan->unread = f->holders != 0 && elapsed(f->held, read->now) < READER_SILENT;
	if (c && t->rules->beside && f->beside && !c->repeats)
		evidence_used_beside(ra, counters, c, read);
	if (c) {
		c->reader = read->reader;
		c->account = read->account;
		trace(TRACE_OBSERVE, read->file, read->client, read->offset, read->len, c->count,
		      heur_cursor_ref(&ra->table, c).index);
		if (c->way != WAY_FORWARD) {
			struct readahead_read at = seen_by(c, read);

			plan_for(ra, t, counters, c, &at, plan);
		} else {
			if (t->rules->lengths)
				plan->comes_to = file_begins_read(&ra->begins, f, c, read);
			opened = plan_for(ra, t, counters, c, read, plan);
		}
	}
	heur_file_put(f);
	if (opened && t->rules->lengths)
		run_lengths_opened(ra, read, plan->cursor, plan->run);
}

/* The position where the chunk of PLAN ends. */
static uint64_t plan_to(const struct readahead_plan *plan)
{
	return way_to(plan->way, plan->offset, plan->offset + plan->len);
}

/*
 * Up to which position PLAN's reader finds it in memory when it is there up to the offset UPTO. One
 * that comes from its end, or whose records come in any order, has nothing of it before all is there.
 */
static uint64_t arrived_to(const struct readahead_plan *plan, uint64_t upto)
{
	uint64_t end = plan->offset + plan->len;

	if (plan->way == WAY_FORWARD)
		return upto;
	return upto >= end ? plan_to(plan) : way_from(plan->way, plan->offset, end);
}

/* [FROM, TO) of what C was charged for and has not read is not fetched after all. */
static void take_back(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		      uint64_t from, uint64_t to)
{
	if (c->read_end > from)
		from = c->read_end;
	if (from < to)
		readahead_count(counters, READAHEAD_UNFETCHED,
				budget_discharge(&ra->budget, c, cursor_bytes(c, from, to)));
}

/*
 * Of C's chunk that would end at END nothing comes from CUT on. What was asked for behind that comes all the same: a
 * read in the gap then tells nothing of what was brought.
 */
static void leave_out(struct cursor *c, uint64_t cut, uint64_t end)
{
	if (c->ra_end == end)
		c->ra_end = cut;
	else if (c->own < end)
		c->own = end;
}

/* The plan of who is not known any more is shortened as well, for the request is. */
void readahead_shorten(struct readahead *ra, struct readahead_counters *counters,
		       struct readahead_plan *plan, uint64_t len)
{
	uint64_t end = plan->offset + plan->len, cut = plan->offset + len;
	struct cursor *c;

	if (plan->way != WAY_FORWARD || len >= plan->len)
		return;
	c = heur_cursor_get(&ra->table, plan->cursor);
	if (c && c->run == plan->run && c->ra_end >= end) {
		take_back(ra, counters, c, end - plan->ahead > cut ? end - plan->ahead : cut, end);
		leave_out(c, cut, end);
		beside_never(c->file, cut, end);
		cursor_check(c);
	}
	plan->ahead = plan->ahead > end - cut ? plan->ahead - (end - cut) : 0;
	plan->len = len;
	if (c)
		heur_file_put(c->file);
}

bool readahead_reads_on(struct readahead *ra, const struct readahead_plan *plan, uint64_t since,
			uint64_t upto)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	bool on;

	if (!c)
		return false;
	on = c->run == plan->run && (c->used > since || c->next > upto);
	heur_file_put(c->file);
	return on;
}

bool readahead_may_shorten(struct readahead *ra, const struct readahead_plan *plan)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	bool may = true;

	if (!c)
		return true;
	if (c->run == plan->run)
		may = c->ra_end <= plan_to(plan);
	if (may && c->file->beside)
		may = beside_owner(c, plan->offset + plan->len) == NULL;
	heur_file_put(c->file);
	return may;
}

/* A chunk of C waits for the disk no more. */
static void leave_queue(struct cursor *c)
{
	assert(c->queued);
	c->queued--;
}

void readahead_started(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_plan *plan,
		       const struct readahead_read *read, struct readahead_plan *next)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t end = plan_to(plan);

	*next = (struct readahead_plan){0};
	if (!c)
		return;
	leave_queue(c);
	c->has_floor = read->has_floor;
	/* a reader that fell silent gets no more than what its window held */
	if (c->run == plan->run && c->ra_end == end && c->ra_end >= c->next &&
	    elapsed(c->used, read->now) < ra->idle_time) {
		struct readahead_read at = *read;

		at.offset = c->next;
		plan_chunk(ra, t, counters, c, &at, next);
	}
	heur_file_put(c->file);
}

void readahead_arrived(struct readahead *ra, const struct readahead_plan *plan, uint64_t upto,
		       uint64_t now)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);

	if (!c)
		return;
	upto = arrived_to(plan, upto);
	if (c->run == plan->run && c->ra_end >= plan_to(plan) && upto > c->done_end) {
		c->done_end = upto;
		c->done_time = now;
		cursor_check(c);
	}
	heur_file_put(c->file);
}

/* The part of [from, to) that lies ahead of PLAN's reader, as positions; false: nothing does. */
static bool ahead_of_reader(const struct readahead_plan *plan, uint64_t from, uint64_t to,
			    uint64_t *first, uint64_t *last)
{
	uint64_t ahead = plan_to(plan) - plan->ahead;

	*first = way_from(plan->way, from, to);
	*last = way_to(plan->way, from, to);
	if (*first < ahead)
		*first = ahead;
	return *first < *last;
}

/* Bytes that came when the disk brought the positions FIRST to LAST of PLAN: of single records whole pages. */
static uint64_t brought(const struct readahead_plan *plan, uint64_t first, uint64_t last)
{
	if (plan->record == 0)
		return last - first;
	return page_up(last) - page_down(first);
}

void readahead_fetched(struct readahead *ra, struct readahead_counters *counters,
		       const struct readahead_plan *plan, uint64_t from, uint64_t to)
{
	struct cursor *c;
	uint64_t first, last, bytes;
	bool followed;

	if (!ahead_of_reader(plan, from, to, &first, &last))
		return;
	bytes = brought(plan, first, last);
	readahead_count(counters, READAHEAD_PREFETCHED, bytes);
	c = heur_cursor_get(&ra->table, plan->cursor);
	followed = c && c->run == plan->run;
	if (c)
		heur_file_put(c->file);
	if (followed)
		return;
	readahead_count(counters, READAHEAD_PLANNED, bytes);
	readahead_count(counters, READAHEAD_WASTED, bytes);
}

void readahead_already(struct readahead *ra, struct readahead_counters *counters,
		       const struct readahead_plan *plan, uint64_t from, uint64_t to)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t first, last;

	if (!c)
		return;
	if (c->run == plan->run && ahead_of_reader(plan, from, to, &first, &last))
		take_back(ra, counters, c, first, last);
	heur_file_put(c->file);
}

/* Of C's chunk that ends at END nothing came from UPTO on: its reader asks for it. */
static void cut_short(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		      uint64_t upto, uint64_t end)
{
	take_back(ra, counters, c, upto, end);
	leave_out(c, upto > c->start ? upto : 0, end);
	if (c->done_end > c->ra_end)
		c->done_end = c->ra_end;
	cursor_check(c);
}

void readahead_finished(struct readahead *ra, struct readahead_counters *counters,
			const struct readahead_plan *plan, uint64_t upto, bool started, bool error)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t end = plan_to(plan);

	upto = arrived_to(plan, upto);
	if (error)
		readahead_count(counters, READAHEAD_PREFETCH_ERRORS, 1);
	if (!c)
		return;
	if (upto < end)
		beside_never(c->file, plan->offset, plan->offset + plan->len);
	if (!started)
		leave_queue(c);
	if (c->run == plan->run && upto < end && c->ra_end >= end) {
		cut_short(ra, counters, c, upto, end);
		if (error)
			cursor_set_use(&c->file->set, c, 1, c->used);
	}
	heur_file_put(c->file);
}

void readahead_unseen(struct readahead *ra, const void *key, size_t key_len, uint64_t now)
{
	struct heur_file *f = heur_file_get(&ra->table, key, key_len, false);

	if (!f)
		return;
	f->unseen = now;
	file_begins_unseen(&ra->begins, f);
	heur_file_put(f);
}

void readahead_forget(struct readahead *ra, const void *key, size_t key_len)
{
	heur_table_forget(&ra->table, key, key_len);
}

void readahead_stats(struct readahead *ra, struct readahead_stats *s)
{
	lock_take(&ra->pool.lock);
	s->cursors_made = ra->pool.made;
	s->cursors_recycled = ra->pool.recycled;
	s->cursors = ra->pool.size;
	s->cursors_used = ra->pool.n_probation + ra->pool.n_proven;
	lock_drop(&ra->pool.lock);
	s->unread = atomic_load(&ra->budget.unread);
	s->unread_max = atomic_load(&ra->budget.unread_max);
	s->memory = atomic_load(&ra->budget.memory);
	s->table_size = ra->table.size;
	s->entries = atomic_load(&ra->table.entries);
	s->evictions = atomic_load(&ra->table.evictions);
	s->streams = atomic_load(&ra->budget.streams);
}
