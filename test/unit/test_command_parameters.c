/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * get, diff and set over a made-up host: for whom a parameter is set, what is refused and with which
 * choices, and what differs from file and default.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "asking.h"

static size_t rows(struct json_object *answer, const char *name)
{
	return json_object_array_length(member(answer, name));
}

static void assert_error(const char *request, const char *text)
{
	struct json_object *a = ask(request);

	assert_text(a, "error", text);
	json_object_put(a);
}

static void get_lists_each_parameter_of_each_owner(void **state)
{
	struct json_object *a = ask("{\"command\":\"get\"}");

	assert_int_equal(rows(a, "parameters"), 2 + 2 + 2 + 2 + 1 + 1);
	assert_text(nth(a, "parameters", 0), "where", "device 4095:0");
	assert_text(nth(a, "parameters", 2), "where", "export 7");
	assert_text(nth(a, "parameters", 9), "where", "server");
	json_object_put(a);
	a = ask("{\"command\":\"get\",\"name\":\"max_wait\"}");
	assert_int_equal(rows(a, "parameters"), 2);
	assert_text(nth(a, "parameters", 1), "value", "2000");
	assert_text(nth(a, "parameters", 1), "minimum", "10");
	assert_text(nth(a, "parameters", 1), "class", "admin");
	json_object_put(a);
}

static void set_changes_one_or_all(void **state)
{
	struct json_object *a = ask("{\"command\":\"set\",\"name\":\"Scheduler\",\"value\":"
				    "\"fifo\",\"of\":\"4095:1\"}");

	assert_int_equal(rows(a, "changed"), 1);
	assert_text(nth(a, "changed", 0), "before", "turns");
	assert_string_equal(world.device[0].queue.policy->name, "turns");
	assert_string_equal(world.device[1].queue.policy->name, "fifo");
	json_object_put(a);
	a = ask("{\"command\":\"set\",\"name\":\"writeback\",\"value\":\"no\"}");
	assert_int_equal(rows(a, "changed"), 2);
	assert_text(nth(a, "changed", 1), "value", "false");
	assert_int_equal(world.number[3], 0);
	json_object_put(a);
	assert_int_equal(world.logged, 3);
}

static void what_cannot_be_is_refused(void **state)
{
	assert_error("{\"command\":\"set\",\"name\":\"Max_Wait\",\"value\":\"5\"}",
		     "Max_Wait = 5 is out of range: 10 to 600000 ms");
	assert_error("{\"command\":\"set\",\"name\":\"Max_Wait\",\"value\":\"1s\"}",
		     "Max_Wait = 1s is not a number: 10 to 600000 ms");
	assert_error("{\"command\":\"set\",\"name\":\"Writeback\",\"value\":\"1\"}",
		     "Writeback = 1 is none of true, false");
	assert_error("{\"command\":\"set\",\"name\":\"Max_Weight\",\"value\":\"1\"}",
		     "\"Max_Weight\" is not a parameter; ractl get lists them");
	assert_error("{\"command\":\"set\",\"name\":\"Max_Wait\",\"value\":\"50\",\"of\":\"7\"}",
		     "device \"7\" is none of 4095:0, 4095:1");
	assert_error("{\"command\":\"set\",\"name\":\"Writeback\",\"value\":\"no\",\"of\":\"9\"}",
		     "no export 9 has FSAL RA");
	assert_error("{\"command\":\"set\",\"name\":\"Price_Memory\",\"value\":\"9\",\"of\":\"7\"}",
		     "Price_Memory is the whole server's: leave \"7\" out");
	assert_error("{\"command\":\"set\",\"name\":\"Table_Size\",\"value\":\"9\"}",
		     "Table_Size is read when the server starts: change it in the block RA of "
		     "ganesha.conf and start the server again");
	assert_int_equal(world.logged, 0);
}

static void who_may_only_look_changes_nothing(void **state)
{
	static const char *const requests[] = {
		"{\"command\":\"set\",\"name\":\"Max_Wait\",\"value\":\"50\"}",
		"{\"command\":\"scheduler\",\"name\":\"fifo\"}",
		"{\"command\":\"heuristic\",\"name\":\"off\"}",
		"{\"command\":\"share\",\"export\":7,\"key\":\"Weight\",\"value\":5}",
		"{\"command\":\"stats\",\"reset\":true}",
	};
	bool held = false;
	size_t len;
	char *text;

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		text = protocol_answer_as(commands, requests[i], strlen(requests[i]), &len, &held,
					  true);
		text[len - 1] = '\0';
		assert_non_null(strstr(text, CONTROL_READ_ONLY));
		free(text);
	}
	assert_string_equal(world.device[0].queue.policy->name, "turns");
	text = protocol_answer_as(commands, "{\"command\":\"get\"}", 17, &len, &held, true);
	assert_non_null(strstr(text, "\"ok\":true,\"schema\":1"));
	free(text);
}

static void diff_says_why(void **state)
{
	struct json_object *a = ask("{\"command\":\"diff\"}");

	assert_int_equal(rows(a, "parameters"), 0);
	json_object_put(a);
	world.file_is_newer = true;
	json_object_put(ask("{\"command\":\"set\",\"name\":\"Price_Memory\",\"value\":\"30\"}"));
	a = ask("{\"command\":\"diff\"}");
	assert_int_equal(rows(a, "parameters"), 2);
	assert_text(nth(a, "parameters", 0), "parameter", "Price_Memory");
	assert_text(nth(a, "parameters", 0), "because", "set since");
	assert_text(nth(a, "parameters", 1), "because",
		    "configured since: holds from the next start on");
	json_object_put(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(get_lists_each_parameter_of_each_owner, setup),
		cmocka_unit_test_setup(set_changes_one_or_all, setup),
		cmocka_unit_test_setup(what_cannot_be_is_refused, setup),
		cmocka_unit_test_setup(who_may_only_look_changes_nothing, setup),
		cmocka_unit_test_setup(diff_says_why, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
