/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control channel's commands, over whatever host is handed in. */
#ifndef CONTROL_COMMANDS_H
#define CONTROL_COMMANDS_H

#include "control/control.h"
#include "control/facts.h"

/*
 * The table of commands over HOST, which lives as long as the channel; counters count from now.
 * One channel at a time: the commands, and commands_tick() once a second, run on its thread.
 */
const struct control_command *commands_start(const struct control_host *host);
void commands_tick(void);
/* No peer holds anything any more: see control.h. */
void commands_released(void);

#endif
