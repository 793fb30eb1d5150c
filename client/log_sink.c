/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of the log to people or to syslog. See log_sink.h. */
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "common/log.h"
#include "log_sink.h"

static void to_stdout(enum log_level level, const char *format, va_list args)
{
	(void)level;
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
}

static void to_syslog(enum log_level level, const char *format, va_list args)
{
	static const int priority[] = {LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG};

	vsyslog(priority[level], format, args);
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
