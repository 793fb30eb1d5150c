/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an agent leaves in /run while it runs: a lock, so that there is one; and a text that says
 * what it does (--status) and which knobs it holds. That text is written before a knob is turned,
 * so that after a kill -9 the next agent, or --restore, can put all back.
 *
 *   /run/ca-nfs-agent.lock     locked as long as it lives
 *   /run/ca-nfs-agent.state    "agent PID", "mount ...", "knob PATH found 0 set 50"
 */
#ifndef CLIENT_STATE_H
#define CLIENT_STATE_H

#include <stdbool.h>
#include <stdio.h>

#include "knob.h"

#define STATE_LOCK "/run/ca-nfs-agent.lock"
#define STATE_FILE "/run/ca-nfs-agent.state"

/* 0: ours until we end. EWOULDBLOCK: another agent lives. Or another errno. */
int state_lock(const char *root);
/* Writes the whole text anew: state_begin, what it shall hold, state_end. NULL: it cannot. */
FILE *state_begin(const char *root);
void state_knob(FILE *out, const struct knob *k);
void state_end(const char *root, FILE *out);
void state_remove(const char *root);
/* To the standard output. False: there is none. */
bool state_print(const char *root);
/* Puts back the knobs of an agent that is no more; how many. Only with the lock. */
unsigned int state_restore(const char *root);

#endif
