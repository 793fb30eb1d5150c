/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Compares the model's service times with the formulae of the mechanics. */
#ifndef MECHDISK_DISK_SELFTEST_H
#define MECHDISK_DISK_SELFTEST_H

#include <stdio.h>

#include "disk_params.h"

/* In the model's time, without sleeping. Prints a table; returns the number of failed checks. */
int disk_selftest(const struct disk_params *params, FILE *out);

#endif
