/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Rules and defaults on many disks: bench/schedsim's simulation of the queue, of read-ahead and of
 * write-back over models with and without a write cache, slow and fast, with a drive's queue and
 * without. See doc/simulation.md.
 */
#include <errno.h>

#include "support.h"
#include "works.h"

/* Clients of a work, at most. */
#define MANY 16

/* What one client had. */
struct had {
	double per_s, mb_s, p99_ms, worst_ms, commit_s, share; /* share: of the arms' time */
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Latencies of C's answers up to UNTIL. */
static void latencies(const struct sim_client *c, uint64_t until, struct had *had)
{
	uint64_t *all = calloc(c->got.answers + 1, sizeof(*all)), n = 0;

	assert_non_null(all);
	while (n < c->got.answers && c->got.answer[n].at <= until) {
		all[n] = c->got.answer[n].latency;
		n++;
	}
	qsort(all, n, sizeof(*all), by_value);
	had->per_s = (double)n * 1e9 / (double)(until - SEC);
	if (n) {
		had->p99_ms = (double)all[n * 99 / 100] / 1e6;
		had->worst_ms = (double)all[n - 1] / 1e6;
	}
	free(all);
}

/* WORK on DISK: what the clients of each ADDRESS had, up to MAX, while writers were at work. */
static void simulate(const char *disk, const char *work, bool stock, struct had *had,
		     unsigned int max)
{
	const struct sim_work_kind *kind = sim_work_find(work);
	uint64_t arms[MANY] = {0}, all = 0, until = 0;
	struct sim_client_kind *clients;
	struct sim *s = calloc(1, sizeof(*s));
	struct sim_params params;
	unsigned int n;

	assert_true(kind && s && max <= MANY);
	sim_params_default(&params);
	clients = sim_work_clients(kind, &n);
	assert_int_equal(sim_init(s, sim_disk_find(disk), &params, stock, clients, n), 0);
	s->first = kind->first;
	sim_run(s, kind->seconds * SEC);
	for (unsigned int i = 0; i < n; i++)
		until = s->clients[i].got.stable > until ? s->clients[i].got.stable : until;
	until = until ? until : s->events.now;
	memset(had, 0, max * sizeof(*had));
	for (unsigned int i = 0; i < n; i++) {
		const struct sim_client *c = &s->clients[i];
		struct had *h = &had[c->kind.address];

		assert_true(c->kind.address < max);
		latencies(c, until, h);
		h->mb_s += (double)c->got.bytes * 1e3 / (double)(s->events.now - SEC);
		if (c->got.stable)
			h->commit_s = (double)(c->got.stable - SEC) / 1e9;
		arms[c->kind.address] += s->disk.time[i];
		all += s->disk.time[i];
	}
	for (unsigned int a = 0; a < max; a++)
		had[a].share = (double)arms[a] / (double)all;
	sim_fini(s);
	free(s);
	free(clients);
}

/* The rows that were measured on the modelled disk of bench/mechdisk (doc/measurements.md). */
static void test_it_says_what_was_measured(void **state)
{
	struct had had[8], mixed[8];

	simulate("own", "random1", false, had, 1);
	assert_true(had[0].per_s > 0.9 * 144 && had[0].per_s < 1.1 * 144);
	simulate("own", "seq8", false, mixed, 8);
	for (int i = 0; i < 8; i++)
		assert_true(mixed[i].mb_s > 0.9 * 120 / 8 && mixed[i].mb_s < 1.15 * 120 / 8);
	simulate("own", "seq8", true, mixed, 8);
	for (int i = 0; i < 8; i++)
		assert_true(mixed[i].mb_s > 0.7 * 23.7 / 8 && mixed[i].mb_s < 1.15 * 23.7 / 8);
	simulate("own", "write1+1", true, had, 2);
	assert_true(had[0].per_s > 0.85 * 11.5 && had[0].per_s < 1.15 * 11.5);
}

/*
 * A writer that commits beside a random reader: on each disk the reader fares far better than with
 * stock, and the writer little worse.
 */
static void test_a_writer_beside_a_random_reader(void **state)
{
	static const struct {
		const char *disk;
		double reads, p99, commit; /* x stock */
	} model[] = {
		{"own", 2.4, 0.42, 1.2},	  {"nojoin", 2.5, 0.4, 1.15},
		{"nojoin-small", 2.5, 0.4, 1.15}, {"slow", 2.5, 0.4, 1.15},
		{"cache", 2.4, 0.42, 1.2},	  {"cache-slow", 2.5, 0.4, 1.15},
	};

	for (unsigned int i = 0; i < sizeof(model) / sizeof(*model); i++) {
		struct had stock[2], ra[2];

		simulate(model[i].disk, "write1+1", true, stock, 2);
		simulate(model[i].disk, "write1+1", false, ra, 2);
		print_message("%-12s reads/s %.2f x, p99 %.0f ms %.2f x, COMMIT %.2f x stock's\n",
			      model[i].disk, ra[0].per_s / stock[0].per_s, ra[0].p99_ms,
			      ra[0].p99_ms / stock[0].p99_ms, ra[1].commit_s / stock[1].commit_s);
		assert_true(ra[0].per_s > model[i].reads * stock[0].per_s);
		assert_true(ra[0].p99_ms < model[i].p99 * stock[0].p99_ms);
		assert_true(ra[1].commit_s < model[i].commit * stock[1].commit_s);
	}
}

/* Whatever the disk: a turn with its drain is as long as Writeback_Turn says, and a read more. */
static void test_a_turn_keeps_its_bound(void **state)
{
	struct sim_params params;

	sim_params_default(&params);
	for (const struct sim_disk_kind *d = sim_disk_kinds; d->name; d++) {
		struct had had[2];

		if (!d->arms)
			continue;
		simulate(d->name, "write1+1", false, had, 2);
		assert_true(had[0].p99_ms < 1.2 * (double)params.writeback_turn);
	}
}

/* Who thinks between reads waits for little of what is written meanwhile, and that is most of what could be. */
static void test_a_writer_beside_one_who_thinks(void **state)
{
	static const char *const disks[] = {"own", "own-q32", "fast", "raid4"};

	for (unsigned int i = 0; i < 4; i++) {
		struct had reader, writer, both[2];

		simulate(disks[i], "think20", false, &reader, 1);
		simulate(disks[i], "save", false, &writer, 1);
		simulate(disks[i], "think20+save", false, both, 2);
		printf("%-12s who thinks %.2f of alone, who writes %.2f\n", disks[i],
		       both[0].per_s / reader.per_s, both[1].mb_s / writer.mb_s);
		assert_true(both[0].per_s > 0.8 * reader.per_s);
		assert_true(both[1].mb_s > 0.4 * writer.mb_s);
	}
}

static void test_a_writer_beside_sixteen_readers(void **state)
{
	static const char *const disks[] = {"own", "nojoin", "slow", "cache"};

	for (unsigned int i = 0; i < 4; i++) {
		struct had had[2];

		simulate(disks[i], "write1+16", false, had, 2);
		print_message("%-12s readers %.3f, writer %.3f of the arm\n", disks[i],
			      had[0].share, had[1].share);
		assert_true(had[1].share > 0.45 && had[1].share < 0.55);
	}
}

/*
 * Who COMMITs a little at a time beside streams, whose chunks are long: what stock has, or nearly. One by one they had
 * 0.68, 0.60, 0.62, 0.41 and 0.25 of it.
 */
static void test_little_commits_beside_streams(void **state)
{
	static const struct {
		const char *disk;
		double least;
	} bound[] = {
		{"own", 0.9}, {"nojoin", 0.7}, {"slow", 0.75}, {"cache", 0.75}, {"raid4", 0.4}};

	for (unsigned int i = 0; i < 5; i++) {
		struct had had[2][7];
		double streams[2] = {0}, writers[2] = {0};

		for (int stock = 0; stock < 2; stock++) {
			simulate(bound[i].disk, "seq3+save4", stock, had[stock], 7);
			for (int a = 0; a < 7; a++)
				*(a < 3 ? &streams[stock] : &writers[stock]) += had[stock][a].mb_s;
		}
		print_message("%-12s streams %.2f, writers %.2f of stock\n", bound[i].disk,
			      streams[0] / streams[1], writers[0] / writers[1]);
		assert_true(writers[0] > bound[i].least * writers[1]);
		assert_true(streams[0] > 1.9 * streams[1]);
	}
}

/* 4,000 reads outstanding, and one: Max_Wait and less for the small one. */
static void test_a_flood(void **state)
{
	static const char *const disks[] = {"own", "slow", "fast"};

	for (unsigned int i = 0; i < 3; i++) {
		struct had had[2];

		simulate(disks[i], "flood", false, had, 2);
		print_message(
			"%-12s small: p99 %.0f ms, worst %.0f ms, %.3f of the arm; flood %.3f\n",
			disks[i], had[1].p99_ms, had[1].worst_ms, had[1].share, had[0].share);
		assert_true(had[1].p99_ms < 150 && had[1].worst_ms < 2000);
		assert_true(had[1].share > 0.35);
	}
}

static void test_thirty_two_streams_beside_one(void **state)
{
	static const char *const disks[] = {"own", "slow", "fast"};

	for (unsigned int i = 0; i < 3; i++) {
		struct had had[2];

		simulate(disks[i], "32+1", false, had, 2);
		print_message("%-12s 32 streams %.3f of the arm, one %.3f\n", disks[i],
			      had[0].share, had[1].share);
		assert_true(had[1].share > 0.4);
	}
}

static double per_second(const char *disk, const char *work, bool stock, unsigned int clients)
{
	struct had had[8];
	double sum = 0;

	simulate(disk, work, stock, had, clients);
	for (unsigned int i = 0; i < clients; i++)
		sum += had[i].per_s;
	return sum;
}

/* A drive, or several, that orders reads by itself has those of all clients: what it does is learnt. */
static void test_random_readers_beside_each_other(void **state)
{
	static const char *const disks[] = {"own", "own-q32", "fast", "raid4"};
	static const struct {
		const char *name;
		unsigned int clients;
	} work[] = {{"random2one", 1}, {"random4one", 1}, {"random16one", 1}, {"random2", 2},
		    {"random4", 4},    {"random8x4", 8},  {"random2x16", 2}};

	for (unsigned int i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		for (unsigned int k = 0; k < sizeof(work) / sizeof(*work); k++) {
			unsigned int n = work[k].clients;
			double stock = per_second(disks[i], work[k].name, true, n);
			double ra = per_second(disks[i], work[k].name, false, n);

			print_message("%-12s %-10s %.2f x stock's reads/s\n", disks[i],
				      work[k].name, ra / stock);
			assert_true(ra >
				    0.92 * stock); /* in 20 s or so: with what learning takes */
		}
	}
}

/* From one read to the next the disk does not stand still for as long as the server is busy with an answer. */
static void test_the_next_read_is_at_hand(void **state)
{
	static const struct {
		const char *name;
		unsigned int clients;
	} work[] = {{"random2", 2}, {"random2one", 1}, {"random4", 4}, {"near4", 4}};

	for (unsigned int i = 0; i < sizeof(work) / sizeof(*work); i++) {
		unsigned int n = work[i].clients;
		double stock = per_second("own-host", work[i].name, true, n);
		double ra = per_second("own-host", work[i].name, false, n);

		print_message("own-host     %-10s %.2f x stock's reads/s\n", work[i].name,
			      ra / stock);
		assert_true(ra > 0.98 * stock);
	}
}

/* One client's many leave the others what they had of stock, and more. */
static void test_few_reads_beside_many(void **state)
{
	static const char *const disks[] = {"own-q32", "raid4"};

	for (unsigned int i = 0; i < 2; i++) {
		struct had stock[5], ra[5];

		simulate(disks[i], "random32+4", true, stock, 5);
		simulate(disks[i], "random32+4", false, ra, 5);
		for (unsigned int c = 1; c < 5; c++) {
			assert_true(ra[c].per_s > 1.5 * stock[c].per_s);
			assert_true(ra[c].p99_ms < 0.7 * stock[c].p99_ms);
		}
	}
}

/*
 * Small files near each other beside streams: who reads them has what stock gave it where a drive takes
 * requests as they come, and most of it where the drive orders them, and the streams more than with stock
 * there. (On own-q32 and fast stock's streams are simulated far too well: doc/simulation.md.)
 */
static void test_neighbours_are_taken_along(void **state)
{
	static const struct {
		const char *disk;
		double reads, streams; /* x stock; 0: see above */
	} model[] = {{"own", 2, 4},
		     {"own-q32", 0.65, 0},
		     {"slow", 2, 4},
		     {"fast", 0.3, 0},
		     {"raid4", 1.5, 2}};

	for (unsigned int i = 0; i < sizeof(model) / sizeof(*model); i++) {
		struct had stock[9], ra[9];
		double streams = 0, stocks = 0;

		simulate(model[i].disk, "mixed8+close16", true, stock, 9);
		simulate(model[i].disk, "mixed8+close16", false, ra, 9);
		for (int c = 0; c < 8; c++) {
			streams += ra[c].mb_s;
			stocks += stock[c].mb_s;
		}
		print_message("%-12s neighbours: reads/s %.2f x, p99 %.2f x, worst %.2f x, streams "
			      "%.2f x stock's\n",
			      model[i].disk, ra[8].per_s / stock[8].per_s,
			      ra[8].p99_ms / stock[8].p99_ms, ra[8].worst_ms / stock[8].worst_ms,
			      streams / stocks);
		assert_true(ra[8].per_s > model[i].reads * stock[8].per_s);
		assert_true(ra[8].p99_ms < 1.8 * stock[8].p99_ms);
		assert_true(ra[8].worst_ms < 1.8 * stock[8].worst_ms);
		assert_true(streams > model[i].streams * stocks);
		assert_true(ra[8].share > 1.0 / 9);
	}
}

static double mb_s(const char *disk, const char *work)
{
	struct had had[1];

	simulate(disk, work, false, had, 1);
	return had[0].mb_s;
}

/*
 * Who reads once in a while beside one stream waits for little more than a slice (65 ms with a seek) at worst, on
 * each disk, though others do the same; and the stream has as much as beside stock's.
 */
static void test_users_beside_a_stream(void **state)
{
	static const char *const disks[] = {"own", "nojoin-small", "slow", "raid4"};

	for (unsigned int i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		struct had ra[7], stock[7];

		simulate(disks[i], "office", false, ra, 7);
		simulate(disks[i], "office", true, stock, 7);
		for (int user = 0; user < 6; user++)
			assert_true(ra[user].worst_ms < 85);
		assert_true(ra[6].mb_s > 0.98 * stock[6].mb_s);
	}
}

/* Whatever the order in which a file is read as a whole, the disk has little more to do than for a stream. */
static void test_orders_within_a_file(void **state)
{
	static const struct {
		const char *disk;
		double backward, tiles, cursors; /* x one stream */
	} model[] = {{"own", 0.85, 0.65, 0.85},
		     {"own-q32", 0.85, 0.65, 0.85},
		     {"slow", 0.7, 0.2, 0.7},
		     {"raid4", 0.55, 0.4, 0.8}};

	for (unsigned int i = 0; i < sizeof(model) / sizeof(*model); i++) {
		const char *disk = model[i].disk;
		double stream = mb_s(disk, "seq1"), backward = mb_s(disk, "backward") / stream;
		double tiles = mb_s(disk, "tiles8") / stream,
		       cursors = mb_s(disk, "cursors2000") / stream;

		print_message("%-12s backward %.2f, tiles %.2f, 2,000 parts %.2f x a stream of "
			      "%.0f MB/s\n",
			      disk, backward, tiles, cursors, stream);
		assert_true(backward > model[i].backward);
		assert_true(tiles > model[i].tiles);
		assert_true(cursors > model[i].cursors);
	}
}

/* The same settings, the same figures. */
static void test_it_is_repeatable(void **state)
{
	struct had a[2], b[2];

	simulate("cache", "write1+1", false, a, 2);
	simulate("cache", "write1+1", false, b, 2);
	assert_memory_equal(a, b, sizeof(a));
}

/* Requests of 1 MiB of which more are outstanding than a chunk holds. */
static void test_large_requests(void **state)
{
	const char *const disks[] = {"own", "own-q32", "nojoin", "slow", "fast"};

	for (unsigned int i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		struct had ra[2], stock[2];
		double ours, its;

		simulate(disks[i], "large2x16", false, ra, 2);
		simulate(disks[i], "large2x16", true, stock, 2);
		ours = ra[0].mb_s + ra[1].mb_s;
		its = stock[0].mb_s + stock[1].mb_s;
		print_message("%-12s large2x16 %.1f MB/s, stock %.1f\n", disks[i], ours, its);
		assert_true(ours > 0.98 * its);
	}
}

static void test_parameters_by_name(void **state)
{
	struct sim_params p;

	sim_params_default(&p);
	assert_true(sim_params_set(&p, "Writeback_Share=7"));
	assert_int_equal(p.writeback_share, 7);
	assert_false(sim_params_set(&p, "Writeback_Shar=7"));
	assert_false(sim_params_set(&p, "Writeback_Share"));
	assert_null(sim_disk_find("own-"));
	assert_null(sim_work_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_says_what_was_measured),
		cmocka_unit_test(test_a_writer_beside_a_random_reader),
		cmocka_unit_test(test_a_turn_keeps_its_bound),
		cmocka_unit_test(test_a_writer_beside_one_who_thinks),
		cmocka_unit_test(test_a_writer_beside_sixteen_readers),
		cmocka_unit_test(test_little_commits_beside_streams),
		cmocka_unit_test(test_a_flood),
		cmocka_unit_test(test_thirty_two_streams_beside_one),
		cmocka_unit_test(test_random_readers_beside_each_other),
		cmocka_unit_test(test_the_next_read_is_at_hand),
		cmocka_unit_test(test_few_reads_beside_many),
		cmocka_unit_test(test_neighbours_are_taken_along),
		cmocka_unit_test(test_users_beside_a_stream),
		cmocka_unit_test(test_orders_within_a_file),
		cmocka_unit_test(test_large_requests),
		cmocka_unit_test(test_it_is_repeatable),
		cmocka_unit_test(test_parameters_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
