/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * files, cursors and explain over a made-up host: what is listed, what is refused, and which words come of
 * which facts, with which parameter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "common/log.h"
#include "control/commands.h"
#include "control/explain.h"
#include "control/protocol.h"
#include "fake_host.h"

static const struct control_command *commands;
static char text[8192];

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
}

static int setup(void **state)
{
	fake_host_reset();
	log_set_writer(keep_quiet);
	commands = commands_start(&host);
	world.files = 2;
	world.file[0] = (struct file_facts){
		.look = {.file = 1234,
			 .used = world.now - 2 * CLOCK_SECOND,
			 .cursors = 3,
			 .streams = 2,
			 .count = 127,
			 .window = 8 << 20,
			 .unread = 3 << 20,
			 .exact = 0.9,
			 .read = 60,
			 .wasted = 40},
		.path = "/srv/nfs/film",
		.has_device = true,
		.major = 4095,
		.minor = 1,
	};
	world.file[1].look.file = 99;
	world.cursor = (struct readahead_cursor_look){.next = 5 << 20,
						      .run = 4 << 20,
						      .asked = 4 << 20,
						      .arrived = 2 << 20,
						      .taken = 3 << 20,
						      .count = 127};
	text[0] = '\0';
	return 0;
}

static const char *ask(const char *request)
{
	size_t len;
	char *answer = protocol_answer(commands, request, strlen(request), &len, &world.held);

	assert_non_null(answer);
	assert_true(len < sizeof(text));
	memcpy(text, answer, len);
	text[len] = '\0';
	free(answer);
	return text;
}

static void assert_says(const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void test_files(void **state)
{
	ask("{\"command\":\"files\"}");
	assert_says("\"file\":1234,\"path\":\"\\/srv\\/nfs\\/film\",\"device\":\"4095:1\"");
	assert_says("\"idle_ms\":2000,\"reads\":0,\"read_bytes\":0,\"cursors\":3,\"streams\":2,"
		    "\"count\":127");
	assert_says("\"effectiveness\":0.6");
	assert_says("\"files_total\":2");
	snprintf(world.file[0].path, sizeof(world.file[0].path), "/\xff\xc3\xa9\xc3");
	ask("{\"command\":\"files\"}"); /* a name of any bytes, or cut short */
	assert_says("\"path\":\"\\/?\xc3\xa9?\"");
	ask("{\"command\":\"files\",\"limit\":300}");
	assert_says("limit = 300 is out of range: 1 to 256 files");
}

static void test_cursors(void **state)
{
	ask("{\"command\":\"cursors\",\"file\":1234}");
	assert_says("\"offset\":5242880,\"count\":127,\"window_bytes\":0,\"run_bytes\":4194304,"
		    "\"fetched_bytes\":2097152,\"asked_bytes\":4194304");
	assert_says("\"used_bytes\":3145728,\"way\":\"forward\"");
	ask("{\"command\":\"cursors\",\"file\":234,\"dev\":1}"); /* the same, as stat(2) names it */
	assert_says("\"file\":1234,");
	ask("{\"command\":\"explain\",\"file\":234,\"dev\":1}");
	assert_says("\"file\":1234,");
	ask("{\"command\":\"cursors\",\"file\":5}");
	assert_says("no file 5 is known");
}

static void keep_line(void *arg, const char *line, const char *parameter)
{
	size_t used = strlen(text);

	snprintf(text + used, sizeof(text) - used, "%s [%s]\n", line, parameter ? parameter : "");
}

static const struct explain words = {keep_line, NULL};

static struct explain_file sound(void)
{
	return (struct explain_file){.file = &world.file[0],
				     .device = &world.device[1],
				     .memory = 256 << 20,
				     .now = world.now,
				     .export_id = 7,
				     .heuristic = "cursor",
				     .seq_threshold = 4,
				     .priced = true};
}

static void test_a_file_that_is_fetched_ahead(void **state)
{
	struct explain_file f = sound();

	world.device[1].demand_queued = true;
	explain_file(&words, &f);
	assert_says("2 of its 3 streams are fetched ahead: the most sequential has a count of 127, "
		    "and up to 8.0 MiB are fetched ahead of a reader [Window_Max]");
	assert_says("of what was fetched ahead lately 60 % was read");
	assert_says("3.0 MiB of it are fetched, or being fetched, and not yet read []");
	assert_null(strstr(text, "price"));
}

static void test_why_a_file_is_not(void **state)
{
	struct explain_file f = sound();

	f.heuristic = "off";
	explain_file(&words, &f);
	assert_says("read-ahead is off for export 7 [Heuristic]");
	assert_null(strstr(text, "streams"));
	f.heuristic = "cursor";
	world.file[0].look.count = 2;
	explain_file(&words, &f);
	assert_says("it is too early: the most sequential stream has a count of 2");
	world.file[0].look.exact = 0.1;
	f.price = 1;
	f.unread = f.memory;
	explain_file(&words, &f);
	assert_says("its reads are scattered: 10 % of them continue another exactly");
	assert_says("the price of read-ahead is 1.00, more than its read-ahead is worth");
	assert_says("memory for read-ahead is short: 256 of 256 MiB hold data");
	assert_says("past the queue [Queue_Depth]");
}

static void test_a_client(void **state)
{
	world.flows[0] = 2;
	world.device[0].demand_queued = true;
	world.flow[0][0] = (struct flow_stats){.id = {.client = 101, .export_id = 7},
					       .group_weight = 100,
					       .queued = {3, 0, 2},
					       .throttled = true,
					       .refused = 5,
					       .disk_time = {CLOCK_SECOND},
					       .behind = {.client = 102},
					       .behind_time = 1};
	world.flow[0][0].waits[15] = 10;
	world.flow[0][1] = (struct flow_stats){.id = {.client = 102, .export_id = 7},
					       .group_weight = 300,
					       .disk_time = {0, 3 * CLOCK_SECOND}};
	world.writing = (struct writing_facts){
		.dirty_bytes = 80, .dirty_budget = 100, .replies_held = 4, .writeback_errors = 2};
	world.writing.commit_waits[20] = 7;
	ask("{\"command\":\"explain\",\"client\":\"10.0.1.1\"}");
	assert_says("it had 25 % of the disk's time, by its weight of 100 it is entitled to 25 %");
	assert_says("reads of it that wait now: 3");
	assert_says("all but one in a hundred less than 32.8 ms");
	assert_says("while it waited, 10.0.1.2 had the disk for longest");
	assert_says("a ceiling holds it back");
	assert_says("5 of its requests were refused at first");
	assert_says("80 % of Dirty_Budget");
	assert_says("2 write-outs failed since the start");
	assert_says("write-outs of what it wrote that wait for the disk: 2");
	assert_says("half of all clients' COMMITs took less than 1048.6 ms");
	ask("{\"command\":\"explain\",\"client\":\"10.9.9.9\"}");
	assert_says("it has used no disk lately");
	world.writing.writeback_errors = 0;
	ask("{\"command\":\"explain\",\"client\":\"10.9.9.9\"}");
	assert_says("no write-out failed since the start");
	ask("{\"command\":\"explain\",\"client\":\"::ffff:10.0.1.1\"}");
	assert_says("\"client\":\"10.0.1.1\"");
	ask("{\"command\":\"explain\",\"client\":\"film.mkv\"}");
	assert_says("\\\"film.mkv\\\" is not the address of a client");
	ask("{\"command\":\"explain\"}");
	assert_says("either file or client");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_files, setup),
		cmocka_unit_test_setup(test_cursors, setup),
		cmocka_unit_test_setup(test_a_file_that_is_fetched_ahead, setup),
		cmocka_unit_test_setup(test_why_a_file_is_not, setup),
		cmocka_unit_test_setup(test_a_client, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
