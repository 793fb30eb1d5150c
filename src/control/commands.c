/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What each command does. All run on the channel's one thread, so what is kept here for them (the
 * counters at the last reset, samples of throughput) needs no lock. `stats --reset` sets nothing to
 * zero: it notes what the counters are, and later answers are the difference.
 */
#include "control/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "control/client_prices.h"
#include "control/command_clients.h"
#include "control/command_files.h"
#include "control/command_metrics.h"
#include "control/command_parameters.h"
#include "control/command_shares.h"
#include "control/command_trace.h"
#include "control/describe.h"

/* Throughput is over this many ticks of about a second. */
#define SAMPLES 10
/* Exports listed in an answer of 1 MiB: of status; and of prices, beside 64 devices with as many clients each. */
#define EXPORTS_MAX	   1200
#define EXPORTS_PRICED_MAX 400

static struct {
	const struct control_host *host;
	uint64_t started; /* ns */
	/* What the counters were at the last reset. */
	uint64_t reset; /* ns */
	uint64_t counters[READAHEAD_COUNTERS];
	struct sched_stats device[FACTS_DEVICES_MAX];
	/* Bytes that each device had served at the last ticks; next: the oldest, to be replaced. */
	struct {
		uint64_t time;
		uint64_t bytes[FACTS_DEVICES_MAX][SCHED_CLASSES];
	} sample[SAMPLES];
	unsigned int next;
} state;

/* ---- devices ---------------------------------------------------------------------------- */

/* The next device of the host: for (n = 0; device(n, &f); n++). */
static bool device(unsigned int n, struct device_facts *f)
{
	memset(f, 0, sizeof(*f));
	return n < FACTS_DEVICES_MAX && state.host->device(n, f);
}

void commands_tick(void)
{
	struct device_facts f;

	state.sample[state.next].time = state.host->now();
	for (unsigned int i = 0; device(i, &f); i++)
		memcpy(state.sample[state.next].bytes[i], f.queue.counted.bytes,
		       sizeof(f.queue.counted.bytes));
	state.next = (state.next + 1) % SAMPLES;
}

/* Bytes a second over the last samples. */
static void throughput(unsigned int n, const struct device_facts *f, uint64_t per_s[SCHED_CLASSES])
{
	unsigned int oldest = state.sample[state.next].time ? state.next : 0;
	uint64_t since = state.host->now() - state.sample[oldest].time;

	for (int c = 0; c < SCHED_CLASSES; c++) {
		uint64_t served = f->queue.counted.bytes[c] - state.sample[oldest].bytes[n][c];

		per_s[c] =
			!state.sample[oldest].time || !since
				? 0
				: (uint64_t)((double)served * (double)CLOCK_SECOND / (double)since);
	}
}

static void describe_identity(struct json_object *o, unsigned int n)
{
	char name[FACTS_IDENTITY];
	bool restored;

	if (state.host->identity == NULL || !state.host->identity(n, name, &restored))
		return;
	describe_text(o, "identity", name);
	describe_flag(o, "restored", restored);
}

static void devices(struct control_call *call)
{
	struct json_object *list = describe_array(call->answer, "devices"), *o;
	uint64_t per_s[SCHED_CLASSES];
	struct device_facts f;

	for (unsigned int i = 0; device(i, &f); i++) {
		throughput(i, &f, per_s);
		o = json_object_new_object();
		describe_device(o, &f, per_s);
		describe_identity(o, i);
		json_object_array_add(list, o);
	}
}

/* ---- exports ---------------------------------------------------------------------------- */

/* Adds "exports", each as DESCRIBE does it, up to MAX; returns how many there are. */
static unsigned int describe_exports(struct json_object *o, unsigned int max,
				     void (*describe)(struct json_object *o,
						      const struct export_facts *f))
{
	struct export_facts *f = calloc(max, sizeof(*f));
	struct json_object *list = describe_array(o, "exports");
	unsigned int n = f != NULL ? state.host->exports(f, max) : 0;

	for (unsigned int i = 0; i < n && i < max; i++) {
		struct json_object *e = json_object_new_object();

		describe(e, &f[i]);
		json_object_array_add(list, e);
	}
	free(f);
	return n;
}

static void status(struct control_call *call)
{
	describe_text(call->answer, "version", control_version());
	describe_text(call->answer, "ganesha_api", state.host->ganesha_api);
	describe_text(call->answer, "plugin_file", state.host->plugin_file());
	describe_number(call->answer, "pid", (uint64_t)getpid());
	describe_number(call->answer, "uptime_s",
			(state.host->now() - state.started) / CLOCK_SECOND);
	describe_number(call->answer, "exports_total",
			describe_exports(call->answer, EXPORTS_MAX, describe_export));
}

/* ---- prices ----------------------------------------------------------------------------- */

static void prices(struct control_call *call)
{
	struct json_object *list = describe_array(call->answer, "devices"), *o;
	struct device_price_facts p;
	double k[PRICE_RESOURCES];
	struct device_facts f;

	describe_number(call->answer, "interval_ms", state.host->price_interval());
	state.host->price_k(k);
	for (unsigned int i = 0; device(i, &f); i++) {
		if (!state.host->device_prices(i, &p))
			continue;
		o = json_object_new_object();
		describe_device_prices(o, &f, &p, k);
		client_prices_describe(o, state.host, i);
		json_object_array_add(list, o);
	}
	describe_number(call->answer, "exports_total",
			describe_exports(call->answer, EXPORTS_PRICED_MAX, describe_export_prices));
}

/* ---- stats ------------------------------------------------------------------------------ */

/* NOW less BASE; the longest wait, which no difference gives, to the factor of two of a bucket. */
static void subtract(struct sched_stats *now, const struct sched_stats *base)
{
	uint64_t longest;

	for (int i = 0; i < SCHED_CLASSES; i++) {
		now->submitted[i] -= base->submitted[i];
		now->served[i] -= base->served[i];
		now->bytes[i] -= base->bytes[i];
	}
	now->waited -= base->waited;
	now->joined -= base->joined;
	now->absorbed -= base->absorbed;
	now->merged -= base->merged;
	now->overdue -= base->overdue;
	now->dropped -= base->dropped;
	now->refused -= base->refused;
	now->full_waits -= base->full_waits;
	now->full_delays -= base->full_delays;
	now->switches -= base->switches;
	now->stalls -= base->stalls;
	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++)
		now->waits[i] -= base->waits[i];
	longest = sched_wait_percentile(now, 100);
	if (longest < now->wait_max)
		now->wait_max = longest;
}

static void describe_counters_since(struct json_object *o, bool reset)
{
	uint64_t now[READAHEAD_COUNTERS], since[READAHEAD_COUNTERS];

	state.host->counters(now);
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		since[i] = now[i] - state.counters[i];
	describe_counters(o, since);
	if (reset)
		memcpy(state.counters, now, sizeof(now));
}

static void describe_devices_since(struct json_object *list, bool reset)
{
	struct device_facts f;

	for (unsigned int i = 0; device(i, &f); i++) {
		struct sched_stats now = f.queue.counted;
		struct json_object *o = json_object_new_object();

		subtract(&f.queue.counted, &state.device[i]);
		describe_device_stats(o, &f);
		json_object_array_add(list, o);
		if (reset)
			state.device[i] = now;
	}
}

/* Adds an empty object and returns it. */
static struct json_object *describe_object(struct json_object *o, const char *name)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(o, name, object);
	return object;
}

static void stats(struct control_call *call)
{
	bool reset = control_flag(call, "reset");
	struct engine_facts engine;
	struct writing_facts writing;

	if (reset && call->read_only) {
		control_refuse(call, CONTROL_READ_ONLY);
		return;
	}
	describe_number(call->answer, "seconds", (state.host->now() - state.reset) / CLOCK_SECOND);
	describe_counters_since(describe_object(call->answer, "counters"), reset);
	state.host->engine(&engine);
	describe_engine(describe_object(call->answer, "engine"), &engine);
	state.host->writing(&writing);
	describe_writing(describe_object(call->answer, "writing"), &writing);
	describe_devices_since(describe_array(call->answer, "devices"), reset);
	if (reset)
		state.reset = state.host->now();
	describe_flag(call->answer, "reset", reset);
}

/* ---- the table -------------------------------------------------------------------------- */

static const struct control_command commands[] = {
	{"status", "versions, uptime, exports", status},
	{"devices", "the devices' queues: policy, lengths, throughput, waits", devices},
	{"scheduler",
	 "another policy for a device, or for all",
	 command_scheduler,
	 {{"name", CONTROL_TEXT, true}, {"device", CONTROL_TEXT}},
	 true},
	{"heuristic",
	 "another heuristic for an export, or for all",
	 command_heuristic,
	 {{"name", CONTROL_TEXT, true}, {"export", CONTROL_NUMBER}},
	 true},
	{"get", "parameters: now, in the file, by default", command_get, {{"name", CONTROL_TEXT}}},
	{"diff", "parameters that differ from the file, or from their default", command_diff},
	{"set",
	 "another value for a parameter, of an export or device, or of all",
	 command_set,
	 {{"name", CONTROL_TEXT, true}, {"value", CONTROL_TEXT, true}, {"of", CONTROL_TEXT}},
	 true},
	{"files",
	 "files read lately, and what is fetched ahead of them",
	 command_files,
	 {{"limit", CONTROL_NUMBER}}},
	{"cursors",
	 "the streams of a file",
	 command_cursors,
	 {{"file", CONTROL_NUMBER, true}, {"dev", CONTROL_NUMBER}}},
	{"explain",
	 "why a file is or is not fetched ahead, why a client waits",
	 command_explain,
	 {{"file", CONTROL_NUMBER}, {"dev", CONTROL_NUMBER}, {"client", CONTROL_TEXT}}},
	{"prices", "what resources cost, and what FSSTAT says of it", prices},
	{"stats", "counters since the start or the last reset", stats, {{"reset", CONTROL_FLAG}}},
	{"metrics",
	 "all counters since the start, for monitoring",
	 command_metrics,
	 {{"clients", CONTROL_NUMBER}}},
	{"clients",
	 "who uses the devices, and waits for whom: counters of each flow",
	 command_clients,
	 {{"limit", CONTROL_NUMBER}}},
	{"shares", "shares of clients and exports in force", command_shares},
	{"share",
	 "another weight, floor or ceiling for clients or an export",
	 command_share,
	 {{"client", CONTROL_TEXT},
	  {"export", CONTROL_NUMBER},
	  {"key", CONTROL_TEXT, true},
	  {"value", CONTROL_NUMBER, true}},
	 true},
	{"trace",
	 "decisions as they are taken, after the number of one",
	 command_trace,
	 {{"after", CONTROL_NUMBER},
	  {"limit", CONTROL_NUMBER},
	  {"events", CONTROL_TEXT},
	  {"file", CONTROL_NUMBER},
	  {"dev", CONTROL_NUMBER},
	  {"client", CONTROL_TEXT}}},
	{NULL},
};

void commands_released(void)
{
	command_trace_released();
}

const struct control_command *commands_start(const struct control_host *host)
{
	memset(&state, 0, sizeof(state));
	state.host = host;
	command_clients_start(host);
	command_files_start(host);
	command_metrics_start(host);
	command_parameters_start(host);
	command_shares_start(host);
	command_trace_start(host);
	state.started = state.reset = host_started(host);
	return commands;
}
