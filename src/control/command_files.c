/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Files by what the read-ahead engine knows of them:
 *
 *   {"command":"files"}                                  those read last first
 *   {"command":"cursors","file":1234}                    one of them, by its inode number, and its streams
 *   {"command":"explain","file":1234}                    ... in words
 *   {"command":"explain","file":260,"dev":57}            ... of a subvolume that has no disk of its own
 *   {"command":"explain","client":"10.0.0.1"}            a client, by its address
 */
#include "control/command_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/utf8.h"
#include "control/address.h"
#include "control/describe.h"
#include "control/explain.h"
#include "control/file_of.h"

#define EXPORTS_MAX 4096
/* A client competes for a disk of which it had one part in so many. */
#define COMPETES 100

static const struct control_host *host;

/* ---- files ------------------------------------------------------------------------------- */

static void describe_since(struct json_object *o, uint64_t used)
{
	uint64_t now = host->now();

	if (used != 0)
		describe_number(o, "idle_ms", now > used ? (now - used) / CLOCK_MS : 0);
}

static void describe_file(struct json_object *o, const struct file_facts *f)
{
	const struct readahead_file_look *l = &f->look;
	struct device_facts d = {.major = f->major, .minor = f->minor};
	char path[FACTS_PATH];

	describe_number(o, "file", l->file);
	snprintf(path, sizeof(path), "%s", f->path);
	utf8_mend(path);
	if (path[0] != '\0')
		describe_text(o, "path", path);
	if (f->has_device)
		describe_device_names(o, &d);
	describe_since(o, l->used);
	describe_number(o, "reads", l->reads);
	describe_number(o, "read_bytes", l->bytes);
	describe_number(o, "cursors", l->cursors);
	describe_number(o, "streams", l->streams);
	describe_number(o, "count", l->count);
	describe_number(o, "window_bytes", l->window);
	describe_number(o, "unread_bytes", l->unread);
	describe_real(o, "exact", l->exact);
	if (l->read + l->wasted != 0)
		describe_real(o, "effectiveness",
			      (double)l->read / ((double)l->read + (double)l->wasted));
	describe_flag(o, "withheld", l->withheld);
}

void command_files(struct control_call *call)
{
	struct json_object *list = describe_array(call->answer, "files"), *o;
	unsigned int max = control_limit(call, FACTS_FILES_MAX, "files"), n;
	struct file_facts *f;

	if (max == 0)
		return;
	f = calloc(max, sizeof(*f));
	n = f != NULL ? host->files(f, max) : 0;
	for (unsigned int i = 0; i < n && i < max; i++) {
		o = json_object_new_object();
		describe_file(o, &f[i]);
		json_object_array_add(list, o);
	}
	free(f);
	describe_number(call->answer, "files_total", n);
}

/* ---- one file's streams ------------------------------------------------------------------ */

static const char *const ways[] = {
	[WAY_FORWARD] = "forward",
	[WAY_BACKWARD] = "backward",
	[WAY_STRIDE] = "records",
	[WAY_STRIDE_BACK] = "records backward",
};

static void describe_cursor(struct json_object *o, const struct readahead_cursor_look *c)
{
	describe_number(o, "offset", c->next);
	describe_number(o, "count", c->count);
	describe_number(o, "window_bytes", c->window);
	describe_number(o, "run_bytes", c->run);
	describe_number(o, "fetched_bytes", c->arrived);
	describe_number(o, "asked_bytes", c->asked);
	describe_number(o, "unread_bytes", c->unread);
	describe_number(o, "used_bytes", c->taken);
	describe_text(o, "way", ways[c->way]);
	describe_since(o, c->used);
	describe_flag(o, "queued", c->queued);
	describe_flag(o, "withheld", c->withheld);
}

static void refuse_file(struct control_call *call, int64_t file)
{
	control_refuse(
		call,
		"no file %" PRId64
		" is known: none of its READs went past the page cache, or the table forgot it "
		"(ractl files lists those known)",
		file);
}

void command_cursors(struct control_call *call)
{
	int64_t file = file_of(call, host);
	struct readahead_cursor_look *c = calloc(LOOK_CURSORS, sizeof(*c));
	struct file_facts f = {0};
	struct json_object *list, *o;
	int n = c != NULL ? host->cursors((uint64_t)file, &f, c, LOOK_CURSORS) : -1;

	if (n < 0) {
		refuse_file(call, file);
	} else {
		describe_file(call->answer, &f);
		list = describe_array(call->answer, "listed");
		for (int i = 0; i < n; i++) {
			o = json_object_new_object();
			describe_cursor(o, &c[i]);
			json_object_array_add(list, o);
		}
	}
	free(c);
}

/* ---- in words ---------------------------------------------------------------------------- */

static void add_line(void *arg, const char *text, const char *parameter)
{
	struct json_object *o = json_object_new_object();

	describe_text(o, "text", text);
	if (parameter != NULL)
		describe_text(o, "parameter", parameter);
	json_object_array_add(arg, o);
}

static struct explain explain_into(struct control_call *call)
{
	return (struct explain){.line = add_line, .arg = describe_array(call->answer, "lines")};
}

/* What P is for the export; 0, "" where it is not known. */
static struct parameter_value setting(const char *name, int64_t export_id)
{
	struct parameter_target t = {.of = PARAMETER_OF_EXPORT, .export_id = export_id};
	struct parameter_value now = {0}, file;
	unsigned int n;
	const struct parameter *all = host->parameters(&n), *p = parameter_find(all, n, name);

	if (p != NULL)
		(void)host->get_parameter(p, &t, &now, &file);
	return now;
}

/* The device's number among the host's; false: it is none of them. */
static bool find_device(const struct file_facts *f, struct device_facts *d, unsigned int *n)
{
	for (*n = 0; f->has_device && *n < FACTS_DEVICES_MAX && host->device(*n, d); ++*n)
		if (d->major == f->major && d->minor == f->minor)
			return true;
	return false;
}

static int64_t export_of(const struct file_facts *f)
{
	struct export_facts *e = calloc(EXPORTS_MAX, sizeof(*e));
	unsigned int n = e != NULL ? host->exports(e, EXPORTS_MAX) : 0;
	int64_t found = n > 0 ? e[0].id : -1;

	for (unsigned int i = 0; i < n && i < EXPORTS_MAX; i++)
		if (f->has_export && e[i].id == f->export_id)
			found = e[i].id;
	free(e);
	return found;
}

static void describe_reasons(struct control_call *call, const struct file_facts *f)
{
	struct explain e = explain_into(call);
	struct device_price_facts price = {0};
	struct engine_facts engine;
	struct device_facts d = {0};
	struct explain_file of = {.file = f, .now = host->now(), .export_id = export_of(f)};
	struct parameter_value heuristic;
	unsigned int n;

	host->engine(&engine);
	of.memory = engine.readahead.memory;
	of.unread = engine.readahead.unread;
	if (find_device(f, &d, &n)) {
		of.device = &d;
		if (host->device_prices(n, &price) && price.age != UINT64_MAX)
			of.price = price.snapshot.readahead;
	}
	heuristic = setting("Heuristic", of.export_id);
	of.heuristic = heuristic.name;
	of.seq_threshold = setting("Seq_Threshold", of.export_id).number;
	of.priced = setting("Price_Readahead", of.export_id).number != 0;
	explain_file(&e, &of);
}

static void explain_one_file(struct control_call *call, int64_t file)
{
	struct readahead_cursor_look c[1];
	struct file_facts f = {0};

	if (host->cursors((uint64_t)file, &f, c, 1) < 0) {
		refuse_file(call, file);
		return;
	}
	describe_file(call->answer, &f);
	describe_reasons(call, &f);
}

static uint64_t time_of(const struct flow_stats *f)
{
	return f->disk_time[SCHED_DEMAND] + f->disk_time[SCHED_PREFETCH] +
	       f->disk_time[SCHED_WRITEBACK];
}

/* The flows of the client NAME among the N of a device. Returns how many there were. */
static unsigned int explain_flows(const struct explain *e, const char *name,
				  const struct device_facts *d, const struct flow_stats *flows,
				  unsigned int n)
{
	char text[FACTS_CLIENT_NAME], behind[FACTS_CLIENT_NAME];
	uint64_t time = 0, weights = 0;
	struct device_names names;
	unsigned int found = 0;

	device_names(d, &names);
	for (unsigned int i = 0; i < n; i++)
		time += time_of(&flows[i]);
	for (unsigned int i = 0; i < n; i++) /* who hardly uses the disk claims no part of it */
		if (flows[i].id.client != 0 && time_of(&flows[i]) * COMPETES >= time && time != 0)
			weights += flows[i].group_weight;
	for (unsigned int i = 0; i < n; i++) {
		struct explain_flow f = {
			.flow = &flows[i],
			.device = names.name[0] ? names.name : names.number,
			.demand_queued = d->demand_queued,
			.share = time ? (double)time_of(&flows[i]) / (double)time : 0,
			.fair = weights ? (double)flows[i].group_weight / (double)weights : 0,
		};

		if (flows[i].id.client == 0 || !host->client_name(flows[i].id.client, text) ||
		    strcmp(text, name) != 0)
			continue;
		if (flows[i].behind_time != 0 && flows[i].behind.client != 0 &&
		    host->client_name(flows[i].behind.client, behind))
			f.behind = behind;
		explain_flow(e, &f);
		found++;
	}
	return found;
}

static void explain_client(struct control_call *call, const char *name)
{
	struct flow_stats *flows = calloc(FACTS_FLOWS_MAX, sizeof(*flows));
	struct explain e = explain_into(call);
	struct writing_facts writing;
	struct device_facts d = {0};
	unsigned int n, found = 0;

	for (unsigned int i = 0; flows != NULL && i < FACTS_DEVICES_MAX && host->device(i, &d);
	     i++) {
		n = host->flows(i, flows, FACTS_FLOWS_MAX);
		found += explain_flows(&e, name, &d, flows,
				       n < FACTS_FLOWS_MAX ? n : FACTS_FLOWS_MAX);
	}
	free(flows);
	if (found == 0)
		add_line(e.arg,
			 "it has used no disk lately: the page cache answers what it reads, or it "
			 "reads nothing",
			 NULL);
	host->writing(&writing);
	explain_writing(&e, &writing);
	describe_text(call->answer, "client", name);
}

void command_explain(struct control_call *call)
{
	const char *client = control_text(call, "client");
	int64_t file = file_of(call, host);
	char name[ADDRESS_TEXT];

	if ((client != NULL) == (file >= 0))
		control_refuse(call, "either file or client says what is to be explained");
	else if (client != NULL && address_read(client, name))
		explain_client(call, name);
	else if (client != NULL)
		control_refuse(call, ADDRESS_REFUSED, client);
	else
		explain_one_file(call, file);
}

void command_files_start(const struct control_host *h)
{
	host = h;
}
