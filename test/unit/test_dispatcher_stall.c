/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests that hang at the disk or in an answer: others pass them, within bounds, and the log says
 * so. Time stands still but where a test moves it; threads meet at a gate.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "disk.h"
#include "sched/dispatcher.h"

#define STALL	(2 * SEC)
#define WAITERS 100

enum place { IN_EXECUTE, IN_FINISH, IN_GAP, IN_ANSWERS };

/* The owner of a request says whether, and where, it hangs. */
#define HANGS(place) ((uint64_t)(place) + 1)

static struct dispatcher dispatcher;
static _Atomic uint64_t clock_ns;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static unsigned int began, submitted, inside, went_on, ended, answered;
static bool gate_open;
static unsigned int lines_begun, lines_over;
static char last_line[256];

/* pthread_create() as the dispatcher calls it. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static atomic_bool no_thread;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
			  void *arg)
{
	return atomic_load(&no_thread) ? EAGAIN : __real_pthread_create(thread, attr, main, arg);
}

static _Atomic unsigned int looks; /* at the clock */

static uint64_t now(void)
{
	atomic_fetch_add(&looks, 1);
	return atomic_load(&clock_ns);
}

static bool log_hangs, over_hangs; /* at lines of one that hangs; that goes on */
static unsigned int held;	   /* ... these, at present */

static void keep_line(enum log_level level, const char *format, va_list args)
{
	pthread_mutex_lock(&gate);
	while (log_hangs && !gate_open)
		pthread_cond_wait(&gate_cond, &gate);
	held += level != LOG_LEVEL_WARN;
	pthread_cond_broadcast(&gate_cond);
	while (over_hangs && level != LOG_LEVEL_WARN)
		pthread_cond_wait(&gate_cond, &gate);
	held -= level != LOG_LEVEL_WARN;
	*(level == LOG_LEVEL_WARN ? &lines_begun : &lines_over) += 1;
	vsnprintf(last_line, sizeof(last_line), format, args);
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void note(unsigned int *counter)
{
	pthread_mutex_lock(&gate);
	++*counter;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void await(const unsigned int *counter, unsigned int n)
{
	pthread_mutex_lock(&gate);
	while (*counter < n)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

static void hang(void)
{
	pthread_mutex_lock(&gate);
	inside++;
	pthread_cond_broadcast(&gate_cond);
	while (!gate_open)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate);
	gate_open = true;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void execute(struct dispatcher *d, struct sched_req *r)
{
	if (r->owner == HANGS(IN_GAP)) {
		note(&began);
		await(&submitted, 1);
		dispatcher_gap(d, r, SEC);
	} else if (r->owner == HANGS(IN_ANSWERS)) {
		note(&began);
		await(&submitted, 1);
		dispatcher_progress(d, r, r->offset + r->len);
		note(&went_on);
	} else if (r->owner == HANGS(IN_EXECUTE)) {
		hang();
	}
}

/* Of file 1: another's answer is given at once. */
static void complete(struct sched_req *r)
{
	if (r->file == 1)
		hang();
	note(&answered);
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	if (r->owner == HANGS(IN_FINISH))
		hang();
	note(&ended);
}

static const struct sched_req_ops item_ops = {
	.execute = execute, .complete = complete, .finish = finish};
static const struct dispatcher_ops host = {.now = now};

static void start(uint32_t depth)
{
	struct sched_limits l = default_limits();

	l.stall_time = STALL;
	began = submitted = inside = went_on = ended = answered = lines_begun = lines_over = 0;
	gate_open = false;
	atomic_store(&clock_ns, SEC);
	log_set_writer(keep_line);
	assert_int_equal(dispatcher_init(&dispatcher, &host, depth, &sched_turns, &l), 0);
	dispatcher_set_name(&dispatcher, "8:16");
}

static struct sched_req item(enum sched_class class, uint64_t file, uint64_t owner)
{
	return (struct sched_req){.ops = &item_ops,
				  .class = class,
				  .file = file,
				  .owner = owner,
				  .len = 64 * KIB,
				  .block = file * MIB};
}

static struct dispatcher_stats look(void)
{
	struct dispatcher_stats s;

	dispatcher_stats(&dispatcher, &s);
	return s;
}

/* The one that hangs has returned, and has its place again. */
static void check_over(unsigned int requests, unsigned int stalls)
{
	open_gate();
	await(&ended, requests);
	await(&lines_begun, stalls);
	await(&lines_over, stalls);
	dispatcher_fini(&dispatcher);
	assert_int_equal(lines_begun, stalls);
	assert_int_equal(lines_over, stalls);
	assert_int_equal(dispatcher.busy, 0);
	assert_int_equal(dispatcher.queue.stats.stalls, stalls);
	assert_int_equal(dispatcher.passed, 0);
	assert_null(sched_check(&dispatcher.queue));
	log_set_writer(NULL);
}

static void hang_one(enum sched_class class, enum place place)
{
	struct sched_req slow = item(class, 1, HANGS(place)), quick = item(SCHED_DEMAND, 2, 0);

	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 1); /* though the other one is where it was */
	await(&lines_begun, 1);
	assert_non_null(strstr(last_line, "device 8:16: the "));
	assert_non_null(strstr(last_line, "of inode 1 at offset 0 has hung for 2.0 s"));
	assert_int_equal(dispatcher_writes(&dispatcher), 0); /* nobody takes its for others' */
	atomic_fetch_add(&clock_ns, STALL);
	check_over(2, 1);
}

static void test_others_pass_one_that_hangs(void **state)
{
	hang_one(SCHED_DEMAND, IN_EXECUTE);
	hang_one(SCHED_PREFETCH, IN_EXECUTE);
	hang_one(SCHED_WRITEBACK, IN_EXECUTE);
	hang_one(SCHED_DEMAND, IN_FINISH);
}

/* The thread of a client that was given the disk. */
static void *run_it(void *arg)
{
	struct sched_req *r = arg;

	if (dispatcher_submit_or_run(&dispatcher, r) != SCHED_RUN)
		abort();
	execute(&dispatcher, r);
	dispatcher_ran(&dispatcher, r);
	note(&ended);
	return NULL;
}

static void test_others_pass_a_clients_thread(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE));
	struct sched_req quick = item(SCHED_DEMAND, 2, 0);
	pthread_t client;

	start(1);
	pthread_create(&client, NULL, run_it, &slow);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 1);
	open_gate();
	pthread_join(client, NULL);
	check_over(2, 1);
}

static void answer_joined(struct sched_req *r)
{
	note(&answered);
}

static bool is_idle(void)
{
	bool idle;

	lock_take(&dispatcher.lock);
	idle = dispatcher.busy == 0;
	lock_drop(&dispatcher.lock);
	return idle;
}

/* A small read in a gap of a chunk: the place is the chunk's, whose own readers wait for nobody else's file. */
static void test_others_pass_a_gap(void **state)
{
	static const struct sched_req_ops ops = {
		.execute = execute, .complete = answer_joined, .finish = finish};
	struct sched_req chunk = item(SCHED_PREFETCH, 4, HANGS(IN_GAP));
	struct sched_req small = item(SCHED_DEMAND, 2, HANGS(IN_EXECUTE));
	struct sched_req quick = item(SCHED_DEMAND, 3, 0), joined = item(SCHED_DEMAND, 4, 0);
	struct sched_req late = item(SCHED_DEMAND, 4, 0);

	joined.ops = &ops;
	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&began, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &small), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &joined), SCHED_WAITS);
	note(&submitted);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 1);
	await(&lines_begun, 1);
	await(&answered, 1);
	assert_true(joined.let_go);
	while (!is_idle()) /* or the small one, which hangs as long, is passed as well */
		sched_yield();
	assert_int_equal(dispatcher_submit(&dispatcher, &late), SCHED_ADDED);
	await(&ended, 2);
	check_over(4, 1);
}

/* Nobody but its own readers waits, at the disk or in a step: they are let go all the same. */
static void test_who_joined_a_chunk_is_let_go(void **state)
{
	static const struct sched_req_ops ops = {.complete = answer_joined};
	struct sched_req chunk = item(SCHED_PREFETCH, 4, HANGS(IN_EXECUTE)),
			 joined = item(SCHED_DEMAND, 4, 0);

	joined.ops = &ops;
	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&inside, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &joined), SCHED_WAITS);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	await(&answered, 1);
	check_over(1, 1);
}

static void ask_again(struct sched_req *r)
{
	r->let_go = false;
	if (dispatcher_submit(&dispatcher, r) != SCHED_ADDED)
		abort();
}

/* One bad spot in a chunk: those who are let go do not hang together, and the rest of the file is not parked. */
static void test_a_bad_spot_is_not_the_whole_file(void **state)
{
	static const struct sched_req_ops ops = {
		.execute = execute, .complete = ask_again, .finish = finish};
	struct sched_req chunk = item(SCHED_PREFETCH, 4, HANGS(IN_EXECUTE)), joined[4];
	struct sched_req far = item(SCHED_DEMAND, 4, 0);

	start(1);
	chunk.len = MIB;
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&inside, 1);
	for (unsigned int i = 0; i < 4; i++) { /* the first is bad */
		joined[i] = item(SCHED_DEMAND, 4, i ? 0 : HANGS(IN_EXECUTE));
		joined[i].offset = i * 64 * KIB;
		joined[i].block += joined[i].offset;
		joined[i].ops = &ops;
		assert_int_equal(dispatcher_submit(&dispatcher, &joined[i]), SCHED_WAITS);
	}
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	await(&inside, 2);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0);
	await(&ended, 3);
	far.offset = 100 * MIB;
	assert_int_equal(dispatcher_submit(&dispatcher, &far), SCHED_ADDED);
	await(&ended, 4);
	check_over(6, 2);
}

/* One hangs, and so does the line that says so: the next one that hangs is passed too. */
static void test_others_pass_one_more_while_the_log_hangs(void **state)
{
	struct sched_req slow[2] = {item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE)),
				    item(SCHED_DEMAND, 2, HANGS(IN_EXECUTE))};
	struct sched_req quick = item(SCHED_DEMAND, 3, 0);

	log_hangs = true;
	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow[0]), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow[1]), SCHED_ADDED);
	await(&inside, 2);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 1);
	check_over(3, 2);
	log_hangs = false;
}

/* One that hung in its answer goes on, and the line that says so hangs: it has no place meanwhile. */
static void test_others_pass_while_the_log_hangs_at_the_end(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_FINISH));
	struct sched_req quick[2] = {item(SCHED_DEMAND, 2, 0), item(SCHED_DEMAND, 3, 0)};

	start(1);
	over_hangs = true;
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick[0]), SCHED_ADDED);
	await(&ended, 1);
	open_gate();
	await(&held, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick[1]), SCHED_ADDED);
	await(&ended, 3);
	pthread_mutex_lock(&gate);
	over_hangs = false;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
	check_over(3, 1);
}

static bool is_watched(void)
{
	bool watched;

	lock_take(&dispatcher.lock);
	watched = dispatcher.watched;
	lock_drop(&dispatcher.lock);
	return watched;
}

/* Who watched takes what hangs: another watches, though nothing more comes. */
static void test_somebody_watches_while_something_waits(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE)), quick[2];

	start(1);
	slow.len = 256 * KIB;
	for (int i = 0; i < 2; i++) {
		quick[i] = item(SCHED_DEMAND, 2 + i, 0);
		quick[i].len = 256 * KIB;
	}
	lock_take(&dispatcher.lock); /* whoever wakes finds all three */
	assert_int_equal(sched_submit(&dispatcher.queue, &slow, now()), SCHED_ADDED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sched_submit(&dispatcher.queue, &quick[i], now()), SCHED_ADDED);
	pthread_cond_signal(&dispatcher.work); /* one */
	lock_drop(&dispatcher.lock);
	await(&inside, 1);
	while (!is_watched())
		sched_yield();
	atomic_fetch_add(&clock_ns, STALL);
	open_gate();
	await(&ended, 3);
	dispatcher_fini(&dispatcher);
	log_set_writer(NULL);
}

/* A place is free, and what is queued waits for something else than the disk: nobody looks all the time. */
static void test_nobody_is_busy_watching(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE));
	struct sched_req write = item(SCHED_WRITEBACK, 2, 0);
	struct sched_limits l;
	unsigned int before;

	start(2);
	l = dispatcher_limits(&dispatcher);
	l.writeback_idle = 1000 * SEC;
	dispatcher_set_limits(&dispatcher, &l);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &write), SCHED_ADDED);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 2), 0); /* all look again */
	usleep(10000);
	before = atomic_load(&looks);
	usleep(100000);
	assert_in_range(atomic_load(&looks) - before, 0, 50);
	assert_int_equal(look().queued[SCHED_WRITEBACK], 1);
	open_gate();
	dispatcher_fini(&dispatcher);
	assert_int_equal(lines_begun, 0);
	log_set_writer(NULL);
}

static void join_many(struct sched_req *chunk, struct sched_req *readers)
{
	assert_int_equal(dispatcher_submit(&dispatcher, chunk), SCHED_ADDED);
	for (int i = 0; i < WAITERS; i++) {
		readers[i] = item(SCHED_DEMAND, chunk->file, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &readers[i]), SCHED_WAITS);
	}
}

/* The readers of a file whose answers hang do not keep another file's, which are in memory, from theirs. */
static void test_others_are_answered_while_four_answers_hang(void **state)
{
	struct sched_req chunk[2] = {item(SCHED_PREFETCH, 1, HANGS(IN_ANSWERS)),
				     item(SCHED_PREFETCH, 9, HANGS(IN_ANSWERS))};
	struct sched_req readers[2][WAITERS], quick = item(SCHED_DEMAND, 3, 0);

	start(1);
	join_many(&chunk[0], readers[0]);
	await(&began, 1);
	join_many(&chunk[1], readers[1]);
	note(&submitted);
	await(&inside, DISPATCHER_ANSWERERS_MAX);
	await(&answered, WAITERS);
	await(&ended, 2);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 3);
	open_gate();
	await(&answered, 2 * WAITERS);
	dispatcher_fini(&dispatcher);
	log_set_writer(NULL);
}

/* Twenty reads of a file hang, each so far (bytes) behind the one before it: it costs the others so many Stall_Times. */
static void reads_wait(uint64_t apart, unsigned int stalls)
{
	struct sched_req slow[20], chunk = item(SCHED_PREFETCH, 1, 0), quick[20];

	start(1);
	assert_int_equal(dispatcher_set_policy(&dispatcher, &sched_fifo), 0);
	for (unsigned int i = 0; i < 20; i++) {
		slow[i] = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE));
		slow[i].offset = i * apart;
		assert_int_equal(dispatcher_submit(&dispatcher, &slow[i]), SCHED_ADDED);
	}
	chunk.offset = 100 * MIB;
	for (unsigned int i = 0; i < 20; i++) {
		if (i < stalls) {
			await(&inside, i + 1);
			atomic_fetch_add(&clock_ns, STALL);
		}
		quick[i] = item(SCHED_DEMAND, 2 + i, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &quick[i]), SCHED_ADDED);
	}
	await(&ended, 20);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED); /* comes later */
	assert_int_equal(look().counted.stalls, stalls);
	assert_int_equal(look().queued[SCHED_DEMAND], 20 - stalls);
	assert_int_equal(dispatcher_set_policy(&dispatcher, &sched_elevator), 0);
	check_over(41, stalls);
}

/* What is queued for a file that hangs would hang too: the first may be a bad block, with the second it is the file. */
static void test_reads_of_a_file_that_hangs_wait_for_it(void **state)
{
	reads_wait(MIB, 2);
}

/* ... and what is queued for where one hangs: of it all may be told by the first. */
static void test_reads_of_where_one_hangs_wait_for_it(void **state)
{
	reads_wait(0, 1);
	reads_wait(KIB, 1);
}

/* Of a small file that is read whole: what it brings beyond what its client wants has to wait for nobody else's spot. */
static void test_nobody_waits_with_a_read_that_waits(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE)),
			 quick = item(SCHED_DEMAND, 2, 0);
	struct sched_req whole = item(SCHED_DEMAND, 1, 0), far = whole;

	whole.brings_more = true;
	whole.len = MIB;
	far.offset = 512 * KIB;
	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	await(&ended, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &whole), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &far), SCHED_ADDED);
	await(&ended, 2);
	assert_int_equal(look().queued[SCHED_DEMAND], 1);
	check_over(4, 1);
}

/* Chunks that hang where a read does count for none, but not any number of them. */
static void test_chunks_at_one_spot_are_bounded(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE)), chunk[20], quick[20];

	start(1);
	assert_int_equal(dispatcher_set_policy(&dispatcher, &sched_fifo), 0);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	for (unsigned int i = 0; i < 20; i++) {
		chunk[i] = item(SCHED_PREFETCH, 1, HANGS(IN_EXECUTE));
		assert_int_equal(dispatcher_submit(&dispatcher, &chunk[i]), SCHED_ADDED);
	}
	for (unsigned int i = 0; i < 20; i++) {
		if (i < 4) {
			await(&inside, i + 1);
			atomic_fetch_add(&clock_ns, STALL);
		}
		quick[i] = item(SCHED_DEMAND, 2 + i, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &quick[i]), SCHED_ADDED);
	}
	await(&ended, 20);
	check_over(41, 4);
}

static void test_no_more_pass_than_may(void **state)
{
	struct sched_req slow[SCHED_STALLED_MAX + 2];
	unsigned int n = SCHED_STALLED_MAX + 2;

	start(1);
	for (unsigned int i = 0; i < n; i++) {
		slow[i] = item(SCHED_DEMAND, i, HANGS(IN_EXECUTE));
		atomic_fetch_add(&clock_ns, STALL);
		assert_int_equal(dispatcher_submit(&dispatcher, &slow[i]), SCHED_ADDED);
		if (i + 1 < n)
			await(&inside, i + 1);
	}
	/* whoever could let the last one pass has looked when a higher depth lets it in */
	assert_int_equal(look().queued[SCHED_DEMAND], 1);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 2), 0);
	await(&inside, n);
	assert_int_equal(look().counted.stalls, SCHED_STALLED_MAX);
	check_over(n, SCHED_STALLED_MAX);
}

/* All that went to a drive together hangs: what must be alone passes them too. */
static void test_others_pass_all_that_hang_together(void **state)
{
	struct sched_req slow[32], chunk = item(SCHED_PREFETCH, 100, 0);

	start(1);
	dispatcher_set_together(&dispatcher, 32);
	lock_take(&dispatcher.lock);
	dispatcher.drive.evidence.together = true;
	dispatcher.drive.evidence.probing = false;
	lock_drop(&dispatcher.lock);
	chunk.len = MIB; /* a short one would go with them */
	for (unsigned int i = 0; i < 32; i++) {
		slow[i] = item(SCHED_DEMAND, i, HANGS(IN_EXECUTE));
		assert_int_equal(dispatcher_submit(&dispatcher, &slow[i]), SCHED_ADDED);
	}
	await(&inside, 32);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&ended, 1);
	check_over(33, 32);
}

/* Of a walk's job one file may hang: the READs that wait for others of its files go by themselves. */
static void test_who_joined_several_files_is_let_go(void **state)
{
	static const struct sched_req_ops ops = {.execute = execute, .complete = answer_joined};
	struct sched_req job = item(SCHED_PREFETCH, 1, HANGS(IN_EXECUTE));

	for (uint32_t depth = 1; depth <= 2; depth++) {
		struct sched_req joined = item(SCHED_DEMAND, 1, 0), late = joined;

		job.several = true;
		joined.ops = late.ops = &ops;
		start(depth);
		assert_int_equal(dispatcher_submit(&dispatcher, &job), SCHED_ADDED);
		await(&inside, 1);
		assert_int_equal(dispatcher_join(&dispatcher, &joined), SCHED_WAITS);
		atomic_fetch_add(&clock_ns, STALL);
		assert_int_equal(dispatcher_set_depth(&dispatcher, depth), 0); /* all look again */
		await(&answered,
		      1); /* nobody else waits for the disk, and the job is where it was */
		assert_int_equal(dispatcher_join(&dispatcher, &late), SCHED_FULL);
		check_over(1, 1);
	}
}

/* Without somebody who waits nobody is passed, and what hangs is no news. */
static void test_alone_it_may_take_its_time(void **state)
{
	struct sched_req slow = item(SCHED_DEMAND, 1, HANGS(IN_EXECUTE));

	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, 100 * STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	open_gate();
	await(&ended, 1);
	dispatcher_fini(&dispatcher);
	assert_int_equal(lines_begun + lines_over, 0);
	log_set_writer(NULL);
}

/* The disk does not stand still while many readers of a chunk are answered. */
static void test_the_chunk_goes_on_while_its_readers_are_answered(void **state)
{
	struct sched_req chunk = item(SCHED_PREFETCH, 1, HANGS(IN_ANSWERS)), readers[WAITERS];

	start(1);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&began, 1);
	for (int i = 0; i < WAITERS; i++) {
		readers[i] = item(SCHED_DEMAND, 1, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &readers[i]), SCHED_WAITS);
	}
	note(&submitted);
	await(&inside, 1); /* in the first answer ... */
	await(&went_on, 1);
	await(&ended, 1);
	open_gate();
	await(&answered, WAITERS);
	dispatcher_fini(&dispatcher);
	assert_int_equal(answered, WAITERS);
	assert_int_equal(dispatcher.queue.held, 0);
	log_set_writer(NULL);
}

/* A dispatcher whose queue has N places. */
static void start_with_places(uint32_t n)
{
	struct sched_limits l;

	start(1);
	l = dispatcher_limits(&dispatcher);
	l.queue_max = n;
	dispatcher_set_limits(&dispatcher, &l);
}

/* ... and those who are being answered still hold their places. */
static void test_answers_to_be_given_are_bounded(void **state)
{
	struct sched_req chunk = item(SCHED_PREFETCH, 1, HANGS(IN_ANSWERS)), readers[WAITERS];
	struct sched_req more = item(SCHED_DEMAND, 2, 0);

	start_with_places(WAITERS);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&began, 1);
	for (int i = 0; i < WAITERS; i++) {
		readers[i] = item(SCHED_DEMAND, 1, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &readers[i]), SCHED_WAITS);
	}
	assert_int_equal(dispatcher_submit(&dispatcher, &more), SCHED_FULL);
	note(&submitted);
	await(&ended, 1);
	assert_int_equal(dispatcher_submit(&dispatcher, &more), SCHED_FULL);
	open_gate();
	await(&answered, WAITERS);
	dispatcher_fini(&dispatcher);
	log_set_writer(NULL);
}

/* ... but who is let go asks again for the place that he has. */
static void test_who_is_let_go_has_his_place(void **state)
{
	static const struct sched_req_ops ops = {
		.execute = execute, .complete = ask_again, .finish = finish};
	struct sched_req chunk = item(SCHED_PREFETCH, 4, HANGS(IN_EXECUTE)), readers[WAITERS];

	start_with_places(WAITERS);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	await(&inside, 1);
	for (int i = 0; i < WAITERS; i++) {
		readers[i] = item(SCHED_DEMAND, 4, 0);
		readers[i].ops = &ops;
		assert_int_equal(dispatcher_submit(&dispatcher, &readers[i]), SCHED_WAITS);
	}
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 1), 0); /* all look again */
	await(&ended, WAITERS);
	check_over(WAITERS + 1, 1);
}

static void test_no_dispatcher_without_a_thread(void **state)
{
	struct sched_limits l = default_limits();

	atomic_store(&no_thread, true);
	assert_int_equal(dispatcher_init(&dispatcher, &host, 1, &sched_turns, &l), EAGAIN);
	atomic_store(&no_thread, false);
}

/* Then the worker answers by itself, and nobody passes; nothing is lost. */
static void test_without_a_spare_thread(void **state)
{
	struct sched_req chunk = item(SCHED_PREFETCH, 1, HANGS(IN_ANSWERS)), readers[WAITERS];
	struct sched_req slow = item(SCHED_DEMAND, 2, HANGS(IN_EXECUTE));
	struct sched_req quick = item(SCHED_DEMAND, 3, 0);

	start(1);
	atomic_store(&no_thread, true);
	assert_int_equal(dispatcher_submit(&dispatcher, &slow), SCHED_ADDED);
	await(&inside, 1);
	atomic_fetch_add(&clock_ns, STALL);
	assert_int_equal(dispatcher_submit(&dispatcher, &quick), SCHED_ADDED);
	assert_int_equal(dispatcher_submit(&dispatcher, &chunk), SCHED_ADDED);
	for (int i = 0; i < WAITERS; i++) {
		readers[i] = item(SCHED_DEMAND, 1, 0);
		assert_int_equal(dispatcher_submit(&dispatcher, &readers[i]), SCHED_WAITS);
	}
	note(&submitted);
	open_gate();
	await(&ended, 3);
	await(&answered, WAITERS);
	assert_int_equal(dispatcher_set_depth(&dispatcher, 4), 0); /* as many as there are */
	assert_int_equal(dispatcher_depth(&dispatcher), 1);
	dispatcher_fini(&dispatcher);
	assert_int_equal(lines_begun, 0);
	atomic_store(&no_thread, false);
	log_set_writer(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_pass_one_that_hangs),
		cmocka_unit_test(test_others_pass_a_clients_thread),
		cmocka_unit_test(test_others_pass_a_gap),
		cmocka_unit_test(test_who_joined_a_chunk_is_let_go),
		cmocka_unit_test(test_a_bad_spot_is_not_the_whole_file),
		cmocka_unit_test(test_others_pass_one_more_while_the_log_hangs),
		cmocka_unit_test(test_others_pass_while_the_log_hangs_at_the_end),
		cmocka_unit_test(test_somebody_watches_while_something_waits),
		cmocka_unit_test(test_nobody_is_busy_watching),
		cmocka_unit_test(test_others_are_answered_while_four_answers_hang),
		cmocka_unit_test(test_reads_of_a_file_that_hangs_wait_for_it),
		cmocka_unit_test(test_reads_of_where_one_hangs_wait_for_it),
		cmocka_unit_test(test_nobody_waits_with_a_read_that_waits),
		cmocka_unit_test(test_chunks_at_one_spot_are_bounded),
		cmocka_unit_test(test_no_more_pass_than_may),
		cmocka_unit_test(test_others_pass_all_that_hang_together),
		cmocka_unit_test(test_who_joined_several_files_is_let_go),
		cmocka_unit_test(test_alone_it_may_take_its_time),
		cmocka_unit_test(test_the_chunk_goes_on_while_its_readers_are_answered),
		cmocka_unit_test(test_answers_to_be_given_are_bounded),
		cmocka_unit_test(test_who_is_let_go_has_his_place),
		cmocka_unit_test(test_no_dispatcher_without_a_thread),
		cmocka_unit_test(test_without_a_spare_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
