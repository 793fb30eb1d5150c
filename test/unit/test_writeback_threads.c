/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back with real threads, a real dispatcher and real files, for the thread sanitizer and the
 * assertions: writers, COMMITs, removals, descriptors taken away and an export that goes, at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/log.h"
#include "support.h"
#include "writeback/commit.h"
#include "writeback/writeback.h"

#define FILES	3
#define THREADS 4
#define ROUNDS	150

struct real_file {
	struct backing_slot slot;
	char path[64];
};

static struct real_file file[FILES];
static struct export_io *io;
static const struct writeback_settings settings = {
	.on = true, .chunk = 256 * KIB, .age_max = SEC, .commit_wait = SEC};

static int open_real(struct backing_slot *slot, int access, int *err)
{
	struct real_file *f = CONTAINER_OF(slot, struct real_file, slot);
	int fd = open(f->path, access | O_CLOEXEC);

	*err = fd < 0 ? errno : 0;
	return fd;
}

static int fsync_real(void *arg)
{
	struct real_file *f = arg;
	int err, fd = open_real(&f->slot, O_RDWR, &err);

	if (fd < 0)
		return 0; /* it has no name just now */
	err = fdatasync(fd) ? errno : 0;
	close(fd);
	return err;
}

static void make(struct real_file *f)
{
	int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0) {
		if (ftruncate(fd, 8 * MIB))
			abort();
		close(fd);
	}
}

static void write_some(struct real_file *f, uint64_t *seed)
{
	static char block[64 * KIB];
	uint64_t at = random_below(seed, 100) * sizeof(block);
	int err, fd = open_real(&f->slot, O_RDWR, &err);

	if (fd < 0)
		return;
	if (pwrite(fd, block, sizeof(block), (off_t)at) == (ssize_t)sizeof(block))
		writeback_wrote(&f->slot, io, &settings, (struct flow_id){0}, at, sizeof(block));
	close(fd);
}

static int commit_some(struct real_file *f, uint64_t *seed)
{
	struct commit c = {.slot = &f->slot,
			   .offset = random_below(seed, 8) * MIB,
			   .len = random_below(seed, 2) * MIB,
			   .wait = settings.commit_wait,
			   .part = random_below(seed, 2),
			   .fsync_below = fsync_real,
			   .arg = f};

	return writeback_commit(&c);
}

static void *work(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	struct writeback_stats s;

	for (int i = 0; i < ROUNDS; i++) {
		struct real_file *f = &file[random_below(&seed, FILES)];

		switch (random_below(&seed, 24)) {
		case 0:
			unlink(f->path);
			writeback_unlinked(&f->slot);
			make(f);
			break;
		case 1:
			backing_drop(&f->slot);
			break;
		case 2:
			writeback_renamed();
			break;
		case 3:
			writeback_leave(io);
			break;
		case 4:
		case 5:
			if (commit_some(f, &seed))
				abort();
			writeback_stats(&s);
			if (s.files + s.kept > 2)
				abort();
			break;
		default:
			write_some(f, &seed);
		}
	}
	return NULL;
}

static void silent(enum log_level level, const char *format, va_list args)
{
}

static void test_all_at_once(void **state)
{
	static const struct dispatcher_ops ops = {.now = clock_now};
	struct export_settings s = {.device = {.depth = 2, .limits = {.queue_max = 2}}};
	const struct writeback_limits limits = {.files = 2, .entries = 2};
	pthread_t thread[THREADS];
	struct writeback_stats stats;

	log_set_writer(silent);
	s.device.policy = sched_policy_find("fifo");
	device_start(&ops, "/sys");
	backing_set_limits(2, SEC);
	io = export_io_new(1, NULL, &s);
	for (unsigned int i = 0; i < FILES; i++) {
		snprintf(file[i].path, sizeof(file[i].path), "writeback-threads-%d-%u",
			 (int)getpid(), i);
		backing_slot_init(&file[i].slot, open_real, &i, sizeof(i));
		make(&file[i]);
	}
	assert_int_equal(writeback_start(&limits, &writeback_linux_ops), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	writeback_stats(&stats);
	assert_int_equal(stats.errors, 0);
	writeback_stop();
	for (unsigned int i = 0; i < FILES; i++) {
		backing_slot_fini(&file[i].slot);
		unlink(file[i].path);
	}
	device_stop_all(); /* with what is still queued */
	export_io_put(io);
	assert_int_equal(backing_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_at_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
