/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files that are read, their streams, and why they or a client wait. */
#ifndef CONTROL_COMMAND_FILES_H
#define CONTROL_COMMAND_FILES_H

#include "control/control.h"
#include "control/facts.h"

void command_files(struct control_call *call);
void command_cursors(struct control_call *call);
void command_explain(struct control_call *call);
void command_files_start(const struct control_host *host);

#endif
