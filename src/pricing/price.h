/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a resource costs at a utilization, and what an operation costs that needs several.
 *
 *   P(u) = Pmax (k^u - 1) / (k - 1),   u in [0, 1],   Pmax = 1         (CA-NFS, section 3.2)
 *
 * k is how much worse things become for users as the resource fills up. A small k makes a resource
 * dear early, a large one only just before it is full; k = 1 is the straight line P(u) = u. The
 * price of an operation is that of its dearest resource, which is the bottleneck: for an
 * asynchronous write CPU, network, disk and memory, for read-ahead CPU, network and disk.
 *
 * Pure; any thread.
 */
#ifndef PRICING_PRICE_H
#define PRICING_PRICE_H

#include <stdint.h>

enum price_resource { PRICE_CPU, PRICE_NETWORK, PRICE_DISK, PRICE_MEMORY, PRICE_RESOURCES };

/* "cpu", "network", "disk", "memory". */
extern const char *const price_resource_names[PRICE_RESOURCES];

#define PRICE_K_MIN 1.0
#define PRICE_K_MAX 1e9

struct price_snapshot {
	uint64_t time;				    /* ns, as the publisher's clock; 0: never */
	uint32_t unknown;			    /* bit 1 << resource: its meter cannot tell */
	double utilization[PRICE_RESOURCES];	    /* 0..1; 0 where unknown */
	double price[PRICE_RESOURCES];		    /* 0..1 */
	double write, readahead;		    /* 0..1 */
	enum price_resource write_by, readahead_by; /* the dearest; of equal ones the first */
};

/*
 * P(u), from 0 to 1, never falling in u; 0 at u = 0 and 1 at u = 1 exactly. A u or k outside of its
 * range is taken as the nearest end; a u that is no number as 0, such a k as 1.
 */
double price_of(double k, double u);

/* Fills price, write, readahead and who made them from utilization[]. */
void price_combine(struct price_snapshot *s, const double k[PRICE_RESOURCES]);

#endif
