/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See metrics.h. A family is a line of a table: the member of the answer that it shows, its name, its type, and how
 * many of the member's units its own is. What the server does not send is left out.
 */
#include "control/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PREFIX "nfs_ganesha_ra_"

struct family {
	const char *member, *name, *type, *help;
	double scale;	   /* what the member is multiplied by */
	const char *label; /* NAME="VALUE", the same in each sample; NULL: none */
};

#define N(families) (sizeof(families) / sizeof((families)[0]))

/* ---- values ------------------------------------------------------------------------------ */

/* Quotes, backslashes and newlines in a label's value mean something to the format. */
static void print_value(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			fputc(*text, out);
	}
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

/* NAME{OWNER="WHOSE",LABEL} VALUE, where OWNER and LABEL may be NULL. */
static void print_sample(FILE *out, const struct family *f, const char *owner, const char *whose,
			 double value)
{
	fprintf(out, PREFIX "%s", f->name);
	if (owner != NULL || f->label != NULL)
		fputc('{', out);
	if (owner != NULL) {
		fprintf(out, "%s=\"", owner);
		print_value(out, whose);
		fprintf(out, "\"%s", f->label != NULL ? "," : "");
	}
	if (f->label != NULL)
		fputs(f->label, out);
	if (owner != NULL || f->label != NULL)
		fputc('}', out);
	fprintf(out, " %.15g\n", value);
}

/* What OBJECTS are called: an export by its number, a device by its name, else by its number. */
static const char *whose(struct json_object *o, const char *owner)
{
	struct json_object *value;

	if (strcmp(owner, "device") == 0 && json_object_object_get_ex(o, "name", &value))
		return json_object_get_string(value);
	return json_object_object_get_ex(o, owner, &value) ? json_object_get_string(value) : "";
}

/* ---- families ---------------------------------------------------------------------------- */

/* Of one object, or of each of an array's, which are OWNER's. Families of one name stand together. */
static void print_families(FILE *out, struct json_object *from, const char *owner,
			   const struct family *f, size_t n)
{
	size_t objects = owner != NULL ? json_object_array_length(from) : 1;
	struct json_object *value, *o;

	for (size_t i = 0; i < n; i++) {
		bool headed = i > 0 && strcmp(f[i].name, f[i - 1].name) == 0;

		for (size_t k = 0; k < objects; k++) {
			o = owner != NULL ? json_object_array_get_idx(from, k) : from;
			if (!json_object_object_get_ex(o, f[i].member, &value))
				continue;
			if (!headed)
				print_head(out, f[i].name, f[i].type, f[i].help);
			headed = true;
			print_sample(out, &f[i], owner, owner != NULL ? whose(o, owner) : NULL,
				     json_object_get_double(value) * f[i].scale);
		}
	}
}

/* ---- histograms -------------------------------------------------------------------------- */

/* Bucket b counts waits below 2^b us; below and above these bounds they are summed up. */
#define BUCKET_FIRST 7	/* 128 us */
#define BUCKET_LAST  26 /* 67 s */

static void print_bucket(FILE *out, const char *name, const char *labels, const char *le,
			 uint64_t count)
{
	fprintf(out, PREFIX "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels,
		labels[0] ? "," : "", le, count);
}

static void print_histogram(FILE *out, const char *name, const char *labels,
			    struct json_object *waits, double sum)
{
	size_t n = json_object_array_length(waits);
	uint64_t count = 0;
	char le[32];

	for (size_t b = 0; b < n || b <= BUCKET_LAST; b++) {
		if (b < n)
			count += (uint64_t)json_object_get_int64(
				json_object_array_get_idx(waits, b));
		if (b < BUCKET_FIRST || b > BUCKET_LAST)
			continue;
		snprintf(le, sizeof(le), "%.9g", (double)(UINT64_C(1) << b) / 1e6);
		print_bucket(out, name, labels, le, count);
	}
	print_bucket(out, name, labels, "+Inf", count);
	fprintf(out, PREFIX "%s_sum%s%s%s %.9g\n", name, labels[0] ? "{" : "", labels,
		labels[0] ? "}" : "", sum);
	fprintf(out, PREFIX "%s_count%s%s%s %" PRIu64 "\n", name, labels[0] ? "{" : "", labels,
		labels[0] ? "}" : "", count);
}

static void print_read_waits(FILE *out, struct json_object *devices)
{
	struct json_object *o, *waits, *sum;
	char labels[128];
	bool headed = false;

	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		o = json_object_array_get_idx(devices, i);
		if (!json_object_object_get_ex(o, "waits", &waits) ||
		    !json_object_object_get_ex(o, "waited_us", &sum))
			continue;
		if (!headed)
			print_head(out, "device_read_wait_seconds", "histogram",
				   "How long reads of clients waited in the device's queue.");
		headed = true;
		snprintf(labels, sizeof(labels), "device=\"%s\"", whose(o, "device"));
		print_histogram(out, "device_read_wait_seconds", labels, waits,
				json_object_get_double(sum) / 1e6);
	}
}

static void print_commit_waits(FILE *out, struct json_object *writing)
{
	struct json_object *waits, *sum;

	if (!json_object_object_get_ex(writing, "commit_waits", &waits) ||
	    !json_object_object_get_ex(writing, "commit_waited_us", &sum))
		return;
	print_head(out, "commit_wait_seconds", "histogram",
		   "How long COMMITs took, with the file system's fsync.");
	print_histogram(out, "commit_wait_seconds", "", waits, json_object_get_double(sum) / 1e6);
}

/* ---- all --------------------------------------------------------------------------------- */

#define COUNTER "counter"
#define GAUGE	"gauge"

static const struct family of_server[] = {
	{"uptime_s", "uptime_seconds", GAUGE, "Time since the start of the server.", 1, NULL},
};

static const struct family of_exports[] = {
	{"reads", "reads_total", COUNTER, "READs of clients.", 1, NULL},
	{"read_bytes", "read_bytes_total", COUNTER, "Bytes that they asked for.", 1, NULL},
	{"resident", "reads_resident_total", COUNTER, "READs that found their data in memory.", 1,
	 NULL},
	{"joined", "reads_joined_total", COUNTER, "READs that waited for a prefetch.", 1, NULL},
	{"late", "reads_late_total", COUNTER, "READs that came to a prefetch submitted before.", 1,
	 NULL},
	{"demand", "reads_demand_total", COUNTER, "READs that went to the disk by themselves.", 1,
	 NULL},
	{"along_bytes", "reads_along_bytes_total", COUNTER,
	 "Bytes that these brought along besides their own, at most.", 1, NULL},
	{"chunks", "prefetches_total", COUNTER, "Prefetches.", 1, NULL},
	{"prefetched_bytes", "prefetched_bytes_total", COUNTER,
	 "Bytes that the disk brought ahead of a reader.", 1, NULL},
	{"used_bytes", "prefetched_used_bytes_total", COUNTER,
	 "Bytes planned ahead of a reader that were read.", 1, NULL},
	{"wasted_bytes", "prefetched_wasted_bytes_total", COUNTER,
	 "Bytes that came ahead of a reader and were given up unread.", 1, NULL},
	{"prefetch_errors", "prefetch_errors_total", COUNTER, "Prefetches that failed.", 1, NULL},
	{"refused", "prefetches_refused_total", COUNTER,
	 "Prefetches not made for want of Readahead_Memory.", 1, NULL},
	{"curbed", "prefetches_curbed_total", COUNTER,
	 "Prefetches made smaller, or not at all, for the price.", 1, NULL},
};

static const struct family of_engine[] = {
	{"unread_bytes", "readahead_unread_bytes", GAUGE, "Bytes fetched ahead and not yet read.",
	 1, NULL},
	{"readahead_memory_bytes", "readahead_memory_bytes", GAUGE, "The bound of these.", 1, NULL},
	{"streams", "readahead_streams", GAUGE, "Streams with data fetched and unread.", 1, NULL},
	{"table_entries", "files", GAUGE, "Files whose access pattern is remembered.", 1, NULL},
	{"table_evictions", "files_evicted_total", COUNTER, "Files forgotten for others.", 1, NULL},
	{"cursors_used", "cursors", GAUGE, "Runs of reads that are followed.", 1, NULL},
	{"cursors_recycled", "cursors_recycled_total", COUNTER, "Runs given up for others.", 1,
	 NULL},
	{"descriptors", "descriptor_files", GAUGE, "Files that are open for reading.", 1, NULL},
	{"kept_bytes", "kept_bytes", GAUGE,
	 "Memory for what is fetched ahead above GLUSTER, until it is read.", 1, NULL},
};

static const struct family of_writing[] = {
	{"dirty_bytes", "dirty_bytes", GAUGE, "Dirty data and write-back of the machine.", 1, NULL},
	{"dirty_budget_bytes", "dirty_budget_bytes", GAUGE, "Dirty_Budget in force.", 1, NULL},
	{"dirty_files", "dirty_files", GAUGE, "Files with data to write out that are known.", 1,
	 NULL},
	{"writeback_bytes", "writeback_bytes_total", COUNTER, "Bytes written out in turns.", 1,
	 NULL},
	{"writeback_errors", "writeback_errors_total", COUNTER, "Write-outs that failed.", 1, NULL},
	{"errors_kept", "writeback_errors_untold", GAUGE,
	 "Errors that no COMMIT has asked for yet, of files of which nothing else is known.", 1,
	 NULL},
	{"unstable_bytes", "unstable_bytes", GAUGE, "Written to clusters and not made stable.", 1,
	 NULL},
	{"replies_held", "write_replies_delayed", GAUGE, "Replies to writes that are delayed now.",
	 1, NULL},
	{"replies_paced", "write_replies_delayed_total", COUNTER,
	 "Replies to writes that were delayed.", 1, NULL},
	{"paced_us", "write_delay_seconds_total", COUNTER, "By how much in all.", 1e-6, NULL},
};

/* NAME{device="",client=""} VALUE */
static void print_of_client(FILE *out, const char *name, struct json_object *device,
			    struct json_object *client, double value)
{
	fprintf(out, PREFIX "%s{device=\"", name);
	print_value(out, whose(device, "device"));
	fputs("\",client=\"", out);
	print_value(out, json_object_get_string(client));
	fprintf(out, "\"} %.15g\n", value);
}

#define CLASSES(what, suffix, name, type, help)                                                    \
	{what "demand" suffix, name, type, help, 1, "class=\"demand\""},                           \
		{what "prefetch" suffix, name, type, help, 1, "class=\"prefetch\""},               \
	{                                                                                          \
		what "writeback" suffix, name, type, help, 1, "class=\"writeback\""                \
	}

static const struct family of_devices[] = {
	CLASSES("queued_", "", "device_queued_requests", GAUGE, "Requests in the queue."),
	{"running", "device_running_requests", GAUGE, "Requests on the device.", 1, NULL},
	CLASSES("served_", "", "device_requests_total", COUNTER, "Requests that are over."),
	CLASSES("", "_bytes", "device_bytes_total", COUNTER, "Bytes served."),
	{"busy_ms", "device_busy_seconds_total", COUNTER,
	 "Time with something under way on it, as the kernel counts.", 1e-3, NULL},
	{"overdue", "device_overdue_total", COUNTER, "Reads that had waited Max_Wait.", 1, NULL},
	{"refused", "device_refused_total", COUNTER,
	 "Requests beyond what their client may have queued.", 1, NULL},
	{"full_delays", "device_jukebox_total", COUNTER,
	 "Reads whose clients were told to come again.", 1, NULL},
	{"stalls", "device_stalls_total", COUNTER, "Requests that hung in the kernel.", 1, NULL},
	{"seek_us", "device_seek_seconds", GAUGE, "What a seek costs, as observed; 0: not known.",
	 1e-6, NULL},
	{"media_bytes_per_s", "device_media_bytes_per_second", GAUGE,
	 "What the medium brings, as observed; 0: not known.", 1, NULL},
	{"write_price", "device_price", GAUGE, "Price, 0 to 1.", 1, "of=\"write\""},
	{"readahead_price", "device_price", GAUGE, "Price, 0 to 1.", 1, "of=\"readahead\""},
	{"clients_total", "device_clients", GAUGE, "Clients that used it lately.", 1, NULL},
};

/* The one label that clients make unless asked for: a series for each device, of the one that used it most. */
static void print_largest_clients(FILE *out, struct json_object *devices)
{
	struct json_object *o, *client, *share;
	bool headed = false;

	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		o = json_object_array_get_idx(devices, i);
		if (!json_object_object_get_ex(o, "largest_client", &client) ||
		    !json_object_object_get_ex(o, "largest_share", &share))
			continue;
		if (!headed)
			print_head(out, "device_largest_client_share", GAUGE,
				   "Share of the disk time lately of the client that used most, 0 "
				   "to 1.");
		headed = true;
		print_of_client(out, "device_largest_client_share", o, client,
				json_object_get_double(share));
	}
}

/* Of each device the clients that were asked for: those that used it most lately. */
static void print_client_family(FILE *out, struct json_object *devices, const struct family *f)
{
	struct json_object *o, *clients, *c, *name, *value;
	bool headed = false;

	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		o = json_object_array_get_idx(devices, i);
		if (!json_object_object_get_ex(o, "clients", &clients))
			continue;
		for (size_t k = 0; k < json_object_array_length(clients); k++) {
			c = json_object_array_get_idx(clients, k);
			if (!json_object_object_get_ex(c, f->member, &value) ||
			    !json_object_object_get_ex(c, "client", &name))
				continue;
			if (!headed)
				print_head(out, f->name, f->type, f->help);
			headed = true;
			print_of_client(out, f->name, o, name,
					json_object_get_double(value) * f->scale);
		}
	}
}

static const struct family of_clients[] = {
	{"share", "client_share", GAUGE, "Share of the device's time lately, 0 to 1.", 1, NULL},
	{"disk_time_us", "client_disk_seconds_total", COUNTER, "Time of the device it had.", 1e-6,
	 NULL},
	{"read_bytes", "client_read_bytes_total", COUNTER,
	 "Bytes read from the device for it, also ahead of it.", 1, NULL},
	{"written_bytes", "client_written_bytes_total", COUNTER, "Bytes written out for it.", 1,
	 NULL},
	{"requests", "client_requests_total", COUNTER, "Requests to the device for it.", 1, NULL},
	{"refused", "client_refused_total", COUNTER, "Requests beyond what it may have queued.", 1,
	 NULL},
};

static void print_build(FILE *out, struct json_object *answer)
{
	struct json_object *version;

	if (!json_object_object_get_ex(answer, "version", &version))
		return;
	print_head(out, "build_info", GAUGE, "Version of the plugin.");
	fputs(PREFIX "build_info{version=\"", out);
	print_value(out, json_object_get_string(version));
	fputs("\"} 1\n", out);
}

void metrics_print(FILE *out, struct json_object *answer)
{
	struct json_object *part;

	print_build(out, answer);
	print_families(out, answer, NULL, of_server, N(of_server));
	if (json_object_object_get_ex(answer, "exports", &part))
		print_families(out, part, "export", of_exports, N(of_exports));
	if (json_object_object_get_ex(answer, "engine", &part))
		print_families(out, part, NULL, of_engine, N(of_engine));
	if (json_object_object_get_ex(answer, "writing", &part)) {
		print_families(out, part, NULL, of_writing, N(of_writing));
		print_commit_waits(out, part);
	}
	if (json_object_object_get_ex(answer, "devices", &part)) {
		print_families(out, part, "device", of_devices, N(of_devices));
		print_read_waits(out, part);
		print_largest_clients(out, part);
		for (size_t i = 0; i < N(of_clients); i++)
			print_client_family(out, part, &of_clients[i]);
	}
}
