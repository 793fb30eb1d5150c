/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The bound on unread bytes: exact for one thread, never passed by many. */
#include <pthread.h>

#include "readahead/budget.h"
#include "readahead/cursor.h"
#include "support.h"

#define MEMORY	(64 * MIB)
#define CURSORS 200
#define THREADS 4
#define ROUNDS	20000

static struct budget *make(uint64_t memory)
{
	struct budget *b = malloc(sizeof(*b));

	assert_non_null(b);
	budget_init(b, memory);
	return b;
}

static void check_sums(const struct budget *b, const struct cursor *cursors, unsigned int n)
{
	uint64_t held = 0;
	uint32_t streams = 0;

	for (unsigned int i = 0; i < n; i++) {
		held += cursors[i].charged;
		streams += cursors[i].charged != 0;
	}
	assert_int_equal(held, atomic_load(&b->unread));
	assert_int_equal(streams, atomic_load(&b->streams));
	assert_true(atomic_load(&b->unread_max) <= MEMORY);
}

/* A charge is refused if and only if it would pass the bound; also when that was lowered. */
static void test_charged_as_long_as_there_is_room(void **state)
{
	struct budget *b = make(MEMORY);
	struct cursor cursors[CURSORS] = {{.charged = 0}};
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		struct cursor *c = &cursors[random_below(&seed, CURSORS)];
		uint64_t len = random_below(&seed, 4 * MIB), was = c->charged;
		uint64_t held = atomic_load(&b->unread), memory = atomic_load(&b->memory);

		if (i % 1000 == 0)
			atomic_store(&b->memory, MEMORY >> random_below(&seed, 3));
		else if (i % 2)
			assert_int_equal(budget_discharge(b, c, len), len < was ? len : was);
		else
			assert_int_equal(budget_charge(b, c, len), !len || held + len <= memory);
		check_sums(b, cursors, CURSORS);
	}
	free(b);
}

static void test_numbers_that_would_wrap(void **state)
{
	struct budget *b = make(MEMORY);
	struct cursor c = {.charged = 0};

	assert_true(budget_charge(b, &c, 1));
	assert_false(budget_charge(b, &c, UINT64_MAX));
	assert_false(budget_charge(b, &c, UINT64_MAX - 1));
	assert_int_equal(budget_discharge(b, &c, UINT64_MAX), 1);
	assert_int_equal(budget_share(b), MEMORY);
	atomic_store(&b->streams, UINT32_MAX);
	assert_int_equal(budget_share(b), 0);
	free(b);
}

static void test_short_beyond_three_quarters(void **state)
{
	struct budget *b = make(MEMORY);
	struct cursor c = {.charged = 0};

	assert_true(budget_charge(b, &c, MEMORY / 4 * 3));
	assert_false(budget_is_short(b));
	assert_true(budget_charge(b, &c, 1));
	assert_true(budget_is_short(b));
	free(b);
}

struct shared {
	struct budget *b;
	struct cursor cursors[CURSORS]; /* this thread's */
	uint64_t seed, charged;
};

static void *hammer(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct cursor *c = &s->cursors[random_below(&s->seed, CURSORS)];
		uint64_t len = random_below(&s->seed, 2 * MIB);

		if (random_below(&s->seed, 3))
			s->charged += budget_charge(s->b, c, len);
		else
			budget_discharge(s->b, c, len);
		if (atomic_load(&s->b->unread) > MEMORY || atomic_load(&s->b->unread_max) > MEMORY)
			abort();
	}
	return NULL;
}

static void test_many_threads_never_pass_it(void **state)
{
	struct shared *shared = aligned_alloc(_Alignof(struct shared), THREADS * sizeof(*shared));
	struct budget *b = make(MEMORY);
	pthread_t threads[THREADS];
	uint64_t held = 0, charged = 0;

	assert_non_null(shared);
	memset(shared, 0, THREADS * sizeof(*shared));
	for (uint64_t i = 0; i < THREADS; i++) {
		shared[i].b = b;
		shared[i].seed = i;
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &shared[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; k < CURSORS; k++)
			held += shared[i].cursors[k].charged;
		charged += shared[i].charged;
	}
	assert_int_equal(held, atomic_load(&b->unread));
	assert_true(charged > 0 && charged < THREADS * ROUNDS);
	assert_true(atomic_load(&b->unread_max) > MEMORY / 4 * 3); /* it was full, and no more */
	free(b);
	free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charged_as_long_as_there_is_room),
		cmocka_unit_test(test_numbers_that_would_wrap),
		cmocka_unit_test(test_short_beyond_three_quarters),
		cmocka_unit_test(test_many_threads_never_pass_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
