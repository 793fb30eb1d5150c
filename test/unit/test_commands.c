/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control channel's commands over a made-up host: what they turn, what they refuse and with which
 * choices, what a reset does; and that the log's lines have the same members and fit into a line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include <inttypes.h>
#include <sys/sysmacros.h>

#include "common/trace.h"
#include "control/command_trace.h"
#include "control/describe.h"
#include "asking.h"

#define LOG_LINE_MAX 2000 /* of Ganesha's 2048, with its own heading */

/* ---- asking ----------------------------------------------------------------------------- */

static int64_t number(struct json_object *o, const char *name)
{
	return json_object_get_int64(member(o, name));
}

static bool is_ok(struct json_object *answer)
{
	return json_object_get_boolean(member(answer, "ok"));
}

/* ---- tests ------------------------------------------------------------------------------ */

static void status_tells_versions_and_exports(void **unused)
{
	struct json_object *a;

	world.now += 5 * CLOCK_SECOND;
	world.export[1].counted[0] = 42;
	world.export[1].closing = true;
	a = ask("{\"command\":\"status\"}");
	assert_text(a, "ganesha_api", "11.0");
	assert_text(a, "plugin_file", "loaded");
	assert_int_equal(number(a, "uptime_s"), 5);
	assert_int_equal(number(a, "exports_total"), 2);
	assert_int_equal(number(nth(a, "exports", 1), "export"), 8);
	assert_int_equal(number(nth(a, "exports", 1), readahead_counter_names[0]), 42);
	assert_true(json_object_get_boolean(member(nth(a, "exports", 1), "closing")));
	json_object_put(a);
}

/* With as many exports as Ganesha has ids for, and counters as long as they become: all is told but for some of these. */
static void many_exports_fit_into_an_answer(void **unused)
{
	struct json_object *a;

	world.exports = 65535;
	for (int i = 0; i < 2; i++) {
		world.export[i].id = 65535;
		world.export[i].closing = world.export[i].priced = true;
		world.export[i].pending = 1000000;
		world.export[i].write_price = world.export[i].readahead_price = 1.0 / 3;
		world.export[i].fsstat =
			"the last FSSTAT was asked for by a client that reads none";
		for (int c = 0; c < READAHEAD_COUNTERS; c++)
			world.export[i].counted[c] = UINT64_C(1) << 60;
	}
	a = ask("{\"command\":\"status\"}");
	assert_true(is_ok(a));
	assert_int_equal(number(a, "exports_total"), 65535);
	assert_in_range(json_object_array_length(member(a, "exports")), 1000, 65535);
	json_object_put(a);
	a = ask("{\"command\":\"prices\"}");
	assert_true(is_ok(a));
	assert_int_equal(number(a, "exports_total"), 65535);
	assert_in_range(json_object_array_length(member(a, "exports")), 100, 65535);
	json_object_put(a);
}

static void a_scheduler_is_changed_for_one_or_all(void **unused)
{
	struct json_object *a = ask("{\"command\":\"scheduler\",\"name\":\"fifo\"}");

	assert_true(is_ok(a));
	assert_text(nth(a, "devices", 1), "before", "turns");
	assert_string_equal(world.device[0].queue.policy->name, "fifo");
	assert_string_equal(world.device[1].queue.policy->name, "fifo");
	assert_int_equal(world.logged, 2);
	json_object_put(a);
	a = ask("{\"command\":\"scheduler\",\"name\":\"elevator\",\"device\":\"4095:1\"}");
	assert_true(is_ok(a));
	assert_string_equal(world.device[0].queue.policy->name, "fifo");
	assert_string_equal(world.device[1].queue.policy->name, "elevator");
	json_object_put(a);
}

static void capitals_do_not_matter(void **unused)
{
	struct json_object *a = ask("{\"command\":\"scheduler\",\"name\":\"NCSCAN\"}");

	assert_text(nth(a, "devices", 0), "scheduler", "ncscan");
	json_object_put(a);
	a = ask("{\"command\":\"heuristic\",\"name\":\"SlowDown\"}");
	assert_text(a, "heuristic", "slowdown");
	json_object_put(a);
}

static void what_could_not_be_changed_is_said(void **unused)
{
	struct json_object *a;

	world.no_memory = true;
	a = ask("{\"command\":\"scheduler\",\"name\":\"fifo\",\"device\":\"4095:1\"}");
	assert_false(is_ok(a));
	assert_text(a, "error", "device 4095:1: out of memory");
	assert_int_equal(world.logged, 0);
	json_object_put(a);
}

static void wrong_names_are_refused_with_choices(void **unused)
{
	struct json_object *a = ask("{\"command\":\"scheduler\",\"name\":\"lift\"}");

	assert_false(is_ok(a));
	assert_text(a, "error", "scheduler \"lift\" is none of fifo, elevator, ncscan, turns");
	assert_int_equal(json_object_array_length(member(a, "choices")), 4);
	json_object_put(a);
	a = ask("{\"command\":\"scheduler\",\"name\":\"fifo\",\"device\":\"sdz\"}");
	assert_false(is_ok(a));
	assert_text(a, "error", "device \"sdz\" is none of 4095:0, 4095:1");
	json_object_put(a);
	a = ask("{\"command\":\"heuristic\",\"name\":\"guess\"}");
	assert_false(is_ok(a));
	assert_int_equal(json_object_array_length(member(a, "choices")), 6);
	json_object_put(a);
	assert_string_equal(world.device[0].queue.policy->name, "turns");
}

static void without_devices_or_exports(void **unused)
{
	struct json_object *a;

	world.devices = world.exports = 0;
	a = ask("{\"command\":\"scheduler\",\"name\":\"fifo\"}");
	assert_text(a, "error", "no device is in use: no export is on a local file system");
	json_object_put(a);
	a = ask("{\"command\":\"heuristic\",\"name\":\"off\"}");
	assert_text(a, "error", "there is no export with FSAL RA");
	json_object_put(a);
}

static void a_heuristic_is_changed_for_one_or_all(void **unused)
{
	struct json_object *a = ask("{\"command\":\"heuristic\",\"name\":\"off\",\"export\":8}");

	assert_int_equal(number(a, "exports_changed"), 1);
	assert_string_equal(world.export[0].heuristic, "cursor");
	assert_string_equal(world.export[1].heuristic, "off");
	json_object_put(a);
	a = ask("{\"command\":\"heuristic\",\"name\":\"always\"}");
	assert_int_equal(number(a, "exports_changed"), 2);
	json_object_put(a);
	a = ask("{\"command\":\"heuristic\",\"name\":\"always\",\"export\":9}");
	assert_text(a, "error", "no export 9 has FSAL RA");
	assert_int_equal(json_object_array_length(member(a, "choices")), 2);
	json_object_put(a);
}

static void throughput_is_of_the_last_ticks(void **unused)
{
	struct json_object *a;

	for (int second = 0; second < 25; second++) {
		commands_tick();
		world.now += CLOCK_SECOND;
		world.device[1].queue.counted.bytes[SCHED_WRITEBACK] += 1000;
		world.device[1].queue.counted.bytes[SCHED_DEMAND] += second < 12 ? 5000 : 0;
	}
	a = ask("{\"command\":\"devices\"}");
	assert_int_equal(number(nth(a, "devices", 1), "writeback_bytes_per_s"), 1000);
	assert_int_equal(number(nth(a, "devices", 1), "demand_bytes_per_s"), 0);
	assert_int_equal(number(nth(a, "devices", 0), "prefetch_bytes_per_s"), 0);
	json_object_put(a);
}

static void a_reset_begins_anew_and_sets_nothing_to_zero(void **unused)
{
	struct sched_stats *s = &world.device[0].queue.counted;
	struct json_object *a, *d;

	world.counted[0] = 100;
	s->served[SCHED_DEMAND] = 10;
	s->waits[20] = 10; /* below 2^20 us */
	s->wait_max = 900 * CLOCK_MS;
	a = ask("{\"command\":\"stats\",\"reset\":true}");
	assert_int_equal(number(member(a, "counters"), readahead_counter_names[0]), 100);
	json_object_put(a);
	world.now += 3 * CLOCK_SECOND;
	world.counted[0] = 107;
	s->served[SCHED_DEMAND] = 12;
	s->waits[10] = 2; /* below 1024 us */
	a = ask("{\"command\":\"stats\"}");
	d = nth(a, "devices", 0);
	assert_int_equal(number(a, "seconds"), 3);
	assert_int_equal(number(member(a, "counters"), readahead_counter_names[0]), 7);
	assert_int_equal(number(d, "served_demand"), 2);
	assert_in_range(number(d, "wait_max_us"), 1, 1024);
	assert_true(number(d, "wait_p99_us") <= number(d, "wait_max_us"));
	assert_int_equal(world.counted[0], 107);
	json_object_put(a);
}

static void prices_of_devices_and_exports(void **unused)
{
	struct json_object *a, *d, *e;

	world.price[1] = (struct device_price_facts){
		.age = 400 * CLOCK_MS,
		.length = 6,
		.saturation = 8,
		.snapshot = {.write = 0.5,
			     .write_by = PRICE_DISK,
			     .unknown = 1u << PRICE_NETWORK,
			     .price = {0, 0, 0.5, 0.1}},
	};
	world.export[0].priced = world.export[0].fsstat_prices = true;
	world.export[0].write_price = 0.5;
	world.export[0].counted[READAHEAD_WASTED] = 50;
	world.export[0].counted[READAHEAD_USED] = 150;
	a = ask("{\"command\":\"prices\"}");
	assert_false(json_object_object_get_ex(nth(a, "devices", 0), "age_ms", &d));
	d = nth(a, "devices", 1);
	e = nth(a, "exports", 0);
	assert_int_equal(number(d, "age_ms"), 400);
	assert_text(d, "write_by", "disk");
	assert_true(json_object_get_boolean(member(nth(d, "resources", PRICE_NETWORK), "unknown")));
	assert_int_equal(number(nth(d, "resources", PRICE_DISK), "k"), 30);
	assert_true(json_object_get_double(member(e, "effectiveness")) == 0.75);
	assert_true(json_object_get_double(member(e, "write_price")) == 0.5);
	assert_false(json_object_object_get_ex(nth(a, "exports", 1), "write_price", &e));
	json_object_put(a);
}

static void prices_of_clients(void **unused)
{
	struct json_object *a, *d, *c;

	world.client_prices = 1;
	world.client_price[0] = (struct client_price_facts){.client = 205,
							    .of_export = true,
							    .export_id = 7,
							    .weight = 300,
							    .use = 0.75,
							    .entitled = 0.5,
							    .ratio = 1.4,
							    .write = 0.9,
							    .readahead = 0.8};
	world.price[0].age = 1;
	a = ask("{\"command\":\"prices\"}");
	d = nth(a, "devices", 0);
	c = nth(d, "clients", 0);
	assert_text(c, "client", "10.0.2.5");
	assert_int_equal(number(c, "export"), 7);
	assert_int_equal(number(c, "weight"), 300);
	assert_true(json_object_get_double(member(c, "use")) == 0.75);
	assert_true(json_object_get_double(member(c, "write_price")) == 0.9);
	assert_int_equal(number(d, "clients_total"), 1);
	assert_false(json_object_object_get_ex(nth(a, "devices", 1), "clients", &c));
	json_object_put(a);
	/* more than are listed, and one that nobody knows any more */
	world.client_prices = FACTS_CLIENT_PRICES_MAX + 9;
	world.client_price[1].client = 5000;
	a = ask("{\"command\":\"prices\"}");
	d = nth(a, "devices", 0);
	assert_int_equal(json_object_array_length(member(d, "clients")), FACTS_CLIENT_PRICES_MAX);
	assert_int_equal(number(d, "clients_total"), FACTS_CLIENT_PRICES_MAX + 9);
	assert_text(nth(d, "clients", 1), "client", "");
	assert_false(json_object_object_get_ex(nth(d, "clients", 1), "export", &c));
	json_object_put(a);
}

/* As many as prices are told of. */
static void metrics_of_clients(void **unused)
{
	struct json_object *a = ask("{\"command\":\"metrics\",\"clients\":64}");

	json_object_put(a);
	a = ask("{\"command\":\"metrics\",\"clients\":65}");
	assert_text(a, "error", "clients = 65 is out of range: 0 to 64");
	json_object_put(a);
}

/* Each member of PART is in WHOLE. */
static void assert_has_all(struct json_object *whole, struct json_object *part)
{
	json_object_object_foreach(part, name, value) member(whole, name);
}

static void the_log_has_the_same_members_and_fits(void **unused)
{
	struct json_object *a, *o;
	struct engine_facts e;
	char *line;

	/* The largest numbers of all. */
	memset(world.counted, 0xff, sizeof(world.counted));
	memset(&world.writing, 0xff, sizeof(world.writing));
	memset(&world.device[0].queue.counted, 0x7f, sizeof(world.device[0].queue.counted));
	memset(world.device[0].queue.queued, 0xff, sizeof(world.device[0].queue.queued));
	engine(&e);
	a = ask("{\"command\":\"stats\"}");
	line = describe_stats_line(world.counted, &e, &world.writing);
	assert_in_range(strlen(line), 2, LOG_LINE_MAX);
	o = json_tokener_parse(line);
	assert_has_all(o, member(a, "counters"));
	assert_has_all(o, member(a, "engine"));
	assert_has_all(o, member(a, "writing"));
	assert_int_equal(json_object_object_length(o),
			 json_object_object_length(member(a, "counters")) +
				 json_object_object_length(member(a, "engine")) +
				 json_object_object_length(member(a, "writing")));
	json_object_put(o);
	free(line);
	line = describe_device_line(&world.device[0]);
	assert_in_range(strlen(line), 2, LOG_LINE_MAX);
	o = json_tokener_parse(line);
	assert_has_all(o, nth(a, "devices", 0));
	json_object_put(o);
	free(line);
	json_object_put(a);
}

/* The answer to a request for what comes behind AFTER. */
static struct json_object *ask_trace(uint64_t after, const char *more)
{
	char request[256];

	snprintf(request, sizeof(request), "{\"command\":\"trace\",\"after\":%" PRIu64 "%s}", after,
		 more);
	return ask(request);
}

static void trace_tells_what_was_decided(void **unused)
{
	struct json_object *a = ask("{\"command\":\"trace\"}"), *r;
	uint64_t last = (uint64_t)number(a, "last");

	assert_true(world.held && atomic_load(&trace_on));
	assert_int_equal(json_object_array_length(member(a, "records")), 0);
	json_object_put(a);
	trace(TRACE_SUBMIT, 77, 0, 4096, 8192, SCHED_PREFETCH, SCHED_WAITS);
	trace(TRACE_PRICE, 0, 0, makedev(8, 16), 250, 10, PRICE_DISK);
	a = ask_trace(last, "");
	assert_int_equal(json_object_array_length(member(a, "records")), 2);
	r = nth(a, "records", 0);
	assert_text(r, "event", "submit");
	assert_int_equal(number(r, "file"), 77);
	assert_int_equal(number(r, "offset"), 4096);
	assert_text(r, "class", "prefetch");
	assert_text(r, "verdict", "joined");
	assert_true(number(r, "time_us") > INT64_C(1600000000) * 1000000);
	r = nth(a, "records", 1);
	assert_text(r, "device", "8:16");
	assert_text(r, "resource", "disk");
	assert_int_equal(number(a, "last"), last + 2);
	assert_int_equal(number(a, "missed"), 0);
	json_object_put(a);
	commands_released();
	assert_false(atomic_load(&trace_on));
}

static void trace_is_bounded_and_says_what_was_missed(void **unused)
{
	struct json_object *a = ask("{\"command\":\"trace\"}");
	uint64_t last = (uint64_t)number(a, "last");
	char *text = NULL;
	size_t len;

	json_object_put(a);
	for (int i = 0; i < TRACE_RING + 100; i++)
		trace(TRACE_OBSERVE, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	a = ask_trace(last, "");
	assert_int_equal(json_object_array_length(member(a, "records")), TRACE_LIMIT_MAX);
	assert_int_equal(number(a, "missed"), 100);
	assert_int_equal(number(a, "last"), last + 100 + TRACE_LIMIT_MAX);
	text = strdup(json_object_to_json_string(a));
	len = strlen(text);
	assert_in_range(len, 1, CONTROL_ANSWER_MAX / 2);
	free(text);
	json_object_put(a);
	a = ask_trace(last, ",\"limit\":3");
	assert_int_equal(json_object_array_length(member(a, "records")), 3);
	json_object_put(a);
	a = ask_trace(UINT64_C(1) << 60, ""); /* the number of a server before this one */
	assert_int_equal(number(a, "last"), trace_last());
	json_object_put(a);
	commands_released();
}

static void trace_gives_only_the_events_wanted(void **unused)
{
	struct json_object *a = ask("{\"command\":\"trace\",\"events\":\"plan\"}");
	uint64_t last = (uint64_t)number(a, "last");

	json_object_put(a);
	for (int i = 0; i < 3000; i++)
		trace(i % 1000 ? TRACE_OBSERVE : TRACE_PLAN, (uint64_t)i, 0, 0, 0, 0, 0);
	trace(TRACE_PICK, 5, 0, 0, 0, 0, 0);
	a = ask_trace(last, ",\"events\":\"plan,pick\"");
	assert_int_equal(json_object_array_length(member(a, "records")), 4);
	assert_text(nth(a, "records", 3), "event", "pick");
	assert_int_equal(number(a, "last"), last + 3001);
	json_object_put(a);
	commands_released();
}

/* How many of the records behind LAST are about that. */
static size_t traced(uint64_t last, const char *what)
{
	struct json_object *a = ask_trace(last, what);
	size_t n = json_object_array_length(member(a, "records"));

	assert_int_equal(number(a, "last"), trace_last());
	json_object_put(a);
	return n;
}

static void trace_of_a_file_or_a_client(void **unused)
{
	struct json_object *a = ask("{\"command\":\"trace\"}");
	uint64_t last = (uint64_t)number(a, "last");

	json_object_put(a);
	for (uint64_t i = 0; i < 1000; i++)
		trace(TRACE_PICK, i % 10, 101 + i % 4, 0, 0, 0, 0);
	trace(TRACE_PLAN, 5, 0, 0, 0, 0, 0);	/* nobody's */
	trace(TRACE_PLAN, 5, 5000, 0, 0, 0, 0); /* whose address is forgotten */
	assert_int_equal(traced(last, ",\"file\":5"), 102);
	assert_int_equal(traced(last, ",\"client\":\"10.0.1.2\""), 250);
	assert_int_equal(traced(last, ",\"client\":\"10.0.1.2\",\"events\":\"plan\""), 0);
	assert_int_equal(traced(last, ",\"client\":\"10.9.9.9\""), 0);
	a = ask_trace(last, ",\"file\":5,\"limit\":1");
	assert_text(nth(a, "records", 0), "client", "10.0.1.2");
	json_object_put(a);
	commands_released();
}

static void trace_refuses_what_is_wrong(void **unused)
{
	static const char *const wrong[][2] = {
		{",\"events\":\"plan,guess\"",
		 "event \"guess\" is none of observe, plan, submit, pick, turn, commit, price"},
		{",\"events\":\"\"", "event \"\" is none of"},
		{",\"events\":\"plan,\"", "event \"\" is none of"},
		{",\"limit\":0", "limit = 0 is out of range: 1 to 1000 records"},
		{",\"limit\":1001", "limit = 1001 is out of range: 1 to 1000 records"},
		{",\"file\":1,\"client\":\"10.0.0.1\"", "either file or client"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct json_object *a = ask_trace(0, wrong[i][0]);

		assert_false(is_ok(a));
		if (!strstr(json_object_get_string(member(a, "error")), wrong[i][1]))
			fail_msg("%s", json_object_to_json_string(a));
		json_object_put(a);
	}
	assert_false(world.held || atomic_load(&trace_on));
}

/* ---- clients ---------------------------------------------------------------------------- */

static void a_flow_is_told_with_whom_it_waits_for(void **unused)
{
	struct json_object *a, *d, *f;

	world.flows[1] = 1;
	world.flow[1][0] = (struct flow_stats){
		.id = {.client = 105, .export_id = 7, .rule = 2},
		.weight = 100,
		.group_weight = 300,
		.backlogged = true,
		.queued = {4, 0, 2},
		.held = 32768,
		.served = {10, 20, 30},
		.bytes = {100, 200, 300},
		.disk_time = {4 * CLOCK_MS, 5 * CLOCK_MS, 6 * CLOCK_MS},
		.wait_max = 9 * CLOCK_MS,
		.waits = {[10] = 3, [14] = 1},
		.behind = {.client = 2, .export_id = 8},
		.behind_time = 7 * CLOCK_MS,
	};
	a = ask("{\"command\":\"clients\"}");
	assert_true(is_ok(a));
	assert_int_equal(number(a, "time_us"), 1000 * 1000000);
	assert_int_equal(number(nth(a, "devices", 0), "flows_total"), 0);
	d = nth(a, "devices", 1);
	assert_text(d, "device", "4095:1");
	assert_text(d, "scheduler", "turns");
	assert_int_equal(number(d, "flows_total"), 1);
	f = nth(d, "flows", 0);
	assert_text(f, "client", "10.0.1.5");
	assert_text(f, "group", "client");
	assert_int_equal(number(f, "export"), 7);
	assert_int_equal(number(f, "group_weight"), 300);
	assert_int_equal(number(f, "queued_writeback"), 2);
	assert_int_equal(number(f, "served_prefetch"), 20);
	assert_int_equal(number(f, "writeback_bytes"), 300);
	assert_int_equal(number(f, "disk_time_demand_us"), 4000);
	assert_int_equal(number(f, "wait_p50_us"), 1024);
	assert_int_equal(number(f, "wait_p99_us"), 9000); /* no longer than the longest */
	assert_int_equal(json_object_array_length(member(f, "waits")), 15);
	assert_text(member(f, "waited_for"), "client", "10.0.0.2");
	assert_int_equal(number(member(f, "waited_for"), "disk_time_us"), 7000);
	json_object_put(a);
}

static void the_server_and_the_forgotten_are_clients_too(void **unused)
{
	struct json_object *a, *none;

	world.flows[0] = 2;
	world.flow[0][1].id.client = 1000;
	world.flow[0][1].of_export = true;
	a = ask("{\"command\":\"clients\"}");
	assert_text(nth(nth(a, "devices", 0), "flows", 0), "client", "server");
	assert_text(nth(nth(a, "devices", 0), "flows", 1), "client", "");
	assert_text(nth(nth(a, "devices", 0), "flows", 1), "group", "export");
	assert_int_equal(number(nth(nth(a, "devices", 0), "flows", 1), "client_number"), 1000);
	assert_false(json_object_object_get_ex(nth(nth(a, "devices", 0), "flows", 0), "waited_for",
					       &none));
	json_object_put(a);
}

static size_t listed(struct json_object *a, size_t device)
{
	return json_object_array_length(member(nth(a, "devices", device), "flows"));
}

static void an_answer_has_places_for_some_flows(void **unused)
{
	struct json_object *a;

	memset(world.flow, 0xff, sizeof(world.flow)); /* the largest numbers of all */
	for (unsigned int i = 0; i < FAKE_FLOWS; i++)
		for (unsigned int d = 0; d < 2; d++)
			world.flow[d][i].of_export = world.flow[d][i].backlogged =
				world.flow[d][i].throttled = true;
	world.flows[0] = 4000;
	world.flows[1] = 10;
	a = ask("{\"command\":\"clients\"}");
	assert_true(is_ok(a));
	assert_int_equal(listed(a, 0), FACTS_FLOWS_MAX - 10);
	assert_int_equal(listed(a, 1), 10);
	assert_int_equal(number(nth(a, "devices", 0), "flows_total"), 4000);
	assert_in_range(strlen(json_object_to_json_string(a)), 1, CONTROL_ANSWER_MAX);
	json_object_put(a);
	a = ask("{\"command\":\"clients\",\"limit\":3}");
	assert_int_equal(listed(a, 0), 3);
	assert_int_equal(listed(a, 1), 3);
	assert_int_equal(number(nth(a, "devices", 0), "flows_total"), 4000);
	json_object_put(a);
	a = ask("{\"command\":\"clients\",\"limit\":257}");
	assert_text(a, "error", "limit = 257 is out of range: 1 to 256 flows");
	json_object_put(a);
	world.flows[1] = 4000;
	a = ask("{\"command\":\"clients\"}");
	assert_int_equal(listed(a, 0), FACTS_FLOWS_MAX / 2);
	assert_int_equal(listed(a, 1), FACTS_FLOWS_MAX / 2);
	json_object_put(a);
	world.flows[0] = 0;
	a = ask("{\"command\":\"clients\"}");
	assert_int_equal(listed(a, 1), FACTS_FLOWS_MAX);
	json_object_put(a);
	world.devices = 0;
	a = ask("{\"command\":\"clients\"}");
	assert_true(is_ok(a));
	json_object_put(a);
}

/* ---- shares ----------------------------------------------------------------------------- */

static bool has(struct json_object *o, const char *name)
{
	return json_object_object_get_ex(o, name, NULL);
}

static void shares_in_force_are_listed(void **unused)
{
	struct json_object *a = ask("{\"command\":\"shares\"}"), *r;

	assert_int_equal(json_object_array_length(member(a, "exports")), 0);
	assert_text(nth(a, "rules", 0), "clients", "all others");
	r = nth(a, "rules", 1);
	assert_int_equal(number(r, "rule"), 1);
	assert_int_equal(number(r, "weight"), 200);
	assert_text(r, "clients", "10.1.2.3");
	assert_text(r, "by", "operator");
	assert_int_equal(number(r, "ceiling_bytes_per_s"), 40000000);
	assert_true(json_object_get_double(member(r, "floor_time")) == 0.05);
	assert_false(has(r, "ceiling_time"));
	assert_false(has(r, "floor_iops"));
	json_object_put(a);
}

static void a_share_is_changed(void **unused)
{
	struct json_object *a = ask("{\"command\":\"share\",\"client\":\"10.1.2.3\","
				    "\"key\":\"Weight\",\"value\":70}");

	assert_true(is_ok(a));
	assert_int_equal(number(nth(a, "rules", 1), "weight"), 70);
	json_object_put(a);
	a = ask("{\"command\":\"share\",\"export\":7,\"key\":\"Weight\",\"value\":71}");
	assert_int_equal(number(nth(a, "exports", 0), "export"), 7);
	assert_int_equal(number(nth(a, "exports", 0), "weight"), 71);
	assert_int_equal(world.logged, 2);
	json_object_put(a);
}

static void a_share_that_cannot_be_is_refused(void **unused)
{
	static const char *const wrong[][2] = {
		{"\"export\":8", "that export"},
		{"\"export\":70000", "no export 70000 has FSAL RA"},
		{"\"client\":\"10.1.2.4\"", "10.1.2.4"},
		{"\"client\":\"10.1.2.3\",\"export\":7", "either client or export"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct json_object *a;
		char request[256];

		snprintf(request, sizeof(request),
			 "{\"command\":\"share\",%s,\"key\":\"Weight\",\"value\":1}", wrong[i][0]);
		a = ask(request);
		assert_false(is_ok(a));
		assert_non_null(strstr(json_object_get_string(member(a, "error")), wrong[i][1]));
		json_object_put(a);
	}
	assert_int_equal(world.logged, 0);
}

static void names_of_devices(void **unused)
{
	struct device_names names = {"8:1", "sda1"};

	assert_true(device_names_match(&names, "8:1"));
	assert_true(device_names_match(&names, "sda1"));
	assert_true(device_names_match(&names, "/dev/sda1"));
	assert_false(device_names_match(&names, "sda"));
	names.name[0] = '\0';
	assert_false(device_names_match(&names, ""));
	assert_false(device_names_match(&names, "/dev/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(status_tells_versions_and_exports, setup),
		cmocka_unit_test_setup(many_exports_fit_into_an_answer, setup),
		cmocka_unit_test_setup(a_scheduler_is_changed_for_one_or_all, setup),
		cmocka_unit_test_setup(capitals_do_not_matter, setup),
		cmocka_unit_test_setup(what_could_not_be_changed_is_said, setup),
		cmocka_unit_test_setup(wrong_names_are_refused_with_choices, setup),
		cmocka_unit_test_setup(without_devices_or_exports, setup),
		cmocka_unit_test_setup(a_heuristic_is_changed_for_one_or_all, setup),
		cmocka_unit_test_setup(throughput_is_of_the_last_ticks, setup),
		cmocka_unit_test_setup(a_reset_begins_anew_and_sets_nothing_to_zero, setup),
		cmocka_unit_test_setup(prices_of_devices_and_exports, setup),
		cmocka_unit_test_setup(prices_of_clients, setup),
		cmocka_unit_test_setup(metrics_of_clients, setup),
		cmocka_unit_test_setup(the_log_has_the_same_members_and_fits, setup),
		cmocka_unit_test_setup(trace_tells_what_was_decided, setup),
		cmocka_unit_test_setup(trace_is_bounded_and_says_what_was_missed, setup),
		cmocka_unit_test_setup(trace_gives_only_the_events_wanted, setup),
		cmocka_unit_test_setup(trace_of_a_file_or_a_client, setup),
		cmocka_unit_test_setup(trace_refuses_what_is_wrong, setup),
		cmocka_unit_test_setup(a_flow_is_told_with_whom_it_waits_for, setup),
		cmocka_unit_test_setup(the_server_and_the_forgotten_are_clients_too, setup),
		cmocka_unit_test_setup(an_answer_has_places_for_some_flows, setup),
		cmocka_unit_test_setup(shares_in_force_are_listed, setup),
		cmocka_unit_test_setup(a_share_is_changed, setup),
		cmocka_unit_test_setup(a_share_that_cannot_be_is_refused, setup),
		cmocka_unit_test(names_of_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
