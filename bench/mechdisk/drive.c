/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive in real time.
 *
 * One thread owns the arm: it takes the next command, asks the model when it will be done, copies
 * the data meanwhile and sleeps until then. The model's clock goes by what the mechanics would have
 * done, not by when this thread woke up: a late wake-up delays one answer and does not add up.
 * A command that found the arm busy starts at the moment the arm became free for the same reason.
 *
 * Of several spindles each has such a thread, a model and a queue. A command is cut into one piece
 * for each spindle that has part of it; whose piece ends last answers, or sends the answer over the
 * wire (wire.h).
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

#include "common/container.h"
#include "disk_array.h"
#include "image.h"
#include "real_time.h"
#include "record.h"
#include "wire.h"

struct command;

struct piece {
	struct disk_command command; /* first: the queue hands this back; offsets on the spindle */
	struct command *whole;
};

/* A command of the host's. */
struct command {
	enum disk_op op;
	uint64_t offset, length;
	void *user;
	int err;
	uint32_t left; /* pieces not done */
	/* of a read in several pieces, or behind a wire; NULL: the spindle's own buffer will do */
	char *data;
	struct wire_item item;
	struct piece piece[]; /* one for each spindle that has part of it */
};

struct error_range {
	enum disk_op op;
	uint64_t offset, length;
	int err;
};

/* Commands and bytes are the host's, the others' sums are over all spindles. */
struct statistics {
	uint64_t reads, read_bytes, writes, write_bytes, seeks, lookahead_hits, joined_writes;
	uint64_t errors_injected;
	int64_t seek_ns, rotation_ns, busy_ns;
};

struct spindle {
	uint32_t number;
	pthread_t thread;
	pthread_cond_t wake;
	struct disk_model *model;
	struct disk_queue queue;
	char *buffer; /* its thread's own, DRIVE_REQUEST_MAX */
};

/* `lock` guards everything here but the spindles' buffers. */
static struct {
	pthread_mutex_t lock;
	bool stopping, timing;
	drive_done done;
	struct disk_array array;
	struct spindle spindle[DISK_SPINDLES_MAX];
	uint32_t waiting, waiting_max; /* commands with a piece in a queue or under way */
	struct error_range error[DRIVE_ERRORS_MAX];
	uint32_t errors;
	struct statistics stats;
	FILE *trace;
	int64_t trace_start_ns;
} drive = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.timing = true,
};

/* 0: it succeeds. */
static int error_of(enum disk_op op, uint64_t offset, uint64_t length)
{
	for (uint32_t i = 0; i < drive.errors; i++) {
		const struct error_range *range = &drive.error[i];

		if (range->op == op && offset < range->offset + range->length &&
		    range->offset < offset + length)
			return range->err;
	}
	return 0;
}

static void count_command(const struct command *whole)
{
	struct statistics *stats = &drive.stats;

	if (whole->op == DISK_READ) {
		stats->reads++;
		stats->read_bytes += whole->length;
	} else {
		stats->writes++;
		stats->write_bytes += whole->length;
	}
	stats->errors_injected += whole->err != 0;
}

static void count_piece(const struct disk_service *service)
{
	struct statistics *stats = &drive.stats;

	stats->seeks += service->seek_ns > 0;
	stats->lookahead_hits += service->hit;
	stats->joined_writes += service->joined;
	stats->seek_ns += service->seek_ns;
	stats->rotation_ns += service->rotation_ns;
	stats->busy_ns += service->end_ns - service->start_ns;
}

/* A line for each piece, at the host's offset of its first byte. */
static void trace(const struct spindle *spindle, const struct disk_command *command,
		  const struct disk_service *service)
{
	if (!drive.trace)
		return;
	fprintf(drive.trace, "%.3f,%s,%llu,%llu,%.3f,%llu\n",
		(double)(service->start_ns - drive.trace_start_ns) / 1e6,
		command->op == DISK_READ ? "read" : "write",
		(unsigned long long)disk_array_host(&drive.array, spindle->number, command->offset),
		(unsigned long long)command->length,
		(double)(service->end_ns - service->start_ns) / 1e6,
		(unsigned long long)service->distance);
}

/* A command of which the last piece is done. The lock is not held. */
static void answer(struct command *whole, char *data)
{
	bool is_read = whole->op == DISK_READ;

	if (!is_read && !whole->err)
		record_write(whole->offset, whole->length);
	drive.done(whole->user, whole->err, is_read ? data : NULL, whole->length);
	free(whole->data);
	free(whole);
}

static void arrive(struct wire_item *item)
{
	struct command *whole = CONTAINER_OF(item, struct command, item);

	answer(whole, whole->data);
}

/* Copies what the spindle has of a read to where it belongs in the answer. 0 or an errno. */
static int fetch(const struct spindle *spindle, const struct piece *piece, char *data)
{
	const struct command *whole = piece->whole;
	uint64_t at = piece->command.offset, end = at + piece->command.length;
	int err = 0;

	while (at < end && !err) {
		uint64_t host = disk_array_host(&drive.array, spindle->number, at);
		uint64_t part = drive.array.stripe - at % drive.array.stripe;

		if (drive.array.spindles == 1 || part > end - at)
			part = end - at;
		err = image_read(data + (host - whole->offset), host, part);
		at += part;
	}
	return err;
}

/* One piece, the lock held; it is let go while the data is copied and the time passes. */
static void serve(struct spindle *spindle, struct piece *piece)
{
	struct disk_command *command = &piece->command;
	struct command *whole = piece->whole;
	char *data = whole->data ? whole->data : spindle->buffer;
	struct disk_service service;
	int err;

	disk_model_serve(spindle->model, command->op, command->offset, command->length,
			 command->arrival_ns, &service);
	count_piece(&service);
	trace(spindle, command, &service);
	if (!whole->err)
		whole->err = error_of(whole->op, whole->offset, whole->length);
	err = whole->err;
	pthread_mutex_unlock(&drive.lock);

	if (command->op == DISK_READ && !err)
		err = fetch(spindle, piece, data);
	sleep_until(service.end_ns);
	pthread_mutex_lock(&drive.lock);
	if (err)
		whole->err = err;
	if (--whole->left == 0) {
		drive.waiting--;
		count_command(whole);
		pthread_mutex_unlock(&drive.lock);
		if (wire_is_up())
			wire_send(&whole->item, service.end_ns);
		else
			answer(whole, data);
		pthread_mutex_lock(&drive.lock);
	}
}

static void *run(void *argument)
{
	struct spindle *spindle = argument;
	struct disk_command *next;

	prctl(PR_SET_TIMERSLACK, 1UL);
	pthread_mutex_lock(&drive.lock);
	for (;;) {
		next = disk_queue_take(&spindle->queue, spindle->model, now());
		if (next)
			serve(spindle, (struct piece *)next);
		else if (drive.stopping)
			break;
		else
			pthread_cond_wait(&spindle->wake, &drive.lock);
	}
	pthread_mutex_unlock(&drive.lock);
	return NULL;
}

static int start_spindle(struct spindle *spindle, const struct disk_params *params)
{
	spindle->model = disk_model_new(params);
	spindle->buffer = malloc(DRIVE_REQUEST_MAX);
	if (!spindle->model || !spindle->buffer)
		return ENOMEM;
	disk_queue_init(&spindle->queue, (uint32_t)params->depth, (int64_t)(params->age_ms * 1e6));
	pthread_cond_init(&spindle->wake, NULL);
	return pthread_create(&spindle->thread, NULL, run, spindle);
}

int drive_start(const struct disk_params *params, drive_done done)
{
	struct disk_params one = disk_array_spindle(params);
	int err = 0;

	drive.done = done;
	drive.array = disk_array_of(params);
	if (params->latency_ms > 0)
		err = wire_start((int64_t)(params->latency_ms * 1e6), arrive);
	for (uint32_t i = 0; i < drive.array.spindles && !err; i++) {
		drive.spindle[i].number = i;
		err = start_spindle(&drive.spindle[i], &one);
	}
	return err;
}

void drive_stop(void)
{
	pthread_mutex_lock(&drive.lock);
	drive.stopping = true;
	for (uint32_t i = 0; i < drive.array.spindles; i++)
		pthread_cond_signal(&drive.spindle[i].wake);
	pthread_mutex_unlock(&drive.lock);
	for (uint32_t i = 0; i < drive.array.spindles; i++) {
		pthread_join(drive.spindle[i].thread, NULL);
		disk_model_free(drive.spindle[i].model);
		free(drive.spindle[i].buffer);
	}
	wire_stop();
	if (drive.trace)
		fclose(drive.trace);
}

/* Cuts a command up. NULL without memory. */
static struct command *cut(enum disk_op op, void *user, uint64_t offset, size_t length)
{
	uint32_t spindles = drive.array.spindles;
	struct command *whole = calloc(1, sizeof(*whole) + spindles * sizeof(struct piece));

	if (!whole)
		return NULL;
	*whole = (struct command){.op = op, .offset = offset, .length = length, .user = user};
	for (uint32_t i = 0; i < spindles; i++) {
		struct disk_part part = {offset, length};

		if (spindles > 1)
			part = disk_array_part(&drive.array, i, offset, length);
		whole->piece[i] = (struct piece){.whole = whole};
		whole->piece[i].command = (struct disk_command){
			.op = op, .offset = part.offset, .length = part.length};
		whole->left += part.length > 0;
	}
	if (op == DISK_READ && (whole->left > 1 || wire_is_up())) {
		whole->data = malloc(length);
		if (!whole->data) {
			free(whole);
			return NULL;
		}
	}
	return whole;
}

/* Gives a command's pieces to the spindles; the lock is held. */
static void submit(struct command *whole)
{
	int64_t at_ns = now();

	if (++drive.waiting > drive.waiting_max)
		drive.waiting_max = drive.waiting;
	for (uint32_t i = 0; i < drive.array.spindles; i++) {
		struct disk_command *command = &whole->piece[i].command;

		if (!command->length)
			continue;
		command->arrival_ns = at_ns;
		disk_queue_add(&drive.spindle[i].queue, command);
		pthread_cond_signal(&drive.spindle[i].wake);
	}
}

/*
 * Queues a command. False when timing is off and the caller answers at once. 0 or an errno in *err.
 */
static bool enqueue(enum disk_op op, void *user, uint64_t offset, size_t length, int *err)
{
	struct command *whole = cut(op, user, offset, length);
	bool queued = false;

	pthread_mutex_lock(&drive.lock);
	if (!drive.timing) {
		int injected = error_of(op, offset, length);

		drive.stats.errors_injected += injected != 0;
		*err = injected ? injected : *err;
	} else if (!whole || drive.waiting >= DRIVE_QUEUE_MAX) {
		*err = whole ? EAGAIN : ENOMEM;
	} else {
		whole->err = *err;
		submit(whole);
		queued = true;
	}
	pthread_mutex_unlock(&drive.lock);
	if (!queued && whole)
		free(whole->data);
	if (!queued)
		free(whole);
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
	hit = error_of(op, offset, length) != 0;
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
	for (uint32_t i = 0; i < drive.array.spindles; i++)
		drive.spindle[i].queue.depth = depth;
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

int drive_error_add(enum disk_op op, uint64_t offset, uint64_t length, int injected)
{
	int err = 0;

	if (!length || offset + length < offset)
		return EINVAL;
	pthread_mutex_lock(&drive.lock);
	if (drive.errors == DRIVE_ERRORS_MAX)
		err = ENOSPC;
	else
		drive.error[drive.errors++] = (struct error_range){
			.op = op, .offset = offset, .length = length, .err = injected};
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
	drive.waiting_max = drive.waiting;
	pthread_mutex_unlock(&drive.lock);
	return 0;
}

int drive_stats(char *text, size_t size)
{
	struct statistics s;
	uint32_t queue_max;

	pthread_mutex_lock(&drive.lock);
	s = drive.stats;
	queue_max = drive.waiting_max;
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
