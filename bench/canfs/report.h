/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a run was like, as JSON. Throughput is in 10^6 bytes a second, latency in ms. */
#ifndef CANFS_REPORT_H
#define CANFS_REPORT_H

#include <stdio.h>

#include "run_state.h"

void report_json(const struct run *run, FILE *out);

#endif
