/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Facts -> members of JSON objects. See describe.h. */
#include "control/describe.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)

/* ---- members ---------------------------------------------------------------------------- */

void describe_number(struct json_object *o, const char *name, uint64_t value)
{
	json_object_object_add(o, name, json_object_new_uint64(value));
}

void describe_real(struct json_object *o, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value); /* not seventeen digits */
	json_object_object_add(o, name, json_object_new_double_s(value, text));
}

void describe_flag(struct json_object *o, const char *name, bool value)
{
	json_object_object_add(o, name, json_object_new_boolean(value));
}

void describe_text(struct json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value));
}

struct json_object *describe_array(struct json_object *o, const char *name)
{
	struct json_object *array = json_object_new_array();

	json_object_object_add(o, name, array);
	return array;
}

/* ---- devices ---------------------------------------------------------------------------- */

void device_names(const struct device_facts *f, struct device_names *names)
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(names->number, sizeof(names->number), "%u:%u", f->major, f->minor);
	snprintf(path, sizeof(path), "/sys/dev/block/%s", names->number);
	n = readlink(path, target, sizeof(target) - 1);
	names->name[0] = '\0';
	if (n <= 0)
		return;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(names->name, sizeof(names->name), "%.63s", base != NULL ? base + 1 : target);
}

bool device_names_match(const struct device_names *names, const char *wanted)
{
	if (!strncmp(wanted, "/dev/", 5))
		wanted += 5;
	return !strcmp(wanted, names->number) || (names->name[0] && !strcmp(wanted, names->name));
}

void describe_device_names(struct json_object *o, const struct device_facts *f)
{
	struct device_names names;

	device_names(f, &names);
	describe_text(o, "device", names.number);
	if (names.name[0])
		describe_text(o, "name", names.name);
}

/* The percentiles are bounds of buckets: none may seem longer than the longest wait. */
static void describe_wait(struct json_object *o, const char *name, const struct sched_stats *s,
			  double percent)
{
	uint64_t wait = sched_wait_percentile(s, percent);

	describe_number(o, name, (wait < s->wait_max ? wait : s->wait_max) / NS_PER_US);
}

void describe_waits(struct json_object *o, const struct sched_stats *s)
{
	describe_wait(o, "wait_p50_us", s, 50);
	describe_wait(o, "wait_p90_us", s, 90);
	describe_wait(o, "wait_p99_us", s, 99);
	describe_number(o, "wait_max_us", s->wait_max / NS_PER_US);
}

void describe_device_state(struct json_object *o, const struct dispatcher_stats *q)
{
	describe_text(o, "scheduler", q->policy->name);
	describe_number(o, "depth", q->depth);
	describe_number(o, "running", q->running);
	describe_number(o, "queued_demand", q->queued[SCHED_DEMAND]);
	describe_number(o, "queued_prefetch", q->queued[SCHED_PREFETCH]);
	describe_number(o, "queued_writeback", q->queued[SCHED_WRITEBACK]);
	describe_number(o, "full_waiting", q->full_waiting);
	describe_real(o, "writeback_share", q->writeback_share);
	describe_number(o, "seek_us", (uint64_t)(q->cost.seek_ns / (double)NS_PER_US));
	describe_number(o, "media_bytes_per_s",
			q->cost.ns_per_byte > 0 ? (uint64_t)(1e9 / q->cost.ns_per_byte) : 0);
	describe_number(o, "chunk_bytes", q->chunk);
}

/* Why scattered reads go to the drive together, or do not. */
static const char *why_together(const struct dispatcher_drive *drive)
{
	if (drive->max <= 1)
		return "no more than the depth";
	if (!drive->decided)
		return "not tried yet";
	return drive->faster ? "faster together" : "not faster together";
}

static void describe_drive(struct json_object *o, const struct device_facts *f)
{
	const struct dispatcher_drive *drive = &f->queue.drive;

	describe_number(o, "drive_queue", f->drive_queue);
	describe_number(o, "spindles", f->spindles);
	describe_number(o, "together_max", drive->max);
	describe_number(o, "together", drive->now);
	describe_text(o, "together_why", why_together(drive));
	describe_number(o, "alone_read_us", (uint64_t)(drive->ns[0] / (double)NS_PER_US));
	describe_number(o, "together_read_us", (uint64_t)(drive->ns[1] / (double)NS_PER_US));
}

void describe_device(struct json_object *o, const struct device_facts *f,
		     const uint64_t per_s[SCHED_CLASSES])
{
	describe_device_names(o, f);
	describe_flag(o, "rotating", f->rotating);
	describe_flag(o, "demand_queued", f->demand_queued);
	describe_device_state(o, &f->queue);
	describe_drive(o, f);
	describe_number(o, "demand_bytes_per_s", per_s[SCHED_DEMAND]);
	describe_number(o, "prefetch_bytes_per_s", per_s[SCHED_PREFETCH]);
	describe_number(o, "writeback_bytes_per_s", per_s[SCHED_WRITEBACK]);
	describe_waits(o, &f->queue.counted);
}

void describe_device_stats(struct json_object *o, const struct device_facts *f)
{
	const struct sched_stats *s = &f->queue.counted;

	describe_device_names(o, f);
	describe_number(o, "submitted_demand", s->submitted[SCHED_DEMAND]);
	describe_number(o, "submitted_prefetch", s->submitted[SCHED_PREFETCH]);
	describe_number(o, "submitted_writeback", s->submitted[SCHED_WRITEBACK]);
	describe_number(o, "served_demand", s->served[SCHED_DEMAND]);
	describe_number(o, "served_prefetch", s->served[SCHED_PREFETCH]);
	describe_number(o, "served_writeback", s->served[SCHED_WRITEBACK]);
	describe_number(o, "demand_bytes", s->bytes[SCHED_DEMAND]);
	describe_number(o, "prefetch_bytes", s->bytes[SCHED_PREFETCH]);
	describe_number(o, "writeback_bytes", s->bytes[SCHED_WRITEBACK]);
	describe_number(o, "joined", s->joined);
	describe_number(o, "absorbed", s->absorbed);
	describe_number(o, "merged", s->merged);
	describe_number(o, "overdue", s->overdue);
	describe_number(o, "dropped", s->dropped);
	describe_number(o, "refused", s->refused);
	describe_number(o, "full_waits", s->full_waits);
	describe_number(o, "full_delays", s->full_delays);
	describe_number(o, "switches", s->switches);
	describe_number(o, "stalls", s->stalls);
	describe_waits(o, s);
}

/* ---- prices ----------------------------------------------------------------------------- */

static struct json_object *describe_resource(const struct price_snapshot *s, enum price_resource r,
					     double k)
{
	struct json_object *o = json_object_new_object();

	describe_text(o, "resource", price_resource_names[r]);
	describe_real(o, "utilization", s->utilization[r]);
	describe_real(o, "price", s->price[r]);
	describe_real(o, "k", k);
	if (s->unknown & (1u << r))
		describe_flag(o, "unknown", true);
	return o;
}

void describe_device_prices(struct json_object *o, const struct device_facts *d,
			    const struct device_price_facts *f, const double k[PRICE_RESOURCES])
{
	const struct price_snapshot *s = &f->snapshot;
	struct json_object *list;

	describe_device_names(o, d);
	if (f->age == UINT64_MAX)
		return;
	describe_number(o, "age_ms", f->age / NS_PER_MS);
	describe_real(o, "write_price", s->write);
	describe_text(o, "write_by", price_resource_names[s->write_by]);
	describe_real(o, "readahead_price", s->readahead);
	describe_text(o, "readahead_by", price_resource_names[s->readahead_by]);
	describe_real(o, "queue_length", f->length);
	describe_real(o, "queue_saturation", f->saturation);
	list = describe_array(o, "resources");
	for (int r = 0; r < PRICE_RESOURCES; r++)
		json_object_array_add(list, describe_resource(s, r, k[r]));
}

/* What FSSTAT says of an export, and what its read-ahead is worth. */
void describe_export_prices(struct json_object *o, const struct export_facts *f)
{
	uint64_t used = f->counted[READAHEAD_USED], over = used + f->counted[READAHEAD_WASTED],
		 read = f->counted[READAHEAD_READ_BYTES];

	describe_number(o, "export", f->id);
	describe_flag(o, "fsstat_prices", f->fsstat_prices);
	describe_text(o, "fsstat", f->fsstat);
	if (f->priced) {
		describe_real(o, "write_price", f->write_price);
		describe_real(o, "readahead_price", f->readahead_price);
	}
	describe_flag(o, "price_readahead", f->price_readahead);
	if (over != 0)
		describe_real(o, "effectiveness", (double)used / (double)over);
	if (read != 0)
		describe_real(o, "confidence", (double)used / (double)read);
	describe_number(o, "curbed", f->counted[READAHEAD_CURBED]);
}

/* ---- counters --------------------------------------------------------------------------- */

void describe_counters(struct json_object *o, const uint64_t counted[READAHEAD_COUNTERS])
{
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		describe_number(o, readahead_counter_names[i], counted[i]);
}

void describe_engine(struct json_object *o, const struct engine_facts *f)
{
	const struct readahead_stats *s = &f->readahead;

	describe_number(o, "unread_bytes", s->unread);
	describe_number(o, "unread_bytes_max", s->unread_max);
	describe_number(o, "readahead_memory_bytes", s->memory);
	describe_number(o, "streams", s->streams);
	describe_number(o, "cursors", s->cursors);
	describe_number(o, "cursors_used", s->cursors_used);
	describe_number(o, "cursors_made", s->cursors_made);
	describe_number(o, "cursors_recycled", s->cursors_recycled);
	describe_number(o, "table_size", s->table_size);
	describe_number(o, "table_entries", s->entries);
	describe_number(o, "table_evictions", s->evictions);
	describe_number(o, "descriptors", f->descriptors);
	describe_number(o, "kept_bytes", f->kept);
}

void describe_writing(struct json_object *o, const struct writing_facts *f)
{
	describe_number(o, "dirty_files", f->dirty_files);
	describe_number(o, "dirty_bytes", f->dirty_bytes);
	describe_number(o, "dirty_budget_bytes", f->dirty_budget);
	describe_number(o, "disk_bytes_per_s", f->disk_rate);
	describe_number(o, "replies_held", f->replies_held);
	describe_number(o, "replies_held_bytes", f->replies_held_bytes);
	describe_number(o, "unstable_bytes", f->unstable);
	describe_number(o, "errors_kept", f->errors_kept);
	describe_number(o, "writeback_bytes", f->writeback_bytes);
	describe_number(o, "writeback_errors", f->writeback_errors);
	describe_number(o, "errors_told", f->errors_told);
	describe_number(o, "untracked_writes", f->untracked_writes);
	describe_number(o, "commits", f->commits);
	describe_number(o, "commit_delays", f->commit_delays);
	describe_number(o, "part_commits", f->part_commits);
	describe_number(o, "direct_commits", f->direct_commits);
	describe_number(o, "replies_paced", f->replies_paced);
	describe_number(o, "paced_us", f->paced / NS_PER_US);
	describe_number(o, "paced_max_us", f->paced_max / NS_PER_US);
	describe_number(o, "pacing_refused", f->pacing_refused);
}

void describe_export(struct json_object *o, const struct export_facts *f)
{
	describe_number(o, "export", f->id);
	describe_text(o, "heuristic", f->heuristic);
	describe_number(o, "pending", f->pending);
	describe_counters(o, f->counted);
	if (f->closing)
		describe_flag(o, "closing", true);
}

/* ---- lines of the log ------------------------------------------------------------------- */

static char *line_of(struct json_object *o)
{
	char *line = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));

	json_object_put(o);
	return line;
}

char *describe_stats_line(const uint64_t counted[READAHEAD_COUNTERS],
			  const struct engine_facts *engine, const struct writing_facts *writing)
{
	struct json_object *o = json_object_new_object();

	describe_counters(o, counted);
	describe_engine(o, engine);
	describe_writing(o, writing);
	return line_of(o);
}

char *describe_device_line(const struct device_facts *f)
{
	struct json_object *o = json_object_new_object();

	describe_device_stats(o, f);
	describe_device_state(o, &f->queue);
	return line_of(o);
}

char *describe_export_line(uint16_t id, const uint64_t counted[READAHEAD_COUNTERS])
{
	struct json_object *o = json_object_new_object();

	describe_number(o, "export", id);
	describe_counters(o, counted);
	return line_of(o);
}
