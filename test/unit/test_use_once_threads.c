/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The use-once cache with real threads, for the sanitizers: a file is a version number that its writer
 * raises; what a reader is given is never older than the version when it asked, and never mixed.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "remote/use_once.h"
#include "support.h"

#define FILES	3
#define READERS 3
#define ROUNDS	3000
#define SIZE	(192 * KIB)
#define MAX	(512 * KIB)

static struct use_once *cache;
static _Atomic uint64_t version[FILES], answered[FILES]; /* on the cluster; to the writer */
static atomic_bool stopping;
static atomic_uint given;

/* Fetches ahead, as a disk's thread does. */
static void *fetch(void *arg)
{
	static _Thread_local uint64_t data[SIZE / 8];
	uint64_t seed = (uintptr_t)arg;

	while (!atomic_load(&stopping)) {
		uint64_t file = random_below(&seed, FILES), mark, v;

		if (use_once_asks(cache, file, SEC))
			use_once_told(cache, file, 1, true, SEC);
		mark = use_once_mark(cache, file);
		v = atomic_load(&version[file]);
		for (size_t i = 0; i < SIZE / 8; i++)
			data[i] = v;
		use_once_put(cache, file, mark, 0, data, SIZE, 0, SEC);
		if (use_once_held(cache) > MAX + MAX)
			abort();
		use_once_sweep(cache, SEC);
	}
	return NULL;
}

static void *read_some(void *arg)
{
	static _Thread_local uint64_t data[SIZE / 8];
	uint64_t seed = 77 + (uintptr_t)arg;

	while (!atomic_load(&stopping)) {
		uint64_t file = random_below(&seed, FILES);
		uint64_t at = random_below(&seed, SIZE / 4096) * 4096, len = SIZE - at;
		uint64_t floor = atomic_load(&answered[file]);

		if (len > 64 * KIB)
			len = 64 * KIB;
		if (!use_once_take(cache, file, &(struct iovec){data, len}, 1, at, len, SEC))
			continue;
		for (size_t i = 0; i < len / 8; i++)
			if (data[i] < floor)
				abort();
		atomic_fetch_add(&given, 1);
	}
	return NULL;
}

static void test_never_older_than_the_last_write(void **state)
{
	pthread_t thread[READERS + 2];
	uint64_t seed = 5;
	unsigned int n = 0;

	cache = use_once_new(MAX, SEC);
	assert_non_null(cache);
	for (; n < 2; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, fetch, (void *)(uintptr_t)n), 0);
	for (; n < READERS + 2; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, read_some, (void *)(uintptr_t)n),
				 0);
	for (int i = 0; i < ROUNDS || atomic_load(&given) < 100; i++) {
		uint64_t file = random_below(&seed, FILES);

		/* A WRITE: before it, and when it has been answered */
		use_once_drop(cache, file, 0, UINT64_MAX);
		atomic_fetch_add(&version[file], 1);
		use_once_drop(cache, file, 0, UINT64_MAX);
		atomic_fetch_add(&answered[file], 1);
		if (i % 64 == 0)
			use_once_forget(cache, file);
		sched_yield();
	}
	atomic_store(&stopping, true);
	while (n > 0)
		pthread_join(thread[--n], NULL);
	assert_in_range(use_once_held(cache), 0, MAX);
	use_once_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_older_than_the_last_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
