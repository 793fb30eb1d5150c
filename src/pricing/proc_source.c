/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Open files of /proc and /sys. See proc_source.h. */
#include "pricing/proc_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An open file here stays that of its card when another one gets the name. */
#define RENAMED "/sys/class/net/"

static void drop(struct proc_file *f)
{
	if (f->name[0])
		close(f->fd);
	f->name[0] = '\0';
}

/* NULL: it cannot be opened now. */
static struct proc_file *find(struct proc_source *p, const char *name)
{
	struct proc_file *f;
	int fd;

	for (int i = 0; i < PROC_FILES; i++)
		if (!strcmp(p->files[i].name, name))
			return &p->files[i];
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	f = &p->files[p->oldest++ % PROC_FILES];
	drop(f);
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = fd;
	return f;
}

static ssize_t read_file(struct price_source *s, const char *name, char *buf, size_t size)
{
	struct proc_file *f;
	ssize_t n;

	if (!strncmp(name, RENAMED, strlen(RENAMED)))
		return text_read_path(name, buf, size);
	f = find((struct proc_source *)s, name);
	if (f == NULL)
		return -1;
	n = text_read(f->fd, buf, size);
	if (n < 0)
		drop(f); /* a device that went: perhaps another has its name the next time */
	return n;
}

void proc_source_init(struct proc_source *p)
{
	memset(p, 0, sizeof(*p));
	p->source.read = read_file;
}

void proc_source_fini(struct proc_source *p)
{
	for (int i = 0; i < PROC_FILES; i++)
		drop(&p->files[i]);
}
