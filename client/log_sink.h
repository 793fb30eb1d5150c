/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the agent's lines of common/log.h go: to the standard output, each at once, or to syslog.
 * One thread.
 */
#ifndef CLIENT_LOG_SINK_H
#define CLIENT_LOG_SINK_H

void log_sink_stdout(void);
void log_sink_syslog(void);

#endif
