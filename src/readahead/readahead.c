/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The read-ahead engine: table, heuristic, cursors and window put together. See readahead.h. */
#include "readahead/readahead.h"

#include <stdlib.h>
#include <string.h>

#include "readahead/effectiveness.h"
#include "readahead/heur_table.h"
#include "readahead/window.h"

/* A range that arrived this long ago or less is taken to be in memory still (ns). */
#define ARRIVAL_TRUST 500000000u
/* The share of exact matches of a file is averaged over about this many reads. */
#define MATCH_SHIFT 5
/* Windows of a file that wastes are halved at most this often. */
#define PENALTY_MAX 6
/* What is unread after its reader was silent for this long (ns) is taken for wasted, as evidence. */
#define DOUBT_AFTER 1000000000u

struct readahead {
	struct heur_table table;
	struct cursor_pool pool;
	_Atomic uint64_t memory;
	_Atomic uint64_t unread, unread_max;
	_Atomic uint32_t streams;
	_Atomic uint64_t retired_unread; /* given up by recycling; counted as wasted at a sweep */
	uint64_t idle_time;
	_Atomic(struct effectiveness) newcomers; /* of files of which nothing else was known */
};

const char *const readahead_counter_names[READAHEAD_COUNTERS] = {
	[READAHEAD_READS] = "reads",
	[READAHEAD_READ_BYTES] = "read_bytes",
	[READAHEAD_RESIDENT] = "resident",
	[READAHEAD_JOINED] = "joined",
	[READAHEAD_LATE] = "late",
	[READAHEAD_DEMAND] = "demand",
	[READAHEAD_CHUNKS] = "chunks",
	[READAHEAD_PREFETCHED] = "prefetched_bytes",
	[READAHEAD_USED] = "used_bytes",
	[READAHEAD_WASTED] = "wasted_bytes",
	[READAHEAD_PREFETCH_ERRORS] = "prefetch_errors",
	[READAHEAD_REFUSED] = "refused",
	[READAHEAD_CURBED] = "curbed",
};

static unsigned int thread_shard(void)
{
	static atomic_uint threads;
	static _Thread_local unsigned int mine;

	if (!mine)
		mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return mine % READAHEAD_COUNTER_SHARDS;
}

void readahead_count(struct readahead_counters *c, enum readahead_counter which, uint64_t n)
{
	atomic_fetch_add_explicit(&c->shard[thread_shard()].value[which], n, memory_order_relaxed);
}

uint64_t readahead_counted(const struct readahead_counters *c, enum readahead_counter which)
{
	uint64_t sum = 0;

	for (int i = 0; i < READAHEAD_COUNTER_SHARDS; i++)
		sum += atomic_load_explicit(&c->shard[i].value[which], memory_order_relaxed);
	return sum;
}

/* Threads read the clock before they take the lock: what happened since may seem to lie ahead. */
static uint64_t elapsed(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}

/* Charges LEN more unread bytes to C, unless that would pass the bound. */
static bool charge(struct readahead *ra, struct cursor *c, uint64_t len)
{
	uint64_t memory = atomic_load_explicit(&ra->memory, memory_order_relaxed);
	uint64_t held = atomic_load(&ra->unread), sum, max;

	if (!len)
		return true;
	/* never above the bound, not even for a moment: another would be refused for it */
	do {
		sum = held + len;
		if (sum > memory)
			return false;
	} while (!atomic_compare_exchange_weak(&ra->unread, &held, sum));
	max = atomic_load_explicit(&ra->unread_max, memory_order_relaxed);
	while (sum > max && !atomic_compare_exchange_weak(&ra->unread_max, &max, sum))
		;
	if (!c->charged)
		atomic_fetch_add_explicit(&ra->streams, 1, memory_order_relaxed);
	c->charged += len;
	return true;
}

/* Releases up to LEN of what C holds; returns how much. */
static uint64_t discharge(struct readahead *ra, struct cursor *c, uint64_t len)
{
	if (len > c->charged)
		len = c->charged;
	if (!len)
		return 0;
	c->charged -= len;
	if (!c->charged)
		atomic_fetch_sub_explicit(&ra->streams, 1, memory_order_relaxed);
	atomic_fetch_sub(&ra->unread, len);
	return len;
}

/*
 * What became of bytes that were read ahead in F, or would have been. The first evidence on each file,
 * as far as it weighs, also tells what to expect of files not known yet.
 */
static void learn(struct readahead *ra, struct heur_file *f, uint64_t used, uint64_t wasted)
{
	uint64_t known = (uint64_t)f->effectiveness.used + f->effectiveness.wasted;

	if (known < EFFECTIVENESS_WEIGHT) {
		uint64_t room = EFFECTIVENESS_WEIGHT - known;
		struct effectiveness old = atomic_load(&ra->newcomers), new;

		do {
			new = old;
			effectiveness_add(&new, used < room ? used : room,
					  wasted < room ? wasted : room);
		} while (!atomic_compare_exchange_weak(&ra->newcomers, &old, new));
	}
	effectiveness_add(&f->effectiveness, used, wasted);
}

/* WASTED bytes of C are given up, for its reader went elsewhere. Those doubted are known already. */
static void learn_waste(struct readahead *ra, struct cursor *c, uint64_t wasted)
{
	if (wasted > c->doubted)
		learn(ra, c->file, 0, wasted - c->doubted);
	c->doubted = 0;
}

static void penalize(struct heur_file *f)
{
	if (f->penalty < PENALTY_MAX)
		f->penalty++;
}

static double effectiveness(struct readahead *ra, const struct heur_file *f)
{
	struct effectiveness newcomers = atomic_load_explicit(&ra->newcomers, memory_order_relaxed);

	return effectiveness_of(&f->effectiveness, effectiveness_of(&newcomers, 1));
}

/* A cursor leaves its file: pool and file locks held. */
static void retire(void *arg, struct cursor *c)
{
	struct readahead *ra = arg;
	uint64_t wasted = discharge(ra, c, c->charged);

	learn_waste(ra, c, wasted);
	if (wasted)
		penalize(c->file);
	atomic_fetch_add_explicit(&ra->retired_unread, wasted, memory_order_relaxed);
}

struct readahead *readahead_create(const struct readahead_limits *limits)
{
	struct readahead *ra = calloc(1, sizeof(*ra));

	if (!ra)
		return NULL;
	if (cursor_pool_init(&ra->pool, limits->cursors, retire, ra)) {
		free(ra);
		return NULL;
	}
	if (heur_table_init(&ra->table, limits->table_size, &ra->pool)) {
		cursor_pool_fini(&ra->pool);
		free(ra);
		return NULL;
	}
	atomic_init(&ra->memory, limits->memory);
	ra->idle_time = limits->idle_time;
	return ra;
}

void readahead_destroy(struct readahead *ra)
{
	if (!ra)
		return;
	heur_table_fini(&ra->table);
	cursor_pool_fini(&ra->pool);
	free(ra);
}

void readahead_set_memory(struct readahead *ra, uint64_t bytes)
{
	atomic_store(&ra->memory, bytes);
}

/* The limits in force for one cursor now: its share of the memory bounds its window. */
static struct window_limits limits_now(struct readahead *ra, const struct readahead_tuning *t,
				       const struct readahead_read *read)
{
	uint64_t memory = atomic_load_explicit(&ra->memory, memory_order_relaxed);
	uint32_t streams = atomic_load_explicit(&ra->streams, memory_order_relaxed) + 1;
	uint64_t share = memory / streams;
	struct window_limits l = {
		.init = t->window_init,
		.max = t->window_max < share ? t->window_max : share,
		.chunk = read->chunk,
		.streams = read->streams,
	};

	if (l.init < 2 * l.chunk)
		l.init = 2 * l.chunk; /* one chunk in flight, one behind it */
	if (l.init > l.max)
		l.init = l.max;
	return l;
}

/*
 * Cuts WINDOW to what the price leaves of it, and L's chunk with it; returns the window, 0: too little to
 * be worth a seek.
 */
static uint64_t grant(struct readahead *ra, const struct readahead_tuning *t, struct cursor *c,
		      const struct readahead_read *read, struct window_limits *l, uint64_t window)
{
	double share;

	c->withheld = false;
	if (!t->priced || read->price <= 0)
		return window;
	share = effectiveness_share(read->price, effectiveness(ra, c->file));
	if (share >= 1)
		return window;
	window = (uint64_t)((double)window * share);
	if (window < t->chunk_min) {
		c->withheld = true;
		return 0;
	}
	if (l->chunk > window)
		l->chunk = window;
	return window;
}

/* Plans C's next chunk, if its window has room, the price leaves some of it and memory allows. */
static void plan_chunk(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, struct cursor *c,
		       const struct readahead_read *read, struct readahead_plan *plan)
{
	struct window_limits l = limits_now(ra, t, read);
	uint64_t from = c->ra_end, window, granted, len, unread;

	if (c->queued)
		return;
	if (from < c->next) { /* the reader is beyond it: begin where its run began, or here */
		from = c->ra_end ? read->offset : c->start;
		if (from + heuristic_near(t, read->len) < read->offset || from > read->offset)
			from = read->offset;
		c->read_end = c->next;
		c->done_end = from;
	}
	if (!c->window)
		c->window = (uint32_t)window_open(&l, c->file->penalty);
	/* chunks may have grown since it opened: room for two, unless the file wasted its window */
	window = c->window;
	if (!c->file->penalty && window < 2 * l.chunk)
		window = 2 * l.chunk;
	if (window > l.max)
		window = l.max;
	granted = grant(ra, t, c, read, &l, window);
	len = granted ? window_next_chunk(&l, granted, c->next, from, read->size) : 0;
	if (granted < window && (len || !granted))
		readahead_count(counters, READAHEAD_CURBED, 1);
	if (!len || from + len <= c->next)
		return;
	/* some of it may have been read already, past a chunk that was cut short */
	unread = c->read_end > from ? c->read_end : from;
	unread = from + len > unread ? from + len - unread : 0;
	if (!charge(ra, c, unread)) {
		readahead_count(counters, READAHEAD_REFUSED, 1);
		return;
	}
	c->ra_end = from + len;
	c->queued++;
	plan->cursor = heur_cursor_ref(&ra->table, c);
	plan->offset = from;
	plan->len = len;
	plan->ahead = unread;
	readahead_count(counters, READAHEAD_CHUNKS, 1);
	readahead_count(counters, READAHEAD_PREFETCHED, unread);
}

/* What the read consumes of the cursor's prefetched bytes is used. */
static void consume(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		    uint64_t end)
{
	uint64_t upto = end < c->ra_end ? end : c->ra_end, used;

	if (upto <= c->read_end)
		return;
	used = discharge(ra, c, upto - c->read_end);
	readahead_count(counters, READAHEAD_USED, used);
	c->read_end = upto;
	if (c->doubted)
		effectiveness_take_back(&c->file->effectiveness, c->doubted);
	c->doubted = 0;
	if (used)
		learn(ra, c->file, used, 0);
	if (c->file->penalty && c->read_end == c->ra_end)
		c->file->penalty--;
}

/* Gives up what C holds unread; returns how much that was. */
static uint64_t waste(struct readahead *ra, struct readahead_counters *counters, struct cursor *c)
{
	uint64_t wasted = discharge(ra, c, c->charged);

	if (wasted) {
		readahead_count(counters, READAHEAD_WASTED, wasted);
		penalize(c->file);
	}
	return wasted;
}

static void set_count(struct heur_file *f, struct cursor *c, uint32_t count)
{
	if (c->count < 2 && count >= 2)
		f->set.unproven--;
	else if (c->count >= 2 && count < 2)
		f->set.unproven++;
	c->count = count;
}

/*
 * Marks the read among the first of its run, which may begin a little before the one seen first.
 * True when the first Seq_Threshold of them are all there.
 */
static bool all_there(const struct readahead_tuning *t, struct cursor *c,
		      const struct readahead_read *read)
{
	uint64_t n, first = t->seq_threshold < 64 ? (UINT64_C(1) << t->seq_threshold) - 1 : ~0ull;

	if (!c->unit)
		c->unit = read->len;
	if (read->offset < c->start && !c->ra_end) {
		n = (c->start - read->offset) / c->unit;
		if (n >= 64 || (c->start - read->offset) % c->unit)
			return false;
		c->seen <<= n;
		c->start = c->read_end = read->offset;
	}
	n = (read->offset - c->start) / c->unit;
	if (read->offset >= c->start && n < 64 && !((read->offset - c->start) % c->unit))
		c->seen |= UINT64_C(1) << n;
	return t->seq_threshold <= 64 && (c->seen & first) == first;
}

/* The cursor this read belongs to, updated by it. */
static struct cursor *follow(struct readahead *ra, const struct readahead_tuning *t,
			     struct readahead_counters *counters, struct heur_file *f,
			     const struct readahead_read *read)
{
	uint64_t end = read->offset + read->len;
	enum heuristic_match match;
	struct cursor *c = NULL;
	uint32_t pos = 0;

	if (!t->heuristic->cursors && f->set.n > 1)
		cursor_release_all(&ra->pool, f); /* the heuristic was changed: one stream again */
	if (t->heuristic->cursors)
		c = cursor_match(&f->set, read->offset, heuristic_near(t, read->len), &pos);
	else if (f->set.n)
		c = f->set.order[0].c;
	if (!c) {
		f->streak = 0;
		f->matches -= f->matches >> MATCH_SHIFT;
		c = cursor_new(&ra->pool, f, read->offset, read->now);
		if (!c)
			return NULL;
		pos = 0;
		while (f->set.order[pos].c != c)
			pos++;
		cursor_move(&f->set, pos, end);
		set_count(f, c, t->heuristic->count(t, 0, HEURISTIC_EXACT));
		all_there(t, c, read);
		return c;
	}
	match = heuristic_classify(t, c, read->offset, read->len);
	f->matches -= f->matches >> MATCH_SHIFT;
	if (match == HEURISTIC_EXACT) {
		f->matches += 65535 >> MATCH_SHIFT;
		f->streak++;
	} else if (match != HEURISTIC_REPEAT) {
		f->streak = 0;
	}
	set_count(f, c, t->heuristic->count(t, c->count, match));
	c->used = read->now;
	if (match == HEURISTIC_JUMP) {
		learn_waste(ra, c, waste(ra, counters, c));
		c->ra_end = c->done_end = 0;
		c->start = c->read_end = read->offset;
		c->seen = c->unit = 0;
		cursor_move(&f->set, pos, end);
	} else if (end > c->next && read->offset <= c->next + heuristic_near(t, read->len)) {
		if (c->withheld && c->next >= c->ra_end)
			learn(ra, f, end - c->next, 0); /* it would have been read */
		cursor_move(&f->set, pos, end);		/* never backwards: laggards are jitter */
	}
	if (t->heuristic->jitter && c->count < t->seq_threshold && all_there(t, c, read))
		set_count(f, c, t->seq_threshold);
	consume(ra, counters, c, end);
	return c;
}

/*
 * Whether C has earned read-ahead. Its count says so; or, for a young cursor, that the last reads
 * of the file all continued one or another: a stride reader need not prove each cursor anew. Chance
 * puts some reads of a random reader behind earlier ones, the more often the more cursors there
 * are: that many halvings longer must the streak be. And where a file's reads seldom continue a
 * cursor, a run must be four times as long before it is believed.
 */
static bool sequential(const struct readahead_tuning *t, const struct heur_file *f,
		       const struct cursor *c)
{
	uint32_t threshold = t->seq_threshold, chance = 31 - (uint32_t)__builtin_clz(f->set.n);

	if (c->count >= 2 && f->streak >= threshold + chance)
		return true;
	if (f->set.n > 1 && f->matches < 65536 / 8 * 3)
		threshold = threshold * 4 < t->seq_max ? threshold * 4 : t->seq_max;
	return c->count >= threshold;
}

void readahead_observe(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_read *read,
		       struct readahead_plan *plan)
{
	struct heur_file *f;
	struct cursor *c;

	*plan = (struct readahead_plan){0};
	readahead_count(counters, READAHEAD_READS, 1);
	readahead_count(counters, READAHEAD_READ_BYTES, read->len);
	f = heur_file_get(&ra->table, read->key, read->key_len, true);
	if (!f)
		return;
	c = follow(ra, t, counters, f, read);
	if (c) {
		plan->cursor = heur_cursor_ref(&ra->table, c);
		plan->count = c->count;
		plan->known_resident = read->offset + read->len <= c->done_end &&
				       read->offset >= c->start &&
				       elapsed(c->done_time, read->now) < ARRIVAL_TRUST;
		if (sequential(t, f, c))
			plan_chunk(ra, t, counters, c, read, plan);
	}
	heur_file_put(f);
}

void readahead_shorten(struct readahead *ra, struct readahead_counters *counters,
		       struct readahead_plan *plan, uint64_t len)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t end = plan->offset + plan->len, cut = plan->offset + len;

	if (!c)
		return;
	if (c->ra_end == end && len < plan->len) {
		uint64_t from = end - plan->ahead > cut ? end - plan->ahead : cut;

		if (c->read_end > from)
			from = c->read_end;
		if (from < end) /* takes back what planning counted */
			readahead_count(counters, READAHEAD_PREFETCHED,
					-discharge(ra, c, end - from));
		plan->ahead = plan->ahead > end - cut ? plan->ahead - (end - cut) : 0;
		plan->len = len;
		c->ra_end = cut;
	}
	heur_file_put(c->file);
}

void readahead_started(struct readahead *ra, const struct readahead_tuning *t,
		       struct readahead_counters *counters, const struct readahead_plan *plan,
		       const struct readahead_read *read, struct readahead_plan *next)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);

	*next = (struct readahead_plan){0};
	if (!c)
		return;
	if (c->queued)
		c->queued--;
	/* a reader that fell silent gets no more than what its window held */
	if (c->ra_end == plan->offset + plan->len && c->ra_end >= c->next &&
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
	if (c->ra_end >= plan->offset + plan->len && upto > c->done_end) {
		c->done_end = upto;
		c->done_time = now;
	}
	heur_file_put(c->file);
}

void readahead_already(struct readahead *ra, struct readahead_counters *counters,
		       const struct readahead_plan *plan, uint64_t from, uint64_t to)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t charged_from = plan->offset + plan->len - plan->ahead;

	if (!c)
		return;
	if (from < charged_from)
		from = charged_from;
	if (from < to) /* takes back what planning counted */
		readahead_count(counters, READAHEAD_PREFETCHED, -discharge(ra, c, to - from));
	heur_file_put(c->file);
}

void readahead_finished(struct readahead *ra, struct readahead_counters *counters,
			const struct readahead_plan *plan, uint64_t upto, bool started, bool error)
{
	struct cursor *c = heur_cursor_get(&ra->table, plan->cursor);
	uint64_t end = plan->offset + plan->len;

	if (error)
		readahead_count(counters, READAHEAD_PREFETCH_ERRORS, 1);
	if (!c)
		return;
	if (!started && c->queued)
		c->queued--;
	if (upto < end && c->ra_end >= end) {
		/* what did not come is neither used nor wasted, and is asked for by its reader */
		uint64_t had = c->read_end > upto ? c->read_end : upto;

		if (end > had)
			readahead_count(counters, READAHEAD_WASTED, discharge(ra, c, end - had));
		if (c->ra_end == end)
			c->ra_end = upto > c->start ? upto : 0;
		if (error)
			set_count(c->file, c, 1);
	}
	heur_file_put(c->file);
}

void readahead_late(struct readahead *ra, const struct readahead_tuning *t,
		    const struct cursor_ref *cursor)
{
	struct cursor *c = heur_cursor_get(&ra->table, *cursor);

	if (!c)
		return;
	if (c->window && c->window < t->window_max) {
		struct window_limits l = {.max = t->window_max};

		c->window = (uint32_t)window_grow(&l, c->window);
	}
	heur_file_put(c->file);
}

void readahead_lost(struct readahead *ra, const struct readahead_tuning *t,
		    struct readahead_counters *counters, const struct cursor_ref *cursor,
		    uint64_t offset)
{
	struct cursor *c = heur_cursor_get(&ra->table, *cursor);

	if (!c)
		return;
	if (offset < c->done_end && c->ra_end) {
		struct window_limits l = {.max = t->window_max};

		waste(ra, counters, c); /* it was wanted: that tells nothing of the reader */
		c->doubted = 0;
		c->window = (uint32_t)window_shrink(&l, c->window);
		if (!c->queued)
			c->ra_end = c->done_end = 0;
		c->start = offset;
	}
	heur_file_put(c->file);
}

void readahead_forget(struct readahead *ra, const void *key, size_t key_len)
{
	heur_table_forget(&ra->table, key, key_len);
}

/* What has arrived for a reader who has fallen silent is, until he reads on, evidence of waste. */
static void doubt(struct readahead *ra, struct cursor *c, uint64_t now)
{
	uint64_t arrived = c->done_end > c->read_end ? c->done_end - c->read_end : 0;

	if (arrived > c->charged)
		arrived = c->charged;
	if (arrived <= c->doubted || elapsed(c->used, now) < DOUBT_AFTER ||
	    elapsed(c->done_time, now) < DOUBT_AFTER)
		return;
	learn(ra, c->file, 0, arrived - c->doubted);
	c->doubted = arrived;
}

/* Of a cursor that holds unread bytes. Where memory is short, what is doubted is given up at once. */
static void judge(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		  bool is_short, uint64_t now)
{
	doubt(ra, c, now);
	if (!c->queued && (elapsed(c->used, now) > ra->idle_time || (is_short && c->doubted))) {
		learn_waste(ra, c, waste(ra, counters, c));
		c->ra_end = c->done_end = 0;
		c->start = c->next;
	}
}

void readahead_sweep(struct readahead *ra, struct readahead_counters *counters, uint64_t now)
{
	uint64_t retired = atomic_exchange(&ra->retired_unread, 0);
	bool is_short = atomic_load(&ra->unread) > atomic_load(&ra->memory) / 4 * 3;

	if (retired)
		readahead_count(counters, READAHEAD_WASTED, retired);
	if (!atomic_load(&ra->streams))
		return;
	for (uint32_t i = 0; i < ra->pool.size; i++) {
		struct cursor *c = &ra->pool.cursors[i];
		struct heur_file *f;

		urcu_bp_read_lock();
		f = __atomic_load_n(&c->file, __ATOMIC_ACQUIRE);
		if (!f) {
			urcu_bp_read_unlock();
			continue;
		}
		pthread_mutex_lock(&f->lock);
		if (__atomic_load_n(&c->file, __ATOMIC_RELAXED) == f && c->charged)
			judge(ra, counters, c, is_short, now);
		heur_file_put(f);
	}
}

void readahead_stats(struct readahead *ra, struct readahead_stats *s)
{
	pthread_mutex_lock(&ra->pool.lock);
	s->cursors_made = ra->pool.made;
	s->cursors_recycled = ra->pool.recycled;
	s->cursors = ra->pool.size;
	s->cursors_used = ra->pool.n_probation + ra->pool.n_proven;
	pthread_mutex_unlock(&ra->pool.lock);
	s->unread = atomic_load(&ra->unread);
	s->unread_max = atomic_load(&ra->unread_max);
	s->memory = atomic_load(&ra->memory);
	s->table_size = ra->table.size;
	s->entries = atomic_load(&ra->table.entries);
	s->evictions = atomic_load(&ra->table.evictions);
	s->streams = atomic_load(&ra->streams);
}
