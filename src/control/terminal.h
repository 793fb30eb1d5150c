/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The terminal of `ractl top`: its alternate screen, by the few escape sequences that every terminal
 * of today knows, and keys as they are pressed. Whatever ends the program (but SIGKILL), or stops it,
 * first puts the terminal back. One thread; it is standard input and output.
 */
#ifndef CONTROL_TERMINAL_H
#define CONTROL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "control/top_screen.h"

enum terminal_event { TERMINAL_TIME, TERMINAL_KEYS, TERMINAL_CHANGED, TERMINAL_GONE };

/* Whether both are one, that knows the sequences. */
bool terminal_there(void);
/* False with errno: it stays as it was. */
bool terminal_open(void);
void terminal_close(void);
/* Cells; 80 x 24 where it does not say. */
void terminal_size(unsigned int *width, unsigned int *height);
/* False: it is gone. */
bool terminal_show(const struct screen *s);
/*
 * Waits until MS have passed; keys were pressed, which KEYS has then, ended by NUL; the size changed or
 * the program was stopped, so that all is to be shown again; or the terminal is gone.
 */
enum terminal_event terminal_wait(int ms, char *keys, size_t size);

#endif
