/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Going through things of which any may go meanwhile. */
#include "common/visit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

static struct visited things[3];

static int begin(void **state)
{
	memset(things, 0, sizeof(things));
	return 0;
}

static void add_all(struct visit *v)
{
	visit_begin(v);
	for (int i = 0; i < 3; i++)
		assert_true(visit_add(v, &things[i]));
}

static void test_one_by_one(void **state)
{
	struct visit v;

	add_all(&v);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(visit_next(&v), &things[i]);
	assert_null(visit_next(&v));
	assert_int_equal(visit_end(&v), 0);
	add_all(&v); /* again */
	assert_int_equal(visit_end(&v), 3);
}

static void test_one_that_goes_is_not_visited(void **state)
{
	struct visit v;

	add_all(&v);
	assert_ptr_equal(visit_next(&v), &things[0]);
	visit_leave(&things[1]);
	memset(&things[1], 0xff, sizeof(things[1])); /* its memory is another's */
	assert_ptr_equal(visit_next(&v), &things[2]);
	visit_leave(&things[0]);
	assert_null(visit_next(&v));
	visit_leave(&things[2]);
	assert_int_equal(visit_end(&v), 0);
}

static void test_one_visit_at_a_time(void **state)
{
	struct visit v, w;

	add_all(&v);
	visit_begin(&w);
	assert_false(visit_add(&w, &things[0]));
	visit_next(&v);
	assert_false(visit_add(&w, &things[0])); /* now it is there */
	visit_next(&v);
	assert_true(visit_add(&w, &things[0]));
	assert_int_equal(visit_end(&v), 1);
	assert_true(visit_add(&w, &things[2]));
	assert_int_equal(visit_end(&w), 2);
}

/* ---- with threads: things are freed while they are gone through ------------------------------- */

struct thing {
	struct visited visited;
	atomic_bool inside;
};

static atomic_uint seen;

static void *goes(void *thing)
{
	struct thing *t = thing;

	visit_leave(&t->visited);
	if (t->inside)
		abort(); /* cmocka's are for the main thread */
	memset(t, 0xff, sizeof(*t));
	free(t);
	return NULL;
}

static void visit_all(struct visit *v)
{
	struct visited *x;

	while ((x = visit_next(v)) != NULL) {
		struct thing *t = (struct thing *)x; /* its first part */

		t->inside = true;
		usleep(100);
		t->inside = false;
		atomic_fetch_add(&seen, 1);
	}
	visit_end(v);
}

static void test_while_they_go(void **state)
{
	enum { N = 64 };
	pthread_t thread[N];
	struct thing *t[N];
	struct visit v;

	visit_begin(&v);
	for (int i = 0; i < N; i++) {
		t[i] = calloc(1, sizeof(*t[i]));
		assert_non_null(t[i]);
		assert_true(visit_add(&v, &t[i]->visited));
	}
	for (int i = 0; i < N; i += 2) /* each second one goes while they are gone through */
		pthread_create(&thread[i], NULL, goes, t[i]);
	visit_all(&v);
	for (int i = 0; i < N; i++)
		if (i % 2 == 0)
			pthread_join(thread[i], NULL);
		else
			goes(t[i]);
	assert_in_range(seen, N / 2, N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_by_one, begin),
		cmocka_unit_test_setup(test_one_that_goes_is_not_visited, begin),
		cmocka_unit_test_setup(test_one_visit_at_a_time, begin),
		cmocka_unit_test(test_while_they_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
