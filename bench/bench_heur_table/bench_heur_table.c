/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * bench_heur_table: what the engine costs a READ: table lookup and cursor update, by readahead_observe().
 *
 *   bench_heur_table [FILES [THREADS [READS]]]        1000000 files, 2 threads, 2000000 reads a thread
 *
 * Every file is entered first. Then each thread reads files of its share picked at random, each
 * going on where its last read ended, and times every operation by the monotonic clock, less what
 * reading the clock costs. A control with one hot file for all shows what contention on one file's
 * lock does. Prefetch is left out (a threshold never reached), as the cost of a plan is that of a
 * large read.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "readahead/readahead.h"

#define READ_LEN    32768u
#define THREADS_MAX 64
#define BUCKETS	    100000 /* ns, exact to the nanosecond; the last holds all beyond */

static struct readahead *engine;
static struct readahead_counters counters;
static struct readahead_tuning tuning;
static pthread_barrier_t barrier;

static uint32_t *reads_of; /* by file; each thread has files of its own, but for the hot one */

struct worker {
	pthread_t thread;
	uint64_t first, step, files; /* its files: every STEPth from FIRST on */
	uint64_t reads, seed;
	uint32_t bucket[BUCKETS];
};

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* xorshift64 */
static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void observe(uint64_t file, uint64_t offset, uint64_t now)
{
	/* as long as a file handle of Ganesha's VFS */
	struct {
		uint64_t fixed[3], file;
	} key = {.fixed = {1, 2, 3}, .file = file};
	struct readahead_read read = {
		.key = &key,
		.key_len = sizeof(key),
		.offset = offset,
		.size = UINT64_MAX / 2,
		.len = READ_LEN,
		.now = now,
		.chunk = 4u << 20,
		.streams = 1,
	};
	struct readahead_plan plan;

	readahead_observe(engine, &tuning, &counters, &read, &plan);
}

/* What it costs to read the clock once. */
static uint64_t clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 10000; i++) {
		uint64_t begun = clock_ns(), cost = clock_ns() - begun;

		least = cost < least ? cost : least;
	}
	return least;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t overhead = clock_cost();

	pthread_barrier_wait(&barrier);
	for (uint64_t i = 0; i < w->reads; i++) {
		uint64_t file = w->first + random_next(&w->seed) % w->files * w->step;
		uint64_t begun, took, offset;

		offset = (uint64_t)__atomic_add_fetch(&reads_of[file], 1, __ATOMIC_RELAXED) *
			 READ_LEN;
		begun = clock_ns();
		observe(file, offset, begun);
		took = clock_ns() - begun;
		took = took > overhead ? took - overhead : 0;
		w->bucket[took < BUCKETS ? took : BUCKETS - 1]++;
	}
	return NULL;
}

static uint64_t percentile(struct worker *w, int n, double percent)
{
	uint64_t sum = 0, upto = 0;

	for (int i = 0; i < n; i++)
		sum += w[i].reads;
	for (uint64_t ns = 0; ns < BUCKETS; ns++) {
		for (int i = 0; i < n; i++)
			upto += w[i].bucket[ns];
		if ((double)upto >= (double)sum * percent / 100)
			return ns;
	}
	return BUCKETS;
}

/* Runs N threads over FILES files and prints the figures; returns the median, ns. */
static uint64_t measure(const char *what, struct worker *w, int n, uint64_t files, uint64_t reads)
{
	uint64_t begun, took, median;

	pthread_barrier_init(&barrier, NULL, (unsigned int)n + 1);
	for (int i = 0; i < n; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].first = (uint64_t)i % files;
		w[i].step = (uint64_t)n;
		w[i].files = files / (uint64_t)n ? files / (uint64_t)n : 1;
		w[i].reads = reads;
		w[i].seed = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
		if (pthread_create(&w[i].thread, NULL, work, &w[i])) {
			fprintf(stderr, "bench_heur_table: cannot start a thread\n");
			exit(1);
		}
	}
	pthread_barrier_wait(&barrier);
	begun = clock_ns();
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	took = clock_ns() - begun;
	pthread_barrier_destroy(&barrier);
	median = percentile(w, n, 50);
	printf("%-34s %d threads: median %4lu ns, p90 %4lu, p99 %5lu, p99.9 %5lu; %.2f M reads/s\n",
	       what, n, (unsigned long)median, (unsigned long)percentile(w, n, 90),
	       (unsigned long)percentile(w, n, 99), (unsigned long)percentile(w, n, 99.9),
	       (double)reads * n * 1e3 / (double)took);
	return median;
}

static uint64_t argument(int argc, char **argv, int n, uint64_t fallback, uint64_t max)
{
	char *end;
	uint64_t value;

	if (argc <= n)
		return fallback;
	errno = 0;
	value = strtoull(argv[n], &end, 10);
	if (errno || *end || argv[n][0] == '-' || !value || value > max) {
		fprintf(stderr, "bench_heur_table: %s: expected a number, 1..%lu\n", argv[n],
			(unsigned long)max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	uint64_t files = argument(argc, argv, 1, 1000000, 4194304);
	int threads = (int)argument(argc, argv, 2, 2, THREADS_MAX);
	uint64_t reads = argument(argc, argv, 3, 2000000, 1000000000), begun, median;
	const struct readahead_limits limits = {
		.table_size = (uint32_t)files,
		.cursors = (uint32_t)files,
		.cursors_per_file = 1,
		.memory = 256u << 20,
		.idle_time = 10000000000u,
	};
	struct worker *w = calloc((size_t)threads, sizeof(*w));
	struct readahead_stats status;
	char what[64];

	engine = readahead_create(&limits);
	reads_of = calloc(files, sizeof(*reads_of));
	if (!engine || !w || !reads_of) {
		fprintf(stderr, "bench_heur_table: out of memory\n");
		return 1;
	}
	tuning = (struct readahead_tuning){
		.heuristic =
			heuristic_find("slowdown"), /* one cursor a file, updated by each read */
		.rules = &rules_extended,
		.match_window = 65536,
		.match_requests = 8,
		.seq_max = 127,
		.seq_threshold = UINT32_MAX,
		.window_init = 8u << 20,
		.window_max = 32u << 20,
	};
	begun = clock_ns();
	for (uint64_t i = 0; i < files; i++)
		observe(i, 0, clock_ns());
	readahead_stats(engine, &status);
	printf("%u files entered, %.0f ns each; %lu evictions\n", status.entries,
	       (double)(clock_ns() - begun) / (double)files, (unsigned long)status.evictions);
	snprintf(what, sizeof(what), "%lu files, lookup and update", (unsigned long)files);
	median = measure(what, w, threads, files, reads);
	tuning.heuristic = heuristic_find("cursor");
	measure("the same, heuristic cursor", w, threads, files, reads);
	measure("one hot file for all", w, threads, 1, reads / 4 + 1);
	readahead_destroy(engine);
	free(reads_of);
	free(w);
	return median < 1000 ? 0 : 3;
}
