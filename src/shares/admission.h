/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whether a disk can keep what floors promise: the time of it that they come to.
 *
 * A floor of MB/s takes the time that so many bytes take at the bandwidth that the disk has shown; one
 * of requests/s that of so many seeks; of several the longest counts. What is not known yet counts as
 * nothing. A rule's floor is each client's own, so it counts once for each address that the rule
 * names, and once in all where it names others too: how many those are nobody knows. An operator's rule for one
 * address hides the one that held for it before, which counts it already: so only the difference does. Pure.
 */
#ifndef SHARES_ADMISSION_H
#define SHARES_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares/rules.h"

#define SHARE_DISKS_MAX 64

/* A disk as it has shown itself. */
struct share_disk {
	char name[24];
	double ns_per_byte, seek; /* ns; 0: not known yet */
};

/* Share of the disk's time (1: all of it) that FLOOR comes to. */
double floor_time(const struct share_limit *floor, const struct share_disk *d);
/* ... that the floors of all rules do. */
double floors_of_rules(const struct share_rules *rules, const struct share_disk *d);
/* Whether SUM is more than floors may be of D; then WHY, of SIZE bytes, names it and the limit. */
bool floors_exceed(double sum, const struct share_disk *d, char *why, size_t size);

#endif
