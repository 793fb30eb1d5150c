/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What status, devices, prices, shares, stats and trace look like. */
#include "control/show.h"
#include "control/show_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_duration(int64_t s)
{
	if (s >= 86400)
		printf("%" PRId64 " d ", s / 86400);
	if (s >= 3600)
		printf("%" PRId64 " h ", s / 3600 % 24);
	if (s >= 60)
		printf("%" PRId64 " min ", s / 60 % 60);
	printf("%" PRId64 " s", s % 60);
}

/* ractl comes with the plugin, so its version is that of the one installed. */
static void show_plugin_file(struct json_object *answer)
{
	const char *is = text_of(answer, "plugin_file");

	if (strcmp(is, "replaced") == 0)
		printf("another one (%s) was installed since: it is used from the server's next "
		       "start on\n",
		       RA_VERSION);
	else if (strcmp(is, "removed") == 0)
		printf("its file was removed since: the server's next start will not find it\n");
}

/* Whether there are more than EXPORTS, which were listed. */
static void show_rest(struct json_object *answer, struct json_object *exports)
{
	if ((uint64_t)number_of(answer, "exports_total") > json_object_array_length(exports))
		printf("... of %s exports\n", text_of(answer, "exports_total"));
}

void show_status(struct json_object *answer)
{
	static const struct column columns[] = {
		{"EXPORT", "export", COUNT},
		{"PENDING", "pending", COUNT},
		{"HEURISTIC", "heuristic", TEXT},
	};
	struct json_object *exports = array_of(answer, "exports");

	printf("FSAL RA %s, Ganesha FSAL API %s, process %s, up ", text_of(answer, "version"),
	       text_of(answer, "ganesha_api"), text_of(answer, "pid"));
	print_duration(number_of(answer, "uptime_s"));
	printf("\n");
	show_plugin_file(answer);
	if (!exports) {
		printf("no exports\n");
		return;
	}
	PRINT_TABLE(exports, columns);
	show_rest(answer, exports);
}

/* The drives' own queues, and what is made of them. */
static void show_drives(struct json_object *devices)
{
	static const struct column drives[] = {
		{"DEVICE", "device", TEXT},
		{"SPINDLES", "spindles", COUNT},
		{"DRIVE QUEUE", "drive_queue", COUNT},
		{"TOGETHER", "together", COUNT},
		{"MOST", "together_max", COUNT},
		{"A READ ms: ALONE", "alone_read_us", MILLISECONDS},
		{"TOGETHER", "together_read_us", MILLISECONDS},
		{"WHY", "together_why", TEXT},
	};

	printf("\n");
	PRINT_TABLE(devices, drives);
}

/* What they are called by their drives, where the first of them is. */
static void show_identities(struct json_object *devices)
{
	static const struct column identities[] = {
		{"DEVICE", "device", TEXT},
		{"LEARNT BEFORE", "restored", TEXT},
		{"SERIAL", "identity", TEXT},
	};

	if (!json_object_object_get_ex(json_object_array_get_idx(devices, 0), "identity", NULL))
		return;
	printf("\n");
	PRINT_TABLE(devices, identities);
}

void show_devices(struct json_object *answer)
{
	static const struct column queues[] = {
		{"DEVICE", "device", TEXT},
		{"NAME", "name", TEXT},
		{"SCHEDULER", "scheduler", TEXT},
		{"DEPTH", "depth", COUNT},
		{"RUNNING", "running", COUNT},
		{"DEMAND", "queued_demand", COUNT},
		{"PREFETCH", "queued_prefetch", COUNT},
		{"WRITE", "queued_writeback", COUNT},
		{"DEMAND MB/s", "demand_bytes_per_s", MEGABYTES},
		{"PREFETCH MB/s", "prefetch_bytes_per_s", MEGABYTES},
		{"WRITE MB/s", "writeback_bytes_per_s", MEGABYTES},
	};
	static const struct column waits[] = {
		{"DEVICE", "device", TEXT},
		{"WAIT p50 ms", "wait_p50_us", MILLISECONDS},
		{"p90", "wait_p90_us", MILLISECONDS},
		{"p99", "wait_p99_us", MILLISECONDS},
		{"max", "wait_max_us", MILLISECONDS},
		{"SEEK ms", "seek_us", MILLISECONDS},
		{"MEDIA MB/s", "media_bytes_per_s", MEGABYTES},
		{"CHUNK KiB", "chunk_bytes", KIBIBYTES},
	};
	struct json_object *devices = array_of(answer, "devices");

	if (!devices) {
		printf("no device is in use: no export is on a local file system\n");
		return;
	}
	PRINT_TABLE(devices, queues);
	printf("\n");
	PRINT_TABLE(devices, waits);
	show_drives(devices);
	show_identities(devices);
}

void show_scheduler(struct json_object *answer)
{
	static const struct column columns[] = {
		{"DEVICE", "device", TEXT},
		{"NAME", "name", TEXT},
		{"BEFORE", "before", TEXT},
		{"SCHEDULER", "scheduler", TEXT},
	};
	struct json_object *devices = array_of(answer, "devices");

	if (devices)
		PRINT_TABLE(devices, columns);
}

void show_heuristic(struct json_object *answer)
{
	int64_t n = number_of(answer, "exports_changed");

	printf("%s for %" PRId64 " export%s\n", text_of(answer, "heuristic"), n, n == 1 ? "" : "s");
}

/* What clients are told: who used much of the device, who little. */
static void show_client_prices(struct json_object *device)
{
	static const struct column columns[] = {
		{"CLIENT", "client", TEXT},	 {"EXPORT", "export", COUNT},
		{"WEIGHT", "weight", COUNT},	 {"USED", "use", SHARE},
		{"SHARE", "entitled", SHARE},	 {"RATIO", "ratio", SHARE},
		{"WRITE", "write_price", SHARE}, {"READ-AHEAD", "readahead_price", SHARE},
	};
	struct json_object *clients = array_of(device, "clients");
	size_t listed = clients ? json_object_array_length(clients) : 0;

	if (!clients)
		return;
	printf("told to clients, by what they used of the disk's time lately:\n");
	PRINT_TABLE(clients, columns);
	if ((uint64_t)number_of(device, "clients_total") > listed)
		printf("... of %s clients\n", text_of(device, "clients_total"));
}

/* A row for each resource: the table has the device's members beside them. */
static void show_device_prices(struct json_object *device)
{
	static const struct column columns[] = {
		{"RESOURCE", "resource", TEXT},
		{"UTILIZATION", "utilization", SHARE},
		{"PRICE", "price", SHARE},
		{"k", "k", COUNT},
	};
	struct json_object *resources = array_of(device, "resources"), *value;

	printf("device %s (%s)", text_of(device, "device"), text_of(device, "name"));
	if (!resources) {
		printf(": no prices yet\n\n");
		return;
	}
	printf(", %s ms ago: writes %.3f (%s), read-ahead %.3f (%s)\n", text_of(device, "age_ms"),
	       real_of(device, "write_price"), text_of(device, "write_by"),
	       real_of(device, "readahead_price"), text_of(device, "readahead_by"));
	PRINT_TABLE(resources, columns);
	printf("requests waiting and under way: %.1f, saturated at %.0f\n",
	       real_of(device, "queue_length"), real_of(device, "queue_saturation"));
	for (size_t r = 0; r < json_object_array_length(resources); r++)
		if (json_object_object_get_ex(json_object_array_get_idx(resources, r), "unknown",
					      &value))
			printf("the use of the %s cannot be measured here: it costs nothing\n",
			       text_of(json_object_array_get_idx(resources, r), "resource"));
	show_client_prices(device);
	printf("\n");
}

void show_prices(struct json_object *answer)
{
	static const struct column columns[] = {
		{"EXPORT", "export", COUNT},
		{"WRITE", "write_price", SHARE},
		{"READ-AHEAD", "readahead_price", SHARE},
		{"OBEYED", "price_readahead", TEXT},
		{"CURBED", "curbed", COUNT},
		{"EFFECTIVENESS", "effectiveness", SHARE},
		{"FSSTAT SAYS", "fsstat", TEXT},
	};
	struct json_object *devices = array_of(answer, "devices"),
			   *exports = array_of(answer, "exports");

	if (!devices)
		printf("no device is in use: no export is on a local file system\n");
	for (size_t i = 0; devices && i < json_object_array_length(devices); i++)
		show_device_prices(json_object_array_get_idx(devices, i));
	if (!exports)
		return;
	PRINT_TABLE(exports, columns);
	show_rest(answer, exports);
}

void show_shares(struct json_object *answer)
{
	static const struct column columns[] = {
		{"RULE", "rule", COUNT},
		{"WEIGHT", "weight", COUNT},
		{"FLOOR MB/s", "floor_bytes_per_s", MEGABYTES},
		{"req/s", "floor_iops", COUNT},
		{"time", "floor_time", SHARE},
		{"CEILING MB/s", "ceiling_bytes_per_s", MEGABYTES},
		{"req/s", "ceiling_iops", COUNT},
		{"time", "ceiling_time", SHARE},
		{"BY", "by", TEXT},
		{"CLIENTS", "clients", TEXT},
	};
	struct column of_export[8];
	struct json_object *rules = array_of(answer, "rules"),
			   *exports = array_of(answer, "exports");

	memcpy(of_export, columns, sizeof(of_export));
	of_export[0] = (struct column){"EXPORT", "export", COUNT};
	if (rules)
		PRINT_TABLE(rules, columns);
	printf("\n");
	if (exports)
		PRINT_TABLE(exports, of_export);
	else
		printf("no export has a share of its own\n");
}

static void print_members(struct json_object *object, const char *title)
{
	printf("\n%s\n", title);
	json_object_object_foreach(object, name,
				   value) if (json_object_is_type(value, json_type_int))
		printf("  %-24s %20s\n", name, json_object_get_string(value));
}

void show_stats(struct json_object *answer)
{
	struct json_object *part, *devices = array_of(answer, "devices");
	char title[96];

	printf("since the start or the last reset, ");
	print_duration(number_of(answer, "seconds"));
	printf(" ago%s\n", json_object_get_boolean(json_object_object_get(answer, "reset"))
				   ? "; reset now"
				   : "");
	if (json_object_object_get_ex(answer, "counters", &part))
		print_members(part, "reads and prefetches");
	if (json_object_object_get_ex(answer, "engine", &part))
		print_members(part, "read-ahead engine (now)");
	if (json_object_object_get_ex(answer, "writing", &part))
		print_members(part, "writing: memory and disk now, the rest since the start");
	for (size_t i = 0; devices && i < json_object_array_length(devices); i++) {
		part = json_object_array_get_idx(devices, i);
		snprintf(title, sizeof(title), "device %s (%s)", text_of(part, "device"),
			 text_of(part, "name"));
		print_members(part, title);
	}
}

/* 14:03:07.123456 plan    file 1234  offset=0 length=8388608 ... */
static void show_record(struct json_object *record)
{
	int64_t us = number_of(record, "time_us");
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	localtime_r(&s, &tm);
	printf("%02d:%02d:%02d.%06d %-8s file %-20s", tm.tm_hour, tm.tm_min, tm.tm_sec,
	       (int)(us % 1000000), text_of(record, "event"), text_of(record, "file"));
	json_object_object_foreach(record, name, value)
	{
		if (strcmp(name, "number") && strcmp(name, "time_us") && strcmp(name, "event") &&
		    strcmp(name, "file"))
			printf(" %s=%s", name, json_object_get_string(value));
	}
	printf("\n");
}

void show_trace(struct json_object *answer)
{
	struct json_object *records = array_of(answer, "records");
	int64_t missed = number_of(answer, "missed");

	if (missed)
		printf("... %" PRId64 " decisions were not seen: too many at once\n", missed);
	for (size_t i = 0; records && i < json_object_array_length(records); i++)
		show_record(json_object_array_get_idx(records, i));
}
