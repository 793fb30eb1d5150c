/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* --watch: what --status shows, again and again. */
#ifndef CLIENT_LIVE_H
#define CLIENT_LIVE_H

#include <stdio.h>

/* Seconds between two looks. */
#define LIVE_INTERVAL 1
/* Decisions that are shown, the last ones. */
#define LIVE_DECISIONS 8

/*
 * Looks LOOKS times (0: until the process is ended). On a TERMINAL each look is the screen anew; else
 * there is a text for each that says something new, with the time before it.
 */
void live_watch(const char *root, unsigned int looks, int terminal, FILE *out);

#endif
