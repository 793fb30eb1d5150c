/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where the agent's lines of common/log.h go: to the standard output, each at once, or to syslog. Those of
 * LOG_LEVEL_DEBUG, of which there may be many (tell.h), are for who looks on: neither syslog nor the journal, where the
 * standard output is that, has them. One thread.
 */
#ifndef CLIENT_LOG_SINK_H
#define CLIENT_LOG_SINK_H

void log_sink_stdout(void);
void log_sink_syslog(void);

#endif
