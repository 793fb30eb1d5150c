/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of the log to people or to syslog. See log_sink.h. */
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "common/log.h"
#include "log_sink.h"

#define LINE_MAX_BYTES 8192 /* what is longer is cut off */

/* A line is one line: names of mounts may hold anything. */
static const char *line_of(const char *format, va_list args)
{
	static char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return line;
}

static void to_stdout(enum log_level level, const char *format, va_list args)
{
	(void)level;
	puts(line_of(format, args));
	fflush(stdout);
}

static void to_syslog(enum log_level level, const char *format, va_list args)
{
	static const int priority[] = {LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG};

	syslog(priority[level], "%s", line_of(format, args));
}

void log_sink_stdout(void)
{
	log_set_writer(to_stdout);
}

void log_sink_syslog(void)
{
	openlog("ca-nfs-agent", LOG_PID, LOG_DAEMON);
	log_set_writer(to_syslog);
}
