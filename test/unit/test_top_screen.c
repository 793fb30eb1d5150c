/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Rows -> the screen of `ractl top`: what is there at 80 x 24, what is left out where it is narrower or
 * lower, and that no line is ever longer or has anything but printable characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include "control/top_screen.h"

static struct use_sample sample;
static struct client_rows rows;
static struct screen screen;
static struct screen_view view;

static void add_device(const char *name)
{
	struct sample_device *d = &sample.device[sample.devices];

	*d = (struct sample_device){
		.demand_queued = true,
		.queued = {12, 4, 1},
		.running = 1,
		.priced = true,
		.write_price = 0.309,
		.readahead_price = 0.25,
		.write_by = "disk",
		.readahead_by = "network",
		.flows_total = 2,
		.flows = 2,
	};
	snprintf(d->name, sizeof(d->name), "%s", name);
	rows.busy[sample.devices++] = 0.971;
}

static struct client_row *add_row(const char *client)
{
	struct client_row *r = &rows.row[rows.n++];

	*r = (struct client_row){
		.export_id = -1,
		.flows = 1,
		.clients = 1,
		.active = true,
		.weight = 100,
		.bytes_per_s = {1000000, 42100000, 300000},
		.requests_per_s = 1234.4,
		.refused_per_s = 7,
		.share = 0.45,
		.fair_share = 1.0 / 3,
		.queued = 3,
		.running = 1,
		.held = 65536,
		.hit = 0.931,
		.p50_us = 8200,
		.p99_us = 33000,
	};
	snprintf(r->client, sizeof(r->client), "%s", client);
	snprintf(r->waited_for, sizeof(r->waited_for), "10.0.0.18");
	return r;
}

static int set_up(void **unused)
{
	memset(&sample, 0, sizeof(sample));
	memset(&rows, 0, sizeof(rows));
	sample.uptime_s = 3 * 86400 + 4 * 3600 + 5 * 60;
	sample.flows = 2;
	rows.seconds = 1;
	add_device("sdb");
	view = (struct screen_view){.title = "ractl top", .help = true};
	return 0;
}

static void draw(unsigned int width, unsigned int height)
{
	memset(&screen, 0x7f, sizeof(screen));
	screen.width = width;
	screen.height = height;
	screen_draw(&screen, &view, &rows, &sample);
	assert_in_range(screen.lines, 1, height);
	for (unsigned int i = 0; i < screen.lines; i++) {
		assert_in_range(strlen(screen.line[i]), 0, width);
		for (const char *c = screen.line[i]; *c; c++)
			assert_in_range(*c, ' ', '~');
	}
}

static void a_screen_of_80_by_24(void **unused)
{
	add_row("10.0.0.17")->waste = -1;
	add_row("10.0.0.180")->waste = 0.125;
	draw(80, 24);
	assert_int_equal(screen.lines, 24);
	assert_string_equal(screen.line[0],
			    "ractl top  up 3 d 04:05  clients by share, last 1.0 s, 2 flows");
	assert_string_equal(screen.line[1], "DEVICE    BUSY%  READS PREFETCH WRITES RUNNING  "
					    "WRITE PRICE    READ-AHEAD PRICE");
	assert_string_equal(screen.line[2], "sdb        97.1     12        4      1       1  "
					    "0.309 disk     0.250 network");
	assert_string_equal(screen.line[3], "");
	assert_int_equal(screen.heading, 4);
	assert_string_equal(screen.line[4], "CLIENT             MB/s   IOPS SHARE% FAIR%  HIT% "
					    "WASTE%  p50ms  p99ms QUEUE");
	assert_string_equal(screen.line[5], "10.0.0.17          43.4   1234   45.0  33.3  93.1 "
					    "     -    8.2   33.0     4");
	assert_string_equal(screen.line[6], "10.0.0.180         43.4   1234   45.0  33.3  93.1 "
					    "  12.5    8.2   33.0     4");
	assert_string_equal(screen.line[7], "");
	assert_non_null(strstr(screen.line[23], "q quit"));
}

static void wide_screens_have_all_columns(void **unused)
{
	add_row("2001:db8:1234:5678:9abc:def0:1234:5678");
	draw(200, 24);
	assert_string_equal(
		screen.line[4],
		"CLIENT                                    MB/s WRITTEN   IOPS SHARE% FAIR%  "
		"HIT% WASTE%  p50ms  p99ms QUEUE KiB HELD REFUSED/s WEIGHT WAITS FOR");
	assert_string_equal(
		screen.line[5],
		"2001:db8:1234:5678:9abc:def0:1234:5678    43.4     0.3   1234   45.0  33.3  "
		"93.1    0.0    8.2   33.0     4       64         7    100 10.0.0.18");
	draw(80, 24); /* the end tells addresses apart */
	assert_non_null(strstr(screen.line[5], ":def0:1234:5678 "));
	assert_int_equal(screen.line[5][0], '~');
}

static void narrow_screens_keep_what_matters(void **unused)
{
	add_row("10.0.0.17");
	draw(60, 24);
	assert_string_equal(screen.line[4],
			    "CLIENT             MB/s   IOPS SHARE% FAIR% WASTE%  p99ms");
	draw(40, 24);
	assert_string_equal(screen.line[4], "CLIENT             MB/s SHARE%  p99ms");
	draw(20, 24); /* cut */
	assert_string_equal(screen.line[4], "CLIENT             M");
}

static void low_screens_say_what_is_missing(void **unused)
{
	for (unsigned int i = 0; i < 30; i++)
		add_row("10.0.0.17");
	draw(80, 24);
	assert_string_equal(screen.line[22], "... 13 more");
	for (unsigned int i = 0; i < 20; i++)
		add_device("sdc");
	draw(80, 24);
	assert_string_equal(screen.line[11], "... 12 more");
	assert_int_equal(screen.heading, 13);
	assert_string_equal(screen.line[22], "... 22 more");
}

static void any_size_is_fit_for_something(void **unused)
{
	static const enum rows_by by[] = {ROWS_CLIENT, ROWS_EXPORT, ROWS_DEVICE, ROWS_FLOW,
					  ROWS_FILE};

	for (unsigned int i = 0; i < SAMPLE_FLOWS_MAX; i++)
		add_row("2001:db8:1234:5678:9abc:def0:1234:5678")->held = UINT64_MAX;
	for (unsigned int i = 1; i < SAMPLE_DEVICES_MAX; i++)
		add_device("a-name-that-is-too-long");
	for (unsigned int i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		rows.by = by[i];
		for (unsigned int width = 1; width <= SCREEN_WIDTH_MAX; width += 15)
			for (unsigned int height = 1; height < 40; height++)
				draw(width, height);
		draw(SCREEN_WIDTH_MAX, SCREEN_LINES_MAX);
	}
	view.help = false;
	draw(SCREEN_WIDTH_MAX, SCREEN_LINES_MAX);
	assert_int_equal(screen.lines, 2 + SAMPLE_DEVICES_MAX + 2 + SAMPLE_FLOWS_MAX);
}

static void each_view_has_its_columns(void **unused)
{
	struct client_row *r = add_row("");

	r->export_id = 7;
	r->clients = 5;
	rows.by = ROWS_EXPORT;
	draw(80, 24);
	assert_string_equal(screen.line[4],
			    "EXPORT CLIENTS    MB/s   IOPS SHARE% FAIR%  HIT% WASTE%  "
			    "p50ms  p99ms QUEUE");
	rows.by = ROWS_DEVICE;
	snprintf(r->device, sizeof(r->device), "sdb");
	draw(80, 24);
	assert_string_equal(
		screen.line[4],
		"DEVICE    CLIENTS    MB/s   IOPS SHARE%  p50ms  p99ms QUEUE KiB HELD REFUSED/s");
	rows.by = ROWS_FLOW;
	draw(80, 24);
	assert_string_equal(screen.line[4],
			    "CLIENT          EXPORT    MB/s   IOPS SHARE% FAIR%  p99ms "
			    "QUEUE WAITS FOR");
	assert_string_equal(screen.line[5],
			    "                     7    43.4   1234   45.0  33.3   33.0 "
			    "    4 10.0.0.18");
	r->throttled = true;
	draw(80, 24);
	assert_non_null(strstr(screen.line[5], " its ceiling"));
}

static void files_and_what_reads_found(void **unused)
{
	struct client_row *r = add_row("");

	snprintf(r->path, sizeof(r->path), "/srv/nfs/film");
	snprintf(r->device, sizeof(r->device), "sdb");
	r->waste = 0.125;
	r->streams = 2;
	r->unread = 5 << 20;
	r->idle_ms = 1500;
	r = add_row("");
	r->file = 1234;
	r->waste = -1;
	rows.by = ROWS_FILE;
	rows.counted = true;
	rows.reads_per_s = 1234;
	rows.hit = 0.931;
	rows.fetched_per_s = 40.2e6;
	rows.waste = -1;
	draw(80, 24);
	assert_string_equal(screen.line[1],
			    "1234 READs/s, 93.1 % in memory; 40.2 MB/s fetched ahead, - % wasted");
	assert_string_equal(screen.line[5], "FILE            DEVICE       MB/s   IOPS SHARE% "
					    "WASTE% STREAMS UNREAD KiB IDLE s");
	assert_string_equal(screen.line[6], "/srv/nfs/film   sdb          43.4   1234   45.0 "
					    "  12.5       2       5120    1.5");
	assert_non_null(strstr(screen.line[7], "inode 1234 "));
	assert_non_null(strstr(screen.line[7], "      - "));
}

static void a_log_has_only_who_is_active(void **unused)
{
	add_row("10.0.0.17");
	add_row("10.0.0.18")->active = false;
	add_row("10.0.0.19");
	rows.idle = 1;
	view = (struct screen_view){.title = "2026-11-21 14:03:07", .active_only = true};
	draw(SCREEN_WIDTH_MAX, SCREEN_LINES_MAX);
	assert_int_equal(screen.lines, 7);
	assert_string_equal(screen.line[0], "2026-11-21 14:03:07  up 3 d 04:05  clients by share, "
					    "last 1.0 s, 2 flows, active");
	assert_non_null(strstr(screen.line[6], "10.0.0.19"));
}

static void what_is_not_there_is_said(void **unused)
{
	sample.device[0].priced = sample.device[0].demand_queued = false;
	sample.device[0].flows_total = 4000;
	rows.from_start = true;
	view.help = false;
	draw(80, 24);
	assert_string_equal(screen.line[0],
			    "ractl top  up 3 d 04:05  clients by share, since the start, "
			    "2 of 4000 flows");
	assert_string_equal(screen.line[2], "sdb        97.1 direct        4      1       1  "
					    "-              -");
	assert_string_equal(screen.line[5], "no client has used a device yet");
	sample.devices = 0;
	draw(80, 24);
	assert_string_equal(screen.line[1],
			    "no device is in use: no export is on a local file system");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_screen_of_80_by_24, set_up),
		cmocka_unit_test_setup(wide_screens_have_all_columns, set_up),
		cmocka_unit_test_setup(narrow_screens_keep_what_matters, set_up),
		cmocka_unit_test_setup(low_screens_say_what_is_missing, set_up),
		cmocka_unit_test_setup(any_size_is_fit_for_something, set_up),
		cmocka_unit_test_setup(each_view_has_its_columns, set_up),
		cmocka_unit_test_setup(files_and_what_reads_found, set_up),
		cmocka_unit_test_setup(a_log_has_only_who_is_active, set_up),
		cmocka_unit_test_setup(what_is_not_there_is_said, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
