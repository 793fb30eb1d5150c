/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What `ractl metrics` prints, of a made-up host's answer. With --print all of it goes to standard output, for
 * promtool to judge (test_promtool).
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
#include "control/metrics.h"
#include "control/protocol.h"
#include "fake_host.h"

static char *text;

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
}

static void busy_world(void)
{
	struct sched_stats *s = &world.device[0].queue.counted;

	fake_host_reset();
	log_set_writer(keep_quiet);
	world.export[0].counted[READAHEAD_READS] = 42;
	s->waits[3] = 5;  /* below 8 us */
	s->waits[10] = 2; /* below 1.024 ms */
	s->waits[30] = 1; /* below 18 min: beyond the last bucket */
	s->waited = 3 * CLOCK_SECOND;
	s->served[SCHED_WRITEBACK] = 7;
	world.device[0].queue.cost.seek_ns = 9.5e6;
	world.price[0].age = 0;
	world.price[0].snapshot.write = 0.25;
	world.client_prices = 3;
	/* one that is forgotten; another used more, here and on an export with a share of its own */
	world.client_price[0] = (struct client_price_facts){.client = 5000, .use = 0.375};
	world.client_price[1] = (struct client_price_facts){.client = 101, .use = 0.3125};
	world.client_price[2] = (struct client_price_facts){
		.client = 101, .of_export = true, .export_id = 7, .use = 0.25};
	world.flows[0] = FAKE_FLOWS; /* of one client on three exports, on one of them lately not */
	world.flow[0][0] = (struct flow_stats){
		.id = {.client = 101}, .bytes = {10, 20, 5}, .disk_time = {CLOCK_SECOND}};
	world.flow[0][1] =
		(struct flow_stats){.id = {.client = 101, .export_id = 7}, .bytes = {1, 0, 0}};
	world.flow[0][FAKE_FLOWS - 1] =
		(struct flow_stats){.id = {.client = 101, .export_id = 8}, .bytes = {200, 0, 0}};
	world.writing.commit_waits[20] = 4;
	world.writing.commit_waited = 3 * CLOCK_SECOND;
	world.writing.writeback_errors = 2;
}

/* The text of what the world is now. */
static char *printed(void)
{
	static const char request[] = "{\"command\":\"metrics\",\"clients\":2}";
	const struct control_command *commands;
	struct json_object *answer;
	size_t len, size;
	bool held = false;
	char *line, *all;
	FILE *out;

	commands = commands_start(&host);
	line = protocol_answer_as(commands, request, sizeof(request) - 1, &len, &held, true);
	line[len - 1] = '\0';
	answer = json_tokener_parse(line);
	free(line);
	out = open_memstream(&all, &size);
	metrics_print(out, answer);
	fclose(out);
	json_object_put(answer);
	return all;
}

static int setup(void **state)
{
	busy_world();
	text = printed();
	return 0;
}

static int teardown(void **state)
{
	free(text);
	return 0;
}

static void assert_says(const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void test_families(void **state)
{
	assert_says("# TYPE nfs_ganesha_ra_reads_total counter\n"
		    "nfs_ganesha_ra_reads_total{export=\"7\"} 42\n"
		    "nfs_ganesha_ra_reads_total{export=\"8\"} 0\n");
	assert_says(
		"nfs_ganesha_ra_device_requests_total{device=\"4095:0\",class=\"writeback\"} 7\n");
	assert_says("nfs_ganesha_ra_device_seek_seconds{device=\"4095:0\"} 0.0095\n");
	assert_says("nfs_ganesha_ra_device_price{device=\"4095:0\",of=\"write\"} 0.25\n");
	assert_says("nfs_ganesha_ra_device_clients{device=\"4095:0\"} 2\n");
	assert_says(
		"nfs_ganesha_ra_device_largest_client_share{device=\"4095:0\",client=\"10.0.1.1\"} "
		"0.5625\n");
	assert_says("nfs_ganesha_ra_writeback_errors_total 2\n");
	assert_null(strstr(text, "{}"));
}

/* Only as asked for, each once, and not one whose address is forgotten. */
static void test_clients(void **state)
{
	assert_says("# TYPE nfs_ganesha_ra_client_read_bytes_total counter\n"
		    "nfs_ganesha_ra_client_read_bytes_total{device=\"4095:0\",client=\"10.0.1.1\"} "
		    "231\n#");
	assert_says("nfs_ganesha_ra_client_disk_seconds_total{device=\"4095:0\","
		    "client=\"10.0.1.1\"} 1\n#");
	assert_says("nfs_ganesha_ra_client_written_bytes_total{device=\"4095:0\","
		    "client=\"10.0.1.1\"} 5\n#");
	assert_says("nfs_ganesha_ra_client_share{device=\"4095:0\",client=\"10.0.1.1\"} 0.5625\n#");
}

/* Each family has one head, and its samples stand together. */
static void test_heads(void **state)
{
	char *copy = strdup(text), *save = NULL, last[128] = "", name[128];

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "# TYPE %127s", name) == 1) {
			char head[160];

			snprintf(head, sizeof(head), "# TYPE %s ", name);
			assert_null(strstr(strstr(text, head) + 1, head));
			snprintf(last, sizeof(last), "%s", name);
		} else if (line[0] != '#') {
			assert_int_equal(strncmp(line, last, strlen(last)), 0);
		}
	}
	free(copy);
}

static void test_histograms(void **state)
{
	assert_says("device_read_wait_seconds_bucket{device=\"4095:0\",le=\"0.000128\"} 5\n");
	assert_says("device_read_wait_seconds_bucket{device=\"4095:0\",le=\"0.001024\"} 7\n");
	assert_says("device_read_wait_seconds_bucket{device=\"4095:0\",le=\"67.108864\"} 7\n");
	assert_says("device_read_wait_seconds_bucket{device=\"4095:0\",le=\"+Inf\"} 8\n");
	assert_says("device_read_wait_seconds_sum{device=\"4095:0\"} 3\n");
	assert_says("device_read_wait_seconds_count{device=\"4095:0\"} 8\n");
	assert_says("nfs_ganesha_ra_commit_wait_seconds_bucket{le=\"0.524288\"} 0\n"
		    "nfs_ganesha_ra_commit_wait_seconds_bucket{le=\"1.048576\"} 4\n");
	assert_says("nfs_ganesha_ra_commit_wait_seconds_sum 3\n");
}

/* It was removed while a disk hung, and is there again: two samples with one name are none, to who reads them. */
static void test_an_export_that_still_closes(void **state)
{
	static const char sample[] = "nfs_ganesha_ra_reads_total{export=\"7\"} ";
	const char *first;
	char *all;

	world.export[1].id = 7;
	world.export[0].closing = true;
	world.export[1].counted[READAHEAD_READS] = 5;
	all = printed();
	first = strstr(all, sample);
	assert_non_null(first);
	assert_int_equal(strtoul(first + strlen(sample), NULL, 10), 5);
	assert_null(strstr(first + 1, sample));
	free(all);
	world.exports = 1;
	all = printed();
	assert_non_null(strstr(all, "nfs_ganesha_ra_reads_total{export=\"7\"} 42\n"));
	free(all);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_an_export_that_still_closes),
	};

	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		setup(NULL);
		fputs(text, stdout);
		return teardown(NULL);
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
