/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What UDP did, over all connections of a load: in numbers, in the table and in JSON. */
#ifndef NFSBENCH_TRANSPORT_H
#define NFSBENCH_TRANSPORT_H

#include "connection.h"
#include "load.h"

/* Adds up what the connections counted; nothing over TCP. */
void transport_total(struct transport_counts *t, const struct connection *c, unsigned int count);

/* The size of READs follows what was lost since the last call, where the load adapts it. */
void transport_learn(struct load *load, const struct connection *c, unsigned int count);

/* A line of the table; a member of the JSON, with a comma after it. */
void transport_table(const struct load *load);
void transport_json(FILE *f, const struct load *load);

#endif
