/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What share of the disk's time dirty memory may buy while reads use the disk.
 *
 * The server itself is a bidder in the auction of CA-NFS (FAST 2009, 2.1 and 3.2): dirty memory
 * bids its price, the disk asks its own, and the share is divided in proportion, instead of all or
 * nothing, so that neither readers nor writers starve when both prices are high:
 *
 *   share = share_max * memory / (memory + disk)
 *
 * With little dirty (a price below price_min) nothing is bought: defer. Data that grows old bids
 * by its age: from half of age_max on, in proportion, and share_max once it is that old.
 */
#ifndef WRITEBACK_SHARE_H
#define WRITEBACK_SHARE_H

#include <stdint.h>

struct share_limits {
	double share_max; /* 0..0.95 */
	double price_min; /* the least price that buys anything */
	uint64_t age_max; /* ns */
};

/* MEMORY and DISK: their prices, 0..1. AGE: of the oldest dirty data, ns. Any thread. */
double share_bought(const struct share_limits *l, double memory, double disk, uint64_t age);

#endif
