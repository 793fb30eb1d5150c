/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of the rooms without Ganesha header go to Ganesha's log, component FSAL, after "RA: ". */
#include "ra_methods.h"

#include <stdio.h>

#include "common/log.h"
#include "control_host.h"

static void to_ganesha(enum log_level level, const char *format, va_list args)
{
	char line[1024];

	if (level == LOG_LEVEL_DEBUG && !isDebug(COMPONENT_FSAL))
		return;
	vsnprintf(line, sizeof(line), format, args);
	switch (level) {
	case LOG_LEVEL_CRIT:
		LogCrit(COMPONENT_FSAL, "RA: %s", line);
		break;
	case LOG_LEVEL_MAJOR:
		LogMajor(COMPONENT_FSAL, "RA: %s", line);
		break;
	case LOG_LEVEL_WARN:
		LogWarn(COMPONENT_FSAL, "RA: %s", line);
		break;
	case LOG_LEVEL_EVENT:
		LogEvent(COMPONENT_FSAL, "RA: %s", line);
		break;
	case LOG_LEVEL_DEBUG:
		LogDebug(COMPONENT_FSAL, "RA: %s", line);
		break;
	}
}

void ra_log_start(void)
{
	log_set_writer(to_ganesha);
}
