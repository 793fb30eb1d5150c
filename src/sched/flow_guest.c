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
/* One that takes longer than this part of Max_Wait hangs, and is no reason to leave all others waiting. */
#define HANGS_PART 2
/* So many are looked at for one that may go. */
#define LOOKS_MAX 16

void flow_guest(struct sched_queue *q, struct sched_req *r, uint64_t since)
{
	uint64_t due = since + flow_patience(q);

	if (r->class != SCHED_PREFETCH || (r->guest.in && r->guest.high <= due))
		return;
	flow_guest_no_more(r);
	order_insert(&q->flows.guests, &r->guest, due, 0);
}

void flow_guests_of(struct sched_queue *q, struct sched_req *r)
{
	const struct sched_req *w;

	TAILQ_FOREACH(w, &r->waiters, link)
		if (w->in != r->in)
			flow_guest(q, r, w->arrival);
}

void flow_guest_no_more(struct sched_req *r)
{
	if (r->guest.in)
		order_remove(&r->guest);
}

struct sched_req *flow_guest_due(struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.guests), *next;

	if (now < q->flows.guests_resume)
		return NULL;
	for (int n = 0; at && at->high <= now && n < LOOKS_MAX; n++, at = next) {
		struct sched_req *r = CONTAINER_OF(at, struct sched_req, guest);

		next = order_next(at);
		if (flow_is_held(r->in)) { /* none before it may go */
			order_remove(at);
			order_insert(&q->flows.guests, at, flow_opens(r->in, now + 1), 0);
		} else if (!flow_is_kept(q, r->in)) {
			return r;
		}
	}
	return NULL;
}

/* One has, or had, NS more of the disk: the next one begins so much later. */
static void pay(struct sched_queue *q, uint64_t ns)
{
	q->flows.guests_resume += ns + flow_rest(ns, GUEST_PERCENT);
}

void flow_guest_started(struct sched_queue *q, struct sched_req *r)
{
	r->was_guest = true;
	if (q->flows.guests_resume < r->started)
		q->flows.guests_resume = r->started;
	pay(q, flow_slice(q));
}

void flow_guest_served(struct sched_queue *q, const struct sched_req *r)
{
	uint64_t most = q->limits.cost.max_wait / HANGS_PART, paid = flow_slice(q);
	uint64_t had = r->disk_time < most ? r->disk_time : most;

	if (r->was_guest && had > paid)
		pay(q, had - paid);
}
