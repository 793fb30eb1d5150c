/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Small reads of many clients where 32 are at the disk at once: in which order, and who has how much. */
#include "disk.h"
#include "sched/parts.h"

#define CLIENTS	 8
#define EACH	 16
#define TOGETHER 32
#define SERVICE	 (6 * MSEC)

static uint64_t seed;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* A read of CLIENT, anywhere. */
static void submit(struct sched_queue *q, struct sched_req *r, uint64_t client, uint64_t now)
{
	*r = (struct sched_req){.flow = {.client = client},
				.class = SCHED_DEMAND,
				.file = client,
				.len = 8 * KIB,
				.offset = any(64 * KIB) * 8 * KIB};
	r->block = client % 4 * 64 * MIB + r->offset; /* in between one another */
	assert_int_equal(sched_submit(q, r, now), SCHED_ADDED);
}

/* Each client has EACH reads queued from AT on; how many of those that go at NOW lie behind the one before. */
static unsigned int backward(uint64_t at, uint64_t now)
{
	struct sched_limits limits = default_limits();
	struct sched_queue *q = queue_new(sched_policy_find("turns"), &limits);
	struct sched_req reads[CLIENTS * EACH];
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	struct sched_req *gone[CLIENTS * EACH];
	unsigned int n = 0, back = 0;

	learn_disk(&q->cost);
	for (unsigned int i = 0; i < CLIENTS * EACH; i++)
		submit(q, &reads[i], i % CLIENTS + 1, at);
	for (; n < CLIENTS * EACH; n++, now += SERVICE) {
		gone[n] = sched_next(q, now);
		assert_non_null(gone[n]);
		back += n > TOGETHER && gone[n]->block < gone[n - 1]->block;
		if (n >= TOGETHER)
			sched_done(q, gone[n - TOGETHER], now, &woken);
	}
	for (n -= TOGETHER; n < CLIENTS * EACH; n++)
		sched_done(q, gone[n], now, &woken);
	assert_null(sched_check(q));
	queue_free(q);
	return back;
}

/* One by one in visits it was behind the one before that every third time. */
static void test_the_nearest_of_all_goes(void **state)
{
	assert_in_range(backward(SEC, SEC), 0, 4);
}

/* A handful of each is overdue, and that is all there is. */
static void test_so_does_what_is_overdue(void **state)
{
	assert_in_range(backward(SEC, 4 * SEC), 0, 6);
}

/* Who asks for ten times as much, in one place, has no more. */
static void test_each_has_as_much(void **state)
{
	static const unsigned int asks[] = {400, 40, 40};
	struct sched_limits limits = default_limits();
	struct sched_queue *q = queue_new(sched_policy_find("turns"), &limits);
	struct sched_req *reads = calloc(480, sizeof(*reads)), *at[TOGETHER] = {0};
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	unsigned int had[4] = {0}, n = 0;
	uint64_t now = SEC;

	assert_non_null(reads);
	learn_disk(&q->cost);
	for (unsigned int c = 0; c < 3; c++)
		for (unsigned int i = 0; i < asks[c]; i++)
			submit(q, &reads[n++], c + 1, now);
	for (unsigned int i = 0; i < 3000; i++, now += SERVICE) {
		struct sched_req **place = &at[i % TOGETHER];

		if (*place) {
			sched_done(q, *place, now, &woken);
			had[(*place)->flow.client]++;
			submit(q, *place, (*place)->flow.client, now);
		}
		*place = sched_next(q, now);
		assert_non_null(*place);
	}
	for (unsigned int c = 1; c <= 3; c++)
		assert_in_range(had[c], 0.31 * 3000, 0.36 * 3000);
	for (unsigned int i = 0; i < TOGETHER; i++)
		sched_done(q, at[i], now, &woken);
	queue_free(q);
	free(reads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_nearest_of_all_goes),
		cmocka_unit_test(test_so_does_what_is_overdue),
		cmocka_unit_test(test_each_has_as_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
