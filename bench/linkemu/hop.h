/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One hop of a path: a queue of bounded length before a line of so many bits a second, then a delay.
 *
 *	packets -> [ queue, at most `queue` bytes, `slots` packets ] -> line -> delay -> next hop
 *	             full: the packet is lost            lost by chance: `loss`
 *
 * Nothing is stored: a packet is told when it leaves, because the line serves in order. What is in the
 * queue at a time is what the line has yet to send: (busy_until - now) x rate. Routers of old counted
 * packets and not bytes, so that small ones are lost as often as large ones: of the last `slots` packets
 * it is known when each has left the line, and there is room when the first of them has.
 *
 * Others use the line too: bursts of `burst` packets of CROSS_BYTES come at random (exponential gaps),
 * so that together they take the share `cross` of it. They fill the queue, and are lost in it, as
 * all others are. They are made here, not sent by anybody.
 *
 * Times are nanoseconds, handed in, and never go back. One thread.
 */
#ifndef LINKEMU_HOP_H
#define LINKEMU_HOP_H

#include <stdbool.h>
#include <stdint.h>

#define CROSS_BYTES   1000 /* of a packet of others */
#define HOP_SLOTS_MAX 256

struct hop_params {
	double rate;	/* bit/s; 0: as fast as may be */
	uint64_t delay; /* ns */
	uint64_t queue; /* bytes that may wait for the line */
	uint32_t slots; /* packets that may wait, to HOP_SLOTS_MAX; 0: any number */
	double loss;	/* share of packets, 0 … 1, besides what the queue loses */
	double cross;	/* share of the line that others take, 0 … 0.95 */
	uint32_t burst; /* packets that they send at once */
};

struct hop {
	struct hop_params params;
	uint64_t random; /* the generator's state */
	uint64_t busy_until, next_burst;
	uint64_t left[HOP_SLOTS_MAX]; /* when the last `slots` packets have, a ring */
	uint32_t oldest;
	uint64_t packets, lost_by_chance, lost_in_queue, others;
};

void hop_init(struct hop *h, const struct hop_params *params, uint64_t seed, uint64_t now);

/* A packet of so many bytes comes at `now`: whether it gets through, and at *leaves. */
bool hop_pass(struct hop *h, uint32_t bytes, uint64_t now, uint64_t *leaves);

#endif
