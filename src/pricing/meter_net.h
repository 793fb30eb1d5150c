/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How full the network is (CA-NFS, section 3.3, "Client and Server Network").
 *
 *   utilization = max(received, sent) * 8 / (speed * full)      the higher direction: full duplex
 *
 * averaged over the window, of the interface where it is highest. Bytes are those of /proc/net/dev
 * and NET_FRAME more for each packet: preamble, checksum and gap, which also take time on the wire.
 * Few links carry more than `full` (95 %) of their speed.
 *
 * Which interfaces count:
 *   - one that is named, with its own speed, or with the capacity if that is set;
 *   - else all physical ones (that have a device behind them), each with its own speed, or with the
 *     capacity if that is set; one that states none counts only with that;
 *   - where there is no physical one, as in a container, and the capacity is set: all but loopback.
 * So loopback, bridges, veth and virtual machines' cards without a speed never make a price, unless
 * the administrator says what they can carry. Then the meter says unknown.
 *
 * Speeds and the list of interfaces are looked at again every NET_RESCAN. Not thread-safe.
 */
#ifndef PRICING_METER_NET_H
#define PRICING_METER_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/rate.h"
#include "pricing/source.h"

#define NET_INTERFACES_MAX 32	       /* that count */
#define NET_NAME	   16	       /* as the kernel's IFNAMSIZ */
#define NET_RESCAN	   5000000000u /* ns */
#define NET_FRAME	   24	       /* bytes on the wire that the kernel does not count */

struct net_limits {
	char interface[NET_NAME]; /* "": all, as above */
	uint64_t capacity;	  /* Mbit/s; 0: the interface's own speed */
	double full;		  /* share of the speed that counts as full, above 0 up to 1 */
	uint64_t window;	  /* ns */
};

struct net_interface {
	char name[NET_NAME];
	uint64_t speed; /* Mbit/s, > 0 */
	struct rate received, sent;
	bool present;
};

struct meter_net {
	struct net_limits limits;
	struct net_interface interfaces[NET_INTERFACES_MAX];
	unsigned int n;
	uint64_t next_scan; /* ns */

	double utilization;	   /* 0..1 */
	char busiest[NET_NAME];	   /* the interface it is of; "" while nothing moves */
	char unknown[SOURCE_NAME]; /* the file that told nothing; "": all is known */
};

void meter_net_init(struct meter_net *m, const struct net_limits *limits);
/* Reads the files, each once, and brings the results up to date. */
void meter_net_sample(struct meter_net *m, struct price_source *s, uint64_t now);

#endif
