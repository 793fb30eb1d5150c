/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Packets from one TUN device to another, through the hops of a path, and back through their like.
 *
 *	near TUN -> hop, hop, … -> far TUN          near TUN <- …, hop, hop <- far TUN
 *
 * A packet passes each hop at the time when it left the one before; that is worked out when it comes,
 * hop after hop, which is exact as long as hops serve in order (they do). Then it is kept until it is
 * to come out.
 */
#ifndef LINKEMU_RELAY_H
#define LINKEMU_RELAY_H

#include "hop.h"

#define HOPS_MAX    8
#define PACKET_MAX  65536
#define PACKETS_MAX 16384 /* under way in a direction; more are lost */

struct relay_packet {
	uint64_t leaves;
	uint32_t length;
	unsigned char *bytes;
};

struct relay_way {
	struct hop hops[HOPS_MAX];
	int from, to; /* TUN descriptors, not blocking */
	/* In order of coming out: a ring. */
	struct relay_packet ring[PACKETS_MAX];
	uint32_t first, count;
	uint64_t packets, bytes, lost;
};

struct relay {
	struct relay_way up, down; /* near to far, far to near */
	unsigned int hops;
};

/* Until *stop is set by a signal. 0, or -1 with errno. */
int relay_run(struct relay *r, const volatile int *stop);

#endif
