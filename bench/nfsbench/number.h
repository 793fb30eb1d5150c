/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbers of options, and what bounds them in several. */
#ifndef NFSBENCH_NUMBER_H
#define NFSBENCH_NUMBER_H

#include <stdint.h>

#define MAX_READERS 256
#define MAX_REQUEST (1u << 20)

/* A number with an optional suffix K, M or G (powers of 1024). Returns 0, or -1. */
int options_number(const char *text, uint64_t *value);

#endif
