/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lays out the files of all groups below a directory of this machine. */
#ifndef CANFS_LAYOUT_H
#define CANFS_LAYOUT_H

#include "run_state.h"

/* What of them is there is removed before. 0; or 1 with the reason on stderr. */
int layout(const struct run_options *o, const char *directory);

#endif
