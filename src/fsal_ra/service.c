/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The life of the data path: the engine, the maintenance thread, exports' parts and handles' slots;
 * and the statistics logged at the end.
 *
 * Order of the end: exports stop taking requests and drain (bounded); the module joins its threads,
 * which serve what is queued; then memory goes. Requests keep what they need of ours by references, so
 * a prefetch that outlasts the drain is harmless. A demand read needs its handle, which is Ganesha's to
 * free: it must not outlast the server's whole shutdown, for which a disk would have to hang longer than
 * Drain_Timeout twice.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <urcu-bp.h>

#include "io.h"
#include "writeback/pacer.h"
#include "stats.h"
#include "subcall.h"
#include "writeback.h"

/* Maintenance runs this often (ms). */
#define TICK_MS 1000

struct readahead *ra_engine;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping, sweep_now;
	struct export_io *exports;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What the counters of exports that are gone came to, and of the sweeps. */
static struct readahead_counters past;

/* ---- exports ---------------------------------------------------------------------------- */

struct export_io *export_io_ref(struct export_io *io)
{
	atomic_fetch_add_explicit(&io->refs, 1, memory_order_relaxed);
	return io;
}

void export_io_put(struct export_io *io)
{
	if (atomic_fetch_sub_explicit(&io->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&service.lock);
	for (struct export_io **at = &service.exports; *at != NULL; at = &(*at)->next)
		if (*at == io) {
			*at = io->next;
			break;
		}
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		readahead_count(&past, i, readahead_counted(&io->counters, i));
	pthread_mutex_unlock(&service.lock);
	pthread_mutex_destroy(&io->lock);
	pthread_cond_destroy(&io->drained);
	gsh_free(io->tuning);
	free(io);
}

bool export_io_enter(struct export_io *io)
{
	bool open;

	pthread_mutex_lock(&io->lock);
	open = !atomic_load(&io->closing);
	if (open)
		io->pending++;
	pthread_mutex_unlock(&io->lock);
	return open;
}

void export_io_leave(struct export_io *io)
{
	pthread_mutex_lock(&io->lock);
	if (--io->pending == 0)
		pthread_cond_broadcast(&io->drained);
	pthread_mutex_unlock(&io->lock);
}

void export_io_tuning(struct export_io *io, struct readahead_tuning *t)
{
	urcu_bp_read_lock();
	*t = *rcu_dereference(io->tuning);
	urcu_bp_read_unlock();
}

static struct readahead_tuning *tuning_of(const struct ra_export_params *p)
{
	struct readahead_tuning *t = gsh_calloc(1, sizeof(*t));

	t->heuristic = heuristic_find(p->heuristic);
	t->match_window = (uint32_t)p->match_window;
	t->match_requests = (uint32_t)p->match_requests;
	t->seq_max = (uint32_t)p->seq_max;
	t->seq_threshold = (uint32_t)p->seq_threshold;
	t->window_init = p->window_init;
	t->window_max = p->window_max;
	t->chunk_min = p->chunk_min;
	t->priced = p->price_readahead;
	return t;
}

static enum fsstat_rule fsstat_rule_of(const struct ra_export_params *p)
{
	if (!strcasecmp(p->fsstat_prices, "auto"))
		return FSSTAT_AUTO;
	return strcasecmp(p->fsstat_prices, "true") ? FSSTAT_NEVER : FSSTAT_ALWAYS;
}

int ra_io_export_start(struct ra_export *exp)
{
	struct export_io *io = aligned_alloc(64, (sizeof(*io) + 63) / 64 * 64);

	if (io == NULL)
		return ENOMEM;
	memset(io, 0, sizeof(*io));
	atomic_init(&io->refs, 1);
	io->export_id = exp->export.export_id;
	pthread_mutex_init(&io->lock, NULL);
	clock_cond_init(&io->drained);
	io->tuning = tuning_of(&exp->params);
	atomic_init(&io->fsstat_rule, fsstat_rule_of(&exp->params));
	exp->io = io;
	pthread_mutex_lock(&service.lock);
	io->next = service.exports;
	service.exports = io;
	pthread_mutex_unlock(&service.lock);
	return 0;
}

void ra_io_export_update(struct ra_export *exp)
{
	struct readahead_tuning *tuning = tuning_of(&exp->params), *old;

	pthread_mutex_lock(&service.lock);
	old = exp->io->tuning;
	rcu_assign_pointer(exp->io->tuning, tuning);
	pthread_mutex_unlock(&service.lock);
	urcu_bp_synchronize_rcu();
	gsh_free(old);
	atomic_store(&exp->io->fsstat_rule, fsstat_rule_of(&exp->params));
	device_configure(exp);
}

void ra_io_export_root(struct ra_export *exp, const char *path)
{
	struct stat st;

	if (atomic_load(&exp->io->devices) == 0 && stat(path, &st) == 0)
		(void)device_find(st.st_dev, exp);
}

unsigned int ra_exports_view(struct export_view *view, unsigned int max)
{
	unsigned int n = 0;

	pthread_mutex_lock(&service.lock);
	for (struct export_io *io = service.exports; io != NULL; io = io->next, n++) {
		if (n >= max)
			continue;
		pthread_mutex_lock(&io->lock);
		view[n] = (struct export_view){.export_id = io->export_id,
					       .closing = atomic_load(&io->closing),
					       .pending = io->pending,
					       .heuristic = io->tuning->heuristic,
					       .devices = atomic_load(&io->devices),
					       .priced = io->tuning->priced,
					       .fsstat = atomic_load(&io->fsstat_said)};
		for (int i = 0; i < READAHEAD_COUNTERS; i++)
			view[n].counted[i] = readahead_counted(&io->counters, i);
		pthread_mutex_unlock(&io->lock);
	}
	pthread_mutex_unlock(&service.lock);
	return n;
}

/* Replaces the tuning of IO by one with H; the old one comes back, to be freed after a grace period. */
static struct readahead_tuning *change_heuristic(struct export_io *io,
						 const struct heuristic_ops *h)
{
	struct readahead_tuning *old = io->tuning, *tuning = gsh_malloc(sizeof(*tuning));

	*tuning = *old;
	tuning->heuristic = h;
	rcu_assign_pointer(io->tuning, tuning);
	return old;
}

unsigned int ra_exports_set_heuristic(const struct heuristic_ops *h, int64_t export_id)
{
	struct readahead_tuning *old;
	unsigned int n;

	/* One a round: the grace period is waited for without the lock. */
	do {
		old = NULL;
		n = 0;
		pthread_mutex_lock(&service.lock);
		for (struct export_io *io = service.exports; io != NULL; io = io->next) {
			if (export_id >= 0 && io->export_id != export_id)
				continue;
			n++;
			if (old == NULL && io->tuning->heuristic != h)
				old = change_heuristic(io, h);
		}
		pthread_mutex_unlock(&service.lock);
		if (old != NULL)
			urcu_bp_synchronize_rcu();
		gsh_free(old);
	} while (old != NULL);
	return n;
}

void ra_io_export_drain(struct ra_export *exp)
{
	struct export_io *io = exp->io;
	uint64_t until = clock_now() + ra_module_params.drain_timeout * 1000000u;
	int err = 0;

	if (io == NULL)
		return;
	writeback_leave(io);
	pthread_mutex_lock(&io->lock);
	atomic_store(&io->closing, true);
	while (io->pending && !err)
		err = clock_cond_wait_until(&io->drained, &io->lock, until);
	if (io->pending)
		LogWarn(COMPONENT_FSAL,
			"RA: export %u goes with %u requests still queued after Drain_Timeout = "
			"%" PRIu64 " ms",
			io->export_id, io->pending, ra_module_params.drain_timeout);
	pthread_mutex_unlock(&io->lock);
}

void ra_io_export_release(struct ra_export *exp)
{
	if (exp->io != NULL) {
		ra_stats_log_export(exp->io->export_id, &exp->io->counters);
		export_io_put(exp->io);
	}
	exp->io = NULL;
	ra_export_params_free(&exp->params);
}

/* ---- handles ---------------------------------------------------------------------------- */

void ra_io_handle_init(struct ra_handle *hdl)
{
	struct backing_slot *slot = &hdl->slot;
	struct gsh_buffdesc key;

	pthread_mutex_init(&slot->lock, NULL);
	slot->none = true;
	slot->file_hash = UINT64_C(0xcbf29ce484222325);
	if (hdl->obj_handle.type != REGULAR_FILE)
		return;
	hdl->sub_handle->obj_ops->handle_to_key(hdl->sub_handle, &key);
	if (key.len > sizeof(slot->key))
		return;
	slot->key_len = (uint8_t)key.len;
	memcpy(slot->key, key.addr, key.len);
	for (size_t i = 0; i < key.len; i++) /* FNV-1a */
		slot->file_hash = (slot->file_hash ^ slot->key[i]) * UINT64_C(0x100000001b3);
	slot->none = false;
}

void ra_io_handle_release(struct ra_handle *hdl)
{
	backing_drop(hdl);
	pthread_mutex_destroy(&hdl->slot.lock);
}

void ra_io_handle_close(struct ra_handle *hdl)
{
	backing_drop(hdl);
}

void ra_io_handle_changed(struct ra_handle *hdl, uint64_t off, uint64_t len)
{
	backing_invalidate(hdl);
}

void ra_io_renamed(struct ra_export *exp)
{
	/* A file renamed over has lost its name: the sweep closes what has no link left. */
	pthread_mutex_lock(&service.lock);
	service.sweep_now = true;
	pthread_cond_signal(&service.wake);
	pthread_mutex_unlock(&service.lock);
}

/* ---- the module ------------------------------------------------------------------------- */

static void *maintain(void *arg)
{
	SetNameFunction("ra_maintain");
	pthread_mutex_lock(&service.lock);
	while (!service.stopping) {
		uint64_t until = clock_now() + TICK_MS * 1000000u;
		int err = 0;

		while (!service.stopping && !service.sweep_now && !err)
			err = clock_cond_wait_until(&service.wake, &service.lock, until);
		service.sweep_now = false;
		pthread_mutex_unlock(&service.lock);
		backing_sweep(clock_now(), false);
		readahead_sweep(ra_engine, &past, clock_now());
		pthread_mutex_lock(&service.lock);
	}
	pthread_mutex_unlock(&service.lock);
	return NULL;
}

static void name_thread(const char *name)
{
	SetNameFunction(name);
}

static int start_pacer(void)
{
	const struct pacer_limits limits = {
		.replies = (uint32_t)ra_module_params.paced_replies,
		.bytes = ra_module_params.paced_memory,
		.name_thread = name_thread,
	};

	return pacer_start(&limits);
}

int ra_io_module_start(void)
{
	const struct ra_module_params *p = &ra_module_params;
	struct readahead_limits limits = {
		.table_size = (uint32_t)p->table_size,
		.cursors = (uint32_t)p->cursor_pool,
		.memory = p->readahead_memory,
		.idle_time = p->cursor_idle * 1000000u,
	};
	int err;

	if (ra_engine != NULL)
		return 0;
	ra_log_start();
	err = ra_calls_start();
	if (err)
		return err;
	ra_scratch_start();
	backing_start();
	ra_engine = readahead_create(&limits);
	if (ra_engine == NULL)
		return ENOMEM;
	service.stopping = false;
	clock_cond_init(&service.wake);
	err = pthread_create(&service.thread, NULL, maintain, NULL);
	if (err) {
		readahead_destroy(ra_engine);
		ra_engine = NULL;
		return err;
	}
	service.running = true;
	ra_prices_start();
	err = writeback_start();
	if (!err)
		err = start_pacer();
	if (err)
		LogWarn(COMPONENT_FSAL, "RA: write-back or pacing not started: %s", strerror(err));
	ra_control_start();
	return 0;
}

void ra_io_module_update(void)
{
	if (ra_engine != NULL)
		readahead_set_memory(ra_engine, ra_module_params.readahead_memory);
}

void ra_stats_sum(struct readahead_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	pthread_mutex_lock(&service.lock);
	for (int i = 0; i < READAHEAD_COUNTERS; i++) {
		readahead_count(sum, i, readahead_counted(&past, i));
		for (struct export_io *io = service.exports; io != NULL; io = io->next)
			readahead_count(sum, i, readahead_counted(&io->counters, i));
	}
	pthread_mutex_unlock(&service.lock);
}

void ra_io_module_stop(void)
{
	if (!service.running)
		return;
	ra_control_stop();
	ra_prices_stop();
	pthread_mutex_lock(&service.lock);
	service.stopping = true;
	pthread_cond_signal(&service.wake);
	pthread_mutex_unlock(&service.lock);
	pthread_join(service.thread, NULL);
	service.running = false;
	pacer_stop();
	writeback_stop();
	backing_sweep(clock_now(), true);
	ra_stats_log();
	device_stop_all();
	ra_prices_free();
	readahead_destroy(ra_engine);
	ra_engine = NULL;
	ra_scratch_stop();
	ra_calls_stop();
	ra_module_params_free(&ra_module_params);
}
