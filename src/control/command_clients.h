/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command "clients": who uses the devices. */
#ifndef CONTROL_COMMAND_CLIENTS_H
#define CONTROL_COMMAND_CLIENTS_H

#include "control/control.h"
#include "control/facts.h"

/* A handler, over the host that was handed in when the channel started. */
void command_clients(struct control_call *call);
void command_clients_start(const struct control_host *host);

#endif
