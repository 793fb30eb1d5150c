/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command "trace": decisions out of the ring of common/trace.h. */
#ifndef CONTROL_COMMAND_TRACE_H
#define CONTROL_COMMAND_TRACE_H

#include "control/control.h"
#include "control/facts.h"

#define TRACE_LIMIT_MAX 1000 /* records in one answer */

/* A handler: see commands.c for its members. The ring is switched on, and the peer holds it. */
void command_trace(struct control_call *call);
/* Before the first; HOST stays. */
void command_trace_start(const struct control_host *host);
/* Nobody holds it any more: the ring is switched off. */
void command_trace_released(void);

#endif
