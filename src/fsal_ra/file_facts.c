/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See file_facts.h. On the control channel's one thread. */
#include "file_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/backing_slot.h"
#include "disk/export_io.h"

#define EXPORTS_MAX 1024

static struct readahead *readahead;

void ra_file_facts_start(struct readahead *engine)
{
	readahead = engine;
}

/* The path of FD, where the kernel knows it as a whole. */
static void find_path(int fd, char path[FACTS_PATH])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, FACTS_PATH - 1);
	path[n > 1 && n < FACTS_PATH - 1 && path[0] == '/' ? n : 0] = '\0';
}

static void find_export(struct file_facts *f, unsigned int device)
{
	struct export_stats *e = calloc(EXPORTS_MAX, sizeof(*e));
	unsigned int n = e != NULL ? exports_stats(e, EXPORTS_MAX) : 0;

	for (unsigned int i = 0; i < n && i < EXPORTS_MAX && !f->has_export; i++)
		if (e[i].devices >> device & 1) {
			f->has_export = true;
			f->export_id = e[i].export_id;
		}
	free(e);
}

static void fill(struct file_facts *f, struct backing *b, bool with_export)
{
	dev_t dev;

	if (b == NULL)
		return;
	dev = atomic_load(&b->device->dev);
	f->has_device = true;
	f->major = major(dev);
	f->minor = minor(dev);
	find_path(b->fd, f->path);
	for (unsigned int n = 0; with_export && device_nth(n) != NULL; n++)
		if (device_nth(n) == b->device)
			find_export(f, n);
	backing_put(b);
}

unsigned int ra_files_facts(struct file_facts *f, unsigned int max)
{
	struct readahead_file_look *look = calloc(max, sizeof(*look));
	uint64_t name[LOOK_FILES_MAX] = {0};
	struct backing *open[LOOK_FILES_MAX];
	unsigned int known = look != NULL ? readahead_files(readahead, look, max) : 0;
	unsigned int n = known < max ? known : max;

	for (unsigned int i = 0; i < n; i++) {
		f[i] = (struct file_facts){.look = look[i]};
		name[i] = look[i].file;
	}
	backings_find(name, open, n);
	for (unsigned int i = 0; i < n; i++)
		fill(&f[i], open[i], false);
	free(look);
	return known;
}

static bool is_device(uint64_t dev)
{
	struct device *d;

	for (unsigned int n = 0; (d = device_nth(n)) != NULL; n++)
		if (atomic_load(&d->dev) == dev)
			return true;
	return false;
}

static bool is_known(uint64_t file)
{
	struct readahead_file_look look;
	struct readahead_cursor_look c;

	return readahead_cursors(readahead, file, &look, &c, 1) >= 0;
}

/* A cluster's files have no disk either, and most are called by their number alone. */
uint64_t ra_file_name(uint64_t dev, uint64_t inode)
{
	uint64_t plain = backing_file_name(inode, dev, true);
	uint64_t mixed = backing_file_name(inode, dev, is_device(dev));

	return !is_known(mixed) && is_known(plain) ? plain : mixed;
}

int ra_cursors_facts(uint64_t file, struct file_facts *f, struct readahead_cursor_look *c,
		     unsigned int max)
{
	struct readahead_file_look look;
	struct backing *open;
	int n = readahead_cursors(readahead, file, &look, c, max);

	if (n < 0)
		return n;
	*f = (struct file_facts){.look = look};
	backings_find(&file, &open, 1);
	fill(f, open, true);
	return n;
}
