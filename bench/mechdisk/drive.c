/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive in real time.
 *
 * One thread owns the arm: it takes the next command, asks the model when it will be done, copies
 * the data meanwhile and sleeps until then. The model's clock goes by what the mechanics would have
 * done, not by when this thread woke up: a late wake-up delays one answer and does not add up.
 * A command that found the arm busy starts at the moment the arm became free for the same reason.
 *
 * The bytes of a write are in the image as soon as it is submitted; only its answer waits. Nobody
 * may rely on the order of commands that are outstanding at the same time, so this cannot be seen.
 */
#include "drive.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "image.h"
#include "record.h"

struct command {
	struct disk_command command; /* first: the queue hands this back */
	void *user;
	int err;
};

struct error_range {
	enum disk_op op;
	uint64_t offset, length;
};

struct statistics {
	uint64_t reads, read_bytes, writes, write_bytes, seeks, lookahead_hits, joined_writes;
	uint64_t errors_injected;
	int64_t seek_ns, rotation_ns, busy_ns;
};

/* `lock` guards everything here but `buffer`, which is the drive thread's own. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool stopping, timing;
	drive_done done;
	struct disk_model *model;
	struct disk_queue queue;
	struct error_range error[DRIVE_ERRORS_MAX];
	uint32_t errors;
	struct statistics stats;
	FILE *trace;
	int64_t trace_start_ns;
	char *buffer;
} drive = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.timing = true,
};

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	struct timespec ts = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static bool in_error_range(enum disk_op op, uint64_t offset, uint64_t length)
{
	for (uint32_t i = 0; i < drive.errors; i++) {
		const struct error_range *range = &drive.error[i];

		if (range->op == op && offset < range->offset + range->length &&
		    range->offset < offset + length)
			return true;
	}
	return false;
}

static void count(const struct disk_command *command, const struct disk_service *service, int err)
{
	struct statistics *stats = &drive.stats;

	if (command->op == DISK_READ) {
		stats->reads++;
		stats->read_bytes += command->length;
	} else {
		stats->writes++;
		stats->write_bytes += command->length;
	}
	stats->seeks += service->seek_ns > 0;
	stats->lookahead_hits += service->hit;
	stats->joined_writes += service->joined;
	stats->errors_injected += err != 0;
	stats->seek_ns += service->seek_ns;
	stats->rotation_ns += service->rotation_ns;
	stats->busy_ns += service->end_ns - service->start_ns;
}

static void trace(const struct disk_command *command, const struct disk_service *service)
{
	if (!drive.trace)
		return;
	fprintf(drive.trace, "%.3f,%s,%llu,%llu,%.3f,%llu\n",
		(double)(service->start_ns - drive.trace_start_ns) / 1e6,
		command->op == DISK_READ ? "read" : "write", (unsigned long long)command->offset,
		(unsigned long long)command->length,
		(double)(service->end_ns - service->start_ns) / 1e6,
		(unsigned long long)service->distance);
}

/* One command, the lock held; it is let go while the data is copied and the time passes. */
static void serve(struct command *item)
{
	struct disk_command *command = &item->command;
	bool is_read = command->op == DISK_READ;
	struct disk_service service;
	int err;

	disk_model_serve(drive.model, command->op, command->offset, command->length,
			 command->arrival_ns, &service);
	err = in_error_range(command->op, command->offset, command->length) ? EIO : item->err;
	count(command, &service, err);
	trace(command, &service);
	pthread_mutex_unlock(&drive.lock);

	if (is_read && !err)
		err = image_read(drive.buffer, command->offset, command->length);
	sleep_until(service.end_ns);
	if (!is_read && !err)
		record_write(command->offset, command->length);
	drive.done(item->user, err, is_read ? drive.buffer : NULL, command->length);
	free(item);
	pthread_mutex_lock(&drive.lock);
}

static void *run(void *unused)
{
	struct disk_command *next;

	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_mutex_lock(&drive.lock);
	for (;;) {
		next = disk_queue_take(&drive.queue, drive.model, now());
		if (next)
			serve((struct command *)next);
		else if (drive.stopping)
			break;
		else
			pthread_cond_wait(&drive.wake, &drive.lock);
	}
	pthread_mutex_unlock(&drive.lock);
	return NULL;
}

int drive_start(const struct disk_params *params, drive_done done)
{
	drive.done = done;
	drive.model = disk_model_new(params);
	drive.buffer = malloc(DRIVE_REQUEST_MAX);
	if (!drive.model || !drive.buffer)
		return ENOMEM;
	disk_queue_init(&drive.queue, (uint32_t)params->depth, (int64_t)(params->age_ms * 1e6));
	return pthread_create(&drive.thread, NULL, run, NULL);
}

void drive_stop(void)
{
	pthread_mutex_lock(&drive.lock);
	drive.stopping = true;
	pthread_cond_signal(&drive.wake);
	pthread_mutex_unlock(&drive.lock);
	pthread_join(drive.thread, NULL);
	if (drive.trace)
		fclose(drive.trace);
	disk_model_free(drive.model);
	free(drive.buffer);
}

/*
 * Queues a command. False when timing is off and the caller answers at once. 0 or an errno in *err.
 */
static bool enqueue(enum disk_op op, void *user, uint64_t offset, size_t length, int *err)
{
	struct command *item = calloc(1, sizeof(*item));
	bool queued = false;

	pthread_mutex_lock(&drive.lock);
	if (!drive.timing) {
		if (in_error_range(op, offset, length)) {
			drive.stats.errors_injected++;
			*err = EIO;
		}
	} else if (!item || drive.queue.count >= DRIVE_QUEUE_MAX) {
		*err = item ? EAGAIN : ENOMEM;
	} else {
		item->command.op = op;
		item->command.offset = offset;
		item->command.length = length;
		item->command.arrival_ns = now();
		item->user = user;
		item->err = *err;
		disk_queue_add(&drive.queue, &item->command);
		pthread_cond_signal(&drive.wake);
		queued = true;
	}
	pthread_mutex_unlock(&drive.lock);
	if (!queued)
		free(item);
	return queued;
}

void drive_read(void *user, uint64_t offset, size_t length)
{
	char *buffer;
	int err = 0;

	if (enqueue(DISK_READ, user, offset, length, &err))
		return;
	buffer = malloc(length);
	if (!buffer)
		err = ENOMEM;
	if (!err)
		err = image_read(buffer, offset, length);
	drive.done(user, err, buffer, length);
	free(buffer);
}

static bool fails(enum disk_op op, uint64_t offset, size_t length)
{
	bool hit;

	pthread_mutex_lock(&drive.lock);
	hit = in_error_range(op, offset, length);
	pthread_mutex_unlock(&drive.lock);
	return hit;
}

void drive_write(void *user, const void *data, uint64_t offset, size_t length)
{
	int err = 0;

	if (!fails(DISK_WRITE, offset, length))
		err = image_write(data, offset, length);
	if (enqueue(DISK_WRITE, user, offset, length, &err))
		return;
	if (!err)
		record_write(offset, length);
	drive.done(user, err, NULL, length);
}

int drive_timing(bool on)
{
	pthread_mutex_lock(&drive.lock);
	drive.timing = on;
	pthread_mutex_unlock(&drive.lock);
	return 0;
}

int drive_depth(uint32_t depth)
{
	if (depth < 1 || depth > DISK_DEPTH_MAX)
		return EINVAL;
	pthread_mutex_lock(&drive.lock);
	drive.queue.depth = depth;
	pthread_mutex_unlock(&drive.lock);
	return 0;
}

int drive_trace(const char *path)
{
	FILE *file = NULL, *old;

	if (path) {
		file = fopen(path, "we");
		if (!file)
			return errno;
		fputs("time_ms,op,offset,length,service_ms,seek_bytes\n", file);
	}
	pthread_mutex_lock(&drive.lock);
	old = drive.trace;
	drive.trace = file;
	drive.trace_start_ns = now();
	pthread_mutex_unlock(&drive.lock);
	if (old && fclose(old))
		return errno;
	return 0;
}

int drive_error_add(enum disk_op op, uint64_t offset, uint64_t length)
{
	int err = 0;

	if (!length || offset + length < offset)
		return EINVAL;
	pthread_mutex_lock(&drive.lock);
	if (drive.errors == DRIVE_ERRORS_MAX)
		err = ENOSPC;
	else
		drive.error[drive.errors++] =
			(struct error_range){.op = op, .offset = offset, .length = length};
	pthread_mutex_unlock(&drive.lock);
	return err;
}

int drive_error_clear(void)
{
	pthread_mutex_lock(&drive.lock);
	drive.errors = 0;
	pthread_mutex_unlock(&drive.lock);
	return 0;
}

int drive_stats_reset(void)
{
	pthread_mutex_lock(&drive.lock);
	memset(&drive.stats, 0, sizeof(drive.stats));
	drive.queue.count_max = drive.queue.count;
	pthread_mutex_unlock(&drive.lock);
	return 0;
}

int drive_stats(char *text, size_t size)
{
	struct statistics s;
	uint32_t queue_max;

	pthread_mutex_lock(&drive.lock);
	s = drive.stats;
	queue_max = drive.queue.count_max;
	pthread_mutex_unlock(&drive.lock);
	return snprintf(text, size,
			"{\"reads\": %llu, \"read_bytes\": %llu, \"writes\": %llu, "
			"\"write_bytes\": %llu, \"seeks\": %llu, \"seek_ms\": %.3f, "
			"\"rotation_ms\": %.3f, \"busy_ms\": %.3f, \"lookahead_hits\": %llu, "
			"\"joined_writes\": %llu, \"errors_injected\": %llu, \"queue_max\": %u}\n",
			(unsigned long long)s.reads, (unsigned long long)s.read_bytes,
			(unsigned long long)s.writes, (unsigned long long)s.write_bytes,
			(unsigned long long)s.seeks, (double)s.seek_ns / 1e6,
			(double)s.rotation_ns / 1e6, (double)s.busy_ns / 1e6,
			(unsigned long long)s.lookahead_hits, (unsigned long long)s.joined_writes,
			(unsigned long long)s.errors_injected, queue_max);
}
