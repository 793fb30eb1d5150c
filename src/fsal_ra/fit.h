/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether the Ganesha that is there is the one that this was compiled for. */
#ifndef RA_FIT_H
#define RA_FIT_H

#include <stdio.h>

/*
 * Compares the core library's idea of the structures with ours, and tells each comparison in a line.
 * Returns how many disagree; it may crash instead, where much does. Not thread-safe: for a process of
 * its own. Exported: src/gate calls it.
 */
__attribute__((visibility("default"))) int ra_fit(FILE *out);

#endif /* RA_FIT_H */
