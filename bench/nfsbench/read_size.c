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
	double grows = FIXED_SHARE + (1 - FIXED_SHARE) * (double)size / r->size;

	if (lost > LOST_MOST)
		lost = LOST_MOST;
	return size / (grows * (rtt + lost / (1 - lost) * rto));
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

/* Of all sendings since the last estimate, the share that was lost. */
static double lost_share(const struct read_size_seen *s)
{
	uint64_t lost = s->again > s->needless ? s->again - s->needless : 0;
	double share = (double)lost / (double)(s->answered + s->again);

	return share < LOST_MOST ? share : LOST_MOST;
}

static void add(struct read_size_seen *to, const struct read_size_seen *seen)
{
	to->answered += seen->answered;
	to->again += seen->again;
	to->needless += seen->needless;
	to->rtt_samples += seen->rtt_samples;
	to->rtt_sum += seen->rtt_sum;
}

void read_size_learn(struct read_size *r, const struct read_size_seen *seen, double rto)
{
	struct read_size_seen *since = &r->since;
	double loss, rtt;

	add(since, seen);
	if (since->answered + since->again < ENOUGH)
		return;
	loss = 1 - pow(1 - lost_share(since), 1.0 / read_size_fragments(r->size));
	r->fragment_loss += WEIGHT * (loss - r->fragment_loss);
	rtt = since->rtt_samples ? since->rtt_sum / (double)since->rtt_samples : 0;
	*since = (struct read_size_seen){0};
	if (rtt > 0)
		choose(r, rtt, rto);
}
