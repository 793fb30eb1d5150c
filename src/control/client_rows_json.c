/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows for programs: doc/control-protocol.md, "What ractl computes". */
#include <inttypes.h>
#include <stdio.h>

#include "control/client_rows.h"
#include "control/control.h"

static void add_text(struct json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value));
}

static void add_number(struct json_object *o, const char *name, uint64_t value)
{
	json_object_object_add(o, name, json_object_new_uint64(value));
}

static void add_real(struct json_object *o, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(o, name, json_object_new_double_s(value, text));
}

static void add_flag(struct json_object *o, const char *name, bool value)
{
	json_object_object_add(o, name, json_object_new_boolean(value));
}

/* Below 0 it is not known, and left out. */
static void add_part(struct json_object *o, const char *name, double value)
{
	if (value >= 0)
		add_real(o, name, value);
}

static void add_whose(struct json_object *o, const struct client_row *r)
{
	if (r->client[0])
		add_text(o, "client", r->client);
	if (r->export_id >= 0)
		add_number(o, "export", (uint64_t)r->export_id);
	if (r->device[0])
		add_text(o, "device", r->device);
	add_number(o, "flows", r->flows);
	add_number(o, "clients", r->clients);
	if (r->weight)
		add_number(o, "group_weight", r->weight);
}

static struct json_object *row_json(const struct client_row *r)
{
	struct json_object *o = json_object_new_object();

	add_whose(o, r);
	add_real(o, "demand_bytes_per_s", r->bytes_per_s[SAMPLE_DEMAND]);
	add_real(o, "prefetch_bytes_per_s", r->bytes_per_s[SAMPLE_PREFETCH]);
	add_real(o, "writeback_bytes_per_s", r->bytes_per_s[SAMPLE_WRITEBACK]);
	add_real(o, "requests_per_s", r->requests_per_s);
	add_real(o, "refused_per_s", r->refused_per_s);
	add_real(o, "share", r->share);
	add_real(o, "fair_share", r->fair_share);
	add_number(o, "wait_p50_us", (uint64_t)r->p50_us);
	add_number(o, "wait_p99_us", (uint64_t)r->p99_us);
	add_number(o, "queued", r->queued);
	add_number(o, "running", r->running);
	add_number(o, "held_bytes", r->held);
	add_flag(o, "active", r->active);
	add_flag(o, "throttled", r->throttled);
	if (r->waited_for[0])
		add_text(o, "waited_for", r->waited_for);
	add_part(o, "hit", r->hit);
	add_part(o, "waste", r->waste);
	return o;
}

static struct json_object *file_json(const struct client_row *r)
{
	struct json_object *o = json_object_new_object();

	add_number(o, "file", r->file);
	if (r->path[0])
		add_text(o, "path", r->path);
	if (r->device[0])
		add_text(o, "device", r->device);
	add_real(o, "read_bytes_per_s", r->bytes_per_s[SAMPLE_DEMAND]);
	add_real(o, "requests_per_s", r->requests_per_s);
	add_real(o, "share", r->share);
	add_part(o, "waste", r->waste);
	add_number(o, "streams", r->streams);
	add_number(o, "count", r->count);
	add_number(o, "window_bytes", r->window);
	add_number(o, "unread_bytes", r->unread);
	add_number(o, "idle_ms", r->idle_ms);
	add_flag(o, "active", r->active);
	return o;
}

static struct json_object *device_json(const struct sample_device *d, double busy)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "device", d->number);
	if (d->name[0])
		add_text(o, "name", d->name);
	add_real(o, "busy", busy);
	add_number(o, "queued_demand", d->queued[SAMPLE_DEMAND]);
	add_number(o, "queued_prefetch", d->queued[SAMPLE_PREFETCH]);
	add_number(o, "queued_writeback", d->queued[SAMPLE_WRITEBACK]);
	add_number(o, "running", d->running);
	add_number(o, "flows_total", d->flows_total);
	if (!d->priced)
		return o;
	add_real(o, "write_price", d->write_price);
	add_text(o, "write_by", d->write_by);
	add_real(o, "readahead_price", d->readahead_price);
	add_text(o, "readahead_by", d->readahead_by);
	return o;
}

struct json_object *client_rows_json(const struct client_rows *rows, const struct use_sample *now)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	add_number(o, "schema", CONTROL_SCHEMA);
	add_number(o, "time_us", now->time_us);
	add_real(o, "seconds", rows->seconds);
	add_flag(o, "from_start", rows->from_start);
	add_text(o, "by", rows_by_names[rows->by]);
	if (rows->counted) {
		add_real(o, "reads_per_s", rows->reads_per_s);
		add_real(o, "fetched_bytes_per_s", rows->fetched_per_s);
		add_part(o, "hit", rows->hit);
		add_part(o, "waste", rows->waste);
	}
	for (unsigned int i = 0; i < now->devices; i++)
		json_object_array_add(list, device_json(&now->device[i], rows->busy[i]));
	json_object_object_add(o, "devices", list);
	list = json_object_new_array();
	for (unsigned int i = 0; i < rows->n; i++)
		json_object_array_add(list, rows->by == ROWS_FILE ? file_json(&rows->row[i])
								  : row_json(&rows->row[i]));
	json_object_object_add(o, "rows", list);
	return o;
}
