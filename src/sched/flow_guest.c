/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Chunks that another client's read has joined: they go before Max_Wait is over, whatever else their own client has.
 *
 *   host     [ c1 ] [ c2 ] ... [ c40 ]      its streams, each in its turn; or thousands of small reads
 *   guest                        r          joined the last one, and has nothing else in the queue
 *
 * That is nobody's lateness: the host is served all the time, the guest has nothing queued. All such chunks take
 * GUEST_PERCENT of the disk's time at most, and are charged as always.
 */
#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

#define GUEST_PERCENT 25
/* So many are looked at for one that may go. */
#define LOOKS_MAX 16

void flow_guest(struct sched_queue *q, struct sched_req *r, uint64_t since)
{
	if (r->class == SCHED_PREFETCH && !r->guest.in)
		order_insert(&q->flows.guests, &r->guest, since + flow_patience(q), 0);
}

void flow_guest_no_more(struct sched_req *r)
{
	if (r->guest.in)
		order_remove(&r->guest);
}

struct sched_req *flow_guest_due(const struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.guests);

	if (now < q->flows.guests_resume)
		return NULL;
	for (int n = 0; at && at->high <= now && n < LOOKS_MAX; n++, at = order_next(at)) {
		struct sched_req *r = CONTAINER_OF(at, struct sched_req, guest);

		if (!flow_is_held(r->in) && !flow_is_kept(q, r->in))
			return r;
	}
	return NULL;
}

void flow_guest_served(struct sched_queue *q, const struct sched_req *r, uint64_t now)
{
	if (r->was_guest)
		q->flows.guests_resume = now + r->disk_time * (100 - GUEST_PERCENT) / GUEST_PERCENT;
}
