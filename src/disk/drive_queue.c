/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says of a drive's queue. See drive_queue.h. */
#include "disk/drive_queue.h"

#include <stdio.h>

#include "disk/block_disks.h"

#define PATH_LENGTH 512

/* The number in the file NAME of the directory; 0: there is none. */
static uint32_t number_in(const char *dir, const char *name)
{
	char path[PATH_LENGTH];
	unsigned int n = 0;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return 0;
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* What the directory of a disk says is added to *ARG. */
static void add(const char *disk, void *arg)
{
	struct drive_queue *sum = arg;
	uint32_t stated = number_in(disk, "device/queue_depth");
	uint32_t bound = stated != 0 ? stated : number_in(disk, "queue/nr_requests");

	if (sum->stated < DRIVE_QUEUE_MAX)
		sum->stated += stated;
	if (sum->bound < DRIVE_QUEUE_MAX)
		sum->bound += bound;
	sum->spindles += number_in(disk, "queue/rotational") == 1;
}

struct drive_queue drive_queue_of(const char *sysfs, dev_t dev)
{
	struct drive_queue q = {0};

	block_disks(sysfs, dev, add, &q);
	if (q.bound < 1)
		q.bound = 1;
	if (q.bound > DRIVE_QUEUE_MAX)
		q.bound = DRIVE_QUEUE_MAX;
	return q;
}
