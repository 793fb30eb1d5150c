/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

#include "say.h"

static bool to_syslog;

void say_to_syslog(bool yes)
{
	to_syslog = yes;
	if (yes)
		openlog("ca-nfs-agent", LOG_PID, LOG_DAEMON);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (to_syslog) {
		vsyslog(LOG_NOTICE, format, args);
	} else {
		vprintf(format, args);
		putchar('\n');
		fflush(stdout);
	}
	va_end(args);
}
