/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is learnt of a drive's queue, from random readers who ask again as soon as they are answered,
 * over drives of several kinds: with and without a queue of its own, without an arm, disturbed.
 *
 *   readers --> [ sched_queue ] -- up to depth_evidence_level() --> [ drive's queue ] --> drive
 */
#include "disk.h"
#include "disk_model.h"
#include "disk_queue.h"
#include "sched/depth_evidence.h"

#define READERS_MAX 128
#define READ	    8192

struct drive {
	struct disk_model *model; /* NULL: a constant time */
	struct disk_queue queue;
	struct disk_command *current;
	uint64_t constant, ends;  /* ns */
	unsigned int parallel;	  /* served at a time, of a constant time */
	unsigned int pause_every; /* reads, on the average */
	uint64_t pause;		  /* ns more then */
};

struct world {
	struct drive drive;
	struct depth_evidence e;
	struct sched_queue *queue;
	struct sched_req reads[READERS_MAX];
	struct disk_command commands[READERS_MAX];
	unsigned int readers, running;
	uint64_t now, seed, span;
	uint64_t served, trials; /* reads */
};

static struct world w;

static void ask(unsigned int i)
{
	uint64_t block = random_below(&w.seed, w.span / READ) * READ;

	w.reads[i] = (struct sched_req){
		.class = SCHED_DEMAND, .file = i + 1, .offset = block, .block = block, .len = READ};
	assert_int_equal(sched_submit(w.queue, &w.reads[i], w.now), SCHED_ADDED);
}

static void start_world(unsigned int depth, unsigned int readers, uint32_t bound)
{
	struct sched_limits limits = default_limits();
	struct disk_params p;

	disk_params_default(&p);
	p.depth = depth;
	w = (struct world){.readers = readers, .seed = 7, .span = (uint64_t)p.size_mb << 20};
	w.drive.model = disk_model_new(&p);
	disk_queue_init(&w.drive.queue, depth, (int64_t)(p.age_ms * 1e6));
	w.queue = queue_new(sched_policy_find("turns"), &limits);
	depth_evidence_init(&w.e, bound);
	for (unsigned int i = 0; i < readers; i++)
		ask(i);
}

/* A device without an arm: PARALLEL at a time, each takes NS. */
static void start_constant(unsigned int parallel, uint64_t ns, unsigned int readers)
{
	start_world(1, readers, 32);
	disk_model_free(w.drive.model);
	w.drive.model = NULL;
	w.drive.constant = ns;
	w.drive.parallel = parallel;
}

static void end_world(void)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *r;

	while ((r = sched_next(w.queue, w.now)))
		sched_done(w.queue, r, w.now, &woken);
	queue_free(w.queue);
	if (w.drive.model)
		disk_model_free(w.drive.model);
}

static void feed(void)
{
	struct sched_req *r;

	while (w.running < depth_evidence_level(&w.e) && (r = sched_next(w.queue, w.now))) {
		struct disk_command *c = &w.commands[r - w.reads];

		*c = (struct disk_command){DISK_READ, r->block, r->len, (int64_t)w.now, NULL};
		depth_evidence_pass(&w.e, w.running++, w.now);
		disk_queue_add(&w.drive.queue, c);
	}
}

/* How long the drive is at its next read, which it takes. */
static uint64_t take(void)
{
	struct drive *d = &w.drive;
	struct disk_service s;
	unsigned int n = w.running < d->parallel ? w.running : d->parallel;
	uint64_t extra = d->pause_every && !random_below(&w.seed, d->pause_every) ? d->pause : 0;

	if (!d->model) {
		d->current = d->queue.first;
		d->queue.first = d->current->next;
		if (!d->queue.first)
			d->queue.last = &d->queue.first;
		return d->constant / n + extra;
	}
	d->current = disk_queue_take(&d->queue, d->model, (int64_t)w.now);
	disk_model_serve(d->model, DISK_READ, d->current->offset, READ, (int64_t)w.now, &s);
	return (uint64_t)s.end_ns - w.now + extra;
}

/* The current one leaves the others that were there. */
static void tell_order(void)
{
	int64_t began = w.drive.current->arrival_ns;
	uint32_t there = 1, older = 0, younger = 0;

	for (const struct disk_command *c = w.drive.queue.first; c; c = c->next) {
		there++;
		older += c->arrival_ns < began;
		younger += c->arrival_ns > began;
	}
	if (older || younger)
		depth_evidence_order(&w.e, there, older, younger);
}

static void serve_one(void)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int i;

	feed();
	w.trials += w.e.trying;
	w.now += take();
	i = (unsigned int)(w.drive.current - w.commands);
	depth_evidence_read(&w.e, w.running, w.readers, READ, w.now);
	tell_order();
	w.running--;
	sched_done(w.queue, &w.reads[i], w.now, &woken);
	w.served++;
	ask(i);
}

static void serve(unsigned int reads)
{
	for (unsigned int n = 0; n < reads; n++)
		serve_one();
}

/* 256 MiB are what the readers of a measurement share; there most of a read is rotation. */
static const uint64_t spans[] = {256 * MIB, 4096 * MIB};
static const unsigned int loads[] = {4, 8, 32, 128};
#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static void for_each_load(unsigned int depth, void (*check)(void))
{
	for (unsigned int s = 0; s < LENGTH(spans); s++) {
		for (unsigned int i = 0; i < LENGTH(loads); i++) {
			start_world(depth, loads[i], 32);
			w.span = spans[s];
			check();
			end_world();
		}
	}
}

static void check_found(void)
{
	while (!w.e.together && w.now < 5 * SEC)
		serve_one();
	assert_true(w.e.together);
	serve(10000); /* and it stays, tried or not */
	assert_true(w.e.together);
	assert_true(w.e.ns[1] < w.e.ns[0]);
	assert_true(w.trials < w.served / 20);
}

static void test_a_drive_with_a_queue_is_found_soon(void **state)
{
	for_each_load(32, check_found);
}

static void check_left(void)
{
	serve(10000);
	assert_false(w.e.together);
	assert_true(w.e.decided);
	assert_true(w.trials < w.served / 15);
}

static void test_one_without_keeps_our_order(void **state)
{
	for (unsigned int i = 0; i < LENGTH(loads); i++) {
		if (loads[i] > 32) /* with more than the bound nothing is lost either way */
			continue;
		start_world(1, loads[i], 32);
		check_left();
		end_world();
	}
}

static uint64_t time_of(unsigned int readers, uint64_t span, uint32_t bound)
{
	uint64_t ns = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		start_world(1, readers, bound);
		w.span = span;
		w.seed = seed;
		serve(5000);
		ns += w.now;
		end_world();
	}
	return ns;
}

/* What all trials cost it, begun from nothing: less than 2 % of its time, on the average. */
static void test_trials_cost_little(void **state)
{
	for (unsigned int s = 0; s < LENGTH(spans); s++) {
		for (unsigned int i = 0; i < LENGTH(loads); i++) {
			uint64_t without = time_of(loads[i], spans[s], 1);

			assert_true(time_of(loads[i], spans[s], 32) < without + without / 50);
		}
	}
}

static void test_the_bound_holds(void **state)
{
	start_world(32, 32, 16);
	for (int i = 0; i < 2000; i++) {
		serve_one();
		assert_in_range(depth_evidence_level(&w.e), 1, 16);
	}
	assert_true(w.e.together);
	end_world();
	start_world(32, 32, 1);
	serve(2000);
	assert_int_equal(depth_evidence_level(&w.e), 1);
	assert_false(w.e.decided);
	end_world();
}

static void test_one_outstanding_says_nothing(void **state)
{
	start_world(32, 1, 32);
	serve(5000);
	assert_false(w.e.decided);
	assert_int_equal(w.trials, 0);
	end_world();
}

/* Of two reads one may be of another arm: that is found, and trials cost a single arm nothing. */
static void test_two_outstanding_tell_an_array(void **state)
{
	start_constant(4, 8 * MSEC, 2);
	serve(300);
	assert_true(w.e.together);
	serve(10000);
	assert_true(w.e.together);
	end_world();
	for (unsigned int s = 0; s < LENGTH(spans); s++) {
		uint64_t without = time_of(2, spans[s], 1);

		assert_true(time_of(2, spans[s], 32) < without + without / 100);
	}
}

/* A challenger that is far slower is left after a quarter of a window. */
static void test_what_is_hopeless_ends_soon(void **state)
{
	start_constant(4, 8 * MSEC, 16);
	serve(10000);
	assert_true(w.e.together);
	assert_true(w.trials < 200);
	end_world();
}

static void test_without_an_arm(void **state)
{
	start_constant(1, 100000, 32);
	serve(10000);
	assert_false(w.e.together); /* one at a time, whatever is asked */
	end_world();
	start_constant(8, 8 * MSEC, 32);
	serve(500);
	assert_true(w.e.together); /* as many disks */
	end_world();
}

static void test_pauses_do_not_decide(void **state)
{
	start_world(1, 32, 32);
	w.drive.pause = 300 * MSEC;
	w.drive.pause_every = 97;
	serve(10000);
	assert_false(w.e.together);
	end_world();
	start_world(32, 32, 32);
	w.drive.pause = 300 * MSEC;
	w.drive.pause_every = 97;
	serve(3000);
	assert_true(w.e.together);
	end_world();
}

/* A trial that was lost for want of load is made again once there is more, not much later. */
static void test_more_load_asks_again(void **state)
{
	start_world(8, 128, 32);
	depth_evidence_init(&w.e, 32);
	w.e.probing = false;
	w.e.decided = true;
	w.e.quiet = 1000000;
	w.e.lost_at = 100;
	serve(1000);
	assert_int_equal(w.trials, 0);
	w.e.lost_at = 4;
	serve(1000);
	assert_true(w.trials > 0);
	end_world();
}

/* A chunk in between takes the disk, and is nobody's time. */
static void test_time_counts_only_while_they_run(void **state)
{
	struct depth_evidence e;

	depth_evidence_init(&e, 32);
	e.probing = false;
	for (uint64_t i = 1; i <= DEPTH_WINDOW; i++) {
		depth_evidence_pass(&e, 0, i * SEC);
		depth_evidence_read(&e, 1, 8, 8 * KIB, i * SEC + 5 * MSEC);
	}
	assert_true(e.ns[0] == 5e6);
	assert_true(e.trying);
}

static const unsigned int few[] = {2, 3, 4, 8, 16, 32};

/* Long before times could tell. */
static void test_the_order_of_the_first_reads_tells(void **state)
{
	for (unsigned int s = 0; s < LENGTH(spans); s++) {
		for (unsigned int i = 0; i < LENGTH(few); i++) {
			start_world(32, few[i], 32);
			w.span = spans[s];
			serve(40);
			assert_true(w.e.together);
			end_world();
			start_world(1, few[i], 32);
			w.span = spans[s];
			serve(40);
			assert_false(w.e.probing);
			assert_int_equal(depth_evidence_level(&w.e), 1);
			end_world();
		}
	}
}

/* What a drive of before was like is believed for no longer than that. */
static void test_a_drive_that_was_kept_is_asked_again(void **state)
{
	start_world(32, 8, 32);
	depth_evidence_restore(&w.e, false, (double[2]){8e6, 8e6});
	serve(40);
	assert_true(w.e.together);
	end_world();
}

/* One that seems to overtake, because a thread was late, proves nothing. */
static void test_one_that_overtakes_is_chance(void **state)
{
	struct depth_evidence e;

	depth_evidence_init(&e, 32);
	assert_int_equal(depth_evidence_level(&e), DEPTH_TRIAL_MIN);
	depth_evidence_order(&e, 8, 1, 0);
	for (int i = 0; i < 8; i++)
		depth_evidence_order(&e, 8, 0, 7);
	assert_false(e.probing);
	assert_int_equal(depth_evidence_level(&e), 1);
}

/* Bursts that go there all at once, with short chunks between them: their order tells nothing. */
static void test_nobody_is_asked_for_ever(void **state)
{
	struct depth_evidence e;
	uint64_t now = SEC;

	depth_evidence_init(&e, 32);
	for (unsigned int burst = 0; burst < 5; burst++) {
		for (unsigned int running = 8; running > 0; running--)
			depth_evidence_read(&e, running, running, 8 * KIB, now += MSEC);
		depth_evidence_disturbed(&e);
	}
	assert_false(e.probing);
	assert_int_equal(depth_evidence_level(&e), 1);
}

/* Short chunks among the reads end its windows, but where it is due to look again they are kept away. */
static void test_chunks_do_not_hide_a_mistake(void **state)
{
	start_world(1, 8, 32);
	depth_evidence_restore(&w.e, true, (double[2]){0});
	for (unsigned int n = 0; n < 2000 && w.e.together; n++) {
		serve_one();
		if (n % 16 == 0 && !depth_evidence_waits(&w.e))
			depth_evidence_disturbed(&w.e);
	}
	assert_false(w.e.together);
	end_world();
}

/* ... for a while: where there are hardly any reads nothing comes of it. */
static void test_a_trial_is_not_waited_for_for_ever(void **state)
{
	struct depth_evidence e;

	depth_evidence_init(&e, 32);
	depth_evidence_restore(&e, true, (double[2]){0});
	e.quiet = 0;
	assert_true(depth_evidence_waits(&e));
	depth_evidence_read(&e, 2, 2, 8 * KIB, SEC);
	depth_evidence_read(&e, 2, 2, 8 * KIB, 2 * SEC);
	assert_true(depth_evidence_waits(&e));
	depth_evidence_read(&e, 2, 2, 8 * KIB, 2 * SEC + MSEC);
	assert_false(depth_evidence_waits(&e));
}

/* What was known is restored, or all is begun anew, with reads at the drive, which did not take as long as the host is up. */
static void test_begun_with_reads_at_the_drive(void **state)
{
	uint64_t now = 58 * 86400 * SEC;
	struct depth_evidence e;

	for (int anew = 0; anew < 2; anew++) {
		depth_evidence_init(&e, 32);
		for (uint32_t running = 0; running < 4; running++)
			depth_evidence_pass(&e, running, now += MSEC);
		if (anew)
			depth_evidence_init(&e, 32);
		depth_evidence_restore(&e, true, (double[2]){9e6, 4e6});
		for (int i = 0; i < DEPTH_WINDOW; i++)
			depth_evidence_read(&e, 4, 8, 8 * KIB, now += 4 * MSEC);
		assert_true(e.ns[1] > 3e6 && e.ns[1] < 5e6);
	}
}

/* One by one 4 KiB were read, together it is 1 MiB at a time: that it takes longer is not the drive's doing. */
static void test_longer_reads_are_no_trial(void **state)
{
	struct depth_evidence e;
	uint64_t now = SEC;

	depth_evidence_init(&e, 8);
	e.probing = false;
	while (!e.trying)
		depth_evidence_read(&e, 1, 16, 4 * KIB, now += 8 * MSEC);
	for (unsigned int i = 0; i < 2 * DEPTH_WINDOW && e.trying; i++)
		depth_evidence_read(&e, 8, 16, MIB, now += 16 * MSEC);
	assert_true(e.tried.ns > 0); /* to the end */
	for (unsigned int i = 0; i < DEPTH_WINDOW + 16; i++)
		depth_evidence_read(&e, 1, 16, 4 * KIB, now += 8 * MSEC);
	assert_int_equal(e.lost, 0);
	assert_false(e.decided);
}

/* A tenth of the reads are long ones: by chance more in one window than in the next. Together is twice as fast. */
static void test_a_mix_of_lengths_is_judged(void **state)
{
	struct depth_evidence e;
	uint64_t now = SEC, seed = 3;

	depth_evidence_init(&e, 8);
	e.probing = false;
	for (unsigned int i = 0; i < 1000; i++) {
		uint32_t level = depth_evidence_level(&e);
		bool is_long = random_below(&seed, 10) == 0;

		now += (level > 1 ? 4 : 8) * MSEC + (is_long ? 8 * MSEC : 0);
		depth_evidence_read(&e, level, 16, is_long ? MIB : 4 * KIB, now);
	}
	assert_true(e.together);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_drive_with_a_queue_is_found_soon),
		cmocka_unit_test(test_one_without_keeps_our_order),
		cmocka_unit_test(test_trials_cost_little),
		cmocka_unit_test(test_the_bound_holds),
		cmocka_unit_test(test_one_outstanding_says_nothing),
		cmocka_unit_test(test_two_outstanding_tell_an_array),
		cmocka_unit_test(test_what_is_hopeless_ends_soon),
		cmocka_unit_test(test_without_an_arm),
		cmocka_unit_test(test_pauses_do_not_decide),
		cmocka_unit_test(test_more_load_asks_again),
		cmocka_unit_test(test_time_counts_only_while_they_run),
		cmocka_unit_test(test_the_order_of_the_first_reads_tells),
		cmocka_unit_test(test_a_drive_that_was_kept_is_asked_again),
		cmocka_unit_test(test_one_that_overtakes_is_chance),
		cmocka_unit_test(test_nobody_is_asked_for_ever),
		cmocka_unit_test(test_chunks_do_not_hide_a_mistake),
		cmocka_unit_test(test_a_trial_is_not_waited_for_for_ever),
		cmocka_unit_test(test_begun_with_reads_at_the_drive),
		cmocka_unit_test(test_a_mix_of_lengths_is_judged),
		cmocka_unit_test(test_longer_reads_are_no_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
