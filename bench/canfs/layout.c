/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files and directories as work_set.c says. See layout.h. */
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content.h"

#define PIECE (1u << 20)

static char piece[PIECE];

static int say(const char *path)
{
	fprintf(stderr, "canfs: %s: %s\n", path, strerror(errno));
	return 1;
}

static int write_file(const char *path, const struct work_file *f)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		return say(path);
	fchmod(fd, 0666);
	for (uint64_t at = 0; at < f->size; at += PIECE) {
		size_t n = f->size - at < PIECE ? f->size - at : PIECE;

		content_fill(f->content, at, piece, n);
		if (write(fd, piece, n) != (ssize_t)n) {
			close(fd);
			return say(path);
		}
	}
	return close(fd) ? say(path) : 0;
}

static int make_directory(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		return say(path);
	chmod(path, 0777);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int layout_client(const struct work_set *s, const char *base)
{
	char path[512], name[GROUP_NAME];

	if (make_directory(base))
		return 1;
	for (uint64_t d = 0; d < s->spec->dirs; d++) {
		snprintf(path, sizeof(path), "%s/d%02llu", base, (unsigned long long)d);
		if (make_directory(path))
			return 1;
	}
	for (uint32_t i = 0; i < s->files; i++) {
		work_file_name(s, i, name);
		snprintf(path, sizeof(path), "%s/%s", base, name);
		if (work_file_laid_out(s, i) && write_file(path, &s->file[i]))
			return 1;
	}
	return 0;
}

int layout(const struct run_options *o, const char *directory)
{
	char path[400], base[448];

	for (unsigned int g = 0; g < o->n_groups; g++) {
		const struct group_spec *spec = &o->groups[g];

		snprintf(path, sizeof(path), "%s/%s", directory, spec->dir);
		if (access(path, F_OK) == 0)
			nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
		if (make_directory(path))
			return 1;
		for (uint64_t c = spec->first; c <= spec->last; c++) {
			struct work_set s;
			int bad;

			if (!work_set_init(&s, spec, g * RUN_CLIENTS + (unsigned int)c, o->seed))
				return 1;
			snprintf(base, sizeof(base), "%s/c%02llu", path, (unsigned long long)c);
			bad = layout_client(&s, base);
			work_set_free(&s);
			if (bad)
				return 1;
		}
	}
	return 0;
}
