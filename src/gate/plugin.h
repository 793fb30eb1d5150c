/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether the plugin fits the server that it would be loaded into. */
#ifndef GATE_PLUGIN_H
#define GATE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#define PLUGIN_WHY_MAX 1024 /* bytes, with the NUL */

/*
 * Loads the plugin at `path` in a child of this process, where the server's core library is loaded, and
 * has it compare structures. False: it does not fit, or that could not be found out; why has the
 * reason, one line, for people.
 */
bool plugin_fits(const char *path, char why[PLUGIN_WHY_MAX]);

/* As the server loads modules; NULL: dlerror() says why. */
void *plugin_load(const char *path);

#endif /* GATE_PLUGIN_H */
