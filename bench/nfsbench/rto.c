/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The estimators and the window; see rto.h. */
#include "rto.h"

#include <math.h>

#define GAIN_MEAN	 8.0 /* Jacobson's g is 1/8, his h is 1/4 */
#define GAIN_DEVIATION	 4.0
#define BIG_DEVIATIONS	 4.0 /* the paper's A + 4D and A + 2D */
#define SMALL_DEVIATIONS 2.0
#define DOUBLINGS_MAX	 16u

enum { PROC_GETATTR = 1, PROC_LOOKUP = 3, PROC_READ = 6, PROC_WRITE = 7 }; /* RFC 1813 */

enum rpc_class rpc_class_of(uint32_t procedure)
{
	switch (procedure) {
	case PROC_READ:
		return RPC_READ;
	case PROC_WRITE:
		return RPC_WRITE;
	case PROC_GETATTR:
		return RPC_GETATTR;
	case PROC_LOOKUP:
		return RPC_LOOKUP;
	default:
		return RPC_OTHER;
	}
}

const char *rpc_class_name(enum rpc_class c)
{
	static const char *const names[RPC_CLASSES] = {"read", "write", "getattr", "lookup",
						       "other"};

	return names[c];
}

void rto_measured(struct rto *r, uint64_t rtt)
{
	double err = (double)rtt - r->a;

	if (!r->samples++) {
		r->a = (double)rtt;
		r->d = (double)rtt / 2;
		return;
	}
	r->a += err / GAIN_MEAN;
	r->d += (fabs(err) - r->d) / GAIN_DEVIATION;
}

uint64_t rto_value(const struct rto *r, enum rpc_class c, uint64_t constant, uint64_t least)
{
	bool big = c == RPC_READ || c == RPC_WRITE;
	uint64_t value;

	if (c == RPC_OTHER || !r->samples)
		return constant;
	value = (uint64_t)(r->a + (big ? BIG_DEVIATIONS : SMALL_DEVIATIONS) * r->d);
	return value < least ? least : value;
}

uint64_t rto_backed_off(uint64_t rto, unsigned int retransmissions, uint64_t most)
{
	unsigned int doublings = retransmissions < DOUBLINGS_MAX ? retransmissions : DOUBLINGS_MAX;

	return rto > most >> doublings ? most : rto << doublings;
}

void window_answered(struct window *w)
{
	w->size += 1 / w->size;
	if (w->size > w->most)
		w->size = w->most;
}

void window_timed_out(struct window *w)
{
	w->size /= 2;
	if (w->size < 1)
		w->size = 1;
}

bool window_open(const struct window *w, unsigned int unanswered)
{
	return unanswered + 1 <= w->size;
}
