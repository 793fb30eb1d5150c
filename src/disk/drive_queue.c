/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says of a drive's queue. See drive_queue.h. */
#include "disk/drive_queue.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Devices upon devices, and members of one, that are looked at. */
#define NESTED_MAX  8
#define MEMBERS_MAX 64
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

static void add(struct drive_queue *sum, const struct drive_queue *q)
{
	if (sum->stated < DRIVE_QUEUE_MAX)
		sum->stated += q->stated;
	if (sum->bound < DRIVE_QUEUE_MAX)
		sum->bound += q->bound;
	sum->spindles += q->spindles;
}

static struct drive_queue ask(const char *dir, unsigned int nested);

/* The members' together, of a device upon others; false: it is upon none. */
static bool ask_members(const char *dir, unsigned int nested, struct drive_queue *sum)
{
	char path[PATH_LENGTH];
	struct dirent *e;
	unsigned int n = 0;
	DIR *members = NULL;

	*sum = (struct drive_queue){0};
	if ((size_t)snprintf(path, sizeof(path), "%s/slaves", dir) < sizeof(path))
		members = opendir(path);
	while (members != NULL && n < MEMBERS_MAX && (e = readdir(members)) != NULL) {
		struct drive_queue q;

		if (e->d_name[0] == '.' || (size_t)snprintf(path, sizeof(path), "%s/slaves/%s", dir,
							    e->d_name) >= sizeof(path))
			continue;
		q = ask(path, nested + 1);
		add(sum, &q);
		n++;
	}
	if (members != NULL)
		closedir(members);
	return n > 0;
}

static bool is_disk(const char *dir)
{
	char path[PATH_LENGTH];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%s/queue", dir) < sizeof(path) &&
	       stat(path, &st) == 0;
}

/* What the directory of a disk, or of a part of one, says. */
static struct drive_queue ask(const char *dir, unsigned int nested)
{
	struct drive_queue q = {0};
	char disk[PATH_LENGTH];

	if ((size_t)snprintf(disk, sizeof(disk), "%s%s", dir, is_disk(dir) ? "" : "/..") >=
	    sizeof(disk))
		return q;
	if (nested < NESTED_MAX && ask_members(disk, nested, &q))
		return q;
	q.stated = number_in(disk, "device/queue_depth");
	q.spindles = number_in(disk, "queue/rotational") == 1;
	q.bound = q.stated != 0 ? q.stated : number_in(disk, "queue/nr_requests");
	return q;
}

struct drive_queue drive_queue_of(const char *sysfs, dev_t dev)
{
	char dir[PATH_LENGTH];
	struct drive_queue q = {0};

	if ((size_t)snprintf(dir, sizeof(dir), "%s/%u:%u", sysfs, major(dev), minor(dev)) <
	    sizeof(dir))
		q = ask(dir, 0);
	if (q.bound < 1)
		q.bound = 1;
	if (q.bound > DRIVE_QUEUE_MAX)
		q.bound = DRIVE_QUEUE_MAX;
	return q;
}
