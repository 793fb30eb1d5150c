/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of clients: one number an address, the longest silent makes room, rules found out once. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include "unit_cmocka.h"

#include "shares/client_table.h"

static atomic_uint matches;

#define FIRST_NAMED 200

/* The last byte of the address is the rule; from FIRST_NAMED on only a name server can say. */
static bool match(const struct client_address *a, uint16_t *rule, void *arg)
{
	(void)arg;
	atomic_fetch_add(&matches, 1);
	if (a->byte[15] >= FIRST_NAMED)
		return false;
	*rule = a->byte[15];
	return true;
}

static struct client_address v4(uint32_t host)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
	struct client_address a;

	in.sin_port = (in_port_t)host;
	assert_true(client_address_of((struct sockaddr *)&in, &a));
	return a;
}

static struct client find(struct client_table *t, uint32_t host, uint64_t now)
{
	struct client_address a = v4(host);

	return client_table_find(t, &a, now);
}

static void test_an_address_is_one_client_by_whatever_family(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(700)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(900)};
	struct sockaddr local = {.sa_family = AF_UNIX};
	struct client_address a, b;
	char text[CLIENT_TEXT_MAX];

	(void)state;
	inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
	inet_pton(AF_INET6, "::ffff:10.1.2.3", &in6.sin6_addr);
	assert_true(client_address_of((struct sockaddr *)&in, &a));
	assert_true(client_address_of((struct sockaddr *)&in6, &b));
	assert_memory_equal(&a, &b, sizeof(a));
	client_address_text(&a, text);
	assert_string_equal(text, "10.1.2.3");
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	assert_true(client_address_of((struct sockaddr *)&in6, &b));
	client_address_text(&b, text);
	assert_string_equal(text, "2001:db8::1");
	assert_false(client_address_of(NULL, &a));
	assert_false(client_address_of(&local, &a));
}

static void test_a_client_keeps_its_number(void **state)
{
	struct client_table *t = client_table_new(100, match, NULL);
	struct client_address a, b = v4(0x0a000007);

	(void)state;
	for (uint64_t turn = 0; turn < 3; turn++)
		for (uint32_t n = 0; n < 100; n++)
			assert_int_equal(find(t, 0x0a000000 + n, turn).number, n + 1);
	assert_int_equal(client_table_count(t), 100);
	assert_true(client_table_address(t, 8, &a));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_false(client_table_address(t, 0, &a));
	assert_false(client_table_address(t, 101, &a));
	client_table_free(t);
}

/* Who asks for it changes nothing: neither who is known, nor who makes room. */
static void test_the_number_of_a_known_client(void **state)
{
	struct client_table *t = client_table_new(2, match, NULL);
	struct client_address a = v4(1), b = v4(2), c = v4(3);
	uint64_t first;

	(void)state;
	assert_int_equal(client_table_number(t, &a), 0);
	assert_int_equal(client_table_count(t), 0);
	first = find(t, 1, 10).number;
	find(t, 2, 20);
	assert_int_equal(client_table_number(t, &a), first);
	assert_true(client_table_number(t, &b) != first);
	find(t, 3, 30);
	assert_int_equal(client_table_number(t, &a), 0);
	assert_true(client_table_number(t, &c) != 0);
	client_table_free(t);
}

static void test_the_one_silent_for_longest_makes_room(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);
	struct client_address a;

	(void)state;
	for (uint32_t n = 0; n < 16; n++)
		find(t, n, 100 + n);
	find(t, 0, 200); /* so 1 is silent for longest */
	assert_int_equal(find(t, 77, 300).number, 2 + 16);
	assert_int_equal(client_table_count(t), 16);
	assert_false(client_table_address(t, 2, &a));
	assert_true(client_table_address(t, 18, &a));
	assert_int_equal(find(t, 0, 301).number, 1);
	assert_int_equal(find(t, 1, 302).number, 3 + 16); /* as a new one: in place of 2 */
	client_table_free(t);
}

/* Who makes room is one of the next 32 slots, and the one silent for longest of these. */
static void test_what_making_room_costs_is_bounded(void **state)
{
	const uint32_t max = 65536, looked = 32;
	struct client_table *t = client_table_new(max, match, NULL);

	(void)state;
	for (uint32_t n = 0; n < max; n++)
		find(t, n, max - n);
	for (uint32_t n = 0; n < 200000; n++) {
		uint32_t slot = (uint32_t)((find(t, max + n, max + n).number - 1) % max);

		assert_int_equal(slot / looked, n % (max / looked));
		if (n < max / looked)
			assert_int_equal(slot % looked, looked - 1);
	}
	client_table_free(t);
}

static void test_numbers_are_never_given_again(void **state)
{
	struct client_table *t = client_table_new(1, match, NULL);

	(void)state;
	for (uint32_t n = 0; n < 1000; n++)
		assert_int_equal(find(t, n % 7, n).number, n + 1);
	client_table_free(t);
}

static void test_rules_are_found_out_at_first_sight_and_after_a_change(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);

	(void)state;
	matches = 0;
	for (int i = 0; i < 5; i++)
		assert_int_equal(find(t, 3, 1).rule, 3);
	assert_int_equal(matches, 1);
	client_table_rematch(t, 1);
	assert_int_equal(find(t, 3, 1).rule, 3);
	assert_int_equal(find(t, 3, 1).rule, 3);
	assert_int_equal(matches, 2);
	client_table_free(t);
}

/* By its number, for what was written before: nobody is asked, and who makes room has none. */
static void test_the_rule_of_a_number(void **state)
{
	struct client_table *t = client_table_new(1, match, NULL);
	uint16_t rule = 9;
	uint64_t first;

	(void)state;
	assert_false(client_table_rule(t, 0, &rule));
	assert_false(client_table_rule(t, 1, &rule));
	first = find(t, 3, 1).number;
	matches = 0;
	assert_true(client_table_rule(t, first, &rule));
	assert_int_equal(rule, 3);
	assert_int_equal(matches, 0);
	find(t, 4, 2);
	rule = 9;
	assert_false(client_table_rule(t, first, &rule));
	assert_int_equal(rule, 9);
	client_table_free(t);
}

/* No lock is held: who matches may look himself. One at a time does. */
static bool match_and_look(const struct client_address *a, uint16_t *rule, void *arg)
{
	struct client_table **t = arg;

	matches++;
	assert_int_equal(client_table_find(*t, a, 1).rule, 0);
	*rule = 5;
	return true;
}

static void test_no_lock_is_held_while_a_rule_is_found_out(void **state)
{
	struct client_table *t;

	(void)state;
	matches = 0;
	t = client_table_new(16, match_and_look, &t);
	assert_int_equal(find(t, 3, 1).rule, 5);
	assert_int_equal(find(t, 3, 1).rule, 5);
	assert_int_equal(matches, 1);
	client_table_free(t);
}

/* The rules change while a client is matched by those before. */
static bool match_and_change(const struct client_address *a, uint16_t *rule, void *arg)
{
	struct client_table **t = arg;

	(void)a;
	if (matches++ == 0)
		client_table_rematch(*t, 1);
	*rule = matches == 1 ? 5 : 9;
	return true;
}

static void test_a_rule_by_rules_that_are_no_more_does_not_count(void **state)
{
	struct client_table *t;

	(void)state;
	matches = 0;
	t = client_table_new(16, match_and_change, &t);
	assert_int_equal(find(t, 3, 1).rule, 5); /* by the rules when it began */
	assert_int_equal(find(t, 3, 1).rule, 9); /* by those since */
	assert_int_equal(find(t, 3, 1).rule, 9);
	assert_int_equal(matches, 2);
	client_table_free(t);
}

static bool match_and_forget(const struct client_address *a, uint16_t *rule, void *arg)
{
	struct client_table **t = arg;

	(void)a;
	if (matches++ == 0)
		find(*t, 99, 2); /* takes the only slot */
	*rule = 5;
	return true;
}

static void test_who_makes_room_while_its_rule_is_found_out(void **state)
{
	struct client_table *t;

	(void)state;
	matches = 0;
	t = client_table_new(1, match_and_forget, &t);
	assert_int_equal(find(t, 3, 1).number, 1);
	assert_int_equal(find(t, 99, 3).number, 2);
	assert_int_equal(matches, 2);
	client_table_free(t);
}

/* ---- names ------------------------------------------------------------------------------ */

/* What is to be asked next, without waiting: there must be one. */
static struct client_question question(struct client_table *t)
{
	struct client_question q;

	assert_true(client_table_question(t, &q));
	return q;
}

/* Nothing is to be asked, and nothing ever will be. */
static void no_question(struct client_table *t)
{
	struct client_question q;

	client_table_end_questions(t);
	assert_false(client_table_question(t, &q));
}

/* Who comes has rule 0 until the answer, and is asked for once, in the order in which they came. */
static void test_who_looks_does_not_wait_for_an_answer(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);
	struct client_question q;

	(void)state;
	for (int i = 0; i < 3; i++)
		for (uint32_t n = 0; n < 3; n++)
			assert_int_equal(find(t, FIRST_NAMED + n, 1).rule, 0);
	for (uint32_t n = 0; n < 3; n++) {
		q = question(t);
		assert_int_equal(q.address.byte[15], FIRST_NAMED + n);
		assert_int_equal(find(t, FIRST_NAMED + n, 1).rule, 0);
		client_table_answer(t, &q, (uint16_t)(70 + n), 0);
		assert_int_equal(find(t, FIRST_NAMED + n, 1).rule, 70 + n);
	}
	no_question(t);
	client_table_free(t);
}

static void answer(struct client_table *t, uint16_t rule)
{
	struct client_question q = question(t);

	client_table_answer(t, &q, rule, 0);
}

static void test_the_rule_that_it_had_holds_meanwhile(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);

	(void)state;
	find(t, FIRST_NAMED, 1);
	answer(t, 7);
	client_table_rematch(t, 8);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 7);
	answer(t, 6);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 6);
	client_table_rematch(t, 6); /* rule 6 names others now */
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 0);
	answer(t, 6);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 6);
	no_question(t);
	client_table_free(t);
}

static void test_rules_for_one_address_leave_the_others_alone(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);
	struct client_address a = v4(FIRST_NAMED + 1), unknown = v4(77);

	(void)state;
	for (uint32_t n = 0; n < 3; n++) {
		find(t, FIRST_NAMED + n, 1);
		answer(t, 7);
	}
	client_table_rematch_one(t, &a);
	client_table_rematch_one(t, &unknown);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(find(t, FIRST_NAMED + n, 1).rule, 7);
	assert_int_equal(question(t).address.byte[15], FIRST_NAMED + 1);
	no_question(t);
	client_table_give_back(t, &a, 3); /* nobody answers: not the one that is another's by now */
	assert_int_equal(find(t, FIRST_NAMED + 1, 1).rule, 3);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 7);
	client_table_free(t);
}

static void test_a_rule_that_is_open_is_kept(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);
	struct client_question q;

	(void)state;
	find(t, FIRST_NAMED, 1);
	answer(t, 7);
	client_table_rematch(t, 8);
	find(t, FIRST_NAMED, 1);
	q = question(t);
	client_table_answer(t, &q, 9, 1 << 6 | 1 << 7);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 7);
	client_table_ask_again(t);
	find(t, FIRST_NAMED, 1);
	q = question(t);
	client_table_answer(t, &q, 9, 1 << 6); /* rule 7 does not name it, that much is sure */
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 9);
	no_question(t);
	client_table_free(t);
}

/* After one more round: whether FIRST_NAMED is asked for, in vain, before one who comes anew. */
static bool round_asks(struct client_table *t, uint32_t round)
{
	uint64_t number;
	struct client_question q;
	bool asks;

	client_table_ask_again(t);
	number = find(t, FIRST_NAMED, 1).number;
	find(t, round << 8 | FIRST_NAMED, 1);
	q = question(t);
	asks = q.number == number;
	if (asks) {
		client_table_answer(t, &q, 9, 1 << 6);
		q = question(t);
	}
	client_table_answer(t, &q, 9, 0);
	return asks;
}

/* A host that is lame for ever, and all who come behind it: less and less often. */
static void test_who_is_asked_for_in_vain_sits_out(void **state)
{
	static const uint32_t asked[] = {1, 2, 4, 8, 16, 32, 64, 96, 128};
	struct client_table *t = client_table_new(256, match, NULL);
	unsigned int n = 0;

	(void)state;
	for (uint32_t round = 1; round <= 128; round++)
		if (round_asks(t, round))
			assert_int_equal(asked[n++], round);
	assert_int_equal(n, sizeof(asked) / sizeof(asked[0]));
	client_table_rematch(t, 255);
	assert_true(round_asks(t, 201)); /* other rules: anew */
	assert_true(round_asks(t, 202));
	assert_false(round_asks(t, 203));
	assert_true(round_asks(t, 204));
	client_table_free(t);
}

/* What was asked before the rules changed says nothing of the rules since. */
static void test_an_answer_that_is_late_does_not_count(void **state)
{
	struct client_table *t = client_table_new(16, match, NULL);
	struct client_question q, again;

	(void)state;
	find(t, FIRST_NAMED, 1);
	q = question(t);
	client_table_rematch(t, 1);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 0);
	client_table_answer(t, &q, 7, 0);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 0);
	again = question(t);
	client_table_answer(t, &again, 8, 0);
	client_table_answer(t, &q, 7, 0);
	assert_int_equal(find(t, FIRST_NAMED, 1).rule, 8);
	no_question(t);
	client_table_free(t);
}

/* Who makes room is asked for no more; who comes in its place is, once. */
static void test_a_slot_changes_hands_while_it_waits(void **state)
{
	struct client_table *t = client_table_new(1, match, NULL);
	struct client_question first, q;

	(void)state;
	find(t, FIRST_NAMED, 1);
	first = question(t);
	find(t, FIRST_NAMED + 1, 2);
	find(t, 3, 3); /* needs no name */
	find(t, FIRST_NAMED + 2, 4);
	client_table_answer(t, &first, 7, 0);
	assert_int_equal(find(t, FIRST_NAMED + 2, 5).rule, 0);
	q = question(t);
	assert_int_equal(q.address.byte[15], FIRST_NAMED + 2);
	find(t, FIRST_NAMED + 1, 6);
	find(t, 3, 7);
	no_question(t);
	client_table_free(t);
}

#define THREADS 8
#define FINDS	4000

/* Each of more clients than there is room for has one number at a time, with its own rule. One asks for names. */
static void *ask_around(void *arg)
{
	struct client_table *t = arg;
	struct client_question q;

	while (client_table_question(t, &q)) {
		if (q.address.byte[15] < FIRST_NAMED)
			return arg;
		client_table_answer(t, &q, q.address.byte[15], 0);
	}
	return NULL;
}

static void *look_around(void *arg)
{
	struct client_table *t = arg;
	struct client_address a;

	for (uint32_t n = 0; n < FINDS; n++) {
		uint32_t host = n * 31 % 250;
		struct client c = find(t, host, n);

		if (c.rule != 0 && c.rule != (uint8_t)host)
			return arg;
		if (client_table_address(t, c.number, &a) && a.byte[15] != (uint8_t)host)
			return arg;
		if (client_table_rule(t, c.number, &c.rule) && c.rule != 0 &&
		    c.rule != (uint8_t)host)
			return arg;
		if (n % 500 == 0)
			client_table_rematch(t, 230);
		if (n % 50 == 0 && client_address_parse("0.0.0.240", &a))
			client_table_rematch_one(t, &a);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct client_table *t = client_table_new(128, match, NULL);
	pthread_t threads[THREADS], asker;
	void *wrong;

	(void)state;
	assert_int_equal(pthread_create(&asker, NULL, ask_around, t), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_around, t), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	client_table_end_questions(t);
	pthread_join(asker, &wrong);
	assert_null(wrong);
	assert_int_equal(client_table_count(t), 128);
	client_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address_is_one_client_by_whatever_family),
		cmocka_unit_test(test_a_client_keeps_its_number),
		cmocka_unit_test(test_the_number_of_a_known_client),
		cmocka_unit_test(test_the_one_silent_for_longest_makes_room),
		cmocka_unit_test(test_what_making_room_costs_is_bounded),
		cmocka_unit_test(test_numbers_are_never_given_again),
		cmocka_unit_test(test_rules_are_found_out_at_first_sight_and_after_a_change),
		cmocka_unit_test(test_the_rule_of_a_number),
		cmocka_unit_test(test_no_lock_is_held_while_a_rule_is_found_out),
		cmocka_unit_test(test_a_rule_by_rules_that_are_no_more_does_not_count),
		cmocka_unit_test(test_who_makes_room_while_its_rule_is_found_out),
		cmocka_unit_test(test_who_looks_does_not_wait_for_an_answer),
		cmocka_unit_test(test_the_rule_that_it_had_holds_meanwhile),
		cmocka_unit_test(test_rules_for_one_address_leave_the_others_alone),
		cmocka_unit_test(test_a_rule_that_is_open_is_kept),
		cmocka_unit_test(test_who_is_asked_for_in_vain_sits_out),
		cmocka_unit_test(test_an_answer_that_is_late_does_not_count),
		cmocka_unit_test(test_a_slot_changes_hands_while_it_waits),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
