/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who uses the devices: each device with its state and prices, and the counters of its flows since the
 * server knows them. Rates are the difference of two answers: whoever asks takes it (client_rows.h).
 *
 * Beside them what READs of all exports, of each, and of each client, found in memory, and what became of what was
 * fetched ahead.
 *
 * The answer has places for FACTS_FLOWS_MAX flows. Devices with few take what they need, the others an
 * equal part of the rest, of each those most lately active:
 *
 *   flows known    ####     ##########################     ####################
 *   listed         ####     ############                   ############
 */
#include "control/command_clients.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "control/describe.h"

#define NS_PER_US UINT64_C(1000)
/* Exports that are listed. */
#define CLIENTS_EXPORTS_MAX 256

_Static_assert(FLOW_WAIT_BUCKETS == SCHED_WAIT_BUCKETS, "one histogram");
_Static_assert(FLOW_CLASSES == SCHED_CLASSES, "one order of classes");

static struct {
	const struct control_host *host;
	uint64_t started; /* ns */
	/* Here and touched at the start, so that no page is made while a device's lock is held. */
	struct flow_stats flows[FACTS_FLOWS_MAX];
	struct export_facts exports[CLIENTS_EXPORTS_MAX];
	struct reader_facts readers[FACTS_READERS_MAX];
} state;

static const char *const class_names[FLOW_CLASSES] = {
	[SCHED_DEMAND] = "demand",
	[SCHED_PREFETCH] = "prefetch",
	[SCHED_WRITEBACK] = "writeback",
};

/* ---- one flow --------------------------------------------------------------------------- */

/* Members such as "served_demand", "served_prefetch"; or with SUFFIX "disk_time_demand_us". */
static void describe_classes(struct json_object *o, const char *what, const char *suffix,
			     const uint64_t value[FLOW_CLASSES])
{
	char name[64];

	for (int c = 0; c < FLOW_CLASSES; c++) {
		snprintf(name, sizeof(name), "%s%s%s", what, class_names[c], suffix);
		describe_number(o, name, value[c]);
	}
}

/* Who it is: "server" stands for work that is no client's, "" for one that is forgotten. */
static void describe_who(struct json_object *o, const struct flow_id *id)
{
	char name[FACTS_CLIENT_NAME] = "server";

	if (id->client != 0 && !state.host->client_name(id->client, name))
		name[0] = '\0';
	describe_text(o, "client", name);
	describe_number(o, "client_number", id->client);
	describe_number(o, "export", id->export_id);
}

/* Counts of demand reads by their wait, up to the last that is not 0. */
static void describe_histogram(struct json_object *o, const uint64_t waits[FLOW_WAIT_BUCKETS])
{
	struct json_object *list = describe_array(o, "waits");
	int n = FLOW_WAIT_BUCKETS;

	while (n > 0 && waits[n - 1] == 0)
		n--;
	for (int b = 0; b < n; b++)
		json_object_array_add(list, json_object_new_uint64(waits[b]));
}

static void describe_flow_waits(struct json_object *o, const struct flow_stats *f)
{
	struct sched_stats s = {.wait_max = f->wait_max};
	struct json_object *whom;

	memcpy(s.waits, f->waits, sizeof(s.waits));
	describe_waits(o, &s);
	describe_histogram(o, f->waits);
	if (f->behind_time == 0)
		return;
	whom = json_object_new_object();
	describe_who(whom, &f->behind);
	describe_number(whom, "disk_time_us", f->behind_time / NS_PER_US);
	json_object_object_add(o, "waited_for", whom);
}

static void describe_flow(struct json_object *o, const struct flow_stats *f)
{
	uint64_t queued[FLOW_CLASSES], disk_time[FLOW_CLASSES];

	for (int c = 0; c < FLOW_CLASSES; c++) {
		queued[c] = f->queued[c];
		disk_time[c] = f->disk_time[c] / NS_PER_US;
	}
	describe_who(o, &f->id);
	describe_number(o, "rule", f->id.rule);
	describe_number(o, "weight", f->weight);
	describe_text(o, "group", f->of_export ? "export" : "client");
	describe_number(o, "group_weight", f->group_weight);
	describe_flag(o, "backlogged", f->backlogged);
	describe_flag(o, "throttled", f->throttled);
	describe_classes(o, "queued_", "", queued);
	describe_number(o, "joined", f->joined);
	describe_number(o, "running", f->running);
	describe_number(o, "held_bytes", f->held);
	describe_classes(o, "served_", "", f->served);
	describe_classes(o, "", "_bytes", f->bytes);
	describe_number(o, "refused", f->refused);
	describe_classes(o, "disk_time_", "_us", disk_time);
	describe_flow_waits(o, f);
}

/* ---- a device --------------------------------------------------------------------------- */

static void describe_flows(struct json_object *o, unsigned int n, unsigned int max)
{
	struct flow_stats *f = state.flows;
	unsigned int total = state.host->flows(n, f, max);
	struct json_object *list;

	describe_number(o, "flows_total", total);
	list = describe_array(o, "flows");
	for (unsigned int i = 0; i < total && i < max; i++) {
		struct json_object *flow = json_object_new_object();

		describe_flow(flow, &f[i]);
		json_object_array_add(list, flow);
	}
}

static struct json_object *describe_user(unsigned int n, const struct device_facts *facts,
					 unsigned int max)
{
	struct json_object *o = json_object_new_object();

	describe_device_names(o, facts);
	describe_flag(o, "demand_queued", facts->demand_queued);
	describe_device_state(o, &facts->queue);
	describe_busy(o, facts);
	describe_price_of(o, state.host, n);
	describe_flows(o, n, max);
	return o;
}

/* How many flows of a device are listed at most, so that all devices' together have their places. */
static unsigned int places(const unsigned int *flows, unsigned int devices)
{
	unsigned int most = 0, sum;

	do {
		sum = 0;
		most++;
		for (unsigned int i = 0; i < devices; i++)
			sum += flows[i] < most ? flows[i] : most;
	} while (sum <= FACTS_FLOWS_MAX && most <= FACTS_FLOWS_MAX);
	return most - 1;
}

/* ---- exports ---------------------------------------------------------------------------- */

static void describe_reads(struct json_object *o, const uint64_t counted[READAHEAD_COUNTERS])
{
	describe_number(o, "reads", counted[READAHEAD_READS]);
	describe_number(o, "resident", counted[READAHEAD_RESIDENT]);
	describe_number(o, "prefetched_bytes", counted[READAHEAD_PREFETCHED]);
	describe_number(o, "used_bytes", counted[READAHEAD_USED]);
	describe_number(o, "wasted_bytes", counted[READAHEAD_WASTED]);
}

static void describe_all_reads(struct json_object *answer)
{
	uint64_t counted[READAHEAD_COUNTERS];
	struct json_object *o = json_object_new_object(), *list;
	unsigned int n = state.host->exports(state.exports, CLIENTS_EXPORTS_MAX);

	state.host->counters(counted);
	describe_reads(o, counted);
	json_object_object_add(answer, "counters", o);
	list = describe_array(answer, "exports");
	for (unsigned int i = 0; i < n && i < CLIENTS_EXPORTS_MAX; i++) {
		o = json_object_new_object();
		describe_number(o, "export", state.exports[i].id);
		describe_reads(o, state.exports[i].counted);
		json_object_array_add(list, o);
	}
	describe_number(answer, "exports_total", n);
}

static void describe_readers(struct json_object *answer, unsigned int max)
{
	struct reader_facts *f = state.readers;
	unsigned int n = state.host->readers ? state.host->readers(f, max) : 0;
	struct json_object *list = describe_array(answer, "readers"), *o;

	for (unsigned int i = 0; i < n && i < max; i++) {
		o = json_object_new_object();
		describe_text(o, "client", f[i].client);
		describe_number(o, "reads", f[i].counted[READER_READS]);
		describe_number(o, "resident", f[i].counted[READER_RESIDENT]);
		describe_number(o, "used_bytes", f[i].counted[READER_USED]);
		describe_number(o, "wasted_bytes", f[i].counted[READER_WASTED]);
		json_object_array_add(list, o);
	}
	describe_number(answer, "readers_total", n);
}

void command_clients(struct control_call *call)
{
	unsigned int flows[FACTS_DEVICES_MAX], n = 0, most;
	unsigned int max = control_limit(call, FACTS_FLOWS_MAX, "flows");
	uint64_t now = state.host->now();
	struct json_object *list;
	struct device_facts f;

	if (max == 0)
		return;
	describe_number(call->answer, "uptime_s", (now - state.started) / CLOCK_SECOND);
	describe_number(call->answer, "time_us", now / NS_PER_US);
	describe_all_reads(call->answer);
	describe_readers(call->answer, max < FACTS_READERS_MAX ? max : FACTS_READERS_MAX);
	list = describe_array(call->answer, "devices");
	for (; n < FACTS_DEVICES_MAX && state.host->device(n, &f); n++)
		flows[n] = state.host->flows(n, state.flows, 0);
	most = places(flows, n);
	if (most > max)
		most = max;
	for (unsigned int i = 0; i < n && state.host->device(i, &f); i++)
		json_object_array_add(list, describe_user(i, &f, most));
}

void command_clients_start(const struct control_host *host)
{
	memset(&state, 0, sizeof(state));
	state.host = host;
	state.started = host_started(host);
}
