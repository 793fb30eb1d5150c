/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Walks through sysfs' slaves. See block_disks.h. */
#include "disk/block_disks.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Devices upon devices, members of one, and disks of which is compared. */
#define NESTED_MAX  8
#define MEMBERS_MAX 64
#define DISKS_MAX   64
#define PATH_LENGTH 512

struct walk {
	void (*found)(const char *dir, void *arg);
	void *arg;
};

static void walk(const struct walk *w, const char *dir, unsigned int nested);

/* Those of a device upon others; false: it is upon none. */
static bool walk_members(const struct walk *w, const char *dir, unsigned int nested)
{
	char path[PATH_LENGTH];
	struct dirent *e;
	unsigned int n = 0;
	DIR *members = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/slaves", dir) < sizeof(path))
		members = opendir(path);
	while (members != NULL && n < MEMBERS_MAX && (e = readdir(members)) != NULL) {
		if (e->d_name[0] == '.' || (size_t)snprintf(path, sizeof(path), "%s/slaves/%s", dir,
							    e->d_name) >= sizeof(path))
			continue;
		walk(w, path, nested + 1);
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

/* From the directory of a disk, or of a part of one. */
static void walk(const struct walk *w, const char *dir, unsigned int nested)
{
	char disk[PATH_LENGTH];

	if ((size_t)snprintf(disk, sizeof(disk), "%s%s", dir, is_disk(dir) ? "" : "/..") >=
	    sizeof(disk))
		return;
	if (nested >= NESTED_MAX || !walk_members(w, disk, nested))
		w->found(disk, w->arg);
}

void block_disks(const char *sysfs, dev_t dev, void (*found)(const char *dir, void *arg), void *arg)
{
	const struct walk w = {.found = found, .arg = arg};
	char dir[PATH_LENGTH];

	if ((size_t)snprintf(dir, sizeof(dir), "%s/%u:%u", sysfs, major(dev), minor(dev)) <
	    sizeof(dir))
		walk(&w, dir, 0);
}

/* ---- disks in common --------------------------------------------------------------------- */

struct disks {
	dev_t dev[DISKS_MAX];
	unsigned int n;
};

static void note(const char *dir, void *arg)
{
	struct disks *disks = arg;
	unsigned int high, low;
	char path[PATH_LENGTH];
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/dev", dir) < sizeof(path))
		f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fscanf(f, "%u:%u", &high, &low) == 2 && disks->n < DISKS_MAX)
		disks->dev[disks->n++] = makedev(high, low);
	fclose(f);
}

bool block_disks_shared(const char *sysfs, dev_t a, dev_t b, dev_t *disk)
{
	struct disks of_a = {.n = 0}, of_b = {.n = 0};

	block_disks(sysfs, a, note, &of_a);
	block_disks(sysfs, b, note, &of_b);
	for (unsigned int i = 0; i < of_a.n; i++)
		for (unsigned int k = 0; k < of_b.n; k++)
			if (of_a.dev[i] == of_b.dev[k]) {
				*disk = of_a.dev[i];
				return true;
			}
	return false;
}
