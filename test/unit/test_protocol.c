/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The protocol of the control channel, without a socket: what it understands, refuses and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "control/protocol.h"
#include "common/utf8.h"
#include "control_table.h"

static bool held;

static struct json_object *answer_to(const char *line, size_t len)
{
	size_t answer_len;
	char *text = protocol_answer(commands, line, len, &answer_len, &held);
	struct json_object *answer;

	assert_non_null(text);
	assert_int_equal(text[answer_len - 1], '\n');
	assert_ptr_equal(memchr(text, '\n', answer_len), text + answer_len - 1);
	assert_in_range(answer_len, 1, CONTROL_ANSWER_MAX);
	text[answer_len - 1] = '\0';
	assert_int_equal(strlen(text), answer_len - 1);
	answer = json_tokener_parse(text);
	free(text);
	assert_true(json_object_is_type(answer, json_type_object));
	return answer;
}

static bool is_ok(struct json_object *answer)
{
	struct json_object *ok = json_object_object_get(answer, "ok");

	assert_true(json_object_is_type(ok, json_type_boolean));
	if (!json_object_get_boolean(ok))
		assert_true(strlen(json_object_get_string(
				    json_object_object_get(answer, "error"))) > 0);
	return json_object_get_boolean(ok);
}

static const char *text_in(struct json_object *answer, const char *member)
{
	return json_object_get_string(json_object_object_get(answer, member));
}

/* LINE is refused, and the message has PART in it. */
static void assert_refused(const char *line, size_t len, const char *part)
{
	struct json_object *answer = answer_to(line, len);

	if (is_ok(answer) || !strstr(text_in(answer, "error"), part))
		fail_msg("%s: %s (wanted: %s)", line, json_object_to_json_string(answer), part);
	json_object_put(answer);
}

static void test_understands(void **state)
{
	static const char *const lines[] = {
		"{\"command\":\"echo\",\"text\":\"a b\",\"n\":7,\"flag\":true}",
		"{\"command\":\"echo\",\"text\":\"a b\",\"n\":7,\"flag\":true}\r",
		" { \"flag\" : true, \"text\" : \"a\\u0020b\" , \"n\" : 7, \"command\" : \"echo\" "
		"} ",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct json_object *answer = answer_to(lines[i], strlen(lines[i]));

		assert_true(is_ok(answer));
		assert_string_equal(text_in(answer, "text"), "a b");
		assert_int_equal(json_object_get_int(json_object_object_get(answer, "n")), 7);
		assert_true(json_object_get_boolean(json_object_object_get(answer, "flag")));
		json_object_put(answer);
	}
}

/* Beyond ASCII: the same in and out, whatever version of json-c reads it; malformed, refused. */
static void test_utf8(void **state)
{
	static const char *const good[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
					   "a\xc2\x80z"};
	static const char *const bad[] = {
		"\xff",	    "\xc3",	  "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xe2\x82", "\\\xc3\xa9", "\x80"};
	char line[128];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct json_object *answer;

		snprintf(line, sizeof(line), "{\"command\":\"echo\",\"text\":\"%s\"}", good[i]);
		answer = answer_to(line, strlen(line));
		assert_true(is_ok(answer));
		assert_string_equal(text_in(answer, "text"), good[i]);
		json_object_put(answer);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "{\"command\":\"echo\",\"text\":\"%s\"}", bad[i]);
		assert_refused(line, strlen(line), "UTF-8");
	}
}

/* What is cut to a length for a message stays UTF-8, so that the answer is JSON for any reader. */
static void test_utf8_cut(void **state)
{
	char line[256], mended[512];
	struct json_object *answer;

	for (int n = 61; n < 65; n++) {
		snprintf(line, sizeof(line), "{\"command\":\"%.*s\xe2\x82\xac\"}", n,
			 "0123456789012345678901234567890123456789012345678901234567890123456789");
		answer = answer_to(line, strlen(line));
		assert_false(is_ok(answer));
		snprintf(mended, sizeof(mended), "%s", text_in(answer, "error"));
		utf8_mend(mended);
		assert_string_equal(text_in(answer, "error"), mended);
		json_object_put(answer);
	}
}

static void test_absent_members(void **state)
{
	const char *line = "{\"command\":\"echo\",\"text\":\"\"}";
	struct json_object *answer = answer_to(line, strlen(line));

	assert_true(is_ok(answer));
	assert_int_equal(json_object_get_int(json_object_object_get(answer, "n")), -1);
	assert_false(json_object_get_boolean(json_object_object_get(answer, "flag")));
	json_object_put(answer);
}

static void test_refuses_malformed(void **state)
{
	static const struct {
		const char *line, *part;
	} bad[] = {
		{"", "ends early"},
		{"   ", "ends early"},
		{"{", "ends early"},
		{"{\"command\":\"no\"", "ends early"},
		{"12", "not"},
		{"null", "not"},
		{"\"status\"", "not a JSON object"},
		{"[]", "not a JSON object"},
		{"status", "not JSON"},
		{"{command:no}", "not JSON"},
		{"{'command':'no'}", "not JSON"},
		{"{\"command\":\"no\",}", "not JSON"},
		{"{\"command\":\"no\"} x", "not JSON"},
		{"{\"command\":\"no\"}{\"command\":\"no\"}", "not JSON"},
		{"{\"command\":\"no\xff\"}", "not JSON"},
		{"{\"a\":[[[[[[[[[[1]]]]]]]]]]}", "not JSON"},
		{"{}", "no \"command\""},
		{"{\"command\":1}", "no \"command\""},
		{"{\"command\":null}", "no \"command\""},
		{"{\"command\":\"no\\u0000pe\"}", "no \"command\""},
		{"{\"command\":\"\"}", "the commands are: help, echo, big, no"},
		{"{\"command\":\"nope\"}", "the commands are: help, echo, big, no"},
		{"{\"command\":\"NO\"}", "is not a command"},
		{"{\"command\":\"no\",\"name\":\"x\"}", "its members are: none"},
		{"{\"command\":\"echo\",\"text\":\"x\",\"name\":\"x\"}",
		 "its members are: text, n, flag"},
		{"{\"command\":\"echo\"}", "needs \"text\", a string"},
		{"{\"command\":\"echo\",\"text\":5}", "\"text\" must be a string"},
		{"{\"command\":\"echo\",\"text\":null}", "\"text\" must be a string"},
		{"{\"command\":\"echo\",\"text\":\"a\\u0000b\"}", "\"text\" must be a string"},
		{"{\"command\":\"echo\",\"text\":\"\",\"n\":-1}", "\"n\" must be a whole"},
		{"{\"command\":\"echo\",\"text\":\"\",\"n\":1.5}", "\"n\" must be a whole"},
		{"{\"command\":\"echo\",\"text\":\"\",\"n\":\"1\"}", "\"n\" must be a whole"},
		{"{\"command\":\"echo\",\"text\":\"\",\"flag\":1}", "must be true or false"},
		{"{\"command\":\"help\",\"x\":1}", "no member"},
		{"{\"command\":\"no\"}", "no: 42"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(bad[i].line, strlen(bad[i].line), bad[i].part);
	assert_refused("{\"command\":\"no\"}\0", 17, "NUL");
}

static void test_help_lists_all(void **state)
{
	const char *line = "{\"command\":\"help\"}";
	struct json_object *answer = answer_to(line, strlen(line)), *list, *first;

	assert_true(is_ok(answer));
	list = json_object_object_get(answer, "commands");
	assert_int_equal(json_object_array_length(list), 4);
	first = json_object_array_get_idx(list, 0);
	assert_string_equal(text_in(first, "command"), "echo");
	assert_int_equal(json_object_array_length(json_object_object_get(first, "members")), 3);
	json_object_put(answer);
}

static void test_answer_is_bounded(void **state)
{
	const char *fits = "{\"command\":\"big\",\"size\":1000000}";
	const char *too_long = "{\"command\":\"big\",\"size\":1100000}";
	struct json_object *answer = answer_to(fits, strlen(fits));

	assert_true(is_ok(answer));
	json_object_put(answer);
	assert_refused(too_long, strlen(too_long), "too long");
}

/*
 * Any bytes get a whole answer: requests with some bytes replaced, cut or doubled, by a fixed seed.
 */
static void test_mutations(void **state)
{
	static const char seed_line[] =
		"{\"command\":\"echo\",\"text\":\"a\\u00e9\",\"n\":12,\"flag\":false}";
	uint64_t random = 88172645463325252u;
	char line[2 * sizeof(seed_line)];

	for (int round = 0; round < 20000; round++) {
		size_t len = sizeof(seed_line) - 1;

		memcpy(line, seed_line, len);
		for (int change = 0; change < 1 + round % 4; change++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			line[random % len] = (char)(random >> 32);
		}
		if (round % 3 == 0)
			len = random % (len + 1);
		else if (round % 7 == 0)
			memcpy(line + len, line, len), len *= 2;
		for (char *end; (end = memchr(line, '\n', len));)
			*end = ' ';
		json_object_put(answer_to(line, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_understands),	  cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_utf8_cut),	  cmocka_unit_test(test_absent_members),
		cmocka_unit_test(test_refuses_malformed), cmocka_unit_test(test_help_lists_all),
		cmocka_unit_test(test_answer_is_bounded), cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
