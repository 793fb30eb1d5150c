/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long the reply to an UNSTABLE write is held back, so that senders slow down before the server
 * stalls.
 *
 *   rate of replies,
 *   x what the disk takes
 *     2 |......___
 *       |         ---___                      below the setpoint nobody is held back;
 *     1 |               ---___                between it and the budget the rate falls from twice
 *       |                     ---___          what the disk takes to nearly nothing, so the level
 *     0 +------|-----------------------|--    settles in between
 *          setpoint                  budget   dirty bytes
 *
 * That rate is divided evenly among the clients that write: each has a clock which its bytes
 * advance, and a reply waits until its client's clock has passed (a virtual clock; Zhang, SIGCOMM
 * 1990). No reply waits longer than delay_max, and a clock runs no further ahead than that.
 *
 * Not thread-safe: the caller's lock. The table of clients is fixed; clients whose keys collide
 * share a clock, which can only delay them, within the bound.
 */
#ifndef WRITEBACK_PACING_H
#define WRITEBACK_PACING_H

#include <stdint.h>

#define PACING_CLIENTS 256

struct pacing {
	struct {
		uint64_t clock; /* ns: until then its bytes have been paid for */
		uint64_t seen;	/* ns: its last write */
	} client[PACING_CLIENTS];
	uint64_t counted; /* ns: when the active ones were */
	uint32_t active;
};

/* Dirty bytes over the budget at which replies begin to wait. */
#define PACING_SETPOINT 0.75

/*
 * How long (ns, 0..DELAY_MAX) the reply to CLIENT's write of BYTES waits. LEVEL: dirty bytes over
 * the budget; RATE: bytes a second that the disk takes.
 */
uint64_t pacing_delay(struct pacing *p, uint64_t client, uint64_t bytes, double level, double rate,
		      uint64_t delay_max, uint64_t now);

#endif
