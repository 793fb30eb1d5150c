/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What an agent leaves in /run while it runs: a text that says what it does (--status) and which
 * knobs it holds. That text is written before a knob is turned, so that after a kill -9 the next
 * agent, or --restore, can put all back.
 *
 *   agent 1234
 *   mount /srv/data 0:47: believed, ...
 *   knob /sys/class/bdi/0:47/min_ratio found 0 set 50       put back if it stands at 50
 *   knob /sys/class/bdi/0:47/min_ratio found 0 set any      being turned: put back in any case
 *   metrics /var/lib/.../ca.prom                            removed, if it is what an agent wrote
 *   decision 2026-11-22 10:31:07 /srv/data: defer ...       the last ones (history.h)
 *
 * A new text replaces the old one whole or not at all. Lines of knobs may be added to it, which is
 * cheaper: of several about one knob the last counts. What cannot be put back stays there, for the next
 * agent; of a line that is cut off at its end no more is taken for right than what was found.
 */
#ifndef CLIENT_STATE_H
#define CLIENT_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "knob.h"

#define STATE_FILE "/run/ca-nfs-agent.state"

/* A text's first line, and that of a knob, where it is held. */
void state_head(FILE *out);
void state_knob(FILE *out, const struct knob *k);
/* Lines of the knobs that could not be put back (knob.h). */
void state_left(FILE *out);
/* The line of a file of metrics (metrics.h), unless PATH is "". */
void state_metrics(FILE *out, const char *path);
/* 0: TEXT stands there. Or an errno, and the text from before stays. */
int state_write(const char *root, const char *text);
/* Adds LINES to the text that stands there. Or an errno; then a part of them may stand there too. */
int state_add(const char *root, const char *lines);
/* Some text stands there. */
bool state_stands(const char *root);
void state_remove(const char *root);
/* The agent's end: nothing stands there but what could not be put back. */
void state_end(const char *root);
/* All of it, to be freed; NULL: there is none, or no memory. */
char *state_text(const char *root);
/* To the standard output, without the decisions. False: there is none. */
bool state_print(const char *root);
/* Reads a line of a knob that an agent turns: any bytes may come. False: it is none. */
bool state_parse(const char *root, const char *line, struct knob *k);
/* A record stands there and cannot be read now: it stays, and nothing was put back. */
#define STATE_UNREAD UINT_MAX
/* Puts back the knobs of an agent that is no more; how many, or STATE_UNREAD, which is said. Its metrics go, for they would
 * tell of it for ever. Only with the lock. */
unsigned int state_restore(const char *root);

#endif
