/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What goes to and fro, as a mount does for hours that defers by turns, is said when that begins and when it has
 * ended, not each time.
 *
 *    on     off     on     off    ...    on     off
 *   EVENT  EVENT   DEBUG  DEBUG         DEBUG  DEBUG      TELL_CALM later: EVENT, how it stands
 *
 * Pure: times are handed in. One thread.
 */
#ifndef CLIENT_TELL_H
#define CLIENT_TELL_H

#include <stdbool.h>

#include "common/log.h"

/* s: what has not changed for so long changes anew. */
#define TELL_CALM 600

/* All zero: it has not changed yet. */
struct tell {
	double at;     /* s: of the last change */
	bool changed;  /* there was one */
	bool said;     /* that it is not as without us: then it is said that it is again */
	bool left_out; /* the last change was not said */
};

/* It changes, BACK to what it is without us or else: at which level that is said. NOW: s. */
enum log_level tell_change(struct tell *t, bool back, double now);
/* True once: the last change was left out, and nothing has changed since for TELL_CALM. */
bool tell_calm(struct tell *t, double now);

#endif
