/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parameters, looked at and changed on the running server. */
#ifndef CONTROL_COMMAND_PARAMETERS_H
#define CONTROL_COMMAND_PARAMETERS_H

#include "control/control.h"
#include "control/facts.h"

void command_get(struct control_call *call);
void command_diff(struct control_call *call);
void command_set(struct control_call *call);
/* The same of Scheduler and Heuristic, which had commands of their own before. */
void command_scheduler(struct control_call *call);
void command_heuristic(struct control_call *call);
void command_parameters_start(const struct control_host *host);

#endif
