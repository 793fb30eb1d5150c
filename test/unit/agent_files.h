/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A machine of files below a directory of its own, for tests of the agent's parts. */
#ifndef TEST_AGENT_FILES_H
#define TEST_AGENT_FILES_H

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

#define FILES_PATH 128

static char files_root[] = "/tmp/ra-agent-XXXXXX";
static char files_said[512]; /* the last line of the log */

static inline void files_keep_line(enum log_level level, const char *format, va_list args)
{
	(void)level;
	vsnprintf(files_said, sizeof(files_said), format, args);
}

static inline const char *files_path(const char *name)
{
	static char path[FILES_PATH];

	snprintf(path, sizeof(path), "%s%s", files_root, name);
	return path;
}

/* In one step, as others may be reading. */
__attribute__((format(printf, 2, 3))) static inline void files_put(const char *name,
								   const char *format, ...)
{
	char made[FILES_PATH + 8];
	va_list args;
	FILE *f;

	snprintf(made, sizeof(made), "%s.made", files_path(name));
	f = fopen(made, "w");
	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
	assert_int_equal(rename(made, files_path(name)), 0);
}

/* -1: it is not there, or no number. */
static inline int files_number(const char *name)
{
	int value = -1;
	FILE *f = fopen(files_path(name), "r");

	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* Group set-up and tear-down. */
static inline int files_begin(void **state)
{
	static const char *const parts[] = {
		"/proc",      "/proc/self",	"/proc/sys",	       "/proc/sys/vm", "/sys",
		"/sys/class", "/sys/class/bdi", "/sys/class/bdi/0:47", "/run"};

	if (!mkdtemp(files_root))
		return -1;
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (mkdir(files_path(parts[i]), 0700))
			return -1;
	log_set_writer(files_keep_line);
	return 0;
}

static inline int files_remove(const char *path, const struct stat *status, int flag,
			       struct FTW *at)
{
	return remove(path);
}

static inline int files_end(void **state)
{
	return nftw(files_root, files_remove, 4, FTW_DEPTH | FTW_PHYS);
}

#endif
