/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Work mix: an offered load (offered.h) on a set of small files, open loop. What is late because all
 * slots are taken is issued later, but its time counts from when it was due, so that a server that
 * falls behind cannot hide it.
 *
 * The files of --files are f0000 … as --layout made them; with WRITEs w0000 … are made beside them, as
 * many, of --size; READLINK wants a symbolic link named link0000.
 */
#ifndef NFSBENCH_MIX_H
#define NFSBENCH_MIX_H

#include "options.h"

/* Runs it and reports. 0, or -1: it could not run, or calls failed, or bytes differed. */
int mix_run(const struct options *o);

#endif
