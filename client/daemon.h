/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent while it runs: looks after its mounts until a signal ends it.
 *
 *   every interval, or when a call has returned:
 *       machine: dirty memory --> each mount: watch_tick --> flushing point --> record
 *   SIGHUP            the settings are read again; wrong ones are not taken
 *   SIGTERM, SIGINT   every knob as it was found, and the end
 *
 * The record (state.h) is written before a knob is turned, and at the end of each round. While it
 * cannot be written, no knob is turned. A service manager is told when we are ready, reload and
 * end, and that we live (notify.h).
 */
#ifndef CLIENT_DAEMON_H
#define CLIENT_DAEMON_H

#include "settings.h"

/* SETTINGS came from that command line, and belong to the daemon from now on. 0 or an errno. */
int daemon_run(const struct settings *settings, int argc, char **argv);
/* --once: says what each server states. 0, an errno, EINTR where a signal ended it; or -1: one states no prices. */
int daemon_once(const struct settings *settings);

#endif
