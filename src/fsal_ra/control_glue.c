/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control channel's commands over the plugin's objects. All run on the channel's one thread, so
 * what is kept here for them (baseline of the counters, samples of throughput) needs no lock.
 */
#include "ra_methods.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "control/control.h"
#include "device.h"
#include "dirty.h"
#include "io.h"
#include "pacer.h"
#include "prices.h"
#include "stats.h"
#include "writeback.h"

#define SECOND UINT64_C(1000000000) /* in ns */
/* Throughput is over this many ticks of about a second. */
#define SAMPLES	    10
#define EXPORTS_MAX 4096 /* listed in one answer */

static struct {
	struct control *server;
	uint64_t started; /* ns */
	/* What the counters were at the last reset. */
	uint64_t reset; /* ns */
	uint64_t counters[READAHEAD_COUNTERS];
	struct sched_stats device[RA_DEVICES_MAX];
	/* Bytes that each device had served at the last ticks; next: the oldest, to be replaced. */
	struct {
		uint64_t time;
		uint64_t bytes[RA_DEVICES_MAX][SCHED_CLASSES];
	} sample[SAMPLES];
	unsigned int next;
} glue;

/* ---- small helpers ---------------------------------------------------------------------- */

static void add_number(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static void add_text(struct json_object *object, const char *name, const char *value)
{
	json_object_object_add(object, name, json_object_new_string(value));
}

static struct json_object *add_array(struct json_object *object, const char *name)
{
	struct json_object *array = json_object_new_array();

	json_object_object_add(object, name, array);
	return array;
}

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

/* Refuses a wrong name, with the list of the right ones in the text and as "choices". */
static void refuse_name(struct control_call *call, const char *what, const char *name,
			const char *(*nth)(unsigned int n))
{
	struct json_object *choices = add_array(call->answer, "choices");
	char list[256] = "";
	size_t used = 0;
	const char *right;

	for (unsigned int i = 0; (right = nth(i)) != NULL; i++) {
		json_object_array_add(choices, json_object_new_string(right));
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 i ? ", " : "", right);
	}
	control_refuse(call, "%s \"%.64s\" is none of %s", what, name, list);
}

/* ---- devices ---------------------------------------------------------------------------- */

struct device_names {
	char number[24]; /* "8:1" */
	char name[64];	 /* "sda1"; empty for a file system without a block device */
};

static void device_names(const struct ra_device *d, struct device_names *names)
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(names->number, sizeof(names->number), "%u:%u", major(d->dev), minor(d->dev));
	snprintf(path, sizeof(path), "/sys/dev/block/%s", names->number);
	n = readlink(path, target, sizeof(target) - 1);
	names->name[0] = '\0';
	if (n <= 0)
		return;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(names->name, sizeof(names->name), "%.63s", base != NULL ? base + 1 : target);
}

static void add_device_names(struct json_object *object, const struct ra_device *d)
{
	struct device_names names;

	device_names(d, &names);
	add_text(object, "device", names.number);
	if (names.name[0])
		add_text(object, "name", names.name);
}

static bool device_is(const struct ra_device *d, const char *wanted)
{
	struct device_names names;

	if (!strncmp(wanted, "/dev/", 5))
		wanted += 5;
	device_names(d, &names);
	return !strcmp(wanted, names.number) || (names.name[0] && !strcmp(wanted, names.name));
}

/* Of the one thread: samples what the devices have served. */
static void tick(void)
{
	struct ra_device *d;

	glue.sample[glue.next].time = clock_now();
	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		struct dispatcher_stats now;

		dispatcher_stats(&d->dispatcher, &now);
		memcpy(glue.sample[glue.next].bytes[i], now.counted.bytes,
		       sizeof(glue.sample[0].bytes[0]));
	}
	glue.next = (glue.next + 1) % SAMPLES;
}

static void add_real(struct json_object *object, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value); /* not seventeen digits */
	json_object_object_add(object, name, json_object_new_double_s(value, text));
}

/* Bytes a second over the last samples. */
static uint64_t throughput(unsigned int device, enum sched_class class, uint64_t bytes)
{
	unsigned int oldest = glue.sample[glue.next].time ? glue.next : 0;
	uint64_t since = clock_now() - glue.sample[oldest].time;

	if (!glue.sample[oldest].time || !since)
		return 0;
	return (uint64_t)((double)(bytes - glue.sample[oldest].bytes[device][class]) *
			  (double)SECOND / (double)since);
}

/* The percentiles are bounds of buckets: none may seem longer than the longest wait. */
static void add_wait(struct json_object *object, const char *name, const struct sched_stats *s,
		     double percent)
{
	uint64_t wait = sched_wait_percentile(s, percent);

	add_number(object, name, (wait < s->wait_max ? wait : s->wait_max) / 1000);
}

static void add_waits(struct json_object *object, const struct sched_stats *s)
{
	add_wait(object, "wait_p50_us", s, 50);
	add_wait(object, "wait_p90_us", s, 90);
	add_wait(object, "wait_p99_us", s, 99);
	add_number(object, "wait_max_us", s->wait_max / 1000);
}

static struct json_object *describe_device(struct ra_device *d, unsigned int n)
{
	struct json_object *o = json_object_new_object();
	struct dispatcher_stats now;

	dispatcher_stats(&d->dispatcher, &now);
	add_device_names(o, d);
	json_object_object_add(o, "rotating", json_object_new_boolean(d->rotating));
	json_object_object_add(o, "demand_queued",
			       json_object_new_boolean(device_queues_demand(d)));
	add_text(o, "scheduler", now.policy->name);
	add_number(o, "depth", now.depth);
	add_number(o, "running", now.running);
	add_number(o, "queued_demand", now.queued[SCHED_DEMAND]);
	add_number(o, "queued_prefetch", now.queued[SCHED_PREFETCH]);
	add_number(o, "queued_writeback", now.queued[SCHED_WRITEBACK]);
	add_real(o, "writeback_share", now.writeback_share);
	add_number(o, "demand_bytes_per_s",
		   throughput(n, SCHED_DEMAND, now.counted.bytes[SCHED_DEMAND]));
	add_number(o, "prefetch_bytes_per_s",
		   throughput(n, SCHED_PREFETCH, now.counted.bytes[SCHED_PREFETCH]));
	add_number(o, "writeback_bytes_per_s",
		   throughput(n, SCHED_WRITEBACK, now.counted.bytes[SCHED_WRITEBACK]));
	add_waits(o, &now.counted);
	add_number(o, "seek_us", (uint64_t)(now.cost.seek_ns / 1000));
	add_number(o, "media_bytes_per_s",
		   now.cost.ns_per_byte > 0 ? (uint64_t)(1e9 / now.cost.ns_per_byte) : 0);
	add_number(o, "chunk", now.chunk);
	return o;
}

static void devices(struct control_call *call)
{
	struct json_object *list = add_array(call->answer, "devices");
	struct ra_device *d;

	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++)
		json_object_array_add(list, describe_device(d, i));
}

/* ---- scheduler -------------------------------------------------------------------------- */

static void set_policy(struct ra_device *d, const struct sched_policy *policy,
		       struct json_object *changes)
{
	struct json_object *change = json_object_new_object();
	struct device_names names;
	struct dispatcher_stats now;
	const char *before;

	dispatcher_stats(&d->dispatcher, &now);
	before = now.policy->name;
	if (dispatcher_set_policy(&d->dispatcher, policy))
		policy = now.policy; /* no memory for it */
	device_names(d, &names);
	LogEvent(COMPONENT_FSAL, "RA: device %s: scheduler %s, was %s (control channel)",
		 names.number, policy->name, before);
	add_device_names(change, d);
	add_text(change, "before", before);
	add_text(change, "scheduler", policy->name);
	json_object_array_add(changes, change);
}

static void refuse_device(struct control_call *call, const char *wanted)
{
	struct json_object *choices = add_array(call->answer, "choices");
	struct device_names names;
	char list[256] = "";
	size_t used = 0;
	struct ra_device *d;

	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		device_names(d, &names);
		json_object_array_add(choices, json_object_new_string(names.number));
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s%s%s",
						 i ? ", " : "", names.number,
						 names.name[0] ? " (" : "", names.name,
						 names.name[0] ? ")" : "");
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
	struct ra_device *d;

	if (policy == NULL) {
		refuse_name(call, "scheduler", name, policy_name);
		return;
	}
	changes = json_object_new_array();
	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++)
		if (wanted == NULL || device_is(d, wanted))
			set_policy(d, policy, changes);
	if (json_object_array_length(changes) == 0)
		refuse_device(call, wanted != NULL ? wanted : "");
	json_object_object_add(call->answer, "devices", changes);
}

/* ---- exports ---------------------------------------------------------------------------- */

static struct json_object *describe_exports(unsigned int *n)
{
	struct export_view *view = gsh_calloc(EXPORTS_MAX, sizeof(*view));
	struct json_object *list = json_object_new_array();

	*n = ra_exports_view(view, EXPORTS_MAX);
	for (unsigned int i = 0; i < *n && i < EXPORTS_MAX; i++) {
		struct json_object *o = json_object_new_object();

		add_number(o, "export", view[i].export_id);
		add_text(o, "heuristic", view[i].heuristic->name);
		add_number(o, "pending", view[i].pending);
		for (int k = 0; k < READAHEAD_COUNTERS; k++)
			add_number(o, readahead_counter_names[k], view[i].counted[k]);
		if (view[i].closing)
			json_object_object_add(o, "closing", json_object_new_boolean(true));
		json_object_array_add(list, o);
	}
	gsh_free(view);
	return list;
}

static void status(struct control_call *call)
{
	struct json_object *list;
	unsigned int n;
	char api[32];

	snprintf(api, sizeof(api), "%d.%d", FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION);
	add_text(call->answer, "version", control_version());
	add_text(call->answer, "ganesha_api", api);
	add_number(call->answer, "pid", (uint64_t)getpid());
	add_number(call->answer, "uptime_s", (clock_now() - glue.started) / SECOND);
	list = describe_exports(&n);
	add_number(call->answer, "exports_total", n);
	json_object_object_add(call->answer, "exports", list);
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
	n = ra_exports_set_heuristic(h, export_id);
	if (n == 0 && export_id >= 0)
		control_refuse(call, "no export %" PRId64 " has FSAL RA", export_id);
	else if (n == 0)
		control_refuse(call, "there is no export with FSAL RA");
	if (n == 0) {
		json_object_object_add(call->answer, "exports", describe_exports(&n));
		return;
	}
	LogEvent(COMPONENT_FSAL, "RA: heuristic %s for %u export%s (control channel)", h->name, n,
		 n == 1 ? "" : "s");
	add_text(call->answer, "heuristic", h->name);
	add_number(call->answer, "exports_changed", n);
}

/* ---- prices ----------------------------------------------------------------------------- */

static struct json_object *describe_resource(const struct price_snapshot *s, enum price_resource r)
{
	struct json_object *o = json_object_new_object();
	double k[PRICE_RESOURCES];

	ra_prices_k(k);
	add_text(o, "resource", price_resource_names[r]);
	add_real(o, "utilization", s->utilization[r]);
	add_real(o, "price", s->price[r]);
	add_real(o, "k", k[r]);
	if (s->unknown & (1u << r))
		json_object_object_add(o, "unknown", json_object_new_boolean(true));
	return o;
}

static struct json_object *describe_prices(struct ra_device *d)
{
	struct json_object *o = json_object_new_object(), *list;
	struct prices_view view;

	ra_prices_view(d, &view);
	add_device_names(o, d);
	if (view.age == UINT64_MAX)
		return o;
	add_number(o, "age_ms", view.age * 1000 / SECOND);
	add_real(o, "write_price", view.snapshot.write);
	add_text(o, "write_by", price_resource_names[view.snapshot.write_by]);
	add_real(o, "readahead_price", view.snapshot.readahead);
	add_text(o, "readahead_by", price_resource_names[view.snapshot.readahead_by]);
	add_real(o, "queue_length", view.length);
	add_real(o, "queue_saturation", view.saturation);
	list = add_array(o, "resources");
	for (int r = 0; r < PRICE_RESOURCES; r++)
		json_object_array_add(list, describe_resource(&view.snapshot, r));
	return o;
}

/* What FSSTAT says of an export, and what its read-ahead is worth. */
static struct json_object *describe_export_prices(const struct export_view *view)
{
	struct json_object *o = json_object_new_object();
	uint64_t used = view->counted[READAHEAD_USED],
		 fetched = view->counted[READAHEAD_PREFETCHED];
	double write, readahead;

	add_number(o, "export", view->export_id);
	json_object_object_add(o, "fsstat_prices",
			       json_object_new_boolean(view->fsstat == FSSTAT_PRICES));
	add_text(o, "fsstat", fsstat_said_text[view->fsstat]);
	if (device_prices(view->devices, &write, &readahead)) {
		add_real(o, "write_price", write);
		add_real(o, "readahead_price", readahead);
	}
	json_object_object_add(o, "price_readahead", json_object_new_boolean(view->priced));
	if (fetched != 0)
		add_real(o, "effectiveness", (double)used / (double)fetched);
	if (view->counted[READAHEAD_READ_BYTES] != 0)
		add_real(o, "confidence",
			 (double)used / (double)view->counted[READAHEAD_READ_BYTES]);
	add_number(o, "curbed", view->counted[READAHEAD_CURBED]);
	return o;
}

static void prices(struct control_call *call)
{
	struct export_view *view = gsh_calloc(EXPORTS_MAX, sizeof(*view));
	struct json_object *list = add_array(call->answer, "devices");
	struct ra_device *d;
	unsigned int n;

	add_number(call->answer, "interval_ms", ra_module_params.price_interval);
	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++)
		json_object_array_add(list, describe_prices(d));
	list = add_array(call->answer, "exports");
	n = ra_exports_view(view, EXPORTS_MAX);
	for (unsigned int i = 0; i < n && i < EXPORTS_MAX; i++)
		json_object_array_add(list, describe_export_prices(&view[i]));
	gsh_free(view);
}

/* ---- stats ------------------------------------------------------------------------------ */

static void take_device_stats(struct ra_device *d, struct sched_stats *s)
{
	struct dispatcher_stats now;

	dispatcher_stats(&d->dispatcher, &now);
	*s = now.counted;
}

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
	now->expired -= base->expired;
	now->dropped -= base->dropped;
	now->refused -= base->refused;
	now->switches -= base->switches;
	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++)
		now->waits[i] -= base->waits[i];
	longest = sched_wait_percentile(now, 100);
	if (longest < now->wait_max)
		now->wait_max = longest;
}

static struct json_object *describe_device_stats(struct ra_device *d, struct sched_stats *s)
{
	struct json_object *o = json_object_new_object();

	add_device_names(o, d);
	add_number(o, "submitted_demand", s->submitted[SCHED_DEMAND]);
	add_number(o, "submitted_prefetch", s->submitted[SCHED_PREFETCH]);
	add_number(o, "submitted_writeback", s->submitted[SCHED_WRITEBACK]);
	add_number(o, "served_demand", s->served[SCHED_DEMAND]);
	add_number(o, "served_prefetch", s->served[SCHED_PREFETCH]);
	add_number(o, "served_writeback", s->served[SCHED_WRITEBACK]);
	add_number(o, "demand_bytes", s->bytes[SCHED_DEMAND]);
	add_number(o, "prefetch_bytes", s->bytes[SCHED_PREFETCH]);
	add_number(o, "writeback_bytes", s->bytes[SCHED_WRITEBACK]);
	add_number(o, "joined", s->joined);
	add_number(o, "absorbed", s->absorbed);
	add_number(o, "merged", s->merged);
	add_number(o, "expired", s->expired);
	add_number(o, "dropped", s->dropped);
	add_number(o, "refused", s->refused);
	add_number(o, "switches", s->switches);
	add_waits(o, s);
	return o;
}

static struct json_object *describe_engine(void)
{
	struct json_object *o = json_object_new_object();
	struct readahead_stats s;

	readahead_stats(ra_engine, &s);
	add_number(o, "unread_bytes", s.unread);
	add_number(o, "unread_bytes_max", s.unread_max);
	add_number(o, "readahead_memory", s.memory);
	add_number(o, "streams", s.streams);
	add_number(o, "cursors", s.cursors);
	add_number(o, "cursors_used", s.cursors_used);
	add_number(o, "cursors_made", s.cursors_made);
	add_number(o, "cursors_recycled", s.cursors_recycled);
	add_number(o, "table_size", s.table_size);
	add_number(o, "table_entries", s.entries);
	add_number(o, "table_evictions", s.evictions);
	add_number(o, "descriptors", backing_count());
	return o;
}

static struct json_object *describe_writing(void)
{
	struct json_object *o = json_object_new_object();
	struct writeback_view w;
	struct pacer_view p;

	writeback_view(&w);
	pacer_view(&p);
	add_number(o, "dirty_files", w.files);
	add_number(o, "dirty_bytes", (uint64_t)(dirty_level() * (double)dirty_budget()));
	add_number(o, "dirty_budget", dirty_budget());
	add_number(o, "disk_bytes_per_s", (uint64_t)dirty_rate());
	add_number(o, "written_back_bytes", w.pushed);
	add_number(o, "commits", w.commits);
	add_number(o, "writeback_errors", w.errors);
	add_number(o, "untracked_writes", w.untracked);
	add_number(o, "replies_held", p.held);
	add_number(o, "replies_paced", p.replies);
	add_number(o, "paced_us", p.delay / 1000);
	add_number(o, "paced_max_us", p.delay_max / 1000);
	add_number(o, "pacing_refused", p.refused);
	return o;
}

static void stats(struct control_call *call)
{
	static struct readahead_counters sum;
	bool reset = control_flag(call, "reset");
	struct json_object *counters = json_object_new_object(), *list;
	struct ra_device *d;

	add_number(call->answer, "seconds", (clock_now() - glue.reset) / SECOND);
	ra_stats_sum(&sum);
	for (int i = 0; i < READAHEAD_COUNTERS; i++) {
		uint64_t now = readahead_counted(&sum, i);

		add_number(counters, readahead_counter_names[i], now - glue.counters[i]);
		if (reset)
			glue.counters[i] = now;
	}
	json_object_object_add(call->answer, "counters", counters);
	json_object_object_add(call->answer, "engine", describe_engine());
	json_object_object_add(call->answer, "writing", describe_writing());
	list = add_array(call->answer, "devices");
	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		struct sched_stats now, since;

		take_device_stats(d, &now);
		since = now;
		subtract(&since, &glue.device[i]);
		json_object_array_add(list, describe_device_stats(d, &since));
		if (reset)
			glue.device[i] = now;
	}
	if (reset)
		glue.reset = clock_now();
	json_object_object_add(call->answer, "reset", json_object_new_boolean(reset));
}

/* ---- life ------------------------------------------------------------------------------- */

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
	{NULL},
};

static void say(const char *line)
{
	LogWarn(COMPONENT_FSAL, "RA: Control_Socket: %s", line);
}

static void thread_start(void)
{
	SetNameFunction("ra_control");
}

void ra_control_start(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct control_settings settings = {
		.path = p->control_socket,
		.peers = (unsigned int)p->control_peers,
		.timeout_ms = (unsigned int)p->control_timeout,
		.commands = commands,
		.log = say,
		.thread_start = thread_start,
		.tick = tick,
	};

	glue.started = glue.reset = clock_now();
	if (glue.server != NULL || !p->control_socket[0] || !strcmp(p->control_socket, "none"))
		return;
	if (control_start(&settings, &glue.server) != 0)
		LogWarn(COMPONENT_FSAL, "RA: the server goes on without control channel");
	else
		LogInfo(COMPONENT_FSAL, "RA: control channel at %s", p->control_socket);
}

void ra_control_stop(void)
{
	control_stop(glue.server);
	glue.server = NULL;
}
