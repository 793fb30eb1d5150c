/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which flow has the disk next, and for how long.
 *
 *   round    | a's visit | b's visit |     c's visit     | ...     groups not ahead of the others,
 *            |  chunk    |  chunk    |       chunk       |         in the order of the disk
 *   gaps     ^           ^           ^   |---gap---|     ^
 *            d e         d           e       d e               small reads of groups that are
 *                                                              behind, as a batch
 *
 * Who has had most for its weight waits. Those within half a slice of whoever has had least are alike,
 * and are visited in the disk's order: a round, frozen. A visit lasts for a slice or two of disk time, or
 * one request if that is longer, and ends early when its flow has nothing left. So a flow keeps its
 * own efficiency, and fairness is by virtual time: who had too much misses rounds.
 *
 * Small reads of a group that is no further ahead than that are served between the visits, and
 * within a long chunk (sched_next_in_gap), a batch of groups sharing one slice. Of one that is further
 * ahead one small read in Demand_Wait goes with them, and is not held against it: a promise.
 *
 * Anticipation (Iyer & Druschel, SOSP 2001): a client that reads one block after the other has
 * nothing queued at the moment its read is over. If it is behind by a read's time and was quick to ask
 * for the next one before, the disk waits for that; else it would get one read for each visit of the
 * others.
 *
 * Where small reads of several flows are at the drive together (place.h) there is no visit to keep whole:
 * who has had least has the next place there. Each is charged its part of the time (flow_clock.c). Nor where many go
 * to a disk that takes them as they come: flow_near.c. Between chunks those that are over are followed, while others
 * are there, by the next ones of clients who ask for them at once, as far as these are behind; no more of them begin
 * after a slice, and when the last has ended a chunk goes.
 *
 * A visit of small reads whose time is over takes neighbours along: flow_along.c. A short chunk that
 * small reads have joined goes when they would have: flow_joined.c.
 * Whose weight is so little that its turn would come after Max_Wait has one read then, and where there are no chunks
 * who has a few after Demand_Wait: flow_late.c. A chunk that another client's read has joined goes before Max_Wait is
 * over: flow_guest.c.
 *
 * With one flow there is nothing to choose: the policy's order, as if there were no flows.
 */
#include <assert.h>

#include "common/container.h"
#include "sched/flow_limit.h"
#include "sched/parts.h"

/* So many promises are kept in one gap. */
#define PROMISED_MAX 8
/* ... of so many that are looked at. */
#define PROMISES_LOOKED 64

/* ---- places on the disk ------------------------------------------------------------------- */

static struct sched_group *group_of_round(struct order_node *node, enum flow_kind kind)
{
	return node ? CONTAINER_OF(node - kind, struct sched_group, round[0]) : NULL;
}

static uint64_t where(const struct sched_group *g, enum flow_kind kind)
{
	const struct sched_req *r = TAILQ_FIRST(&flow_first(g, kind)->reads);

	assert(r);
	return r->block;
}

/* G, which has something of KIND, is to be visited in the round under way. */
static void join_round(struct sched_queue *q, struct sched_group *g, enum flow_kind kind)
{
	if (!g->round[kind].in)
		order_insert(&q->flows.round[kind], &g->round[kind], where(g, kind), 0);
}

/* ---- promises ---------------------------------------------------------------------------- */

/* Those whose promise would be broken by a turn of a slice go into the gap too. */
static void freeze_promised(struct sched_queue *q, uint64_t now)
{
	struct order_node *at = order_first(&q->flows.promises), *next;
	/* what a turn of a slice would keep waiting, with the seek that comes before the read */
	uint64_t until = now + flow_slice(q) + (uint64_t)q->cost.seek_ns;

	for (int n = 0, looks = 0;
	     at && at->high <= until && n < PROMISED_MAX && looks < PROMISES_LOOKED;
	     at = next, looks++) {
		struct sched_flow *f = CONTAINER_OF(at, struct sched_flow, promise);

		next = order_next(at);
		if (flow_is_held(f)) { /* over its ceiling it has none */
			flow_promise_later(q, f, until + 1);
			continue;
		}
		if (f->group->round[FLOW_SMALL].in) /* another flow of its group goes first */
			continue;
		if (now < f->along_resume && now < at->high) /* it had more than one */
			continue;
		join_round(q, f->group, FLOW_SMALL);
		n++;
	}
}

/* The same of those who go first for the reason WHICH. */
static void freeze_first(struct sched_queue *q, enum flow_first which, uint64_t now)
{
	uint64_t upto = flow_level_of_reads(q);
	const struct flow_node *node = NULL;
	struct sched_group *g;

	for (int n = 0, looks = 0; n < PROMISED_MAX && looks < PROMISES_LOOKED; looks++) {
		node = flow_goes_first(q, which, node, upto, now);
		if (!node)
			return;
		g = node->flow ? node->flow->group : CONTAINER_OF(node, struct sched_group, node);
		if (!g->node.place[FLOW_SMALL].in)
			continue;
		join_round(q, g, FLOW_SMALL);
		n++;
	}
}

/* ---- rounds ------------------------------------------------------------------------------ */

/* The groups of KIND that have had no more than UPTO make a round. */
static void freeze(struct sched_queue *q, enum flow_kind kind, uint64_t upto)
{
	struct sched_group *g = group_first(q, kind);

	for (; g && g->node.vtime <= upto; g = group_next(g, kind))
		join_round(q, g, kind);
}

static bool is_next(const struct sched_queue *q, const struct sched_group *g, enum flow_kind kind)
{
	return g->node.place[kind].in &&
	       (kind != FLOW_SMALL || !flow_is_kept(q, flow_first(g, kind)));
}

/* The next group of the round of KIND that may go, which leaves it; NULL: none is left. */
static struct sched_group *next_of_round(struct sched_queue *q, enum flow_kind kind)
{
	struct order *round = &q->flows.round[kind];

	while (round->n) {
		struct order_node *at = order_scan(round, q->head);

		order_remove(at);
		if (is_next(q, group_of_round(at, kind), kind))
			return group_of_round(at, kind);
	}
	return NULL;
}

/* Whether reads that are at the drive together may be followed: where clients think it would stand still more and more. */
static bool gap_lasts(const struct sched_queue *q, uint64_t now)
{
	const struct sched_group *g = group_first(q, FLOW_SMALL);

	return g && q->scattered_only && !q->at_hand && now < q->flows.gap_ends &&
	       group_vtime(g) < group_vtime(group_first(q, FLOW_CHUNK)) &&
	       flow_is_quick(flow_first(g, FLOW_SMALL));
}

/*
 * Whether chunks in pieces keep all others from the drive, but for small reads, of which there are some: these would have a gap
 * in another chunk, and do not wait until all have ended.
 */
static bool only_small_go(const struct sched_queue *q)
{
	return q->scattered_only && !q->pieces_too && group_first(q, FLOW_SMALL) &&
	       pieces_are_there(q);
}

/* Whether small reads go before a chunk though its turn has come, for it has no place beside what is at the drive. */
static bool small_go_on(const struct sched_queue *q, uint64_t now)
{
	return gap_lasts(q, now) || only_small_go(q);
}

/* V may be for such a chunk: it goes after the reads to come, too, but in this round. */
static void put_off(struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	if (!v->flow || v->kind != FLOW_CHUNK || v->started || v->late || v->joined ||
	    !small_go_on(q, now))
		return;
	if (v->flow->group->node.place[FLOW_CHUNK].in)
		join_round(q, v->flow->group, FLOW_CHUNK);
	v->flow = NULL;
}

/* Whether small reads go before chunks now. */
static bool gap_is_due(const struct sched_queue *q, uint64_t now)
{
	const struct sched_group *small = group_first(q, FLOW_SMALL);
	const struct sched_group *chunk = group_first(q, FLOW_CHUNK);
	uint64_t upto = flow_level_of_reads(q);

	if (!small || !chunk)
		return small;
	if (q->flows.after_gap && chunk->node.vtime <= upto && !small_go_on(q, now))
		return false;
	return small->node.vtime <= upto;
}

static void begin(struct sched_queue *q, struct flow_visit *v, struct sched_group *g,
		  enum flow_kind kind, uint64_t budget)
{
	struct sched_flow *f = flow_first(g, kind);

	*v = (struct flow_visit){.flow = f, .kind = kind, .budget = budget};
	v->promised = kind == FLOW_SMALL && g->node.vtime > flow_level_of_reads(q);
}

/* The next of a batch of small reads; what is left of the slice is shared by those to come. */
static bool begin_small(struct sched_queue *q, struct flow_visit *v)
{
	uint64_t budget = flow_slice(q) / (q->flows.round[FLOW_SMALL].n + 1);
	struct sched_group *g = next_of_round(q, FLOW_SMALL);

	if (!group_first(q, FLOW_CHUNK) &&
	    v == &q->flows.visit) /* no turn waits for the gap's end */
		budget = flow_visit_time(q);

	if (g)
		begin(q, v, g, FLOW_SMALL, budget);
	return g;
}

static bool begin_first(struct sched_queue *q, struct flow_visit *v, enum flow_first which,
			uint64_t now)
{
	const struct flow_node *node = flow_goes_first(q, which, NULL, flow_level_of_reads(q), now);
	enum flow_kind kind;

	if (!node)
		return false;
	kind = node->n[FLOW_CHUNK] ? FLOW_CHUNK : FLOW_SMALL;
	*v = (struct flow_visit){
		.flow = node->flow ? node->flow
				   : flow_first(CONTAINER_OF(node, struct sched_group, node), kind),
		.kind = kind,
		.budget = flow_slice(q),
	};
	v->reserved = flow_behind_floor(v->flow, now);
	return true;
}

/* Who was kept from the disk for too long has one read. */
static bool begin_late(struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	enum flow_kind kind;
	struct sched_flow *f = flow_late(q, &kind, now);

	if (!f)
		return false;
	*v = (struct flow_visit){.flow = f, .kind = kind, .promised = true, .late = true};
	flow_late_served(q, flow_slice(q), now);
	return true;
}

/* The small reads that were chosen, if any, are a gap between chunks. */
static void open_gap(struct sched_queue *q, uint64_t now)
{
	if (!q->flows.round[FLOW_SMALL].n)
		return;
	if (!q->flows.after_gap)
		q->flows.gap_ends = now + flow_slice(q);
	q->flows.after_gap = true;
}

/* Chunks that do not wait for their turn, one after the other, leave room for what was promised. */
static void promises_first(struct sched_queue *q, uint64_t now)
{
	if (q->flows.after_gap || q->flows.round[FLOW_SMALL].n || !flow_joined_next(q, NULL, now))
		return;
	freeze_promised(q, now);
	open_gap(q, now);
}

/* Somebody has reads queued: his is the next visit. False: they wait for those of theirs that run. */
static bool begin_next(struct sched_queue *q, uint64_t now)
{
	struct flow_visit *v = &q->flows.visit;
	struct sched_group *g;

	if (begin_first(q, v, FLOW_DUE, now) || begin_late(q, v, now) ||
	    begin_first(q, v, FLOW_OPENED, now))
		return true;
	promises_first(q, now);
	if ((!q->flows.round[FLOW_SMALL].n && flow_joined_begin(q, v, now)) ||
	    flow_near_begin(q, v, now))
		return true;
	if (q->flows.round[FLOW_SMALL].n && begin_small(q, v))
		return true;
	if (gap_is_due(q, now))
		freeze(q, FLOW_SMALL, flow_level_of_reads(q));
	if (!q->flows.after_gap)
		freeze_promised(q, now);
	open_gap(q, now);
	if (q->flows.round[FLOW_SMALL].n && begin_small(q, v))
		return true;
	g = next_of_round(q, FLOW_CHUNK);
	if (!g) {
		g = group_first(q, FLOW_CHUNK);
		if (!g)
			return false;
		freeze(q, FLOW_CHUNK, g->node.vtime + flow_slack(q, group_weight(g)));
		g = next_of_round(q, FLOW_CHUNK);
	}
	if (!q->scattered_only) /* it has a place */
		q->flows.after_gap = false;
	begin(q, v, g, FLOW_CHUNK, demands_about(q) ? flow_slice(q) : flow_visit_time(q));
	return true;
}

/* ---- visits ------------------------------------------------------------------------------ */

static bool has_reads(const struct sched_flow *f)
{
	return !flow_is_held(f) && flow_has_reads(f);
}

/* One more request of the usual length ends nearer to the budget than none, those under way too. */
static bool has_budget(const struct sched_queue *q, const struct flow_visit *v)
{
	uint32_t under_way = v->started > v->served ? v->started - v->served : 0;
	uint64_t each = v->served ? v->used / v->served : (uint64_t)q->cost.seek_ns;

	if (!v->started)
		return true;
	return !v->promised && v->used + under_way * each + each / 2 < v->budget;
}

/* Beside reads at the drive that orders them a visit has nothing to keep together: who is behind goes. */
static bool gives_way(const struct sched_queue *q, const struct flow_visit *v)
{
	const struct sched_group *g = group_first(q, FLOW_SMALL);

	if (!q->scattered_only || q->at_hand || v->kind != FLOW_SMALL || !v->started || !g)
		return false;
	return flow_is_kept(q, v->flow) ||
	       (g != v->flow->group && g->node.vtime < v->flow->group->node.vtime);
}

static bool goes_on(const struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	if (!v->flow || v->guest || !has_reads(v->flow) || gives_way(q, v))
		return false;
	if ((v->reserved && !flow_behind_floor(v->flow, now)) || (v->joined && v->started))
		return false;
	if (v->late && !v->started && flow_is_kept(q, v->flow))
		return false;
	return q->flows.reading == 1 ||
	       (v->flow->node.n[v->kind] && (has_budget(q, v) || flow_takes_along(q, v, now)));
}

/* The read of F to serve in a visit of KIND, not removed. */
static struct sched_req *pick_in(struct sched_queue *q, struct sched_flow *f, enum flow_kind kind,
				 uint64_t now)
{
	const struct flow_visit *v = &q->flows.visit;
	struct sched_req *r = v->late && !v->started ? TAILQ_FIRST(&f->waiting) : NULL;

	if (r && r->kind == v->kind) /* that one is late, and not what the policy would choose */
		return r;
	r = overdue_pick(q, f, now);
	if (!r && v->joined)
		r = flow_joined_next(q, f, now);
	if (!r && kind == FLOW_SMALL && f->node.n[FLOW_SMALL])
		r = q->policy->gap(f->policy_state, q, true);
	return r ? r : q->policy->pick(f->policy_state, q);
}

bool sched_may_be_at_hand(const struct sched_queue *q)
{
	return q->observed != AFTER_WRITEBACK && !group_first(q, FLOW_CHUNK);
}

/* The disk is going to wait for the next read of the flow whose last one runs: no other is at hand. */
static bool will_wait(const struct sched_queue *q, const struct flow_visit *v)
{
	uint64_t read = v->served ? v->used / v->served : (uint64_t)q->cost.seek_ns;

	return q->at_hand && v->flow && v->flow->demands && !has_reads(v->flow) &&
	       flow_worth_waiting(q, v, read, read);
}

bool flow_waits(struct sched_queue *q, uint64_t now)
{
	struct flow_visit *v = &q->flows.visit;

	if (v->wait_until &&
	    (now >= v->wait_until || has_reads(v->flow) || !q->flows.reading || q->writeback.hurry))
		v->wait_until = 0;
	return v->wait_until;
}

/* V is for a chunk that another client's read has joined, and that is due; not before floors, or a visit chosen before. */
static bool begin_guest(struct sched_queue *q, struct flow_visit *v, uint64_t now)
{
	bool chosen = v->flow && !v->started && goes_on(q, v, now);
	bool first = chosen || flow_goes_first(q, FLOW_DUE, NULL, 0, now);
	struct sched_req *r = first ? NULL : flow_guest_due(q, now);

	if (!r)
		return false;
	*v = (struct flow_visit){.flow = r->in, .kind = r->kind, .guest = r};
	flow_serve(q, r->in);
	return true;
}

struct sched_req *flow_pick(struct sched_queue *q, uint64_t now)
{
	struct flow_visit *v = &q->flows.visit;

	if (!q->flows.reading || flow_waits(q, now) || will_wait(q, v))
		return NULL;
	if (q->flows.guests.n && begin_guest(q, v, now))
		return v->guest;
	put_off(q, v, now);
	if (!goes_on(q, v, now)) {
		if (q->flows.reading == 1 && group_first(q, FLOW_CHUNK))
			begin(q, v, group_first(q, FLOW_CHUNK), FLOW_CHUNK, flow_slice(q));
		else if (!begin_next(q, now))
			return NULL;
	}
	if (!v->promised && !v->joined)
		flow_serve(q, v->flow);
	/* alone, all that it has is the policy's */
	return pick_in(q, v->flow, q->flows.reading == 1 ? FLOW_CHUNK : v->kind, now);
}

bool flow_next_is(struct sched_queue *q, struct sched_req *r, uint64_t now)
{
	struct flow_visit *v = &q->flows.visit;

	if (flow_is_held(r->in))
		return false;
	if (v->wait_until && v->flow == r->in) /* it is the one that the disk waits for */
		return !(v->wait_until = 0);
	if (q->flows.reading != 1 || sched_reads(q) != 1 || flow_waits(q, now) || will_wait(q, v))
		return false;
	if (v->flow != r->in)
		begin(q, v, r->in->group, r->kind, flow_slice(q));
	flow_serve(q, r->in);
	return true;
}

/* ---- gaps within a chunk ----------------------------------------------------------------- */

/* Nobody but CHUNK's flow has anything queued, and it has small reads. */
static bool is_alone(const struct sched_queue *q, const struct sched_req *chunk)
{
	return q->flows.reading == 1 && !flow_is_held(chunk->in) && chunk->in->node.n[FLOW_SMALL];
}

uint32_t flow_gap_reads(const struct sched_queue *q, const struct sched_req *chunk)
{
	/* others count as one each: who has thousands queued does not lengthen the turn */
	return is_alone(q, chunk) ? chunk->in->node.n[FLOW_SMALL]
				  : q->flows.groups.backlogged[FLOW_SMALL].n;
}

/* Who is served in a gap of CHUNK: groups not ahead of its own, and its own. */
static void freeze_gap(struct sched_queue *q, struct sched_req *chunk, uint64_t now)
{
	struct sched_group *own = chunk->in->group;
	uint32_t weight = group_weight(own);
	uint64_t had = flow_virtual(clock_had(q, chunk, now), weight);

	freeze(q, FLOW_SMALL, own->node.vtime + had + flow_slack(q, weight));
	if (own->node.place[FLOW_SMALL].in)
		join_round(q, own, FLOW_SMALL);
	freeze_promised(q, now);
	freeze_first(q, FLOW_DUE, now);
	freeze_first(q, FLOW_OPENED, now);
}

struct sched_req *flow_pick_in_gap(struct sched_queue *q, struct sched_req *chunk, bool first,
				   uint64_t now)
{
	struct flow_visit *v = &q->flows.gap;

	if (first)
		*v = (struct flow_visit){0};
	if (is_alone(q, chunk) && !v->flow) /* nor was anybody else there when it opened */
		return q->policy->gap(chunk->in->policy_state, q, first);
	if (first && !q->flows.round[FLOW_SMALL].n)
		freeze_gap(q, chunk, now);
	do {
		struct sched_req *r = NULL;

		if (v->flow && v->flow->node.n[FLOW_SMALL] && !flow_is_held(v->flow) &&
		    (has_budget(q, v) || flow_takes_along(q, v, now)))
			r = q->policy->gap(v->flow->policy_state, q, true);
		if (!r) /* all that it has is overdue */
			continue;
		if (!v->promised)
			flow_serve(q, v->flow);
		return r;
	} while (begin_small(q, v));
	return NULL;
}
