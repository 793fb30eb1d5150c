/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What one client is told: the price of a resource that is in use as much as it is, and that the
 * client has had much or little of lately, against what it is entitled to. (CA-NFS, section 5, names
 * what is missing in its prices: they depend on the state of the server, and not on who made it.)
 *
 *   ratio   = even(use / entitled) * (mean weight / weight)^(1/4), within 1/4 .. 2
 *   price   = P(u ratio^sqrt(u))               of the disk, and of the memory that waits for it
 *
 *        1 |            ratio 2 --> ..*---------   a client that had twice its share
 *          |                     ..     .·'
 *     P(u) |                   .'    .·'   <-- ratio 1: P(u), what all are told without this
 *          |                .·'  .·'     __..--
 *        0 |____....-----====----------''   <-- ratio 1/4: one that had a quarter of its share
 *          '-------------------------------> u
 *          0                              1
 *
 * The exponent: the less the disk is used the less matters who used it, and what nobody else wants
 * costs nobody much. (With sqrt(u) no price falls when load rises, at any ratio from e^-2 on.) At u = 0
 * all prices are 0. At u = 1 a ratio from 1 on costs 1; the least is P(1/4), 0.02 with k = 100, so that
 * agents let a client that had little of its share have it; and for whoever had more than his share
 * P(0.71), 0.25, for of the ratio's two parts the second is at least 0.71. Upwards 2 is enough: it makes
 * any price 1 from u = 0.59 on.
 *
 * The mean of the ratio by what clients are entitled to is about 1: nobody pays for the rule as such. By
 * what they use it is more: the disk as a whole does not become cheaper by it. (With equal weights, and
 * within the bounds of the ratio.)
 *
 * Processor and network are no disk time, and cost all the same.
 *
 * Pure; any thread.
 */
#ifndef PRICING_CLIENT_PRICE_H
#define PRICING_CLIENT_PRICE_H

#include "pricing/price.h"

#define CLIENT_RATIO_MIN 0.25
#define CLIENT_RATIO_MAX 2.0
/* A client within this factor of its share is told the plain price: use is never quite even. */
#define CLIENT_RATIO_EVEN 1.05

/* How a client stands with a disk. */
struct client_standing {
	double use;	 /* share of all disk time of clients lately, 0..1 */
	double entitled; /* to that share, 0..1 */
	double weight;	 /* over the mean of clients lately active; 1: the same */
	double doubt;	 /* 0..1, how much USE is taken for ENTITLED: little has been seen */
};

/* CLIENT_RATIO_MIN .. _MAX; exactly 1 for who stands as it should. Rises with use, falls with weight. */
double client_ratio(const struct client_standing *s);

/* A client's prices at RATIO, 0..1; at a ratio of 1 exactly the snapshot's. */
struct client_prices {
	double write, readahead;
};
struct client_prices client_price(const struct price_snapshot *s, const double k[PRICE_RESOURCES],
				  double ratio);

#endif
