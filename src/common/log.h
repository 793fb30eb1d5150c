/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lines for the administrator, from rooms that know no Ganesha header.
 *
 * Where they go is one function pointer, set once before any thread starts: the plugin sets one
 * that hands them to Ganesha's log, a test one that keeps them. Until then they go to standard
 * error. A line has no newline and no prefix of its own; any thread may write one.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdarg.h>

enum log_level {
	LOG_LEVEL_CRIT,
	LOG_LEVEL_MAJOR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_EVENT,
	LOG_LEVEL_DEBUG
};

typedef void (*log_writer)(enum log_level level, const char *format, va_list args);

/* NULL: standard error again. */
void log_set_writer(log_writer writer);
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#endif
