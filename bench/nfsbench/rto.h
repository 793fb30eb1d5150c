/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How long to wait for the answer to a datagram before it is sent again, and how many may be
 * unanswered at once (Macklem, "Lessons Learned Tuning the 4.3BSD Reno Implementation of the NFS
 * Protocol", section 4; the estimator is Jacobson's, "Congestion Avoidance and Control", 1988).
 *
 * The four most frequent calls have an estimator each, of the mean A and the mean deviation D of
 * their round trip time:
 *
 *	err = measured - A        A += err / 8        D += (|err| - D) / 4
 *
 * The time to wait is A + 4D of the big calls among them (READ, WRITE), A + 2D of the small ones
 * (GETATTR, LOOKUP). All others wait for a constant, as do those of which nothing was measured yet.
 *
 * The window grows by one in each round trip, that is by 1/window with each answer, and is halved
 * when an answer did not come in time. There is no slow start: the paper took it out.
 *
 * Times are nanoseconds. Nothing here reads a clock.
 */
#ifndef NFSBENCH_RTO_H
#define NFSBENCH_RTO_H

#include <stdbool.h>
#include <stdint.h>

enum rpc_class { RPC_READ, RPC_WRITE, RPC_GETATTR, RPC_LOOKUP, RPC_OTHER, RPC_CLASSES };

/* Of an NFSv3 procedure number. */
enum rpc_class rpc_class_of(uint32_t procedure);
const char *rpc_class_name(enum rpc_class c);

struct rto {
	double a, d; /* ns */
	uint64_t samples;
};

/* A round trip of a call that was sent once only (Karn: of others nobody knows which was answered). */
void rto_measured(struct rto *r, uint64_t rtt);

/* A + 2D or A + 4D, not below `least`; `constant` where the class has no estimate. */
uint64_t rto_value(const struct rto *r, enum rpc_class c, uint64_t constant, uint64_t least);

/* `rto` after so many retransmissions: doubled with each, at most `most`. */
uint64_t rto_backed_off(uint64_t rto, unsigned int retransmissions, uint64_t most);

struct window {
	double size; /* calls that may be unanswered, 1 … most */
	double most;
};

void window_answered(struct window *w);
void window_timed_out(struct window *w);
/* Whether one more call may be sent while so many are unanswered. */
bool window_open(const struct window *w, unsigned int unanswered);

#endif
