/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The files of a load, locally: creating those to read, checking those written. */
#ifndef NFSBENCH_LAYOUT_H
#define NFSBENCH_LAYOUT_H

#include "options.h"

/* Writes o->files files of o->size bytes into the local directory o->layout. 0, or -1 (said). */
int layout(const struct options *o);

/* Compares the files that writers left in o->check with what they write. 0, or -1 (said). */
int layout_check(const struct options *o);

#endif
