/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount that is looked after, on a machine of files: for tests of what becomes of it. Times are made up;
 * a test waits for a child's end only.
 */
#ifndef TEST_AGENT_WATCHED_H
#define TEST_AGENT_WATCHED_H

#include "agent_files.h"
#include "wakeup.h"
#include "watch.h"

#define NFS	  "36 35 0:47 / /mnt/n rw - nfs s:/e rw,vers=3,x\n"
#define RATIO	  "/sys/class/bdi/0:47/min_ratio"
#define FINE	  "/sys/class/bdi/0:47/min_ratio_fine"
#define READAHEAD "/sys/class/bdi/0:47/read_ahead_kb"
#define NFS2	  "37 35 0:47 / /mnt/o rw - nfs s:/e rw,vers=3,x\n"

static char replies[64];
static struct wakeup wakeup;
static struct watch_host host;
static double now; /* s */
static bool recordable;

/* ---- the machine ------------------------------------------------------------------------- */

static inline void state_prices(double write, double readahead)
{
	static uint32_t turn;
	struct fsstat_files files = {6553600, 6000000, 6000000};
	struct fsstat_prices prices = {write, readahead, turn++};

	assert_true(fsstat_price_encode(&files, &prices));
	files_put("/replies", "%" PRIu64 " %" PRIu64 "\n", files.total, files.avail);
}

static inline bool record(void *arg)
{
	(void)arg;
	return recordable;
}

static inline struct settings settings_of(const char *mount, const char *other)
{
	struct settings s;
	char error[64];

	settings_init(&s);
	s.interval = 0.25; /* so that twenty replies take less than a deferral */
	s.root = files_root;
	s.replies = replies;
	assert_true(settings_set(&s, "mount", mount, error, sizeof(error)));
	if (other)
		assert_true(settings_set(&s, "mount", other, error, sizeof(error)));
	return s;
}

/* N mounts of one server, of which S has as many beside its own; devices 0:100 and on. */
static inline void many_mounts(struct settings *s, unsigned int n)
{
	static char lines[16384], path[32], error[64];
	size_t length = 0;

	for (unsigned int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/mnt/m%u", i);
		assert_true(settings_set(s, "mount", path, error, sizeof(error)));
		length += (size_t)snprintf(lines + length, sizeof(lines) - length,
					   "%u 35 0:%u / %s rw - nfs s:/e%u rw,vers=3,x\n", 100 + i,
					   100 + i, path, i);
	}
	files_put("/proc/self/mountinfo", "%s", lines);
}

/* A knob of each of them. */
static inline void many_knobs(unsigned int n, const char *knob, const char *value)
{
	char name[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "/sys/class/bdi/0:%u", 100 + i);
		mkdir(files_path(name), 0700);
		snprintf(name, sizeof(name), "/sys/class/bdi/0:%u/%s", 100 + i, knob);
		files_put(name, "%s\n", value);
	}
}

static inline void list(struct settings s)
{
	struct settings old = host.settings;

	watch_list(&host, &s);
	settings_free(&old);
}

static inline int machine(void **state)
{
	host = (struct watch_host){.hand = {{record, NULL}, false}};
	now = 1000;
	recordable = true;
	files_put("/proc/self/mountinfo", NFS);
	files_put("/sys/class/bdi/0:47/min_ratio", "0\n");
	files_put("/sys/class/bdi/0:47/read_ahead_kb", "128\n");
	machine_init(&host.machine, files_root, 0, false);
	list(settings_of("/mnt/n", NULL));
	return 0;
}

static inline int machine_ends(void **state)
{
	for (unsigned int i = 0; i < host.settings.mount_count; i++)
		mount_calls_adopt(&host.watches[i].calls, 0, &host.pool);
	for (async_pool_reap(&host.pool); async_pool_stuck(&host.pool); async_pool_reap(&host.pool))
		wakeup_wait(&wakeup, wakeup_now() + 10);
	async_pool_end(&host.pool);
	mount_table_free(&host.mounts);
	settings_free(&host.settings);
	return 0;
}

/* Asks, with the answer taken: N times. */
static inline void rounds(unsigned int n, double write, double readahead)
{
	struct watch *w = host.watches;

	for (unsigned int i = 0; i < n; i++) {
		state_prices(write, readahead);
		now += host.settings.interval;
		watch_tick(&host, w, now);
		while (w->calls.ask.worker) {
			wakeup_wait(&wakeup, wakeup_now() + 10);
			now += 0.001;
			watch_tick(&host, w, now);
		}
	}
}

static inline int begin(void **state)
{
	if (files_begin(state))
		return -1;
	snprintf(replies, sizeof(replies), "%s/replies", files_root);
	return wakeup_init(&wakeup);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine, machine_ends)

#endif
