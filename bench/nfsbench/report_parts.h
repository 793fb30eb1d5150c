/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the two halves of the report share. */
#ifndef NFSBENCH_REPORT_PARTS_H
#define NFSBENCH_REPORT_PARTS_H

#include <stdio.h>

#include "load.h"

/* report_parts.c */
void json_string(FILE *f, const char *text);
void json_latency(FILE *f, const struct latency *l);
/* report_clients.c: nothing for other works. */
void table_clients(const struct load *load);
void json_clients(FILE *f, const struct load *load);

#endif
