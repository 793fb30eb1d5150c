/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control file's commands, one a line. */
#ifndef MECHDISK_CONTROL_H
#define MECHDISK_CONTROL_H

#include <stddef.h>

#define CONTROL_MAX 4096 /* bytes of one write */

/* Carries out the lines in text; stops at the first that fails. 0 or a positive errno. */
int control_run(const char *text, size_t length);

#endif
