/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Creating the files of a load. */
#ifndef NFSBENCH_LAYOUT_H
#define NFSBENCH_LAYOUT_H

#include "options.h"

/* Writes o->files files of o->size bytes into the local directory o->layout. 0, or -1 (said). */
int layout(const struct options *o);

#endif
