/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Entries of 24 bytes, numbers in the machine's byte order; the data of a write follows its entry:
 *
 *   | kind, 8 | offset, 8 | length, 8 | data ...      kind: 'W' write, 'D' discard, 'F' flush
 *
 * A write is recorded when it is done, from the image: two that overlap are not outstanding at
 * once. What follows the last flush was still in the drive's own cache: a power cut may take any of
 * it.
 */
#include "record.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "drive.h"
#include "image.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file; /* under lock */
static char buffer[DRIVE_REQUEST_MAX];
static _Atomic bool recording;

int record_to(const char *path)
{
	FILE *new = NULL, *old;

	if (path) {
		new = fopen(path, "we");
		if (!new)
			return errno;
	}
	pthread_mutex_lock(&lock);
	old = file;
	file = new;
	recording = new != NULL;
	pthread_mutex_unlock(&lock);
	return old && fclose(old) ? errno : 0;
}

/* A record that cannot be written ends there: its reader finds a piece of an entry. */
static void entry(char kind, uint64_t offset, uint64_t length, const char *data)
{
	uint64_t head[3] = {(uint64_t)kind, offset, length};

	if (fwrite(head, sizeof(head), 1, file) != 1 ||
	    (data && fwrite(data, length, 1, file) != 1) || fflush(file)) {
		perror("mechdisk: record");
		recording = false;
	}
}

void record_write(uint64_t offset, uint64_t length)
{
	if (!recording)
		return;
	pthread_mutex_lock(&lock);
	if (recording && !image_read(buffer, offset, length))
		entry('W', offset, length, buffer);
	pthread_mutex_unlock(&lock);
}

static void mark(char kind, uint64_t offset, uint64_t length)
{
	if (!recording)
		return;
	pthread_mutex_lock(&lock);
	if (recording)
		entry(kind, offset, length, NULL);
	pthread_mutex_unlock(&lock);
}

void record_discard(uint64_t offset, uint64_t length)
{
	mark('D', offset, length);
}

void record_flush(void)
{
	mark('F', 0, 0);
}
