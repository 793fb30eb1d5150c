/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ractl, the program, against the channel's server over a made-up host: what it prints, what it
 * refuses, its exit status. The host's numbers are set before the server starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/trace.h"
#include "control/commands.h"
#include "fake_host.h"

static struct {
	char dir[64], path[96];
	struct control *control;
	char output[65536];
} place;

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
}

static void keep_line(const char *line)
{
}

static int set_up(void **state)
{
	memset(&place, 0, sizeof(place));
	snprintf(place.dir, sizeof(place.dir), "/tmp/ra-ractl-XXXXXX");
	assert_non_null(mkdtemp(place.dir));
	snprintf(place.path, sizeof(place.path), "%s/ra.sock", place.dir);
	log_set_writer(keep_quiet);
	fake_host_reset();
	return 0;
}

static void serve(void)
{
	struct control_settings settings = {.path = place.path,
					    .peers = 4,
					    .timeout_ms = 10000,
					    .commands = commands_start(&host),
					    .log = keep_line,
					    .tick = commands_tick,
					    .released = commands_released};

	assert_int_equal(control_start(&settings, &place.control), 0);
}

static int tear_down(void **state)
{
	control_stop(place.control);
	unlink(place.path);
	assert_int_equal(rmdir(place.dir), 0);
	return 0;
}

/* Runs ractl with ARGUMENTS; what it printed is in place.output. Returns its exit status. */
static int ractl(const char *arguments)
{
	char command[512];
	FILE *output;
	size_t n;
	int status;

	snprintf(command, sizeof(command), "%s --socket %s %s 2>&1", RACTL, place.path, arguments);
	output = popen(command, "r");
	assert_non_null(output);
	n = fread(place.output, 1, sizeof(place.output) - 1, output);
	place.output[n] = '\0';
	status = pclose(output);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void assert_prints(const char *part)
{
	if (!strstr(place.output, part))
		fail_msg("\"%s\" is not in:\n%s", part, place.output);
}

static void test_status(void **state)
{
	world.export[1].pending = 17;
	serve();
	assert_int_equal(ractl("status"), 0);
	assert_prints("FSAL RA ");
	assert_prints("Ganesha FSAL API 11.0");
	assert_prints(
		"EXPORT  PENDING  HEURISTIC\n     7        0  cursor\n     8       17  cursor\n");
}

static void test_nothing_there(void **state)
{
	world.devices = world.exports = 0;
	serve();
	assert_int_equal(ractl("status"), 0);
	assert_prints("no exports");
	assert_int_equal(ractl("devices"), 0);
	assert_prints("no device is in use");
	assert_int_equal(ractl("prices"), 0);
	assert_prints("no device is in use");
}

static void test_devices(void **state)
{
	struct dispatcher_stats *q = &world.device[0].queue;

	q->queued[SCHED_WRITEBACK] = 12345;
	q->chunk = 6 << 20;
	q->cost.ns_per_byte = 8; /* 125 MB/s */
	q->cost.seek_ns = 9.5e6;
	serve();
	assert_int_equal(ractl("devices"), 0);
	assert_prints("12345");
	assert_prints("125.0");
	assert_prints("9.5");
	assert_prints("6144\n");
}

static void test_changes(void **state)
{
	serve();
	assert_int_equal(ractl("scheduler fifo 4095:1"), 0);
	assert_prints("4095:1  -     turns   fifo\n");
	assert_int_equal(ractl("heuristic off 8"), 0);
	assert_prints("off for 1 export\n");
	assert_int_equal(ractl("heuristic always"), 0);
	assert_prints("always for 2 exports\n");
	control_stop(place.control);
	place.control = NULL;
	assert_string_equal(world.device[0].queue.policy->name, "turns");
	assert_string_equal(world.device[1].queue.policy->name, "fifo");
}

static void test_prices(void **state)
{
	world.price[0] = (struct device_price_facts){
		.age = 412 * CLOCK_MS,
		.length = 6,
		.saturation = 8,
		.snapshot = {.write = 0.309,
			     .write_by = PRICE_DISK,
			     .readahead = 0.309,
			     .readahead_by = PRICE_DISK,
			     .unknown = 1u << PRICE_NETWORK,
			     .utilization = {0.2, 0, 0.75, 0.1},
			     .price = {0, 0, 0.309, 0.1}},
	};
	world.client_prices = 2;
	world.client_price[0] = (struct client_price_facts){.client = 205,
							    .weight = 100,
							    .use = 0.8,
							    .entitled = 0.5,
							    .ratio = 1.5,
							    .write = 0.7};
	world.client_price[1] = (struct client_price_facts){
		.client = 6, .of_export = true, .export_id = 7, .weight = 50, .write = 0.1};
	serve();
	assert_int_equal(ractl("prices"), 0);
	assert_prints("10.0.2.5       -     100  0.800  0.500  1.500  0.700       0.000\n");
	assert_prints("10.0.0.6       7      50  0.000  0.000  0.000  0.100       0.000\n");
	assert_prints("412 ms ago: writes 0.309 (disk), read-ahead 0.309 (disk)\n");
	assert_prints("disk            0.750  0.309  30\n");
	assert_prints("requests waiting and under way: 6.0, saturated at 8\n");
	assert_prints("the use of the network cannot be measured here: it costs nothing\n");
	assert_prints("device 4095:1 (-): no prices yet\n");
	assert_prints("no FSSTAT yet\n");
}

static void test_stats(void **state)
{
	world.counted[READAHEAD_READS] = 4711;
	world.writing.dirty_budget = 77;
	serve();
	assert_int_equal(ractl("stats --reset"), 0);
	assert_prints("4711\n");
	assert_prints("dirty_budget_bytes");
	assert_prints("; reset now\n");
	assert_int_equal(ractl("stats"), 0);
	assert_null(strstr(place.output, "4711"));
	assert_int_equal(ractl("--json stats"), 0);
	assert_int_equal(place.output[0], '{');
}

static void test_wrong_usage(void **state)
{
	static const char *const wrong[][2] = {
		{"", "no command"},
		{"reboot", "no such command: reboot"},
		{"scheduler", "missing argument: NAME [DEVICE]"},
		{"status x", "too many arguments: x"},
		{"heuristic off x7", "not the number of an export: x7"},
		{"heuristic off -7", "usage"},
		{"devices --reset", "--reset is for stats"},
		{"stats --follow", "--follow and --events are for trace"},
		{"stats --events plan", "--follow and --events are for trace"},
		{"--frob", "usage"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(ractl(wrong[i][0]), 2);
		assert_prints(wrong[i][1]);
	}
	assert_int_equal(ractl("--help"), 0);
	assert_prints("trace");
}

static void test_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"scheduler lift", "scheduler \"lift\" is none of fifo"},
		{"scheduler fifo 9:99", "device \"9:99\" is none of 4095:0"},
		{"heuristic off 9", "no export 9"},
		{"trace --events guess", "event \"guess\" is none of observe"},
		{"--socket /tmp status", "nobody listens"},
		{"--socket /tmp/no/ra.sock status", "no server: /tmp/no/ra.sock does not exist"},
	};
	char path[256] = "--socket /";

	serve();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(ractl(wrong[i][0]), 1);
		assert_prints(wrong[i][1]);
	}
	memset(path + strlen(path), 'x', 150);
	strcat(path, " status");
	assert_int_equal(ractl(path), 1);
	assert_prints("longer than 107 bytes");
	assert_int_equal(ractl("--json scheduler lift"), 1);
	assert_prints("\"ok\":false");
	assert_int_equal(ractl("status 3>&1 >/dev/full 2>&3 #"), 1);
	assert_prints("cannot write");
}

/* As soon as somebody follows, the ring is on, and what is noted from then on is printed. */
static void follow(const char *options, const char *const *parts, size_t n)
{
	char command[512];
	FILE *output;

	serve();
	snprintf(command, sizeof(command), "%s --socket %s %s trace --follow 2>&1", RACTL,
		 place.path, options);
	output = popen(command, "r");
	assert_non_null(output);
	while (!atomic_load(&trace_on))
		sched_yield();
	trace(TRACE_PLAN, 1234, 0, 8 << 20, 0, 8 << 20);
	trace(TRACE_TURN, 77, 4096, 12, 820, 5);
	for (size_t i = 0; i < n; i++) {
		do /* of JSON the first answer may have nothing yet */
			assert_non_null(fgets(place.output, sizeof(place.output), output));
		while (strstr(place.output, "\"records\":[]"));
		assert_prints(parts[i]);
	}
	control_stop(place.control);
	place.control = NULL;
	assert_false(atomic_load(&trace_on)); /* its peer is gone */
	while (fgets(place.output, sizeof(place.output), output))
		;
	assert_prints("the server closed");
	assert_int_equal(WEXITSTATUS(pclose(output)), 1);
}

static void test_follow(void **state)
{
	static const char *const lines[] = {
		"plan     file 1234                 offset=0 length=8388608 ahead=0 "
		"window=8388608\n",
		"turn     file 77                   bytes=4096 lasted_us=12 slice_us=820 "
		"error=5\n",
	};

	follow("", lines, 2);
}

static void test_follow_events(void **state)
{
	static const char *const lines[] = {" turn "};

	follow("--events turn,price", lines, 1);
}

static void test_follow_json(void **state)
{
	static const char *const lines[] = {"\"event\":\"plan\""};

	follow("--json", lines, 1);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(test_status),      WITH_PLACE(test_nothing_there),
		WITH_PLACE(test_devices),     WITH_PLACE(test_changes),
		WITH_PLACE(test_prices),      WITH_PLACE(test_stats),
		WITH_PLACE(test_wrong_usage), WITH_PLACE(test_refused),
		WITH_PLACE(test_follow),      WITH_PLACE(test_follow_events),
		WITH_PLACE(test_follow_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
