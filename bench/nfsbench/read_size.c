/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The size of READs by the loss of fragments; see read_size.h. */
#include "read_size.h"

#include <math.h>

#define ENOUGH	    32	 /* sendings for an estimate */
#define WEIGHT	    0.5	 /* of the newest estimate */
#define LOST_MOST   0.99 /* of sendings: nothing can be told from more */
#define OVERHEAD    140	 /* bytes of an answer that are not data */
#define FIXED_SHARE 0.2	 /* of a round trip: what does not grow with the size */

void read_size_init(struct read_size *r, uint32_t most)
{
	*r = (struct read_size){.size = most, .most = most};
}

unsigned int read_size_fragments(uint32_t size)
{
	return (size + OVERHEAD + READ_SIZE_FRAGMENT - 1) / READ_SIZE_FRAGMENT;
}

/* Bytes a second that READs of this size would bring. */
static double expected(const struct read_size *r, uint32_t size, double rtt, double rto)
{
	double lost = 1 - pow(1 - r->fragment_loss, read_size_fragments(size));
	double grows = (double)size / r->size;

	if (lost > LOST_MOST)
		lost = LOST_MOST;
	return size / (rtt * (FIXED_SHARE + (1 - FIXED_SHARE) * grows) + lost / (1 - lost) * rto);
}

static void choose(struct read_size *r, double rtt, double rto)
{
	uint32_t best = r->size;

	for (uint32_t size = READ_SIZE_LEAST; size <= r->most; size *= 2) {
		if (expected(r, size, rtt, rto) > expected(r, best, rtt, rto))
			best = size;
	}
	r->size = best;
}

void read_size_learn(struct read_size *r, uint64_t sent, uint64_t again, double rtt, double rto)
{
	double lost, loss;

	r->sent += sent;
	r->again += again;
	if (r->sent + r->again < ENOUGH)
		return;
	lost = (double)r->again / (double)(r->sent + r->again);
	if (lost > LOST_MOST)
		lost = LOST_MOST;
	loss = 1 - pow(1 - lost, 1.0 / read_size_fragments(r->size));
	r->fragment_loss += WEIGHT * (loss - r->fragment_loss);
	r->sent = r->again = 0;
	if (rtt > 0)
		choose(r, rtt, rto);
}
