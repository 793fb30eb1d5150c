/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where lines for the administrator go. See log.h. */
#include "common/log.h"

#include <stdio.h>

static void to_stderr(enum log_level level, const char *format, va_list args)
{
	static const char *const names[] = {"CRIT", "MAJOR", "WARN", "EVENT", "DEBUG"};

	flockfile(stderr);
	fprintf(stderr, "%s: ", names[level]);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

static log_writer write_line = to_stderr;

void log_set_writer(log_writer writer)
{
	write_line = writer ? writer : to_stderr;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
}
