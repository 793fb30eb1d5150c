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
#include "control/command_shares.h"
#include "control/command_trace.h"
#include "control/describe.h"

/* Throughput is over this many ticks of about a second. */
#define SAMPLES	    10
#define EXPORTS_MAX 4096 /* listed in one answer */

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

/* ---- small helpers ---------------------------------------------------------------------- */

static const char *heuristic_name(unsigned int n)
{
	const struct heuristic_ops *h = heuristic_nth(n);

	return h != NULL ? h->name : NULL;
}

static const char *policy_name(unsigned int n)
{
	const struct sched_policy *p = sched_policy_nth(n);

	return p != NULL ? p->name : NULL;
}

/* The next device of the host: for (n = 0; device(n, &f); n++). */
static bool device(unsigned int n, struct device_facts *f)
{
	memset(f, 0, sizeof(*f));
	return n < FACTS_DEVICES_MAX && state.host->device(n, f);
}

/* One more of the right names, in "choices" and in the text LIST of SIZE bytes. */
static void add_choice(struct json_object *choices, char *list, size_t size, const char *choice,
		       const char *alias)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s%s%s%s", used ? ", " : "", choice,
		 alias[0] ? " (" : "", alias, alias[0] ? ")" : "");
	json_object_array_add(choices, json_object_new_string(choice));
}

/* Refuses a wrong name, with the list of the right ones in the text and as "choices". */
static void refuse_name(struct control_call *call, const char *what, const char *name,
			const char *(*nth)(unsigned int n))
{
	struct json_object *choices = describe_array(call->answer, "choices");
	char list[256] = "";
	const char *right;

	for (unsigned int i = 0; (right = nth(i)) != NULL; i++)
		add_choice(choices, list, sizeof(list), right, "");
	control_refuse(call, "%s \"%.64s\" is none of %s", what, name, list);
}

/* ---- devices ---------------------------------------------------------------------------- */

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

static void devices(struct control_call *call)
{
	struct json_object *list = describe_array(call->answer, "devices"), *o;
	uint64_t per_s[SCHED_CLASSES];
	struct device_facts f;

	for (unsigned int i = 0; device(i, &f); i++) {
		throughput(i, &f, per_s);
		o = json_object_new_object();
		describe_device(o, &f, per_s);
		json_object_array_add(list, o);
	}
}

/* ---- scheduler -------------------------------------------------------------------------- */

static void set_policy(struct control_call *call, unsigned int n, const struct device_facts *f,
		       const struct sched_policy *policy, struct json_object *changes)
{
	const char *before = f->queue.policy->name;
	struct json_object *change;
	int err = state.host->set_policy(n, policy);

	if (err) {
		control_refuse(call, "device %u:%u keeps %s: %s", f->major, f->minor, before,
			       strerror(err));
		return;
	}
	log_line(LOG_LEVEL_EVENT, "device %u:%u: scheduler %s, was %s (control channel)", f->major,
		 f->minor, policy->name, before);
	change = json_object_new_object();
	describe_device_names(change, f);
	describe_text(change, "before", before);
	describe_text(change, "scheduler", policy->name);
	json_object_array_add(changes, change);
}

static void refuse_device(struct control_call *call, const char *wanted)
{
	struct json_object *choices = describe_array(call->answer, "choices");
	struct device_names names;
	struct device_facts f;
	char list[256] = "";

	for (unsigned int i = 0; device(i, &f); i++) {
		device_names(&f, &names);
		add_choice(choices, list, sizeof(list), names.number, names.name);
	}
	if (list[0] == '\0')
		control_refuse(call, "no device is in use: no export is on a local file system");
	else
		control_refuse(call, "device \"%.64s\" is none of %s", wanted, list);
}

static void scheduler(struct control_call *call)
{
	const char *name = control_text(call, "name"), *wanted = control_text(call, "device");
	const struct sched_policy *policy = sched_policy_find(name);
	struct json_object *changes;
	struct device_names names;
	struct device_facts f;

	if (policy == NULL) {
		refuse_name(call, "scheduler", name, policy_name);
		return;
	}
	changes = json_object_new_array();
	for (unsigned int i = 0; device(i, &f); i++) {
		device_names(&f, &names);
		if (wanted == NULL || device_names_match(&names, wanted))
			set_policy(call, i, &f, policy, changes);
	}
	if (json_object_array_length(changes) == 0 && !call->error[0])
		refuse_device(call, wanted != NULL ? wanted : "");
	json_object_object_add(call->answer, "devices", changes);
}

/* ---- exports ---------------------------------------------------------------------------- */

/* Adds "exports", each as DESCRIBE does it; returns how many there are. */
static unsigned int describe_exports(struct json_object *o,
				     void (*describe)(struct json_object *o,
						      const struct export_facts *f))
{
	struct export_facts *f = calloc(EXPORTS_MAX, sizeof(*f));
	struct json_object *list = describe_array(o, "exports");
	unsigned int n = f != NULL ? state.host->exports(f, EXPORTS_MAX) : 0;

	for (unsigned int i = 0; i < n && i < EXPORTS_MAX; i++) {
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
			describe_exports(call->answer, describe_export));
}

static void heuristic(struct control_call *call)
{
	const char *name = control_text(call, "name");
	int64_t export_id = control_number(call, "export");
	const struct heuristic_ops *h = heuristic_find(name);
	unsigned int n;

	if (h == NULL) {
		refuse_name(call, "heuristic", name, heuristic_name);
		return;
	}
	n = state.host->set_heuristic(h, export_id);
	if (n == 0) {
		if (export_id >= 0)
			control_refuse(call, "no export %" PRId64 " has FSAL RA", export_id);
		else
			control_refuse(call, "there is no export with FSAL RA");
		describe_exports(call->answer, describe_export);
		return;
	}
	log_line(LOG_LEVEL_EVENT, "heuristic %s for %u export%s (control channel)", h->name, n,
		 n == 1 ? "" : "s");
	describe_text(call->answer, "heuristic", h->name);
	describe_number(call->answer, "exports_changed", n);
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
	describe_exports(call->answer, describe_export_prices);
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
	 scheduler,
	 {{"name", CONTROL_TEXT, true}, {"device", CONTROL_TEXT}}},
	{"heuristic",
	 "another heuristic for an export, or for all",
	 heuristic,
	 {{"name", CONTROL_TEXT, true}, {"export", CONTROL_NUMBER}}},
	{"prices", "what resources cost, and what FSSTAT says of it", prices},
	{"stats", "counters since the start or the last reset", stats, {{"reset", CONTROL_FLAG}}},
	{"clients", "who uses the devices, and waits for whom: counters of each flow",
	 command_clients},
	{"shares", "shares of clients and exports in force", command_shares},
	{"share",
	 "another weight, floor or ceiling for clients or an export",
	 command_share,
	 {{"client", CONTROL_TEXT},
	  {"export", CONTROL_NUMBER},
	  {"key", CONTROL_TEXT, true},
	  {"value", CONTROL_NUMBER, true}}},
	{"trace",
	 "decisions as they are taken, after the number of one",
	 command_trace,
	 {{"after", CONTROL_NUMBER}, {"limit", CONTROL_NUMBER}, {"events", CONTROL_TEXT}}},
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
	command_shares_start(host);
	state.started = state.reset = host->now();
	return commands;
}
