/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The commands "shares" and "share": who may have how much of the disks. */
#ifndef CONTROL_COMMAND_SHARES_H
#define CONTROL_COMMAND_SHARES_H

#include "control/control.h"
#include "control/facts.h"

/* Handlers, over the host that was handed in when the channel started. */
void command_shares(struct control_call *call);
void command_share(struct control_call *call);
void command_shares_start(const struct control_host *host);

#endif
