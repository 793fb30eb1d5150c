/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* JSON -> numbers. See use_sample.h. */
#include "control/use_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t number(struct json_object *o, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(o, name, &value) ? json_object_get_uint64(value) : 0;
}

static uint32_t small(struct json_object *o, const char *name)
{
	uint64_t n = number(o, name);

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bool flag(struct json_object *o, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(o, name, &value) && json_object_get_boolean(value);
}

/* 0..1 */
static double part(struct json_object *o, const char *name)
{
	struct json_object *value;
	double d = json_object_object_get_ex(o, name, &value) ? json_object_get_double(value) : 0;

	return d >= 0 && d <= 1 ? d : 0;
}

/* What a terminal might take for a command is shown as "?". */
static void text(struct json_object *o, const char *name, char *copy, size_t size)
{
	struct json_object *value;
	const char *s = json_object_object_get_ex(o, name, &value) && value
				? json_object_get_string(value)
				: "";

	snprintf(copy, size, "%s", s);
	for (; *copy; copy++)
		if (*copy < ' ' || *copy > '~')
			*copy = '?';
}

/* Member NAME with each class in it: BEFORE demand AFTER. */
static uint64_t of_class(struct json_object *o, const char *before, enum sample_class class,
			 const char *after)
{
	static const char *const names[SAMPLE_CLASSES] = {"demand", "prefetch", "writeback"};
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s", before, names[class], after);
	return number(o, name);
}

static struct json_object *array(struct json_object *o, const char *name, size_t *n)
{
	struct json_object *value;

	*n = 0;
	if (!json_object_object_get_ex(o, name, &value) ||
	    !json_object_is_type(value, json_type_array))
		return NULL;
	*n = json_object_array_length(value);
	return value;
}

/* ---- flows ------------------------------------------------------------------------------ */

static void read_who(struct sample_who *who, struct json_object *o)
{
	who->number = number(o, "client_number");
	who->export_id = small(o, "export");
	text(o, "client", who->client, sizeof(who->client));
	if (!who->client[0])
		snprintf(who->client, sizeof(who->client), "client %" PRIu64, who->number);
}

static void read_waits(struct sample_flow *f, struct json_object *o)
{
	struct json_object *whom, *waits;
	size_t n;

	f->wait_max_us = number(o, "wait_max_us");
	waits = array(o, "waits", &n);
	for (size_t b = 0; b < n && b < SAMPLE_BUCKETS; b++)
		f->waits[b] = json_object_get_uint64(json_object_array_get_idx(waits, b));
	if (!json_object_object_get_ex(o, "waited_for", &whom))
		return;
	read_who(&f->waited_for, whom);
	f->waited_for_us = number(whom, "disk_time_us");
}

static void read_flow(struct sample_flow *f, struct json_object *o)
{
	char group[SAMPLE_WORD];

	read_who(&f->who, o);
	text(o, "group", group, sizeof(group));
	f->of_export = !strcmp(group, "export");
	f->weight = small(o, "weight");
	f->group_weight = small(o, "group_weight");
	f->backlogged = flag(o, "backlogged");
	f->throttled = flag(o, "throttled");
	f->queued = number(o, "joined");
	f->running = number(o, "running");
	f->held = number(o, "held_bytes");
	f->refused = number(o, "refused");
	for (int c = 0; c < SAMPLE_CLASSES; c++) {
		f->queued += of_class(o, "queued_", c, "");
		f->served[c] = of_class(o, "served_", c, "");
		f->bytes[c] = of_class(o, "", c, "_bytes");
		f->disk_us += of_class(o, "disk_time_", c, "_us");
	}
	read_waits(f, o);
}

/* ---- devices ---------------------------------------------------------------------------- */

static void read_price(struct sample_device *d, struct json_object *o)
{
	d->priced = json_object_object_get_ex(o, "write_price", NULL);
	d->write_price = part(o, "write_price");
	d->readahead_price = part(o, "readahead_price");
	text(o, "write_by", d->write_by, sizeof(d->write_by));
	text(o, "readahead_by", d->readahead_by, sizeof(d->readahead_by));
}

static void read_device(struct sample_device *d, struct json_object *o)
{
	text(o, "device", d->number, sizeof(d->number));
	text(o, "name", d->name, sizeof(d->name));
	d->demand_queued = flag(o, "demand_queued");
	for (int c = 0; c < SAMPLE_CLASSES; c++)
		d->queued[c] = (uint32_t)of_class(o, "queued_", c, "");
	d->running = small(o, "running");
	d->timed = json_object_object_get_ex(o, "busy_ms", NULL);
	d->busy_ms = number(o, "busy_ms");
	d->flows_total = small(o, "flows_total");
	read_price(d, o);
}

static void read_flows(struct use_sample *s, struct json_object *device)
{
	struct json_object *list;
	size_t n;

	list = array(device, "flows", &n);
	for (size_t i = 0; i < n && s->flows < SAMPLE_FLOWS_MAX; i++) {
		struct sample_flow *f = &s->flow[s->flows++];

		f->device = s->devices;
		read_flow(f, json_object_array_get_idx(list, i));
		s->device[s->devices].flows++;
	}
}

/* ---- exports and files ------------------------------------------------------------------- */

static void read_reads(struct sample_reads *r, struct json_object *o)
{
	*r = (struct sample_reads){
		.reads = number(o, "reads"),
		.resident = number(o, "resident"),
		.fetched = number(o, "prefetched_bytes"),
		.read = number(o, "used_bytes"),
		.wasted = number(o, "wasted_bytes"),
	};
}

static void read_exports(struct use_sample *s, struct json_object *answer)
{
	struct json_object *list, *all;
	size_t n;

	s->counted = json_object_object_get_ex(answer, "counters", &all);
	if (s->counted)
		read_reads(&s->all, all);
	list = array(answer, "exports", &n);
	for (size_t i = 0; i < n && s->exports < SAMPLE_EXPORTS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct sample_export *e = &s->export[s->exports++];

		e->id = small(o, "export");
		read_reads(&e->reads, o);
	}
}

static void read_readers(struct use_sample *s, struct json_object *answer)
{
	struct json_object *list;
	size_t n;

	s->readers_total = small(answer, "readers_total");
	list = array(answer, "readers", &n);
	for (size_t i = 0; i < n && s->readers < SAMPLE_READERS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct sample_reader *r = &s->reader[s->readers++];

		text(o, "client", r->client, sizeof(r->client));
		read_reads(&r->reads, o);
	}
}

/* Of a long text its end, which tells files apart. */
static void text_end(struct json_object *o, const char *name, char copy[SAMPLE_NAME])
{
	char whole[1024];
	size_t n;

	text(o, name, whole, sizeof(whole));
	n = strlen(whole);
	if (n < SAMPLE_NAME) {
		memcpy(copy, whole, n + 1);
		return;
	}
	memcpy(copy, whole + n - (SAMPLE_NAME - 1), SAMPLE_NAME);
	copy[0] = '~';
}

static void read_file(struct sample_file *f, struct json_object *o)
{
	*f = (struct sample_file){
		.file = number(o, "file"),
		.reads = number(o, "reads"),
		.bytes = number(o, "read_bytes"),
		.idle_ms = number(o, "idle_ms"),
		.unread = number(o, "unread_bytes"),
		.window = number(o, "window_bytes"),
		.streams = small(o, "streams"),
		.count = small(o, "count"),
		.effective = -1,
	};
	if (json_object_object_get_ex(o, "effectiveness", NULL))
		f->effective = part(o, "effectiveness");
	text_end(o, "path", f->path);
	text(o, "name", f->device, sizeof(f->device));
	if (!f->device[0])
		text(o, "device", f->device, sizeof(f->device));
}

bool use_sample_read_files(struct use_sample *s, struct json_object *answer)
{
	struct json_object *list;
	size_t n;

	list = array(answer, "files", &n);
	if (!list)
		return false;
	s->files = 0;
	s->files_total = small(answer, "files_total");
	for (size_t i = 0; i < n && s->files < SAMPLE_FILES_MAX; i++)
		read_file(&s->file[s->files++], json_object_array_get_idx(list, i));
	return true;
}

bool use_sample_read(struct use_sample *s, struct json_object *answer)
{
	struct json_object *list;
	size_t n;

	memset(s, 0, sizeof(*s));
	list = array(answer, "devices", &n);
	if (!list || !json_object_object_get_ex(answer, "time_us", NULL))
		return false;
	s->uptime_s = number(answer, "uptime_s");
	s->time_us = number(answer, "time_us");
	read_exports(s, answer);
	read_readers(s, answer);
	for (size_t i = 0; i < n && s->devices < SAMPLE_DEVICES_MAX; i++) {
		struct json_object *device = json_object_array_get_idx(list, i);

		read_device(&s->device[s->devices], device);
		read_flows(s, device);
		s->devices++;
	}
	return true;
}
