/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The drive in real time: one thread that serves the queue through the model and lets each command
 * take as long as the model says. All calls are safe for several threads.
 */
#ifndef MECHDISK_DRIVE_H
#define MECHDISK_DRIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "disk_queue.h"

#define DRIVE_REQUEST_MAX (1u << 20) /* bytes of one command */
#define DRIVE_QUEUE_MAX	  1024	     /* commands waiting: further ones are refused with EAGAIN */
#define DRIVE_ERRORS_MAX  64	     /* ranges of injected errors */

/*
 * A finished command: err is 0 or a positive errno; data holds what was read, NULL for writes.
 * Called from the drive's thread, the wire's where there is one (wire.h), or the submitter's while timing is off.
 */
typedef void (*drive_done)(void *user, int err, const void *data, size_t length);

/* 0 or a positive errno. params must have been checked. */
int drive_start(const struct disk_params *params, drive_done done);

/* Serves what is queued, waits for what is on the wire, then stops the threads and closes the trace. */
void drive_stop(void);

void drive_read(void *user, uint64_t offset, size_t length);

/* The data is copied before the call returns. */
void drive_write(void *user, const void *data, uint64_t offset, size_t length);

/* The control file's commands. 0 or a positive errno. */
int drive_timing(bool on);
int drive_depth(uint32_t depth);
int drive_trace(const char *path); /* NULL: off */
int drive_error_add(enum disk_op op, uint64_t offset, uint64_t length, int injected);
int drive_error_clear(void);
int drive_stats_reset(void);

/* Writes the statistics as one JSON object, ended by a newline; returns its length. */
int drive_stats(char *text, size_t size);

#endif
