/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records go home, whoever is done with them; none is lost, none is had twice. */
#include <pthread.h>
#include <stdlib.h>

#include "common/home_list.h"
#include "support.h"

#define THREADS 4
#define ROUNDS	20000

struct record {
	struct home_record in;
	atomic_int users;
};

static struct home_list *enter(struct home_lists *all)
{
	struct home_list *list = calloc(1, sizeof(*list));

	assert_non_null(list);
	home_list_enter(all, list);
	return list;
}

static struct record *make(struct home_list *mine)
{
	struct record *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	home_own(mine, &r->in);
	return r;
}

static void test_its_own_come_back_at_once(void **state)
{
	struct home_lists all = HOME_LISTS_INITIALIZER;
	struct home_list *mine = enter(&all);
	struct record *r = make(mine);

	assert_null(home_get(mine));
	home_put(mine, &r->in);
	assert_ptr_equal(home_get(mine), &r->in);
	assert_null(home_get(mine));
	home_put(mine, &r->in);
	home_lists_free(&all);
}

static void test_what_others_are_done_with_comes_home(void **state)
{
	struct home_lists all = HOME_LISTS_INITIALIZER;
	struct home_list *mine = enter(&all), *other = enter(&all);
	struct record *a = make(mine), *b = make(mine);

	home_put(other, &a->in);
	home_put(other, &b->in);
	assert_null(home_get(other));
	assert_ptr_equal(home_get(mine), &a->in);
	assert_ptr_equal(home_get(mine), &b->in);
	assert_null(home_get(mine));
	home_put(mine, &a->in);
	home_put(other, &b->in); /* freed with the list */
	home_lists_free(&all);
}

static void test_no_more_than_its_bound_are_kept(void **state)
{
	struct home_lists all = HOME_LISTS_INITIALIZER;
	struct home_list *mine = enter(&all), *other = enter(&all);
	int n = 0;

	for (int i = 0; i < 3 * HOME_KEPT; i++)
		home_put(i % 2 ? mine : other, &make(mine)->in);
	for (struct home_record *r; (r = home_get(mine)) != NULL; n++)
		free(r);
	assert_int_equal(n, 2 * HOME_KEPT); /* one list's worth at a time */
	home_lists_free(&all);
}

static void test_a_list_outlives_its_thread(void **state)
{
	struct home_lists all = HOME_LISTS_INITIALIZER;
	struct home_list *mine = enter(&all), *other = enter(&all);
	struct record *r = make(mine);

	assert_null(home_list_adopt(&all));
	home_list_leave(&all, mine);
	home_put(other, &r->in);
	assert_ptr_equal(home_list_adopt(&all), mine);
	assert_null(home_list_adopt(&all));
	assert_ptr_equal(home_get(mine), &r->in);
	home_put(mine, &r->in);
	home_lists_free(&all);
}

static struct shared {
	struct home_lists all;
	_Atomic(struct record *) passing[THREADS]; /* to the next thread */
} shared = {.all = HOME_LISTS_INITIALIZER};

static void begin(struct record *r)
{
	if (atomic_fetch_add(&r->users, 1) != 0)
		abort();
}

static void end(struct home_list *mine, struct record *r)
{
	if (r == NULL)
		return;
	if (atomic_fetch_sub(&r->users, 1) != 1)
		abort();
	home_put(mine, &r->in);
}

/* Takes a record, passes it on, is done with what it was passed. */
static void *pass(void *arg)
{
	size_t n = (size_t)(uintptr_t)arg;
	struct home_list *mine = calloc(1, sizeof(*mine));

	if (mine == NULL)
		abort();
	home_list_enter(&shared.all, mine);
	for (int i = 0; i < ROUNDS; i++) {
		struct home_record *got = home_get(mine);
		struct record *r = got != NULL ? (struct record *)got : make(mine);

		begin(r);
		end(mine, atomic_exchange(&shared.passing[(n + 1) % THREADS], r));
		end(mine, atomic_exchange(&shared.passing[n], NULL));
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pass, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		free(atomic_load(&shared.passing[i]));
	home_lists_free(&shared.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_own_come_back_at_once),
		cmocka_unit_test(test_what_others_are_done_with_comes_home),
		cmocka_unit_test(test_no_more_than_its_bound_are_kept),
		cmocka_unit_test(test_a_list_outlives_its_thread),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
