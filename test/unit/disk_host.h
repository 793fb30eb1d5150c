/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the tests of src/disk share: dispatchers with the real clock, settings, a made-up sysfs,
 * real temporary files behind an opener, and the last line of the log.
 */
#ifndef UNIT_DISK_HOST_H
#define UNIT_DISK_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/log.h"
#include "disk/backing_slot.h"
#include "disk/cachestat.h"
#include "disk/device.h"
#include "disk/export_io.h"
#include "support.h"

#define HOST_PAGE 4096u

static _Atomic uint64_t host_later; /* ns that the dispatchers' clock is ahead of the real one */

static inline uint64_t host_now(void)
{
	return clock_now() + host_later;
}

static const struct dispatcher_ops host_dispatcher_ops = {.now = host_now};

/* ---- the log ----------------------------------------------------------------------------- */

static char host_log[512];
static unsigned int host_log_lines;

static inline void host_log_write(enum log_level level, const char *format, va_list args)
{
	(void)level;
	vsnprintf(host_log, sizeof(host_log), format, args);
	host_log_lines++;
}

/* ---- settings ---------------------------------------------------------------------------- */

static inline struct export_settings host_settings(uint32_t depth)
{
	return (struct export_settings){
		.tuning = {.heuristic = heuristic_find("cursor"),
			   .rules = &rules_extended,
			   .match_window = 65536,
			   .match_requests = 8,
			   .seq_max = 127,
			   .seq_threshold = 4,
			   .window_init = 8 * MIB,
			   .window_max = 32 * MIB,
			   .chunk_min = 64 * KIB},
		.prefetch_step = 64 * KIB,
		.device = {.policy = sched_policy_find("fifo"),
			   .depth = depth,
			   .limits = {.queue_max = 64,
				      .queue_bytes = 256 * MIB,
				      .max_io = MIB,
				      .prefetch_max_age = 10 * SEC,
				      .writeback_turn = 100 * MSEC,
				      .cost = {.chunk_min = 64 * KIB,
					       .chunk_max = 16 * MIB,
					       .chunk_default = 256 * KIB,
					       .max_wait = 2 * SEC,
					       .demand_wait = 65 * MSEC,
					       .seek_share = 10}}},
		.writeback = {.on = true, .chunk = MIB},
	};
}

/* Of an engine with a few files. */
static inline struct readahead_limits host_limits(void)
{
	return (struct readahead_limits){.table_size = 64,
					 .cursors = 64,
					 .cursors_per_file = 64,
					 .memory = 64 * MIB,
					 .idle_time = 10 * SEC};
}

/* ---- what a device brings ---------------------------------------------------------------- */

/* LEN bytes in one place, at BLOCK, that took NS. */
static inline void host_observe(struct device *d, uint64_t block, uint64_t len, uint64_t ns)
{
	struct extent_span span = {.block = block, .end = block + len, .pieces = 1};

	device_observe(d, &span, len, ns, 1, 0, false);
}

/* ---- files ------------------------------------------------------------------------------- */

static char host_dir[64];

static inline void host_make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(host_dir, sizeof(host_dir), "%.40s/ra-unit.XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(host_dir));
}

/* Says so if pages of FD were in memory, and memory was short of them: page_cache reads it. Not by a kernel before 6.5. */
static inline void host_tell_taken(int fd)
{
	struct cache_counts counts = {0};

	(void)cachestat_of(fd, 0, 0, &counts);
	if (counts.evicted > 0)
		printf("%" PRIu64 " pages taken out of memory by others\n", counts.evicted);
}

static inline int host_tell_taken_at(const char *path, const struct stat *st, int type,
				     struct FTW *at)
{
	int fd = type == FTW_F && S_ISREG(st->st_mode)
			 ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
			 : -1;

	(void)at;
	if (fd < 0)
		return 0;
	host_tell_taken(fd);
	close(fd);
	return 0;
}

static inline void host_remove_dir(void)
{
	char command[128];

	nftw(host_dir, host_tell_taken_at, 8, FTW_PHYS);
	snprintf(command, sizeof(command), "rm -rf '%s'", host_dir);
	assert_int_equal(system(command), 0);
}

static inline void host_write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A handle whose descriptor comes from a path. */
struct host_file {
	struct backing_slot slot;
	char path[128];
	int error;	       /* opening fails with this errno */
	void (*opening)(void); /* called when it has been opened; may be NULL */
	atomic_int opened;     /* times */
};

static inline int host_open(struct backing_slot *slot, int access, int *err)
{
	struct host_file *f = CONTAINER_OF(slot, struct host_file, slot);
	int fd = f->error ? -1 : open(f->path, access | O_CLOEXEC);

	atomic_fetch_add(&f->opened, 1);
	if (f->opening)
		f->opening();
	*err = f->error ? f->error : fd < 0 ? errno : 0;
	return fd;
}

/* NAME of LEN bytes, all of them dirty in the page cache. */
static inline void host_file_make(struct host_file *f, const char *name, uint64_t len)
{
	int fd;

	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "%s/%s", host_dir, name);
	fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	for (uint64_t at = 0; at < len; at += HOST_PAGE)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)at), 1);
	close(fd);
	backing_slot_init(&f->slot, host_open, name, strlen(name));
}

/* Makes the page cache forget the file, as far as its file system can. */
static inline void host_file_evict(struct host_file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

#endif
