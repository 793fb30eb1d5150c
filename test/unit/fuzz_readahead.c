/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the read-ahead engine whatever clients and the disk do: any bytes are a
 * sequence of READs, WRITEs and truncations of a few files, of prefetches that start, arrive, fail
 * and are cut short, of silences, of RCU's grace periods and of new settings. Driven by
 * test_fuzz_readahead.c with numbers of its own, and by libFuzzer where the compiler has it.
 *
 *   sizes of files, prefetches under way: the model          counters, cursors, plans: the engine's
 *
 *   a plan lies within the file, ahead of its reader, and asks for nothing twice
 *   what is asked for and unread is within the memory at any time
 *   planned = used + wasted + unfetched + unread, in all and cursor by cursor
 *   the positions of every cursor are in order (cursor.h), each file's cursors counted and in order
 *   a cursor's chunks in the queue are those that were planned and did not start
 *   records are asked for from the beginning of one on
 *   when all is over nothing is held, and who reads in order then has read-ahead
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readahead/beside.h"
#include "readahead/engine.h"
#include "readahead/readahead.h"
#include "readahead/stride_history.h"
#include "tuning.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds too. */
#define MUST(what) must(what, #what, __LINE__)

static void must(bool holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_readahead.c:%d: does not hold: %s\n", line, what);
	abort();
}

#define KIB    UINT64_C(1024)
#define MIB    (1024 * KIB)
#define SECOND UINT64_C(1000000000)

#define FILES	 5 /* one more than the table holds */
#define CURSORS	 12
#define UNDERWAY 24
#define EJECTED	 64 /* files that wait for a grace period */
#define MEMORY	 (24 * MIB)
#define IDLE	 (10 * SECOND)

struct prefetch {
	struct readahead_plan plan; /* len 0: none */
	uint64_t upto;
	uint8_t file;
	bool started;
};

struct world {
	const uint8_t *data;
	size_t left;
	struct readahead *ra;
	struct readahead_tuning t;
	struct readahead_counters counters;
	uint64_t now, chunk;
	uint64_t seek, tail, kept;
	uint32_t streams;
	bool brings, direct;
	double price;
	uint64_t size[FILES], at[FILES]; /* of the file; of its reader */
	struct cursor_ref seen;		 /* of the last read */
	struct prefetch underway[UNDERWAY];
	/* Of each cursor, while its generation lasts: asked for up to here, once. */
	struct {
		uint64_t generation, end;
	} asked[CURSORS];
};

static uint8_t byte(struct world *w)
{
	if (!w->left)
		return 0;
	w->left--;
	return *w->data++;
}

static uint64_t below(struct world *w, uint64_t n)
{
	uint64_t x = byte(w);

	return (x << 8 | byte(w)) % n;
}

/* Sizes and offsets: small ones, large ones, and those about which numbers break. */
static uint64_t place(struct world *w)
{
	uint64_t small = below(w, 4096) * 4 * KIB + below(w, 3);

	switch (byte(w) % 8) {
	case 0:
		return UINT64_MAX - below(w, 65536);
	case 1:
		return (uint64_t)INT64_MAX - 100 + below(w, 200);
	case 2:
		return UINT64_MAX - small;
	case 3:
		return small * MIB;
	default:
		return small;
	}
}

static uint32_t length(struct world *w)
{
	switch (byte(w) % 8) {
	case 0:
		return 0;
	case 1:
		return UINT32_MAX - (uint32_t)below(w, 3);
	case 2:
		return 1 + (uint32_t)below(w, 65535);
	default:
		return 32 * KIB;
	}
}

/* ---- RCU, whose grace periods end when the input says so: a file's memory counts until then ---- */

static struct {
	struct rcu_head *head;
	void (*func)(struct rcu_head *);
} ejected[EJECTED];
static unsigned int n_ejected;

/* Of those that wait the first N are freed. */
static void grace(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		ejected[i].func(ejected[i].head);
	n_ejected -= n;
	memmove(ejected, ejected + n, n_ejected * sizeof(ejected[0]));
}

/* In place of liburcu's, whose thread would free them when it comes to it. */
void urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	if (n_ejected == EJECTED)
		grace(1);
	ejected[n_ejected].head = head;
	ejected[n_ejected++].func = func;
}

/* ---- what must hold ------------------------------------------------------------------------ */

/* Chunks of C that wait in the queue. */
static uint32_t queued(const struct world *w, const struct cursor *c, uint32_t index)
{
	uint32_t n = 0;

	for (int i = 0; i < UNDERWAY; i++) {
		const struct prefetch *p = &w->underway[i];

		n += p->plan.len && !p->started && p->plan.cursor.index == index &&
		     p->plan.cursor.generation == c->generation;
	}
	return n;
}

static void check_set(const struct cursor_set *set)
{
	uint32_t n = 0, unproven = 0, backward = 0, strided = 0;
	const struct cursor *c, *before = NULL;

	TAILQ_FOREACH(c, &set->order, order) {
		MUST(!before || before->next <= c->next);
		before = c;
		n++;
		unproven += c->count < CURSOR_PROVEN;
		backward += c->way == WAY_BACKWARD;
		strided += way_is_stride(c->way);
	}
	MUST(n == set->n && unproven == set->n_unproven);
	MUST(backward == set->n_backward && strided == set->n_strided);
}

static void check_files(struct world *w)
{
	for (uint8_t file = 0; file < FILES; file++) {
		struct heur_file *f = heur_file_get(&w->ra->table, &file, 1, false);

		if (!f)
			continue;
		check_set(&f->set);
		heur_file_put(f);
	}
}

static void check_readers(const struct budget *b)
{
	uint64_t held = 0;
	uint32_t streams = 0;

	for (uint32_t r = 0; r <= READERS_MAX; r++) {
		held += atomic_load(&b->of[r].held);
		streams += atomic_load(&b->of[r].streams);
	}
	MUST(held == atomic_load(&b->unread) && streams == atomic_load(&b->streams));
}

static void check_cursors(struct world *w)
{
	uint64_t charged = 0;
	uint32_t streams = 0;

	for (uint32_t i = 0; i < CURSORS; i++) {
		struct cursor *c = heur_cursor_nth(&w->ra->table, i);

		if (!c)
			continue;
		MUST(cursor_in_order(c));
		MUST(c->queued == queued(w, c, i));
		charged += c->charged;
		streams += c->charged != 0;
		heur_file_put(c->file);
	}
	MUST(charged == atomic_load(&w->ra->budget.unread));
	MUST(streams == atomic_load(&w->ra->budget.streams));
}

static void check(struct world *w)
{
	struct readahead_stats s;
	uint64_t over;

	readahead_stats(w->ra, &s);
	MUST(s.unread <= MEMORY && s.unread_max <= MEMORY);
	over = readahead_counted(&w->counters, READAHEAD_USED) +
	       readahead_counted(&w->counters, READAHEAD_WASTED) +
	       readahead_counted(&w->counters, READAHEAD_UNFETCHED) +
	       atomic_load(&w->ra->given_up[0].wasted) + atomic_load(&w->ra->given_up[0].unfetched);
	MUST(readahead_counted(&w->counters, READAHEAD_PLANNED) == over + s.unread);
	check_cursors(w);
	check_files(w);
}

/* Whether PLAN, if it is of single records, begins with one. */
static bool begins_a_record(struct world *w, const struct readahead_plan *plan)
{
	struct cursor *c = heur_cursor_get(&w->ra->table, plan->cursor);
	bool good = true;

	if (!c)
		return true;
	if (plan->record && plan->way == WAY_STRIDE)
		good = (WAY_RECORDS + plan->offset - c->phase) % plan->step == 0;
	heur_file_put(c->file);
	return good;
}

/* The ends of what the cursor of PLAN has asked for; 0 where it is another one's by now. */
static uint64_t *asked(struct world *w, const struct readahead_plan *plan)
{
	uint32_t i = plan->cursor.index;

	if (w->asked[i].generation != plan->cursor.generation) {
		w->asked[i].generation = plan->cursor.generation;
		w->asked[i].end = 0;
	}
	return &w->asked[i].end;
}

/* Something became of what a cursor asked for, so that it may ask again. */
static void may_ask_again(struct world *w)
{
	memset(w->asked, 0, sizeof(w->asked));
}

/* A new plan, if it is one: it is under way from now on. */
static void planned(struct world *w, uint8_t file, const struct readahead_plan *plan)
{
	uint64_t *end;

	if (!plan->len)
		return;
	MUST(plan->len <= w->size[file] && plan->offset <= w->size[file] - plan->len);
	MUST(plan->ahead <= plan->len);
	MUST(begins_a_record(w, plan));
	end = way_is_back(plan->way) ? &(uint64_t){0} : asked(w, plan);
	/* one cursor a file, and one recycled within it, begins elsewhere and asks again */
	if (w->t.heuristic->cursors && w->t.rules != &rules_paper)
		MUST(plan->offset >= *end);
	*end = plan->offset + plan->len;
	for (int i = 0; i < UNDERWAY; i++)
		if (!w->underway[i].plan.len) {
			w->underway[i] = (struct prefetch){
				.plan = *plan, .upto = plan->offset, .file = file};
			return;
		}
	/* the queue is full: it is not fetched at all */
	readahead_finished(w->ra, &w->counters, plan, plan->offset, false, false);
	may_ask_again(w);
}

/* ---- what clients do ----------------------------------------------------------------------- */

static void read_at(struct world *w, uint8_t file, uint64_t offset, uint32_t len)
{
	struct readahead_read read = {
		.key = &file,
		.key_len = 1,
		.offset = offset,
		.size = w->size[file],
		.len = len,
		.now = w->now += 1000,
		.chunk = w->chunk,
		.streams = w->streams,
		.seek = w->seek,
		.tail = w->tail,
		.kept = w->kept,
		.brings = w->brings,
		.direct = w->direct,
		.price = w->price,
		.reader = file / 2u,
	};
	struct readahead_plan plan;

	readahead_observe(w->ra, &w->t, &w->counters, &read, &plan);
	w->seen = plan.cursor;
	if (plan.len && way_is_back(plan.way))
		MUST(plan.offset < offset + len);
	else if (plan.len)
		MUST(plan.offset + plan.len > offset);
	planned(w, file, &plan);
}

static void read_on(struct world *w, uint8_t file)
{
	uint32_t len = length(w);

	for (uint64_t n = 1 + byte(w) % 8; n; n--) {
		read_at(w, file, w->at[file], len);
		w->at[file] += len;
	}
}

/* One block again and again. */
static void read_again(struct world *w, uint8_t file)
{
	for (uint64_t n = 1 + byte(w) % 4; n; n--)
		read_at(w, file, w->at[file], 32 * KIB);
}

/* Records a step apart, either way; the file may grow meanwhile. */
static void read_records(struct world *w, uint8_t file)
{
	uint64_t step = (64 + below(w, 2048)) * KIB, len = (1 + byte(w) % 4) * 8 * KIB;
	bool back = byte(w) % 4 == 0, grows = byte(w) % 4 == 0;

	for (uint64_t n = 4 + byte(w) % 16; n; n--) {
		read_at(w, file, w->at[file], (uint32_t)len);
		w->at[file] += back ? -step : step;
		if (grows && w->size[file] < WAY_OFFSETS)
			w->size[file] += step + 4 * KIB;
	}
}

static void read_back(struct world *w, uint8_t file)
{
	uint32_t len = length(w);

	for (uint64_t n = 1 + byte(w) % 8; n && w->at[file] >= len; n--) {
		w->at[file] -= len;
		read_at(w, file, w->at[file], len);
	}
}

static void write_or_truncate(struct world *w, uint8_t file)
{
	uint64_t at = place(w), len = length(w);

	if (byte(w) % 2)
		w->size[file] = at;
	else if (len <= UINT64_MAX - at && at + len > w->size[file])
		w->size[file] = at + len;
}

/* ---- what the disk does -------------------------------------------------------------------- */

/* Whether what lies between P and the NEXT of its cursor was asked for for others. */
static bool is_beside(struct world *w, const struct prefetch *p, const struct readahead_plan *next)
{
	struct cursor *c = heur_cursor_get(&w->ra->table, next->cursor);
	uint64_t end = p->plan.offset + p->plan.len, to;

	MUST(c && next->offset > end);
	to = beside_skip(c, way_from(c->way, end, end + 1), w->now, &(uint64_t){0});
	heur_file_put(c->file);
	return to >= way_from(next->way, next->offset, next->offset + next->len);
}

static void start(struct world *w, struct prefetch *p)
{
	struct readahead_read at = {.size = w->size[p->file],
				    .now = w->now,
				    .chunk = w->chunk,
				    .streams = w->streams,
				    .seek = w->seek,
				    .tail = w->tail,
				    .kept = w->kept,
				    .direct = w->direct,
				    .price = w->price,
				    .has_floor = byte(w) % 8 == 0};
	struct readahead_plan next;

	if (byte(w) % 4 == 0 &&
	    readahead_may_shorten(w->ra, &p->plan)) { /* the disk wants less by now */
		readahead_shorten(w->ra, &w->counters, &p->plan, 1 + below(w, p->plan.len));
		may_ask_again(w);
	}
	p->started = true;
	readahead_started(w->ra, &w->t, &w->counters, &p->plan, &at, &next);
	if (next.len && way_is_back(next.way))
		MUST(next.offset + next.len <= p->plan.offset); /* less: the file has shrunk */
	else if (next.len && next.record) /* the file has grown: with the next record */
		MUST(next.offset - p->plan.offset - p->plan.len < next.step);
	else if (next.len && next.offset != p->plan.offset + p->plan.len)
		MUST(is_beside(w, p, &next));
	planned(w, p->file, &next);
}

/* A step of it is read, or was in memory before. */
static void arrive(struct world *w, struct prefetch *p)
{
	uint64_t end = p->plan.offset + p->plan.len, step = 1 + below(w, 65536) * 64;
	uint64_t to = step < end - p->upto ? p->upto + step : end;

	if (byte(w) % 4 == 0)
		readahead_already(w->ra, &w->counters, &p->plan, p->upto, to);
	else
		readahead_fetched(w->ra, &w->counters, &p->plan, p->upto, to);
	p->upto = to;
	readahead_arrived(w->ra, &p->plan, to, w->now);
}

/* Its reader may want no more: then it ends where it has come to. */
static void end_early(struct world *w, struct prefetch *p)
{
	if (p->plan.way != WAY_FORWARD || !p->started || p->upto == p->plan.offset ||
	    readahead_reads_on(w->ra, &p->plan, w->now, p->upto))
		return;
	readahead_shorten(w->ra, &w->counters, &p->plan, p->upto - p->plan.offset);
	may_ask_again(w);
}

static void end(struct world *w, struct prefetch *p)
{
	if (p->upto != p->plan.offset + p->plan.len)
		may_ask_again(w);
	readahead_finished(w->ra, &w->counters, &p->plan, p->upto, p->started,
			   p->started && byte(w) % 4 == 0);
	p->plan.len = 0;
}

static void disk(struct world *w)
{
	struct prefetch *p = &w->underway[byte(w) % UNDERWAY];

	for (int i = 0; i < UNDERWAY && !p->plan.len; i++)
		p = &w->underway[i];
	if (!p->plan.len)
		return;
	switch (byte(w) % 8) {
	case 0:
		end(w, p);
		break;
	case 1:
		readahead_late(w->ra, &w->t, &p->plan.cursor);
		break;
	case 2:
		readahead_lost(w->ra, &w->t, &w->counters, byte(w) % 2 ? &p->plan.cursor : &w->seen,
			       w->at[p->file]);
		may_ask_again(w);
		break;
	case 3:
		end_early(w, p);
		break;
	default:
		if (!p->started)
			start(w, p);
		else if (p->upto < p->plan.offset + p->plan.len)
			arrive(w, p);
		else
			end(w, p);
	}
}

/* ---- what else happens --------------------------------------------------------------------- */

static void silence(struct world *w)
{
	w->now += byte(w) % 16 * SECOND;
	readahead_sweep(w->ra, w->now);
	may_ask_again(w);
}

static void settings(struct world *w)
{
	w->t.heuristic = heuristic_nth(1 + byte(w) % 5);
	w->t.rules = rules_nth(byte(w) % 2 ? 0 : byte(w) % 7);
	w->t.match_window = 1u << (byte(w) % 4 ? 16 : byte(w) % 31);
	w->t.match_requests = byte(w) % 4 ? 8 : (uint32_t)below(w, 1025);
	w->t.seq_max = 2 + byte(w);
	w->t.seq_threshold = 1 + byte(w) % 6;
	w->t.window_max = 64 * KIB << byte(w) % 15;
	w->t.window_init = w->t.window_max >> byte(w) % 4;
	w->t.chunk_min = 64 * KIB << byte(w) % 9;
	w->t.priced = byte(w) % 2;
	w->chunk = byte(w) % 8 ? 64 * KIB << byte(w) % 10 : 0;
	w->streams = byte(w);
	w->price = byte(w) / 255.0;
	w->seek = byte(w) % 2 ? byte(w) * 16 * KIB : 0;
	w->tail = byte(w) % 4 ? 0 : 64 * KIB;
	w->kept = byte(w) % 4 ? 0 : byte(w) * SECOND / 8;
	w->brings = byte(w) % 2;
	w->direct = byte(w) % 4 == 0;
	readahead_set_memory(w->ra, MEMORY >> byte(w) % 4);
	may_ask_again(w);
}

static void forget(struct world *w, uint8_t file)
{
	switch (byte(w) % 8) {
	case 0:
		readahead_forget(w->ra, &file, 1);
		break;
	case 1:
		readahead_unseen(w->ra, &file, 1, w->now);
		break;
	case 2:
		readahead_set_idle(w->ra, (1 + byte(w) % 16) * SECOND);
		break;
	default:
		grace(byte(w) % (n_ejected + 1));
	}
}

static void step(struct world *w)
{
	uint8_t what = byte(w), file = what >> 4 & 3;

	switch (what & 15) {
	case 0:
		file = byte(w) % FILES;
		w->at[file] = place(w);
		break;
	case 1:
		w->at[file] += below(w, 512 * KIB) - 256 * KIB; /* jitter, either way */
		break;
	case 2:
		write_or_truncate(w, file);
		break;
	case 3:
		silence(w);
		break;
	case 4:
		settings(w);
		break;
	case 5:
		forget(w, file);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
		disk(w);
		break;
	case 11:
		read_back(w, file);
		break;
	case 12:
		if (byte(w) % 4)
			read_records(w, file);
		else
			read_again(w, file);
		break;
	default:
		read_on(w, file);
	}
}

/* ---- from one input to the next ------------------------------------------------------------ */

/* One engine for all inputs, for speed; each finds it as if it were new. */
static struct readahead *engine(void)
{
	static struct readahead *ra;
	const struct readahead_limits limits = {
		.table_size = FILES - 1,
		.cursors = CURSORS,
		.cursors_per_file = CURSORS - 2,
		.memory = MEMORY,
		.idle_time = IDLE,
	};

	if (!ra)
		ra = readahead_create(&limits);
	MUST(ra);
	for (uint8_t file = 0; file < FILES; file++)
		readahead_forget(ra, &file, 1);
	grace(n_ejected);
	readahead_set_idle(ra, IDLE);
	memset(&ra->given_up[0], 0, sizeof(ra->given_up[0]));
	atomic_store(&ra->newcomers, (struct effectiveness){0});
	readahead_set_memory(ra, MEMORY);
	return ra;
}

/* As the plugin is shipped, about; the disk is calm. */
static void settle(struct world *w)
{
	w->t = tuning_default("cursor");
	w->chunk = 4 * MIB;
	w->streams = 1;
	w->price = 0;
	w->seek = w->tail = w->kept = 0;
	w->brings = w->direct = false;
	readahead_set_memory(w->ra, MEMORY);
	readahead_set_idle(w->ra, IDLE);
}

/* What is under way ends, and everybody has been silent for long. */
static void finish(struct world *w)
{
	for (int i = 0; i < UNDERWAY; i++)
		if (w->underway[i].plan.len)
			end(w, &w->underway[i]);
	w->now += 3 * IDLE;
	readahead_sweep(w->ra, w->now);
	may_ask_again(w);
	check(w);
	check_readers(&w->ra->budget);
	MUST(atomic_load(&w->ra->budget.unread) == 0);
}

/* Whether a reader in order of FILE, of which nothing is in memory, has read-ahead before long. */
static bool has_read_ahead(struct world *w, uint8_t file)
{
	w->size[file] = 64 * MIB;
	for (uint64_t at = 0; at < STRIDE_STEP_MAX + 8 * MIB;
	     at += 32 * KIB) { /* he may be in one */
		read_at(w, file, at, 32 * KIB);
		if (w->underway[0].plan.len)
			return true;
		readahead_lost(w->ra, &w->t, &w->counters, &w->seen, at);
		may_ask_again(w);
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	w.data = data;
	w.left = size;
	w.ra = engine();
	w.now = SECOND;
	settings(&w);
	for (int i = 0; i < FILES; i++)
		w.size[i] = (64 + below(&w, 64)) * MIB;
	while (w.left) {
		step(&w);
		check(&w);
	}
	settle(&w);
	finish(&w);
	MUST(has_read_ahead(&w, 0));
	finish(&w);
	return 0;
}
