/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* All counters since the start and states of now, for monitoring: what `ractl metrics` makes text of. */
#ifndef CONTROL_COMMAND_METRICS_H
#define CONTROL_COMMAND_METRICS_H

#include "control/control.h"
#include "control/facts.h"

void command_metrics(struct control_call *call);
void command_metrics_start(const struct control_host *host);

#endif
