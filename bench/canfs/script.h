/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Clients by hand, for tests: commands on standard input, an answer a line on standard output. */
#ifndef CANFS_SCRIPT_H
#define CANFS_SCRIPT_H

#include "run.h"

/*
 *   CLIENT create|open|stat|fsync|close|remove NAME        ok
 *   CLIENT write|append NAME OFFSET LENGTH CONTENT         ok LENGTH
 *   CLIENT read NAME OFFSET LENGTH CONTENT                 ok LENGTH WRONG-WORDS
 *   CLIENT counts                                          ok reads writes commits unsaved-pages hits
 *                                                          way server's-price own-bid
 *   wait MS                                                ok
 *
 * NAME: in the export's root. CONTENT: content.h's first word. "failed" where it failed.
 */
int script(struct run *run, const struct run_options *o);

#endif
