/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ellard & Seltzer's figure 3 in simulation: eight processes read 32 MB each, from eight places of
 * one disk without a tagged queue. Under the elevator they finish one after another, a staircase;
 * under N-CSCAN together, at a clear loss of throughput; under turns, with read-ahead in chunks,
 * together and at nearly the elevator's throughput.
 *
 * Each process keeps a few small reads outstanding and thinks for no time. The read-ahead engine
 * and the dispatch queue are the real ones; the disk and the clock are not.
 */
#include "disk.h"
#include "engine.h"

#define PROCESSES   8
#define FILE_SIZE   (32 * MIB)
#define READ	    (32 * KIB)
#define OUTSTANDING 4
#define STEP	    (512 * KIB)

struct read {
	struct sched_req req; /* first */
	struct process *process;
};

struct chunk {
	struct sched_req req; /* first */
	struct readahead_plan plan;
	bool used;
};

struct process {
	uint64_t id, next, done, finished; /* offsets; time */
	struct read reads[OUTSTANDING];
	struct chunk chunks[4];
	uint8_t resident[FILE_SIZE / READ];
};

struct simulation {
	struct sched_queue queue;
	struct disk disk;
	struct engine *engine; /* NULL: no read-ahead */
	struct process processes[PROCESSES];
};

static void read_on(struct simulation *s, struct process *p);

static bool resident(const struct process *p, uint64_t offset)
{
	return p->resident[offset / READ];
}

static void submit_chunk(struct simulation *s, struct process *p, const struct readahead_plan *plan)
{
	struct chunk *c = p->chunks;

	while (c->used)
		assert_true(++c < p->chunks + 4);
	*c = (struct chunk){.used = true, .plan = *plan};
	c->req.class = SCHED_PREFETCH;
	c->req.file = p->id + 1;
	c->req.owner = plan->cursor.index + 1;
	c->req.offset = plan->offset;
	c->req.len = plan->len;
	c->req.block = p->id * 4096 * MIB + plan->offset;
	assert_int_equal(sched_submit(&s->queue, &c->req, s->disk.now), SCHED_ADDED);
}

static struct readahead_plan observe(struct simulation *s, struct process *p, uint64_t offset)
{
	struct engine *e = s->engine;

	if (!e)
		return (struct readahead_plan){0};
	e->now = s->disk.now;
	e->chunk = sched_chunk(&s->queue);
	e->streams = sched_streams(&s->queue);
	return engine_read(e, p->id, offset, READ, FILE_SIZE);
}

/* Issues the next read in slot R; true when it was answered at once. */
static bool issue(struct simulation *s, struct process *p, struct read *r)
{
	struct readahead_plan plan = observe(s, p, p->next);
	uint64_t offset = p->next;

	p->next += READ;
	r->process = p;
	if (plan.len)
		submit_chunk(s, p, &plan);
	if (resident(p, offset))
		return true;
	r->req = (struct sched_req){.class = SCHED_DEMAND,
				    .file = p->id + 1,
				    .offset = offset,
				    .len = READ,
				    .block = p->id * 4096 * MIB + offset};
	return sched_submit(&s->queue, &r->req, s->disk.now) == SCHED_RESIDENT;
}

static void answered(struct simulation *s, struct process *p)
{
	p->done += READ;
	if (p->done == FILE_SIZE)
		p->finished = s->disk.now;
}

static void read_on(struct simulation *s, struct process *p)
{
	for (int i = 0; i < OUTSTANDING; i++)
		while (p->reads[i].req.state == REQ_IDLE && p->next < FILE_SIZE &&
		       issue(s, p, &p->reads[i]))
			answered(s, p);
}

static void wake_all(struct simulation *s, struct sched_list *woken)
{
	struct sched_req *r;

	while ((r = TAILQ_FIRST(woken))) {
		struct process *p = ((struct read *)r)->process;

		TAILQ_REMOVE(woken, r, link);
		answered(s, p);
	}
	for (int i = 0; i < PROCESSES; i++)
		read_on(s, &s->processes[i]);
}

static void fetch(struct simulation *s, struct process *p, uint64_t offset, uint64_t block,
		  uint64_t len)
{
	sched_observe(&s->queue, block, len, disk_read(&s->disk, block, len));
	memset(p->resident + offset / READ, 1, len / READ);
}

static void serve_chunk(struct simulation *s, struct chunk *c)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct process *p = &s->processes[c->req.file - 1];
	uint64_t end = c->req.offset + c->req.len;
	struct readahead_plan next;

	s->engine->now = s->disk.now;
	s->engine->chunk = sched_chunk(&s->queue);
	s->engine->streams = sched_streams(&s->queue);
	next = engine_start(s->engine, &c->plan, FILE_SIZE);
	if (next.len)
		submit_chunk(s, p, &next);
	for (uint64_t at = c->req.offset, n; at < end; at += n) {
		n = end - at < STEP ? end - at : STEP;
		fetch(s, p, at, c->req.block + (at - c->req.offset), n);
		readahead_arrived(s->engine->ra, &c->plan, at + n, s->disk.now);
		sched_progress(&s->queue, &c->req, at + n, s->disk.now, &woken);
		wake_all(s, &woken);
	}
	readahead_finished(s->engine->ra, &s->engine->counters, &c->plan, end, true, false);
}

static void run(struct simulation *s)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *r;

	wake_all(s, &woken);
	while ((r = sched_next(&s->queue, s->disk.now))) {
		struct process *p = &s->processes[r->file - 1];

		assert_false(r->dropped);
		if (r->class == SCHED_PREFETCH) {
			struct chunk *c = (struct chunk *)r;

			serve_chunk(s, c);
			sched_done(&s->queue, r, s->disk.now, &woken);
			c->used = false;
		} else {
			fetch(s, p, r->offset, r->block, r->io_len);
			sched_done(&s->queue, r, s->disk.now, &woken);
			answered(s, p);
		}
		wake_all(s, &woken);
	}
}

struct result {
	uint64_t first, last; /* ns */
	double mb_s, worst_wait_ms;
};

static struct result simulate(const char *policy, bool readahead, uint64_t max_wait)
{
	struct sched_limits limits = default_limits();
	struct simulation *s = calloc(1, sizeof(*s));
	struct result result = {.first = UINT64_MAX};

	assert_non_null(s);
	limits.cost.max_wait = max_wait;
	assert_int_equal(sched_queue_init(&s->queue, sched_policy_find(policy), &limits), 0);
	s->disk.head = UINT64_MAX;
	if (readahead)
		s->engine = engine_default("cursor");
	for (uint64_t i = 0; i < PROCESSES; i++)
		s->processes[i].id = i;
	run(s);
	for (int i = 0; i < PROCESSES; i++) {
		struct process *p = &s->processes[i];

		assert_int_equal(p->done, FILE_SIZE);
		if (p->finished < result.first)
			result.first = p->finished;
		if (p->finished > result.last)
			result.last = p->finished;
	}
	assert_int_equal(s->disk.bytes, PROCESSES * FILE_SIZE); /* nothing is read twice */
	result.mb_s = (double)(PROCESSES * FILE_SIZE) * 1e3 / (double)result.last;
	result.worst_wait_ms = (double)s->queue.stats.wait_max / 1e6;
	print_message("%-8s %s: first %.2f s, last %.2f s, %.0f MB/s, worst wait %.0f ms\n", policy,
		      readahead ? "read-ahead" : "small reads", (double)result.first / 1e9,
		      (double)result.last / 1e9, result.mb_s, result.worst_wait_ms);
	if (s->engine) {
		engine_check_account(s->engine);
		engine_free(s->engine);
	}
	sched_queue_fini(&s->queue);
	free(s);
	return result;
}

static void test_the_elevators_staircase(void **state)
{
	struct result r = simulate("elevator", false, 1000 * SEC);

	assert_true(r.last >= 4 * r.first);
	assert_true(r.mb_s > 0.9 * DISK_MB_S);
}

static void test_ncscan_is_fair_and_slow(void **state)
{
	struct result elevator = simulate("elevator", false, 1000 * SEC);
	struct result r = simulate("ncscan", false, 1000 * SEC);

	assert_true((double)r.last <= 1.2 * (double)r.first);
	assert_true(r.mb_s < 0.5 * elevator.mb_s);
}

static void test_turns_are_fair_and_fast(void **state)
{
	struct result elevator = simulate("elevator", true, 1000 * SEC);
	struct result r = simulate("turns", true, 2 * SEC);

	assert_true((double)r.last <= 1.15 * (double)r.first);
	assert_true(r.mb_s >= 0.85 * elevator.mb_s);
	assert_true(r.worst_wait_ms <= 2000);
}

/* Max_Wait ends the elevator's starvation: no read waits as long as the files before it take. */
static void test_max_wait_ends_starvation(void **state)
{
	struct result without = simulate("elevator", false, 1000 * SEC);
	struct result with = simulate("elevator", false, 500 * MSEC);

	assert_true(without.worst_wait_ms > 1000);
	assert_true(with.worst_wait_ms < 500 + PROCESSES * 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_elevators_staircase),
		cmocka_unit_test(test_ncscan_is_fair_and_slow),
		cmocka_unit_test(test_turns_are_fair_and_fast),
		cmocka_unit_test(test_max_wait_ends_starvation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
