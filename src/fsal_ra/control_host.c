/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The plugin as operators see it: fills control/facts.h from the rooms, starts and stops the control
 * channel over that, and logs the statistics at the end.
 */
#include "ra_methods.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/own_file.h"
#include "control/commands.h"
#include "control/describe.h"
#include "disk/export_io.h"
#include "disk/learnt_table.h"
#include "far_write.h"
#include "file_facts.h"
#include "live_params.h"
#include "prices.h"
#include "control_host.h"
#include "remote_io.h"
#include "shares_host.h"
#include "thread_name.h"
#include "writeback/commit.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacer.h"
#include "writeback/writeback.h"

_Static_assert(COMMIT_WAIT_BUCKETS == FACTS_WAIT_BUCKETS, "one histogram");
_Static_assert(DEVICES_MAX <= FACTS_DEVICES_MAX, "operators see all devices");
_Static_assert(DEVICE_IDENTITY_MAX <= FACTS_IDENTITY, "an identity fits");

static struct control *server;
static struct readahead *readahead;
static struct own_file file; /* libfsalra.so */

/* ---- facts ------------------------------------------------------------------------------ */

static const char *plugin_file(void)
{
	return own_file_state(&file);
}

static bool device_facts(unsigned int n, struct device_facts *f)
{
	struct device *d = device_nth(n);

	if (d == NULL)
		return false;
	f->major = major(d->dev);
	f->minor = minor(d->dev);
	f->rotating = d->rotating;
	f->demand_queued = device_queues_demand(d);
	f->drive_queue = atomic_load(&d->drive_stated);
	f->spindles = atomic_load(&d->spindles);
	dispatcher_stats(&d->dispatcher, &f->queue);
	return true;
}

static unsigned int device_flows(unsigned int n, struct flow_stats *f, unsigned int max)
{
	return dispatcher_flows(&device_nth(n)->dispatcher, f, max);
}

static void device_client_totals(unsigned int n, struct client_total *t, size_t count)
{
	dispatcher_client_totals(&device_nth(n)->dispatcher, t, count);
}

static bool client_name(uint64_t client, char name[FACTS_CLIENT_NAME])
{
	_Static_assert(FACTS_CLIENT_NAME >= CLIENT_TEXT_MAX, "an address fits");

	return shares_client_text(client, name);
}

static bool device_price_facts(unsigned int n, struct device_price_facts *f)
{
	struct prices_view view;

	if (!ra_prices_view(n, &view))
		return false;
	*f = (struct device_price_facts){.age = view.age,
					 .length = view.length,
					 .saturation = view.saturation,
					 .snapshot = view.snapshot};
	return true;
}

/* At the prices in force, of which there are some once anything is known of clients. */
static unsigned int client_price_facts(unsigned int n, struct client_price_facts *f,
				       unsigned int max)
{
	struct ledger_entry *entries = gsh_calloc(max, sizeof(*entries));
	unsigned int known = ra_prices_clients(n, entries, max);
	double k[PRICE_RESOURCES];
	struct prices_view view;

	ra_prices_k(k);
	if (!ra_prices_view(n, &view))
		known = 0;
	for (unsigned int i = 0; i < known && i < max; i++) {
		const struct ledger_entry *e = &entries[i];
		struct client_prices p = client_price(&view.snapshot, k, e->ratio);

		f[i] = (struct client_price_facts){.client = e->client,
						   .of_export = e->place != PLACE_ALL,
						   .export_id = (uint16_t)(e->place - 1),
						   .weight = e->weight,
						   .use = e->standing.use,
						   .entitled = e->standing.entitled,
						   .ratio = e->ratio,
						   .write = p.write,
						   .readahead = p.readahead};
	}
	gsh_free(entries);
	return known;
}

static void export_facts(const struct export_stats *v, struct export_facts *f)
{
	*f = (struct export_facts){.id = v->export_id,
				   .closing = v->closing,
				   .price_readahead = v->priced,
				   .fsstat_prices = v->fsstat == FSSTAT_PRICES,
				   .pending = v->pending,
				   .heuristic = v->heuristic->name,
				   .fsstat = fsstat_said_text[v->fsstat]};
	f->priced = device_prices(v->devices, &f->write_price, &f->readahead_price);
	memcpy(f->counted, v->counted, sizeof(f->counted));
}

static unsigned int exports_facts(struct export_facts *f, unsigned int max)
{
	struct export_stats *view = gsh_calloc(max, sizeof(*view));
	unsigned int n = exports_stats(view, max);

	for (unsigned int i = 0; i < n && i < max; i++)
		export_facts(&view[i], &f[i]);
	gsh_free(view);
	return n;
}

static void counters(uint64_t counted[READAHEAD_COUNTERS])
{
	struct readahead_counters sum;

	exports_sum(&sum);
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		counted[i] = readahead_counted(&sum, i);
}

static unsigned int readers_facts(struct reader_facts *f, unsigned int max)
{
	struct reader_look *looks = gsh_calloc(max, sizeof(*looks));
	uint32_t n = readers_look(readahead_readers(readahead), looks, max);
	struct client_address a;

	for (unsigned int i = 0; i < n && i < max; i++) {
		memcpy(&a, &looks[i].address, sizeof(a));
		client_address_text(&a, f[i].client);
		memcpy(f[i].counted, looks[i].value, sizeof(f[i].counted));
	}
	gsh_free(looks);
	return n;
}

static void engine_facts(struct engine_facts *f)
{
	readahead_stats(readahead, &f->readahead);
	f->descriptors = backing_count();
	f->kept = remote_kept();
}

static void writing_facts(struct writing_facts *f)
{
	struct writeback_stats w;
	struct pacer_stats p;

	writeback_stats(&w);
	pacer_stats(&p);
	*f = (struct writing_facts){
		.dirty_files = w.files,
		.dirty_bytes = (uint64_t)(dirty_memory_level() * (double)dirty_memory_budget()),
		.dirty_budget = dirty_memory_budget(),
		.disk_rate = (uint64_t)dirty_memory_rate(),
		.replies_held = p.held,
		.replies_held_bytes = p.bytes,
		.unstable = far_write_bytes(),
		.errors_kept = w.kept,
		.writeback_bytes = w.pushed,
		.writeback_errors = w.errors,
		.errors_told = w.told,
		.untracked_writes = w.untracked,
		.commits = w.commits,
		.commit_delays = w.delayed,
		.part_commits = w.parts,
		.direct_commits = w.direct,
		.replies_paced = p.replies,
		.paced = p.delay,
		.paced_max = p.delay_max,
		.pacing_refused = p.refused,
	};
	writeback_commit_waits(f->commit_waits, &f->commit_waited);
}

static uint64_t price_interval(void)
{
	return __atomic_load_n(&ra_module_params.price_interval, __ATOMIC_RELAXED);
}

static struct control_host host = {
	.plugin_file = plugin_file,
	.now = clock_now,
	.device = device_facts,
	.device_prices = device_price_facts,
	.identity = learnt_identity,
	.client_prices = client_price_facts,
	.flows = device_flows,
	.client_totals = device_client_totals,
	.client_name = client_name,
	.rules = ra_rules_facts,
	.export_shares = ra_export_shares_facts,
	.set_share = ra_set_share,
	.exports = exports_facts,
	.readers = readers_facts,
	.counters = counters,
	.engine = engine_facts,
	.writing = writing_facts,
	.files = ra_files_facts,
	.file_name = ra_file_name,
	.cursors = ra_cursors_facts,
	.price_k = ra_prices_k,
	.price_interval = price_interval,
	.parameters = ra_parameters,
	.get_parameter = live_params_get,
	.set_parameter = live_params_set,
};

/* ---- life ------------------------------------------------------------------------------- */

static void log_error(const char *line)
{
	LogWarn(COMPONENT_FSAL, "RA: Control_Socket: %s", line);
}

static void thread_start(void)
{
	ra_name_thread("ra_control");
}

/* A channel that another server has, or is about to have, is tried for again so often (ns). */
#define RETRY (10 * CLOCK_SECOND)
static _Atomic uint64_t next_try; /* ns; 0: none */
static int why_not;		  /* errno of the last try */
static gid_t looks;		  /* whose group may look */

/* An entry of the groups' data base: its members' names are in it. */
#define GROUP_BYTES	4096
#define GROUP_BYTES_MAX (1 << 20)

/* The number of the group NAME: 0, ERANGE: SIZE bytes do not hold its entry, or another errno. */
static int look_up_group(const char *name, size_t size, gid_t *gid)
{
	struct group g, *found = NULL;
	char *buffer = malloc(size);
	int err;

	if (buffer == NULL)
		return ENOMEM;
	err = getgrnam_r(name, &g, buffer, size, &found);
	if (err == 0 && found == NULL)
		err = ENOENT;
	if (err == 0)
		*gid = g.gr_gid;
	free(buffer);
	return err;
}

/* Control_Group's number; (gid_t)-1: there is none, or nobody knows it. */
static gid_t group_of(const char *name)
{
	gid_t gid = (gid_t)-1;
	int err = ERANGE;

	if (name == NULL || name[0] == '\0' || strcasecmp(name, "none") == 0)
		return gid;
	for (size_t size = GROUP_BYTES; err == ERANGE && size <= GROUP_BYTES_MAX; size *= 2)
		err = look_up_group(name, size, &gid);
	/* how data bases say that there is none: getgrnam_r(3) */
	if (err == ENOENT || err == ESRCH || err == EBADF || err == EPERM)
		LogWarn(COMPONENT_FSAL, "RA: Control_Group = %s: no such group: only root may look",
			name);
	else if (err != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: Control_Group = %s: the group is not to be had: %s: "
			"only root may look",
			name, strerror(err));
	return gid;
}

/* What a try says that is not the first: that it does not come was said. */
static void log_nothing(const char *line)
{
	(void)line;
}

static int try_start(void (*log)(const char *line))
{
	const struct ra_module_params *p = &ra_module_params;
	struct control_settings settings = {
		.path = p->control_socket,
		.group = looks,
		.peers = (unsigned int)p->control_peers,
		.timeout_ms = (unsigned int)p->control_timeout,
		.log = log,
		.thread_start = thread_start,
		.tick = commands_tick,
		.released = commands_released,
	};
	int err;

	settings.commands = commands_start(&host);
	err = control_start(&settings, &server);
	if (err == 0)
		LogInfo(COMPONENT_FSAL, "RA: control channel at %s", p->control_socket);
	return err;
}

void ra_control_start(struct readahead *engine)
{
	static char api[32];
	const struct ra_module_params *p = &ra_module_params;
	int err;

	readahead = engine;
	if (host.started == 0)
		host.started = clock_now();
	ra_file_facts_start(engine);
	if (server != NULL || !p->control_socket[0] || !strcmp(p->control_socket, "none"))
		return;
	snprintf(api, sizeof(api), "%d.%d", FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION);
	host.ganesha_api = api;
	own_file_note_address(&file, &file);
	looks = group_of(p->control_group);
	err = try_start(log_error);
	if (err == 0)
		return;
	LogWarn(COMPONENT_FSAL, "RA: the server goes on without control channel");
	why_not = err;
	atomic_store(&next_try, clock_now() + RETRY);
}

/* Until it is 0 no other thread has to do with the channel. */
void ra_control_again(uint64_t now)
{
	uint64_t next = atomic_load(&next_try);
	int err;

	if (next == 0 || now < next)
		return;
	err = try_start(log_nothing);
	if (err != 0 && err != why_not)
		LogWarn(COMPONENT_FSAL, "RA: still no control channel: %s", strerror(err));
	why_not = err;
	atomic_store(&next_try, err != 0 ? clock_now() + RETRY : 0);
}

void ra_control_stop(void)
{
	atomic_store(&next_try, 0);
	control_stop(server);
	server = NULL;
}

/* ---- the log ---------------------------------------------------------------------------- */

/* A line of the log holds 2048 bytes: each device has one of its own. */
static void log_stats(const char *mark, char *line)
{
	LogEvent(COMPONENT_FSAL, "%s %s", mark, line != NULL ? line : "{}");
	free(line);
}

void ra_stats_log(void)
{
	uint64_t counted[READAHEAD_COUNTERS];
	struct writing_facts writing;
	struct engine_facts engine;
	struct device_facts device;

	counters(counted);
	engine_facts(&engine);
	writing_facts(&writing);
	log_stats("RA_STATS", describe_stats_line(counted, &engine, &writing));
	for (unsigned int i = 0; device_facts(i, &device); i++)
		log_stats("RA_DEVICE_STATS", describe_device_line(&device));
}

void ra_stats_log_export(uint16_t export_id, const struct readahead_counters *c)
{
	uint64_t counted[READAHEAD_COUNTERS];

	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		counted[i] = readahead_counted(c, i);
	log_stats("RA_EXPORT_STATS", describe_export_line(export_id, counted));
}
