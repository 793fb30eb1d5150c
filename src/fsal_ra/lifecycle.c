/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The life of the data path: the engine, the maintenance thread, the exports' parts; and the
 * statistics logged at the end.
 *
 * Order of the end: exports stop taking requests and drain (bounded); the module joins its threads,
 * which serve what is queued; then memory goes. Requests keep what they need of ours by references, so
 * a prefetch that outlasts the drain is harmless. A demand read needs its handle, which is Ganesha's to
 * free: one that outlasts the drain is not answered once handles are freed at the server's end
 * (exports_abandon()).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "common/clock.h"
#include "device_params.h"
#include "disk/learnt_table.h"
#include "disk/learnt_thread.h"
#include "disk/scratch.h"
#include "live_params.h"
#include "prices.h"
#include "remote_io.h"
#include "control_host.h"
#include "far_write.h"
#include "shares_host.h"
#include "thread_name.h"
#include "walk.h"
#include "writeback/commit.h"
#include "writeback/dirty_memory.h"
#include "writeback/pacer.h"
#include "writeback/writeback.h"

/* Maintenance runs this often (ns). */
#define TICK CLOCK_SECOND
/*
 * After a rename descriptors are looked through at once, but then for so many times as long as that took
 * not again: renames cost a twentieth of a processor at most, however many they are.
 */
#define SWEEP_REST 20
/* A scratch buffer unused for this long is freed (ns). */
#define SCRATCH_IDLE (10 * CLOCK_SECOND)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping;
	atomic_bool renamed; /* a file may have lost its name */
	struct readahead *engine;
	_Atomic uint64_t drain_timeout; /* ns */
} module = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- exports ---------------------------------------------------------------------------- */

static void say_why(struct ra_export *exp, const char *why)
{
	LogCrit(COMPONENT_CONFIG, "RA, export %u: %s", exp->export.export_id, why);
}

/* False, after a line in the log: it cannot have such a share. */
static bool set_share(struct ra_export *exp, const struct export_settings *settings)
{
	char why[SHARES_WHY];

	exp->share.id = exp->export.export_id;
	if (shares_set_export(&exp->share, &settings->share, why))
		return true;
	say_why(exp, why);
	return false;
}

/* What operators see and turn of it, and its share, are gone. */
static void forget(struct ra_export *exp)
{
	shares_drop_export(&exp->share);
	if (exp->kept)
		live_params_export_drop(exp->io);
	exp->kept = false;
}

int ra_io_export_start(struct ra_export *exp)
{
	struct export_settings settings;

	ra_settings_of(&exp->params, &settings);
	if (!set_share(exp, &settings))
		return EINVAL;
	exp->io = export_io_new(exp->export.export_id, module.engine, &settings);
	if (exp->io == NULL) {
		shares_drop_export(&exp->share);
		return ENOMEM;
	}
	live_params_export_new(exp->io, &exp->params);
	exp->kept = true;
	return 0;
}

bool ra_io_export_may(struct ra_export *exp)
{
	struct export_settings settings;
	char why[SHARES_WHY];

	ra_settings_of(&exp->params, &settings);
	if (shares_may_set_export(&exp->share, &settings.share, why))
		return true;
	say_why(exp, why);
	return false;
}

int ra_io_export_update(struct ra_export *exp)
{
	struct export_settings settings;
	int err;

	ra_settings_of(&exp->params, &settings);
	if (!set_share(exp, &settings))
		return EINVAL;
	err = live_params_export_update(exp->io, &exp->params, &settings);
	if (err != 0) {
		LogCrit(COMPONENT_FSAL, "RA, export %u: no memory for the new parameters",
			exp->export.export_id);
		shares_undo_export(&exp->share);
	}
	return err;
}

/* What was learnt of devices that came, if it is to be had by now. */
static void look_at_learnt(void)
{
	static atomic_bool hangs;
	bool hung = !learnt_thread_wait(LEARNT_WAIT);

	if (hung && !atomic_exchange(&hangs, hung))
		LogWarn(COMPONENT_FSAL,
			"RA: Learnt_Directory: %s does not answer: until it does, what was "
			"learnt of devices is not read",
			ra_module_params.learnt_directory);
	atomic_store(&hangs, hung);
}

void ra_io_export_root(struct ra_export *exp, const char *path)
{
	int fd, err = 0;

	if (atomic_load(&exp->io->devices) != 0)
		return;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	if (export_io_device(exp->io, fd, clock_now(), &err) == NULL)
		export_io_say_degraded(exp->io, err);
	close(fd);
	look_at_learnt(); /* before the first READ */
}

uint64_t ra_io_drain_timeout(void)
{
	return atomic_load(&module.drain_timeout);
}

void ra_io_export_drain(struct ra_export *exp)
{
	uint64_t timeout = ra_io_drain_timeout();
	uint32_t left;
	bool again;

	if (exp->io == NULL)
		return;
	again = export_io_deadline(exp->io) != 0;
	forget(exp); /* before an export of the same number may come */
	writeback_leave(exp->io);
	left = export_io_drain(exp->io, timeout);
	remote_drain(exp, export_io_deadline(exp->io));
	if (left != 0 && !again)
		LogWarn(COMPONENT_FSAL,
			"RA: export %u goes with %u requests still queued after Drain_Timeout = "
			"%" PRIu64 " ms",
			exp->io->export_id, left, timeout / CLOCK_MS);
}

void ra_io_export_release(struct ra_export *exp)
{
	if (exp->io == NULL)
		return;
	forget(exp);
	writeback_leave(exp->io);
	export_io_close(exp->io);
	remote_drain(exp, 0);
	ra_stats_log_export(exp->io->export_id, &exp->io->counters);
	export_io_put(exp->io);
	exp->io = NULL;
}

/* ---- maintenance ------------------------------------------------------------------------ */

/* Looks through the descriptors; returns when a rename may have that done again. */
static uint64_t sweep(uint64_t now)
{
	uint64_t end;

	atomic_store(&module.renamed, false);
	backing_sweep(now, false);
	end = clock_now();
	return end + SWEEP_REST * (end - now);
}

static void maintain(uint64_t now)
{
	readahead_sweep(module.engine, now);
	remote_sweep(now);
	walk_sweep(now);
	exports_collect(module.engine);
	shares_watch();
	learnt_thread_ask();
	ra_control_again(now);
	if (now > SCRATCH_IDLE)
		scratch_trim(now - SCRATCH_IDLE);
}

/* Waits for a rename, but not before REST, or for the time UNTIL; with the lock. */
static void wait_for_work(uint64_t rest, uint64_t until)
{
	int err = 0;

	while (!module.stopping && !err) {
		bool renamed = atomic_load(&module.renamed);

		if (renamed && clock_now() >= rest)
			break;
		err = clock_cond_wait_until(&module.wake, &module.lock,
					    renamed && rest < until ? rest : until);
		if (renamed && clock_now() < until)
			err = 0; /* only the rest was over */
	}
}

static void *maintainer(void *arg)
{
	uint64_t next = clock_now() + TICK, rest = 0;

	ra_name_thread("ra_maintain");
	pthread_mutex_lock(&module.lock);
	while (!module.stopping) {
		wait_for_work(rest, next);
		pthread_mutex_unlock(&module.lock);
		rest = sweep(clock_now());
		if (clock_now() >= next) {
			maintain(clock_now());
			next = clock_now() + TICK;
		}
		pthread_mutex_lock(&module.lock);
	}
	pthread_mutex_unlock(&module.lock);
	return NULL;
}

void ra_io_renamed(void)
{
	if (atomic_exchange(&module.renamed, true))
		return; /* it is known */
	pthread_mutex_lock(&module.lock);
	pthread_cond_signal(&module.wake);
	pthread_mutex_unlock(&module.lock);
}

static int maintainer_start(void)
{
	int err;

	module.stopping = false;
	clock_cond_init(&module.wake);
	err = pthread_create(&module.thread, NULL, maintainer, NULL);
	if (err)
		pthread_cond_destroy(&module.wake);
	return err;
}

static void maintainer_stop(void)
{
	pthread_mutex_lock(&module.lock);
	module.stopping = true;
	pthread_cond_signal(&module.wake);
	pthread_mutex_unlock(&module.lock);
	pthread_join(module.thread, NULL);
	pthread_cond_destroy(&module.wake);
}

/* ---- the module ------------------------------------------------------------------------- */

static void disk_thread_start(unsigned int n)
{
	char name[16];

	snprintf(name, sizeof(name), "ra_disk_%u", n);
	ra_name_thread(name);
}

static const struct dispatcher_ops dispatcher_ops = {
	.now = clock_now,
	.thread_start = disk_thread_start,
};

static struct readahead *make_engine(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct readahead_limits limits = {
		.table_size = (uint32_t)p->table_size,
		.table_probes = (uint32_t)p->table_probes,
		.cursors = (uint32_t)p->cursor_pool,
		.cursors_per_file = (uint32_t)p->cursors_per_file,
		.memory = p->readahead_memory,
		.idle_time = p->cursor_idle * CLOCK_MS,
	};

	return readahead_create(&limits);
}

/* Times Full_Threads: COMMITs wait for longer than reads do for room, and who is told to come again stands still for 5 s. */
#define COMMIT_THREADS 2

void ra_io_module_update(void)
{
	const struct ra_module_params *p = &ra_module_params;

	backing_set_limits((uint32_t)p->descriptors_max / BACKING_DESCRIPTORS,
			   p->descriptor_idle * CLOCK_MS);
	device_set_price_k(p->k_disk);
	dispatcher_set_full_threads((uint32_t)p->full_threads);
	writeback_set_commit_threads(COMMIT_THREADS * (uint32_t)p->full_threads);
	atomic_store(&module.drain_timeout, p->drain_timeout * CLOCK_MS);
	if (module.engine != NULL) {
		readahead_set_memory(module.engine, remote_memory(p->readahead_memory));
		readahead_set_idle(module.engine, p->cursor_idle * CLOCK_MS);
	}
	dirty_memory_set_budget(p->dirty_budget);
	far_write_set_max(p->unstable_max);
	pacer_set_room((uint32_t)p->paced_replies, p->paced_memory);
	remote_set_memory(p->readahead_memory);
	ra_prices_update();
}

/* What no read can do without; a failure undoes what was done. */
static int start_reading(void)
{
	int err = calls_start();

	if (err)
		return err;
	module.engine = make_engine();
	err = module.engine != NULL
		      ? shares_start(&ra_shares_ops, (uint32_t)ra_module_params.clients_max)
		      : ENOMEM;
	if (!err) {
		walk_start(module.engine);
		err = maintainer_start();
	}
	if (!err)
		return 0;
	walk_stop();
	shares_stop();
	if (module.engine != NULL)
		readahead_destroy(module.engine);
	module.engine = NULL;
	calls_stop();
	return err;
}

static void start_learning(void)
{
	const char *dir = ra_module_params.learnt_directory;
	int err;

	learnt_start(dir[0] != '\0' && strcasecmp(dir, "none") != 0 ? dir : NULL, NULL);
	err = learnt_thread_start(ra_name_thread);
	if (err)
		LogWarn(COMPONENT_FSAL, "RA: what is learnt of devices is not kept: no thread: %s",
			strerror(err));
}

static void stop_learning(void)
{
	if (!learnt_thread_stop(LEARNT_WAIT))
		LogWarn(COMPONENT_FSAL,
			"RA: Learnt_Directory: %s does not answer: what was learnt of devices "
			"lately is not kept",
			ra_module_params.learnt_directory);
}

static int start_pacer(void)
{
	const struct pacer_limits limits = {
		.replies = (uint32_t)ra_module_params.paced_replies,
		.bytes = ra_module_params.paced_memory,
		.name_thread = ra_name_thread,
	};

	return pacer_start(&limits);
}

/* Errors kept of other files than those known, for each of these. */
#define ERRORS_A_FILE 4

static int start_writeback(void)
{
	uint32_t files = (uint32_t)ra_module_params.writeback_files;
	const struct writeback_limits limits = {
		.files = files,
		.entries = files + ERRORS_A_FILE * files,
		.name_thread = ra_name_thread,
		.refresh = shares_refresh,
	};

	dirty_memory_start(ra_module_params.dirty_budget);
	return writeback_start(&limits, &writeback_linux_ops);
}

static void start_writing(void)
{
	int err = start_writeback();

	if (!err)
		err = start_pacer();
	if (err)
		LogWarn(COMPONENT_FSAL, "RA: write-back or pacing not started: %s", strerror(err));
}

int ra_io_module_start(void)
{
	int err;

	if (module.running)
		return 0;
	ra_log_start();
	if (!residency_start(ra_module_params.residency_probe))
		LogWarn(COMPONENT_FSAL, "RA: Residency_Probe = cachestat: this kernel has none "
					"(Linux 6.5 does); using mincore");
	device_start(&dispatcher_ops, NULL);
	device_set_adjust(device_params_adjust);
	start_learning();
	err = start_reading();
	if (err) { /* another try reads all anew */
		stop_learning();
		live_params_end();
		return err;
	}
	ra_io_module_update();
	live_params_on_change(ra_io_module_update);
	module.running = true;
	ra_prices_start();
	start_writing();
	ra_control_start(module.engine);
	return 0;
}

bool ra_io_module_runs(void)
{
	return module.running;
}

void ra_io_module_stop(void)
{
	if (!module.running)
		return;
	maintainer_stop();
	ra_control_stop();
	ra_prices_stop();
	module.running = false;
	pacer_stop();
	writeback_stop();
	dirty_memory_stop();
	backing_sweep(clock_now(), true);
	ra_stats_log();
	stop_learning();
	device_stop_work(); /* which may need readers woken */
	remote_watch_stop();
	device_stop_all();
	walk_stop();
	scratch_trim(UINT64_MAX);
	ra_prices_free();
	readahead_destroy(module.engine);
	module.engine = NULL;
	remote_stop();
	shares_stop();
	calls_stop();
	remote_exports_end();
	live_params_end();
}
