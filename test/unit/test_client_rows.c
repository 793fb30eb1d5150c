/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two answers to "clients" -> rows: rates, shares of the disk's time beside what the weights entitle to,
 * waits of just the time between, whom one waited for; by client, export, device and flow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "control/client_rows.h"

static struct use_sample before, after;
static struct client_rows rows;

#define CLOSE(x, y) ((x) > (y)-1e-6 && (x) < (y) + 1e-6)

/* A device of which all flows are listed. */
static void add_device(struct use_sample *s, const char *number, const char *name)
{
	struct sample_device *d = &s->device[s->devices++];

	snprintf(d->number, sizeof(d->number), "%s", number);
	snprintf(d->name, sizeof(d->name), "%s", name);
}

static struct sample_flow *add_flow(struct use_sample *s, unsigned int device, unsigned int client,
				    unsigned int export)
{
	struct sample_flow *f = &s->flow[s->flows++];

	*f = (struct sample_flow){.device = device, .weight = 100, .group_weight = 100};
	f->who = (struct sample_who){.number = client, .export_id = export};
	snprintf(f->who.client, sizeof(f->who.client), "10.0.0.%u", client);
	s->device[device].flows++;
	s->device[device].flows_total++;
	return f;
}

/* One device, sdb; the samples are 2 s apart. */
static int set_up(void **unused)
{
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	before.uptime_s = 100;
	before.time_us = 7000000;
	after.uptime_s = 102;
	after.time_us = 9000000;
	add_device(&before, "8:16", "sdb");
	add_device(&after, "8:16", "sdb");
	return 0;
}

static const struct client_row *row(const char *client)
{
	for (unsigned int i = 0; i < rows.n; i++)
		if (!strcmp(rows.row[i].client, client))
			return &rows.row[i];
	fail_msg("no row of %s", client);
	return NULL;
}

static void rates_are_of_the_time_between(void **unused)
{
	struct sample_flow *f = add_flow(&before, 0, 1, 7);

	*add_flow(&after, 0, 1, 7) = *f;
	f->served[SAMPLE_DEMAND] = 10;
	f->bytes[SAMPLE_DEMAND] = 1000;
	f->refused = 5;
	f = &after.flow[0];
	f->served[SAMPLE_DEMAND] = 20;
	f->served[SAMPLE_WRITEBACK] = 4;
	f->bytes[SAMPLE_DEMAND] = 5000;
	f->bytes[SAMPLE_WRITEBACK] = 600;
	f->refused = 9;
	f->queued = 3;
	f->held = 4096;
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_int_equal(rows.n, 1);
	assert_false(rows.from_start);
	assert_true(CLOSE(rows.seconds, 2));
	assert_true(CLOSE(rows.row[0].requests_per_s, 7));
	assert_true(CLOSE(rows.row[0].bytes_per_s[SAMPLE_DEMAND], 2000));
	assert_true(CLOSE(rows.row[0].bytes_per_s[SAMPLE_WRITEBACK], 300));
	assert_true(CLOSE(rows.row[0].refused_per_s, 2));
	assert_int_equal(rows.row[0].queued, 3);
	assert_int_equal(rows.row[0].held, 4096);
	assert_true(rows.row[0].active);
}

static void without_a_sample_before_it_is_since_the_start(void **unused)
{
	add_flow(&after, 0, 1, 7)->served[SAMPLE_DEMAND] = 204;
	client_rows_between(&rows, NULL, &after, ROWS_FLOW);
	assert_true(rows.from_start);
	assert_true(CLOSE(rows.row[0].requests_per_s, 2));
	before.uptime_s = 5000; /* another server */
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	assert_true(rows.from_start);
	assert_true(CLOSE(rows.row[0].requests_per_s, 2));
	after.uptime_s = 0;
	client_rows_between(&rows, NULL, &after, ROWS_FLOW);
	assert_true(CLOSE(rows.row[0].requests_per_s, 204)); /* not infinite */
}

static void a_flow_that_came_again_counts_from_nothing(void **unused)
{
	add_flow(&before, 0, 1, 7)->served[SAMPLE_DEMAND] = 1000;
	add_flow(&after, 0, 1, 7)->served[SAMPLE_DEMAND] = 10;
	add_flow(&after, 0, 2, 7)->served[SAMPLE_DEMAND] = 20;
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(CLOSE(row("10.0.0.1")->requests_per_s, 5));
	assert_true(CLOSE(row("10.0.0.2")->requests_per_s, 10));
}

/* It may have been there before, among those that the answer had no place for. */
static void a_flow_that_was_left_out_has_no_rate(void **unused)
{
	before.device[0].flows_total = 5;
	add_flow(&after, 0, 2, 7)->served[SAMPLE_DEMAND] = 1000000;
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(rows.row[0].requests_per_s == 0);
	assert_false(rows.row[0].active);
	assert_int_equal(rows.idle, 1);
}

/* Client 1 has two exports, client 3 is idle, export 9 has a share of its own. */
static void fair_shares_follow_the_weights_of_who_is_active(void **unused)
{
	struct sample_flow *f;

	add_flow(&after, 0, 1, 7)->disk_us = 600;
	add_flow(&after, 0, 1, 8)->disk_us = 200;
	add_flow(&after, 0, 2, 7)->disk_us = 100;
	add_flow(&after, 0, 3, 7);
	for (unsigned int c = 1; c <= 2; c++) {
		f = add_flow(&after, 0, c, 9);
		f->disk_us = 50;
		f->of_export = true;
		f->group_weight = 200;
	}
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_int_equal(rows.n, 6);
	assert_int_equal(rows.idle, 1);
	assert_true(CLOSE(rows.row[0].share, 0.6) && CLOSE(rows.row[0].fair_share, 0.125));
	assert_true(CLOSE(rows.row[1].share, 0.2) && CLOSE(rows.row[1].fair_share, 0.125));
	assert_true(CLOSE(rows.row[2].share, 0.1) && CLOSE(rows.row[2].fair_share, 0.25));
	assert_true(CLOSE(rows.row[3].share, 0.05) && CLOSE(rows.row[3].fair_share, 0.25));
	assert_true(rows.row[5].fair_share == 0);
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(CLOSE(row("10.0.0.1")->share, 0.85));
	assert_true(CLOSE(row("10.0.0.1")->fair_share, 0.5));
	assert_int_equal(row("10.0.0.1")->weight, 0); /* of several groups */
	assert_int_equal(row("10.0.0.3")->weight, 100);
	client_rows_between(&rows, &before, &after, ROWS_EXPORT);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_int_equal(rows.n, 3);
	assert_int_equal(rows.row[0].export_id, 7);
	assert_int_equal(rows.row[0].clients, 3);
	assert_true(CLOSE(rows.row[0].fair_share, 0.375));
	assert_int_equal(rows.row[2].export_id, 9);
	assert_int_equal(rows.row[2].clients, 2);
	assert_true(CLOSE(rows.row[2].fair_share, 0.5));
}

static void shares_are_of_all_devices_time(void **unused)
{
	add_device(&before, "8:32", "");
	add_device(&after, "8:32", "");
	add_flow(&after, 0, 1, 7)->disk_us = 1500000;
	add_flow(&after, 1, 1, 8)->disk_us = 250000;
	add_flow(&after, 1, 2, 8)->disk_us = 250000;
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(CLOSE(row("10.0.0.1")->share, 0.875));
	assert_true(CLOSE(row("10.0.0.1")->fair_share, 0.875));
	assert_true(CLOSE(row("10.0.0.2")->fair_share, 0.125));
	client_rows_between(&rows, &before, &after, ROWS_DEVICE);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_int_equal(rows.n, 2);
	assert_string_equal(rows.row[0].device, "sdb");
	assert_string_equal(rows.row[1].device, "8:32");
	assert_int_equal(rows.row[1].clients, 2);
	assert_true(CLOSE(rows.busy[0], 0.75) && CLOSE(rows.busy[1], 0.25));
}

static void the_kernel_knows_better_how_busy_a_device_is(void **unused)
{
	before.device[0].timed = after.device[0].timed = true;
	before.device[0].busy_ms = 500;
	after.device[0].busy_ms = 2100;
	add_flow(&after, 0, 1, 7)->disk_us = 5;
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(CLOSE(rows.busy[0], 0.8));
	after.device[0].busy_ms = 9000; /* its clock is another one */
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_true(rows.busy[0] == 1);
}

static void waits_are_of_the_time_between(void **unused)
{
	struct sample_flow *f = add_flow(&before, 0, 1, 7), *g = add_flow(&after, 0, 1, 7);

	f->waits[24] = g->waits[24] = 1000; /* 8 to 16 s, long ago */
	g->wait_max_us = 16000000;
	g->waits[10] = 98; /* 512 to 1024 us */
	g->waits[13] = 2;  /* 4096 to 8192 us */
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_in_range(rows.row[0].p50_us, 512, 1024);
	assert_in_range(rows.row[0].p99_us, 4096, 8192);
	client_rows_between(&rows, NULL, &after, ROWS_CLIENT);
	assert_in_range(rows.row[0].p50_us, 8000000, 16000000);
	g->wait_max_us = 9000000;
	client_rows_between(&rows, NULL, &after, ROWS_CLIENT);
	assert_int_equal(rows.row[0].p99_us, 9000000); /* none may seem longer than the longest */
}

static void wait_for(struct sample_flow *f, unsigned int client, unsigned int export, uint64_t us)
{
	f->waited_for = (struct sample_who){.number = client, .export_id = export};
	snprintf(f->waited_for.client, sizeof(f->waited_for.client), "10.0.0.%u", client);
	f->waited_for_us = us;
}

static void whom_one_waited_for_most_is_named(void **unused)
{
	struct sample_flow *f = add_flow(&after, 0, 1, 7);

	add_flow(&before, 0, 1, 7)->waits[20] = 5;
	wait_for(f, 2, 7, 9000000);
	f->waits[20] = 5; /* long ago */
	f->waits[10] = 1;
	f = add_flow(&after, 0, 1, 8);
	wait_for(f, 3, 9, 5000);
	f->waits[13] = 1;
	f = add_flow(&after, 0, 2, 7);
	wait_for(f, 2, 8, 10);
	f->backlogged = true; /* and has waited since before */
	wait_for(add_flow(&after, 0, 4, 7), 2, 7, 1000);
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_string_equal(row("10.0.0.1")->waited_for, "10.0.0.3");
	assert_string_equal(row("10.0.0.2")->waited_for, "itself");
	assert_string_equal(row("10.0.0.4")->waited_for, ""); /* it did not wait */
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_string_equal(row("10.0.0.1")->waited_for, "10.0.0.2 7");
	assert_string_equal(row("10.0.0.2")->waited_for, "itself");
	client_rows_between(&rows, &before, &after, ROWS_EXPORT);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_string_equal(rows.row[0].waited_for, "7");
	assert_string_equal(rows.row[1].waited_for, "9");
}

static void rows_are_sorted_by_what_is_asked(void **unused)
{
	struct sample_flow *f;

	for (unsigned int c = 0; c < 4; c++) {
		f = add_flow(&after, 0, c, 7);
		f->disk_us = c == 0 ? 10 : 1;
		f->bytes[SAMPLE_PREFETCH] = c == 1 ? 10 : 1;
		f->served[SAMPLE_DEMAND] = c == 2 ? 10 : 1;
		f->waits[c == 3 ? 20 : 1] = 1;
		f->wait_max_us = 1 << 20;
	}
	add_flow(&after, 0, 9, 7); /* idle */
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	for (int order = 0; order < ORDERS; order++) {
		client_rows_sort(&rows, (enum rows_order)order);
		assert_int_equal(rows.row[0].client[strlen("10.0.0.")] - '0', order);
		assert_string_equal(rows.row[4].client, "10.0.0.9");
	}
}

static void all_places_taken(void **unused)
{
	for (unsigned int i = 0; i < SAMPLE_FLOWS_MAX; i++)
		add_flow(&after, 0, i, i)->disk_us = 1;
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	client_rows_sort(&rows, ORDER_LATENCY);
	assert_int_equal(rows.n, SAMPLE_FLOWS_MAX);
	assert_true(CLOSE(rows.row[0].fair_share, 1.0 / SAMPLE_FLOWS_MAX));
	client_rows_between(&rows, &before, &after, ROWS_DEVICE);
	assert_int_equal(rows.row[0].clients, SAMPLE_FLOWS_MAX);
}

/* ---- from and to JSON ------------------------------------------------------------------- */

static bool parse(const char *text)
{
	struct json_object *o = json_tokener_parse(text);
	bool done = use_sample_read(&after, o);

	json_object_put(o);
	return done;
}

static void an_answer_is_read(void **unused)
{
	const struct sample_flow *f = &after.flow[0];

	assert_true(parse("{\"ok\":true,\"uptime_s\":9,\"time_us\":12,\"devices\":[{\"device\":\"8:"
			  "16\",\"name\":"
			  "\"sd\\u001bb\",\"demand_queued\":true,\"running\":1,\"busy_ms\":77,"
			  "\"write_price\":0.5,"
			  "\"write_by\":\"disk\",\"flows_total\":3,\"flows\":[{\"client\":\"\","
			  "\"client_number\":17,"
			  "\"export\":7,\"group\":\"export\",\"queued_demand\":2,\"queued_"
			  "writeback\":3,\"joined\":4,"
			  "\"disk_time_demand_us\":5,\"disk_time_prefetch_us\":6,\"waits\":[0,1],"
			  "\"waited_for\":"
			  "{\"client\":\"10.0.0.2\",\"client_number\":2,\"export\":8,\"disk_time_"
			  "us\":99}},{}]}]}"));
	assert_string_equal(after.device[0].name, "sd?b");
	assert_true(after.device[0].timed && after.device[0].priced);
	assert_int_equal(after.device[0].flows_total, 3);
	assert_int_equal(after.flows, 2);
	assert_string_equal(f->who.client, "client 17");
	assert_true(f->of_export);
	assert_int_equal(f->queued, 9);
	assert_int_equal(f->disk_us, 11);
	assert_int_equal(f->waits[1], 1);
	assert_string_equal(f->waited_for.client, "10.0.0.2");
	assert_int_equal(f->waited_for_us, 99);
}

/* Another version of the server, or another program, may say anything. */
static void an_answer_of_another_shape_does_no_harm(void **unused)
{
	assert_false(parse("{\"ok\":false,\"error\":\"no\"}"));
	assert_false(parse("{\"time_us\":1,\"devices\":7}"));
	assert_true(
		parse("{\"time_us\":-1,\"devices\":[1,null,{\"flows\":[2,null,[]],\"name\":{}}]}"));
	assert_int_equal(after.time_us, 0);
	assert_int_equal(after.devices, 3);
	assert_int_equal(after.flows, 3);
	assert_true(parse("{\"time_us\":1,\"devices\":[{\"flows\":[{\"waits\":[-1,\"x\",{}],"
			  "\"waited_for\":3,\"export\":99999999999999}]}]}"));
	assert_int_equal(after.flow[0].who.export_id, UINT32_MAX);
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	assert_int_equal(rows.n, 1);
}

static void more_than_there_is_room_for_is_left_out(void **unused)
{
	struct json_object *o = json_object_new_object(), *devices = json_object_new_array();

	json_object_object_add(o, "time_us", json_object_new_int(1));
	json_object_object_add(o, "devices", devices);
	for (int i = 0; i < SAMPLE_DEVICES_MAX + 1; i++) {
		struct json_object *d = json_object_new_object(), *flows = json_object_new_array();

		for (int j = 0; j < 5; j++)
			json_object_array_add(flows, json_object_new_object());
		json_object_object_add(d, "flows", flows);
		json_object_array_add(devices, d);
	}
	assert_true(use_sample_read(&after, o));
	assert_int_equal(after.devices, SAMPLE_DEVICES_MAX);
	assert_int_equal(after.flows, SAMPLE_FLOWS_MAX);
	json_object_put(o);
}

static void programs_get_the_same_rows(void **unused)
{
	struct json_object *o, *r;

	after.device[0].priced = true;
	add_flow(&after, 0, 1, 7)->disk_us = 3;
	wait_for(add_flow(&after, 0, 2, 7), 1, 7, 5);
	after.flow[1].backlogged = true;
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	client_rows_sort(&rows, ORDER_SHARE);
	o = client_rows_json(&rows, &after);
	assert_string_equal(json_object_get_string(json_object_object_get(o, "by")), "flow");
	r = json_object_array_get_idx(json_object_object_get(o, "rows"), 0);
	assert_string_equal(json_object_get_string(json_object_object_get(r, "client")),
			    "10.0.0.1");
	assert_int_equal(json_object_get_int(json_object_object_get(r, "export")), 7);
	assert_true(json_object_get_double(json_object_object_get(r, "share")) == 1);
	r = json_object_array_get_idx(json_object_object_get(o, "rows"), 1);
	assert_string_equal(json_object_get_string(json_object_object_get(r, "waited_for")),
			    "10.0.0.1 7");
	r = json_object_array_get_idx(json_object_object_get(o, "devices"), 0);
	assert_string_equal(json_object_get_string(json_object_object_get(r, "name")), "sdb");
	json_object_put(o);
}

static void exports_say_what_reads_found(void **unused)
{
	const struct sample_reads was = {100, 50, 1000, 500, 100}, is = {120, 65, 3000, 1400, 200};

	add_flow(&before, 0, 1, 7);
	add_flow(&after, 0, 1, 7)->disk_us = 5;
	after.counted = true;
	before.all = before.export[0].reads = was;
	after.all = after.export[0].reads = is;
	before.export[0].id = after.export[0].id = 7;
	before.exports = after.exports = 1;
	client_rows_between(&rows, &before, &after, ROWS_EXPORT);
	assert_true(rows.counted && CLOSE(rows.reads_per_s, 10) && CLOSE(rows.fetched_per_s, 1000));
	assert_true(CLOSE(rows.hit, 0.75) && CLOSE(rows.waste, 0.1));
	assert_true(CLOSE(rows.row[0].hit, 0.75) && CLOSE(rows.row[0].waste, 0.1));
	client_rows_between(&rows, &after, &after, ROWS_CLIENT);
	assert_true(rows.hit < 0 && rows.waste < 0 && rows.row[0].hit < 0);
}

/* One whose READs memory alone answered uses no device, and has a row all the same. */
static void clients_say_what_their_reads_found(void **unused)
{
	static const char text[] =
		"{\"time_us\":9000000,\"uptime_s\":102,\"devices\":[],\"readers_total\":3,"
		"\"readers\":["
		"{\"client\":\"10.0.0.1\",\"reads\":20,\"resident\":15,\"used_bytes\":900,"
		"\"wasted_bytes\":100},"
		"{\"client\":\"10.0.0.2\",\"reads\":7,\"resident\":7},"
		"{\"client\":\"10.0.0.3\",\"reads\":4,\"resident\":4}]}";
	struct json_object *answer = json_tokener_parse(text);

	assert_true(use_sample_read(&after, answer));
	add_device(&after, "8:16", "sdb");
	add_flow(&after, 0, 1, 7)->disk_us = 5;
	before.readers = before.readers_total = 2;
	snprintf(before.reader[0].client, SAMPLE_NAME, "10.0.0.3");
	before.reader[0].reads = (struct sample_reads){.reads = 4, .resident = 4};
	client_rows_between(&rows, &before, &after, ROWS_CLIENT);
	assert_int_equal(rows.n, 3);
	assert_int_equal(rows.idle, 1);
	assert_true(CLOSE(row("10.0.0.1")->hit, 0.75) && CLOSE(row("10.0.0.1")->waste, 0.1));
	assert_true(CLOSE(row("10.0.0.2")->hit, 1) && row("10.0.0.2")->waste < 0);
	assert_true(row("10.0.0.2")->active && row("10.0.0.2")->share == 0);
	assert_true(!row("10.0.0.3")->active && row("10.0.0.3")->hit < 0);
	client_rows_between(&rows, &before, &after, ROWS_FLOW);
	assert_int_equal(rows.n, 1);
	assert_true(rows.row[0].hit < 0);
	json_object_put(answer);
}

static void files_have_rates(void **unused)
{
	static const char text[] =
		"{\"files\":[{\"file\":5,\"name\":\"sdb\",\"reads\":30,\"read_bytes\":3000,"
		"\"effectiveness\":0.75,\"path\":\"/a/very/long/path/of/which/the/end/tells/what/"
		"it/is\"},"
		"{\"file\":6,\"reads\":4,\"read_bytes\":9000,\"path\":\"/b\\u001b[2J\"}],"
		"\"files_total\":2}";
	struct json_object *answer = json_tokener_parse(text), *o;

	before.files = 1;
	before.file[0] = (struct sample_file){.file = 5, .reads = 10, .bytes = 1000};
	snprintf(before.file[0].device, sizeof(before.file[0].device), "sdb");
	assert_true(use_sample_read_files(&after, answer));
	client_rows_between(&rows, &before, &after, ROWS_FILE);
	client_rows_sort(&rows, ORDER_SHARE);
	assert_int_equal(rows.n, 2);
	assert_string_equal(rows.row[0].path, "/b?[2J");
	assert_true(CLOSE(rows.row[0].bytes_per_s[SAMPLE_DEMAND], 4500) && rows.row[0].waste < 0);
	assert_string_equal(rows.row[1].path, "~ry/long/path/of/which/the/end/tells/what/it/is");
	assert_true(CLOSE(rows.row[1].bytes_per_s[SAMPLE_DEMAND], 1000) &&
		    CLOSE(rows.row[1].requests_per_s, 10) && CLOSE(rows.row[1].waste, 0.25));
	o = client_rows_json(&rows, &after);
	assert_non_null(strstr(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
			       "\"read_bytes_per_s\":1000,\"requests_per_s\":10"));
	json_object_put(o);
	json_object_put(answer);
	answer = json_tokener_parse("{\"files\":7}");
	assert_false(use_sample_read_files(&after, answer));
	json_object_put(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rates_are_of_the_time_between, set_up),
		cmocka_unit_test_setup(without_a_sample_before_it_is_since_the_start, set_up),
		cmocka_unit_test_setup(a_flow_that_came_again_counts_from_nothing, set_up),
		cmocka_unit_test_setup(a_flow_that_was_left_out_has_no_rate, set_up),
		cmocka_unit_test_setup(fair_shares_follow_the_weights_of_who_is_active, set_up),
		cmocka_unit_test_setup(shares_are_of_all_devices_time, set_up),
		cmocka_unit_test_setup(the_kernel_knows_better_how_busy_a_device_is, set_up),
		cmocka_unit_test_setup(waits_are_of_the_time_between, set_up),
		cmocka_unit_test_setup(whom_one_waited_for_most_is_named, set_up),
		cmocka_unit_test_setup(rows_are_sorted_by_what_is_asked, set_up),
		cmocka_unit_test_setup(all_places_taken, set_up),
		cmocka_unit_test_setup(an_answer_is_read, set_up),
		cmocka_unit_test_setup(an_answer_of_another_shape_does_no_harm, set_up),
		cmocka_unit_test_setup(more_than_there_is_room_for_is_left_out, set_up),
		cmocka_unit_test_setup(programs_get_the_same_rows, set_up),
		cmocka_unit_test_setup(exports_say_what_reads_found, set_up),
		cmocka_unit_test_setup(clients_say_what_their_reads_found, set_up),
		cmocka_unit_test_setup(files_have_rates, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
