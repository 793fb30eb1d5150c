/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How long demand reads waited: a histogram of powers of two, and percentiles out of it. */
#include "sched/parts.h"

void account_wait(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	uint64_t wait = now - r->submitted, us = wait / 1000;
	int bucket = us ? 64 - __builtin_clzll(us) : 0;

	if (bucket >= SCHED_WAIT_BUCKETS)
		bucket = SCHED_WAIT_BUCKETS - 1;
	q->stats.waits[bucket]++;
	q->stats.waited += wait;
	if (wait > q->stats.wait_max)
		q->stats.wait_max = wait;
	q->stats.served[SCHED_DEMAND]++;
	flow_count_wait(r, (unsigned int)bucket, wait);
}

uint64_t sched_wait_percentile(const struct sched_stats *s, double percent)
{
	uint64_t sum = 0, upto = 0;

	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++)
		sum += s->waits[i];
	for (int i = 0; i < SCHED_WAIT_BUCKETS; i++) {
		upto += s->waits[i];
		if (sum && (double)upto >= (double)sum * percent / 100)
			return ((uint64_t)1 << i) * 1000;
	}
	return 0;
}
