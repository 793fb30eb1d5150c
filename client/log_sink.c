/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of the log to people or to syslog. See log_sink.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "common/log.h"
#include "log_sink.h"

#define LINE_MAX_BYTES 8192 /* what is longer is cut off */

static enum log_level most = LOG_LEVEL_DEBUG; /* of the standard output */

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

/* The standard output is systemd's journal: systemd.exec(5). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
	       fstat(STDOUT_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static void to_stdout(enum log_level level, const char *format, va_list args)
{
	if (level > most)
		return;
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
	most = is_journal() ? LOG_LEVEL_EVENT : LOG_LEVEL_DEBUG;
	log_set_writer(to_stdout);
}

void log_sink_syslog(void)
{
	openlog("ca-nfs-agent", LOG_PID, LOG_DAEMON);
	setlogmask(LOG_UPTO(LOG_NOTICE));
	log_set_writer(to_syslog);
}
