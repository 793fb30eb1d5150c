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

static struct budget *make(uint64_t memory, const struct cursor *cursors, uint32_t n)
{
	struct budget *b = malloc(sizeof(*b));

	assert_non_null(b);
	assert_int_equal(budget_init(b, memory, cursors, n), 0);
	return b;
}

static void unmake(struct budget *b)
{
	budget_fini(b);
	free(b);
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

/* Those that hold some are found, in order, and no others. */
static void check_holders(const struct budget *b, const struct cursor *cursors, uint32_t n)
{
	uint32_t found = budget_holder(b, 0);

	for (uint32_t i = 0; i < n; i++) {
		if (cursors[i].charged == 0)
			continue;
		assert_int_equal(found, i);
		found = budget_holder(b, i + 1);
	}
	assert_int_equal(found, n);
}

/* Whether nobody, who holds all of HELD, may have LEN more of MEMORY_NOW: as any reader, not the last part of it. */
static bool may_have(uint64_t held, uint64_t len, uint64_t memory_now)
{
	return held + len <= memory_now && held + len <= 128 * (memory_now - held - len);
}

/* A charge is refused if and only if it would pass the bound, or a reader's; also when that was lowered. */
static void test_charged_as_long_as_there_is_room(void **state)
{
	struct cursor cursors[CURSORS] = {{.charged = 0}};
	struct budget *b = make(MEMORY, cursors, CURSORS);
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
			assert_int_equal(budget_charge(b, c, len),
					 !len || may_have(held, len, memory));
		check_sums(b, cursors, CURSORS);
		if (i % 100 == 0)
			check_holders(b, cursors, CURSORS);
	}
	unmake(b);
}

static void test_numbers_that_would_wrap(void **state)
{
	struct cursor c = {.charged = 0};
	struct budget *b = make(MEMORY, &c, 1);

	assert_true(budget_charge(b, &c, 1));
	assert_false(budget_charge(b, &c, UINT64_MAX));
	assert_false(budget_charge(b, &c, UINT64_MAX - 1));
	assert_int_equal(budget_discharge(b, &c, UINT64_MAX), 1);
	assert_int_equal(budget_share(b, 0), MEMORY);
	atomic_store(&b->of[0].streams, UINT32_MAX);
	assert_int_equal(budget_share(b, 0), 0);
	unmake(b);
}

static void test_short_beyond_three_quarters(void **state)
{
	struct cursor c = {.charged = 0};
	struct budget *b = make(MEMORY, &c, 1);

	assert_true(budget_charge(b, &c, MEMORY / 4 * 3));
	assert_false(budget_is_short(b));
	assert_true(budget_charge(b, &c, 1));
	assert_true(budget_is_short(b));
	unmake(b);
}

/* One reader with a thousand streams leaves some for another, who gets as much in the end. */
static void test_one_reader_does_not_have_all(void **state)
{
	enum { N = 1000, LEN = 64 * KIB };
	static struct cursor cursors[N + 1];
	struct budget *b = make(MEMORY, cursors, N + 1);
	struct cursor *other = &cursors[N];
	uint64_t held = 0;

	for (int i = 0; i < N; i++) {
		cursors[i].reader = 1;
		held += budget_charge(b, &cursors[i], LEN) ? LEN : 0;
	}
	while (budget_charge(b, &cursors[0], LEN))
		held += LEN;
	assert_in_range(held, MEMORY * 9 / 10, MEMORY * 128 / 129);
	other->reader = 2;
	assert_true(budget_share(b, 2) >= MEMORY / 2);
	assert_true(budget_share(b, 1) <= MEMORY / (N * 9 / 10));
	assert_true(budget_chunk(b) >= MEMORY / 129 / 4);
	assert_true(budget_charge(b, other, budget_chunk(b)));
	/* what the one gives back the other may have, up to as much */
	for (int i = 0; i < N; i++) {
		budget_discharge(b, &cursors[i], UINT64_MAX);
		budget_charge(b, other, LEN);
		budget_charge(b, &cursors[i], LEN);
	}
	assert_in_range(other->charged, MEMORY * 2 / 5, MEMORY / 2);
	/* another reads on with it: it is given back to who paid */
	other->reader = 3;
	budget_discharge(b, other, UINT64_MAX);
	assert_int_equal(atomic_load(&b->of[2].held), 0);
	assert_int_equal(atomic_load(&b->readers), 1);
	check_sums(b, cursors, N + 1);
	unmake(b);
}

/* Those who are nobody, for there are more readers than places, are one reader together, and leave some for others. */
static void test_nobody_does_not_have_all(void **state)
{
	static struct cursor cursors[2];
	struct budget *b = make(MEMORY, cursors, 2);

	while (budget_charge(b, &cursors[0], 64 * KIB))
		;
	while (budget_hold(b, 0, 4 * KIB))
		;
	assert_true(budget_held(b, 0) <= MEMORY * 128 / 129);
	cursors[1].reader = 1;
	assert_int_equal(budget_share(b, 1), MEMORY / 2);
	assert_true(budget_charge(b, &cursors[1], budget_chunk(b)));
	unmake(b);
}

struct shared {
	struct budget *b;
	struct cursor *cursors; /* this thread's, next to another's */
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
	static struct cursor cursors[THREADS * CURSORS];
	struct shared shared[THREADS] = {{.charged = 0}};
	struct budget *b = make(MEMORY, cursors, THREADS * CURSORS);
	pthread_t threads[THREADS];
	uint64_t held = 0, charged = 0;

	for (uint64_t i = 0; i < THREADS; i++) {
		shared[i].b = b;
		shared[i].cursors = &cursors[i * CURSORS];
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
	check_holders(b, cursors, THREADS * CURSORS);
	unmake(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charged_as_long_as_there_is_room),
		cmocka_unit_test(test_numbers_that_would_wrap),
		cmocka_unit_test(test_short_beyond_three_quarters),
		cmocka_unit_test(test_one_reader_does_not_have_all),
		cmocka_unit_test(test_nobody_does_not_have_all),
		cmocka_unit_test(test_many_threads_never_pass_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
