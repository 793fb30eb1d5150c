/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When nfsreplay sends what: by each pace, with names that come and go, and never nothing for good. */
#include "support.h"

#include "nfsreplay/schedule.h"
#include "trace_text.h"

#define HEAD "nfs-trace 1\nfile f 9\n"
#define US   1000ull /* ns */

static struct trace t;
static struct schedule s;

static void begin(const char *text, enum schedule_pace pace, double speed, uint32_t outstanding)
{
	if (read_text(&t, text))
		fail_msg("refused: %s", t.problem);
	assert_int_equal(schedule_init(&s, &t, pace, speed, outstanding), 0);
}

static void end(void)
{
	schedule_free(&s);
	trace_free(&t);
}

/* The client's next operation is OP and goes at DUE exactly; it is sent. */
static void goes_at(uint32_t client, uint32_t op, uint64_t due)
{
	uint64_t told;

	if (due) {
		assert_int_equal(schedule_next(&s, client, due - 1, &told), TRACE_NONE);
		assert_int_equal(told, due);
	}
	assert_int_equal(schedule_next(&s, client, due, &told), op);
	assert_int_equal(told, due);
	schedule_sent(&s, op);
}

static void waits(uint32_t client)
{
	uint64_t told;

	assert_int_equal(schedule_next(&s, client, UINT64_MAX - 1, &told), TRACE_NONE);
	assert_int_equal(told, SCHEDULE_NEVER);
}

static void test_recorded_times(void **state)
{
	begin(HEAD "0.1 c read f 0 1\n0.1 d read f 0 1\n0.3 c read f 0 1 took=9\n", PACE_RECORDED,
	      2, 8);
	goes_at(0, 0, 50 * MSEC);
	goes_at(0, 2, 150 * MSEC); /* whatever was answered */
	goes_at(1, 1, 50 * MSEC);
	waits(0);
	end();
}

static void test_outstanding_is_a_bound(void **state)
{
	begin(HEAD "0 c read f 0 1\n0 c read f 0 1\n0 c read f 0 1\n", PACE_RECORDED, 1, 2);
	goes_at(0, 0, 0);
	goes_at(0, 1, 0);
	waits(0);
	schedule_answered(&s, 1, 5 * MSEC);
	goes_at(0, 2, 0); /* when it was due, not when there was room */
	end();
}

static void test_think_time_follows_the_answer(void **state)
{
	begin(HEAD "0.1 c read f 0 1 took=2000\n0.105 c read f 0 1\n", PACE_THINK, 1, 8);
	goes_at(0, 0, 100 * MSEC);
	waits(0);
	schedule_answered(&s, 0, 150 * MSEC); /* it took longer than it did */
	goes_at(0, 1, 153 * MSEC);
	end();
	begin(HEAD "0.1 c read f 0 1 took=2000\n0.105 c read f 0 1\n", PACE_THINK, 3, 8);
	goes_at(0, 0, (uint64_t)(1e8 / 3));
	schedule_answered(&s, 0, 150 * MSEC);
	goes_at(0, 1, 151 * MSEC);
	end();
}

/* 0 and 1 were on their way together, 2 came after 1, 3 after both. */
#define TOGETHER                                                                                   \
	HEAD "0 c read f 0 1 took=900\n0 c read f 0 1 took=100\n0.0002 c read f 0 1 took=100\n"    \
	     "0.001 c read f 0 1\n"

static void test_what_went_together_does(void **state)
{
	begin(TOGETHER, PACE_FAST, 1, 8);
	goes_at(0, 0, 0);
	goes_at(0, 1, 0);
	waits(0);
	schedule_answered(&s, 1, 70 * US);
	goes_at(0, 2, 70 * US);
	schedule_answered(&s, 2, 80 * US);
	waits(0);
	schedule_answered(&s, 0, 90 * US);
	goes_at(0, 3, 90 * US);
	schedule_answered(&s, 3, 91 * US);
	assert_int_equal(s.left, 0);
	end();
}

/* Answers come in another order than they did. */
static void test_all_that_was_waited_for(void **state)
{
	begin(TOGETHER, PACE_THINK, 1, 8);
	goes_at(0, 0, 0);
	goes_at(0, 1, 0);
	schedule_answered(&s, 0, 10 * US);
	waits(0); /* 0 was not what 2 waited for */
	schedule_answered(&s, 1, 50 * US);
	goes_at(0, 2, 150 * US);
	schedule_answered(&s, 2, 160 * US);
	goes_at(0, 3, 260 * US); /* 100 us after the last of the three, as after 0 it was */
	end();
}

static void test_names_keep_their_order_between_clients(void **state)
{
	begin(HEAD "0 a create x\n0 b write x 0 5\n0 a remove x\n0 b create x\n0 a read x 0 5\n",
	      PACE_RECORDED, 1, 8);
	waits(1); /* nothing to write to yet */
	goes_at(0, 0, 0);
	waits(0); /* the write comes first */
	waits(1);
	schedule_answered(&s, 0, 3 * MSEC);
	waits(0);
	goes_at(1, 1, 0);
	waits(0); /* until it is answered */
	schedule_answered(&s, 1, 4 * MSEC);
	waits(1);
	goes_at(0, 2, 0);
	waits(1);
	schedule_answered(&s, 2, 5 * MSEC);
	waits(0);
	goes_at(1, 3, 0);
	schedule_answered(&s, 3, 6 * MSEC);
	goes_at(0, 4, 0);
	end();
}

static void test_a_directory_goes_last(void **state)
{
	begin("nfs-trace 1\nfile d/x 5\n0 a lookup d/y status=2\n0 a remove d/x\n0 b rmdir d\n",
	      PACE_FAST, 1, 8);
	waits(1);
	goes_at(0, 0, 0);
	schedule_answered(&s, 0, 1);
	goes_at(0, 1, 1);
	waits(1);
	schedule_answered(&s, 1, 2);
	goes_at(1, 2, 0);
	end();
}

/* ---- any trace ends ---- */

static char *line(char *p, uint64_t *random, uint64_t at, bool *there)
{
	const unsigned int file = (unsigned int)random_below(random, 6);
	const unsigned int client = (unsigned int)random_below(random, 4);
	const unsigned int took = (unsigned int)random_below(random, 3000);
	const char *op = !there[file]		   ? "create"
			 : random_below(random, 4) ? "write"
			 : random_below(random, 3) ? "read"
						   : "remove";

	if (strcmp(op, "create") == 0)
		there[file] = true;
	if (strcmp(op, "remove") == 0)
		there[file] = false;
	return p + sprintf(p, "%llu.%06llu c%u %s x%u %s took=%u\n",
			   (unsigned long long)(at / 1000000), (unsigned long long)(at % 1000000),
			   client, op, file,
			   *op == 'w' || (*op == 'r' && op[2] == 'a') ? "0 8" : "", took);
}

struct world {
	uint32_t under_way[600];
	unsigned int count;
	bool sent[600];
};

/* Sends all that can be; whether each comes after its client's last and, but in open loop, after what
 * it waited for. */
static void send_all(struct world *w, uint64_t now)
{
	uint64_t due;
	uint32_t op;

	for (uint32_t c = 0; c < t.client_count; c++) {
		while ((op = schedule_next(&s, c, now, &due)) != TRACE_NONE) {
			for (uint32_t i = t.clients[c].first; i != op; i = t.ops[i].next)
				assert_true(w->sent[i]);
			for (uint32_t n = 0; s.pace != PACE_RECORDED && n < t.ops[op].needs; n++)
				assert_true(s.answers[t.clients[c].by_end[n]] > 0);
			assert_false(w->sent[op]);
			w->sent[op] = true;
			schedule_sent(&s, op);
			w->under_way[w->count++] = op;
		}
	}
}

static void run_to_the_end(uint64_t *random)
{
	struct world w = {.count = 0};
	uint64_t now = 0;

	for (unsigned int turn = 0; s.left; turn++) {
		assert_in_range(turn, 0, 100000);
		send_all(&w, now);
		if (w.count && random_below(random, 2)) {
			unsigned int i = (unsigned int)random_below(random, w.count);
			uint32_t op = w.under_way[i];

			w.under_way[i] = w.under_way[--w.count];
			schedule_answered(&s, op, now);
		}
		now += random_below(random, 100 * US);
	}
}

static void test_any_trace_ends(void **state)
{
	static char text[64 * 600];
	uint64_t random = 1;

	for (int round = 0; round < 60; round++) {
		bool there[6] = {false};
		char *p = text + sprintf(text, "nfs-trace 1\n");
		uint64_t at = 0;

		for (int i = 0; i < 400; i++)
			p = line(p, &random, at += random_below(&random, 400), there);
		begin(text, (enum schedule_pace)(round % 3), 1 + round % 7,
		      1 + (uint32_t)round % 9);
		run_to_the_end(&random);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded_times),
		cmocka_unit_test(test_outstanding_is_a_bound),
		cmocka_unit_test(test_think_time_follows_the_answer),
		cmocka_unit_test(test_what_went_together_does),
		cmocka_unit_test(test_all_that_was_waited_for),
		cmocka_unit_test(test_names_keep_their_order_between_clients),
		cmocka_unit_test(test_a_directory_goes_last),
		cmocka_unit_test(test_any_trace_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
