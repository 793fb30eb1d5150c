/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decisions for whoever follows them.
 *
 *   {"command":"trace"}                      -> on; "last": 41, no records: from here on
 *   {"command":"trace","after":41}           -> records 42, 43, ..., "last": 107
 *   {"command":"trace","after":107}          -> ...
 *
 * With "file", an inode number, or "client", an address, only the decisions about it are told; which are found here, so
 * that the others cost the channel nothing.
 *
 * "last" is the number up to which the ring was looked through, also where the wanted events are few.
 * What was overwritten before it was read is counted in "missed". Numbers that stand for names are
 * given as names, and times as those of the wall clock.
 */
#include "control/command_trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/trace.h"
#include "control/address.h"
#include "control/describe.h"
#include "control/file_of.h"

#define BATCH 256 /* records looked at in one go */

static const struct control_host *host;

/* ---- names ------------------------------------------------------------------------------ */

static const char *verdict_name(uint64_t n)
{
	static const char *const names[] = {
		[SCHED_ADDED] = "added", [SCHED_WAITS] = "joined", [SCHED_RESIDENT] = "resident",
		[SCHED_FULL] = "full",	 [SCHED_RUN] = "run",
	};

	return n < sizeof(names) / sizeof(names[0]) ? names[n] : NULL;
}

static const char *class_name(uint64_t n)
{
	static const char *const names[SCHED_CLASSES] = {
		[SCHED_DEMAND] = "demand",
		[SCHED_PREFETCH] = "prefetch",
		[SCHED_WRITEBACK] = "writeback",
	};

	return n < SCHED_CLASSES ? names[n] : NULL;
}

static const char *resource_name(uint64_t n)
{
	return n < PRICE_RESOURCES ? price_resource_names[n] : NULL;
}

/* The name that the argument's NUMBER stands for, or NULL: it is a number. */
static const char *argument_name(const char *argument, uint64_t number)
{
	static const struct {
		const char *argument;
		const char *(*name)(uint64_t number);
	} named[] = {
		{"class", class_name},
		{"verdict", verdict_name},
		{"resource", resource_name},
	};

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(argument, named[i].argument))
			return named[i].name(number);
	return NULL;
}

static void describe_argument(struct json_object *o, const char *argument, uint64_t number)
{
	const char *name = argument_name(argument, number);
	char device[24];

	if (!strcmp(argument, "device")) {
		snprintf(device, sizeof(device), "%u:%u", major(number), minor(number));
		name = device;
	}
	if (name != NULL)
		describe_text(o, argument, name);
	else
		describe_number(o, argument, number);
}

/* WALL: what to add to a record's time for the time of day, ns. */
static struct json_object *describe_record(const struct trace_record *r, uint64_t wall)
{
	const struct trace_kind *kind = &trace_kinds[r->event];
	struct json_object *o = json_object_new_object();
	char client[FACTS_CLIENT_NAME];

	describe_number(o, "number", r->number);
	describe_number(o, "time_us", (r->time + wall) / 1000);
	describe_text(o, "event", kind->name);
	if (r->file != 0)
		describe_number(o, "file", r->file);
	if (r->client != 0 && host->client_name(r->client, client))
		describe_text(o, "client", client);
	for (int i = 0; i < TRACE_ARGS && kind->args[i] != NULL; i++)
		describe_argument(o, kind->args[i], r->args[i]);
	return o;
}

/* ---- the wanted events ------------------------------------------------------------------ */

static void refuse_event(struct control_call *call, const char *name, size_t len)
{
	struct json_object *choices = describe_array(call->answer, "choices");
	char list[256] = "";

	for (int e = 0; e < TRACE_EVENTS; e++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s", e ? ", " : "",
			 trace_kinds[e].name);
		json_object_array_add(choices, json_object_new_string(trace_kinds[e].name));
	}
	control_refuse(call, "event \"%.*s\" is none of %s", (int)(len < 64 ? len : 64), name,
		       list);
}

/* The bit of the event NAME of LEN bytes; 0: there is none. */
static uint32_t event_bit(const char *name, size_t len)
{
	for (int e = 0; e < TRACE_EVENTS; e++)
		if (strlen(trace_kinds[e].name) == len && !strncmp(trace_kinds[e].name, name, len))
			return UINT32_C(1) << e;
	return 0;
}

/* "plan,pick": a bit for each; all without a text; 0 when refused. */
static uint32_t wanted_events(struct control_call *call, const char *text)
{
	uint32_t wanted = 0, bit;
	size_t len;

	if (text == NULL)
		return UINT32_MAX;
	do {
		len = strcspn(text, ",");
		bit = event_bit(text, len);
		if (bit == 0) {
			refuse_event(call, text, len);
			return 0;
		}
		wanted |= bit;
		text += len;
	} while (*text++ == ',');
	return wanted;
}

/* ---- the wanted records ----------------------------------------------------------------- */

struct wanted {
	uint32_t events;	   /* bits */
	int64_t file;		   /* -1: any */
	char client[ADDRESS_TEXT]; /* empty: any */
	/* Numbers that were looked up last, and are that client's, or not. */
	uint64_t is_his, is_not;
};

static bool is_of_client(struct wanted *w, uint64_t client)
{
	char name[FACTS_CLIENT_NAME];

	if (client == 0 || client == w->is_not)
		return false;
	if (client == w->is_his)
		return true;
	if (host->client_name(client, name) && strcmp(name, w->client) == 0) {
		w->is_his = client;
		return true;
	}
	w->is_not = client;
	return false;
}

static bool is_wanted(struct wanted *w, const struct trace_record *r)
{
	if (!(w->events & (UINT32_C(1) << r->event)))
		return false;
	if (w->file >= 0 && r->file != (uint64_t)w->file)
		return false;
	return w->client[0] == '\0' || is_of_client(w, r->client);
}

/* ---- the command ------------------------------------------------------------------------ */

static uint64_t wall_offset(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * CLOCK_SECOND + (uint64_t)ts.tv_nsec - clock_now();
}

/* Adds up to LIMIT wanted records behind *AFTER, which moves; returns how many were overwritten. */
static uint64_t collect(struct json_object *list, uint64_t *after, struct wanted *wanted,
			size_t limit)
{
	static struct trace_record batch[BATCH]; /* the channel has one thread */
	uint64_t wall = wall_offset(), missed = 0, newest = trace_last();
	unsigned int n;

	while (*after < newest && json_object_array_length(list) < limit &&
	       (n = trace_read(*after, batch, BATCH)) > 0) {
		for (unsigned int i = 0; i < n && json_object_array_length(list) < limit; i++) {
			missed += batch[i].number - *after - 1;
			*after = batch[i].number;
			if (is_wanted(wanted, &batch[i]))
				json_object_array_add(list, describe_record(&batch[i], wall));
		}
	}
	return missed;
}

/* What CALL asks for; false: it is refused. */
static bool read_wanted(struct control_call *call, struct wanted *w, size_t *limit)
{
	const char *client = control_text(call, "client");

	*w = (struct wanted){.events = wanted_events(call, control_text(call, "events")),
			     .file = file_of(call, host)};
	if (w->events == 0)
		return false;
	*limit = control_limit(call, TRACE_LIMIT_MAX, "records");
	if (*limit == 0)
		return false;
	if (w->file >= 0 && client != NULL)
		control_refuse(call, "either file or client says which decisions are wanted");
	else if (client != NULL && !address_read(client, w->client))
		control_refuse(call, ADDRESS_REFUSED, client);
	else
		return true;
	return false;
}

void command_trace(struct control_call *call)
{
	int64_t given = control_number(call, "after");
	uint64_t last = trace_last(), missed;
	/* A number ahead of us is of a server before this one. */
	uint64_t after = given < 0 || (uint64_t)given > last ? last : (uint64_t)given;
	struct wanted wanted;
	struct json_object *list;
	size_t limit;

	if (!read_wanted(call, &wanted, &limit))
		return;
	if (!trace_wanted())
		log_line(LOG_LEVEL_DEBUG, "decisions are traced (control channel)");
	trace_switch(true);
	call->held = true;
	list = describe_array(call->answer, "records");
	missed = collect(list, &after, &wanted, limit);
	describe_number(call->answer, "last", after);
	describe_number(call->answer, "missed", missed);
}

void command_trace_start(const struct control_host *h)
{
	host = h;
}

void command_trace_released(void)
{
	trace_switch(false);
	log_line(LOG_LEVEL_DEBUG, "decisions are no longer traced");
}
