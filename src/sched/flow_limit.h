/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Floors and ceilings of groups and flows, for the files of the dispatch queue. */
#ifndef SCHED_FLOW_LIMIT_H
#define SCHED_FLOW_LIMIT_H

#include "sched/policy.h"
#include "sched/queue.h"

/* Once, before all else. */
void flow_limits_init(struct sched_queue *q);
/* F has the limits of its client's share, and its group those of the EXPORT's; NULL: has none of its own. */
void flow_limit_set(struct sched_queue *q, struct sched_flow *f, const struct share *client,
		    const struct share *export);
/* NODE will be freed. */
void flow_limit_forget(struct flow_node *node);
/* Reads were queued beneath NODE, which has limits, or are no more. */
void flow_limit_backlog(struct sched_queue *q, struct flow_node *node);
/* R goes to the disk for about BYTES, R has left it: charges, and holds whom that brought to a ceiling. */
void flow_limit_begin(struct sched_queue *q, struct sched_req *r, uint64_t bytes, uint64_t now);
void flow_limit_end(struct sched_queue *q, const struct sched_req *r, uint64_t now);
/* When F, which is held, may go (ns), and not before LEAST. */
uint64_t flow_opens(const struct sched_flow *f, uint64_t least);
/* F is held: its promise is for when it may go, and not before LEAST (ns). */
void flow_promise_later(struct sched_queue *q, struct sched_flow *f, uint64_t least);
/* Who was held may go when its time has come. */
void flow_release(struct sched_queue *q, uint64_t now);
/* When the next one may (ns); UINT64_MAX: nobody is held. */
uint64_t flow_release_at(const struct sched_queue *q);
/*
 * Who should go before the others for the reason WHICH, with reads queued: the first (AFTER: NULL), the next; NULL:
 * nobody. By FLOW_OPENED no group that has had more than UPTO (virtual time).
 */
const struct flow_node *flow_goes_first(const struct sched_queue *q, enum flow_first which,
					const struct flow_node *after, uint64_t upto, uint64_t now);
bool flow_behind_floor(const struct sched_flow *f, uint64_t now);
/* Whether it has one in bytes, or its group: then it is served little at a time, and often. */
static inline bool flow_has_floor(const struct sched_flow *f)
{
	return f->node.limit.floor[RATE_BYTES].rate != 0 ||
	       f->group->node.limit.floor[RATE_BYTES].rate != 0;
}
/* Demand reads queued that may go. */
static inline uint32_t flows_demands(const struct sched_queue *q)
{
	return q->policy->gap ? q->flows.ready[FLOW_SMALL] : q->by_class[SCHED_DEMAND];
}

/* flow_chunk.c: bytes, at most CHUNK, that the chunk R should have if it goes now, by its flow's limits. */
uint64_t flow_chunk(const struct sched_queue *q, const struct sched_req *r, uint64_t chunk,
		    uint64_t now);

/* It or its group is over its ceiling: nothing of its goes. */
static inline bool flow_is_held(const struct sched_flow *f)
{
	return f->node.held.in || f->group->node.held.in;
}

#endif
