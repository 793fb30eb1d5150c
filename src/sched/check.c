/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The queue's invariants, looked at from outside: each request in the lists of its state and in no
 * other, the counts those of the lists, the orders in order.
 */
#include "sched/flow_limit.h"
#include "sched/parts.h"

struct counts {
	uint32_t queued[SCHED_CLASSES], running, stalled, joined, with_others;
	uint32_t short_chunks, going_on;
	uint64_t held;
};

static const char *check_waiters(const struct sched_req *r, struct counts *c)
{
	const struct sched_req *w;

	TAILQ_FOREACH(w, &r->waiters, link) {
		if (w->state != REQ_JOINED || w->class != SCHED_DEMAND)
			return "a waiter is no joined demand read";
		if (!r->wanted)
			return "a request with waiters is not wanted";
		c->joined++;
		c->with_others += lets_go(r);
		c->held += w->len;
	}
	return NULL;
}

static const char *check_read(const struct sched_queue *q, const struct sched_req *r,
			      struct counts *c)
{
	if (r->state != REQ_QUEUED || r->class == SCHED_WRITEBACK)
		return "what is aged is no queued read";
	if (!r->order.in)
		return "a queued read is in no order";
	if ((r->class == SCHED_DEMAND) != (r->place.in == &q->places))
		return "the places are not those of the demand reads";
	if (r->class == SCHED_PREFETCH && r->place.in &&
	    (r->place.in != &q->flows.joined || !r->wanted || is_parked(q, r)))
		return "a chunk that nobody joined is one of those joined";
	if (r->guest.in && (r->class != SCHED_PREFETCH || !r->wanted || is_parked(q, r)))
		return "a chunk that nobody joined is one of those joined by others";
	if (r->class == SCHED_DEMAND && !r->wanted)
		return "a demand read is not wanted";
	if (r->offered != is_for_others(r))
		return "others cannot wait for what is brought for them, or for what is not";
	c->short_chunks += is_short_chunk(r);
	c->going_on += r->goes_on;
	c->queued[r->class]++;
	c->held += r->class == SCHED_DEMAND ? r->len : 0;
	return check_waiters(r, c);
}

static const char *check_reads(const struct sched_queue *q, struct counts *c)
{
	const struct sched_req *r, *last = NULL;
	uint32_t parked = 0;
	const char *wrong;

	TAILQ_FOREACH(r, &q->aged, age) {
		wrong = check_read(q, r, c);
		if (wrong)
			return wrong;
		if (last && last->sequence >= r->sequence)
			return "reads are not by submission";
		if (is_parked(q, r) != would_hang(q, r))
			return "a read that would hang is not parked, or another one is";
		parked += is_parked(q, r);
		last = r;
	}
	if (parked != q->parked.n)
		return "parked ones have lost count";
	return NULL;
}

/* What one flow has queued; READS, WAITING: counted up. */
static const char *check_flow(const struct sched_flow *f, uint32_t *reads, uint32_t *waiting)
{
	const struct sched_req *r, *last = NULL;
	uint32_t mine = 0, rare = 0;

	TAILQ_FOREACH(r, &f->reads, mine) {
		if (r->in != f || r->state != REQ_QUEUED)
			return "a flow has a read that is not its own";
		*waiting += r->wanted;
		rare += r->rare;
		mine++;
	}
	if (rare != f->rare)
		return "those that come once in a while have lost count";
	if (mine != f->node.n[FLOW_SMALL] + f->node.n[FLOW_CHUNK])
		return "a flow has lost count of its reads";
	*reads += mine;
	mine = 0;
	TAILQ_FOREACH(r, &f->waiting, wait) {
		if (!r->wanted || r->in != f || (last && last->arrival > r->arrival))
			return "those waited for are not by arrival";
		*waiting -= 1;
		last = r;
	}
	if (f->requests > f->refs)
		return "a flow has more queued than there is";
	return NULL;
}

static const char *check_writebacks(const struct sched_flow *f, struct counts *c)
{
	const struct sched_req *r, *last = NULL;
	struct order_node *at;
	uint32_t wanted = 0, n = 0;

	for (int i = 0; i < 2; i++) {
		for (at = order_first(&f->writebacks.of[i]); at; at = order_next(at)) {
			r = ordered_req(at);
			if (r->state != REQ_QUEUED || r->class != SCHED_WRITEBACK || r->wanted)
				return "what is queued to be written back is no write-back";
		}
		n += f->writebacks.of[i].n;
	}
	TAILQ_FOREACH(r, &f->wanted, wait) {
		if (!r->wanted || r->state != REQ_QUEUED || r->class != SCHED_WRITEBACK ||
		    (last && last->arrival > r->arrival))
			return "wanted write-backs are not by arrival";
		wanted++;
		last = r;
	}
	if (wanted != f->node.n[FLOW_COMMIT] || n != f->node.n[FLOW_WRITE])
		return "a flow has lost count of its write-backs";
	c->queued[SCHED_WRITEBACK] += wanted + n;
	return NULL;
}

/* Turns of F at the disk, hanging or not, that a COMMIT waits for. */
static const char *check_committing(const struct sched_queue *q, const struct sched_flow *f)
{
	const struct sched_list *lists[] = {&q->active, &q->stuck};
	const struct sched_req *r;
	uint32_t n = 0;

	for (int i = 0; i < 2; i++)
		TAILQ_FOREACH(r, lists[i], age)
			n += r->in == f && r->class == SCHED_WRITEBACK && r->wanted;
	return n == f->committing ? NULL : "a flow has lost count of what its COMMITs wait for";
}

static const char *check_order(const struct order *o)
{
	struct order_node *last = NULL, *at;
	uint32_t n = 0;

	for (at = order_first(o); at; last = at, at = order_next(at), n++)
		if (at->in != o || (last && (last->high > at->high ||
					     (last->high == at->high && last->low > at->low))))
			return "an order is out of order";
	return n == o->n ? NULL : "an order has lost count";
}

static const char *check_set(const struct flow_set *set)
{
	const char *wrong = NULL;

	for (int kind = 0; !wrong && kind < FLOW_KINDS; kind++)
		wrong = check_order(&set->backlogged[kind]);
	return wrong;
}

/* Who is over a ceiling is nowhere but among those; who has a floor and reads is among those. */
static const char *check_node(const struct sched_queue *q, const struct flow_node *node)
{
	bool reads = node->n[FLOW_SMALL] || node->n[FLOW_CHUNK];
	bool goes = node->limited && reads && !node->held.in;
	bool floor = goes && rate_limit_deadline(&node->limit) != UINT64_MAX;

	for (int kind = 0; kind < FLOW_KINDS; kind++)
		if ((node->place[kind].in != NULL) != (node->n[kind] && !node->held.in))
			return "who may go has no place, or another one has";
	if (node->held.in && (node->held.in != &q->flows.held || !node->limited))
		return "who is held has no ceiling";
	if ((node->first[FLOW_DUE].in != NULL) != floor ||
	    (node->first[FLOW_OPENED].in != NULL) != (goes && node->released))
		return "who should go first is not where it should be";
	return NULL;
}

static const char *check_flows(const struct sched_queue *q, struct counts *c)
{
	uint32_t reads = 0, waiting = 0, reading = 0, ready = 0, n = 0;
	bool reader_known = q->writeback.reader == NULL;
	const char *wrong = check_set(&q->flows.groups);
	const struct sched_flow *f;

	TAILQ_FOREACH(f, &q->flows.recent, recent) {
		n++;
		reader_known |= f == q->writeback.reader;
		reading += !flow_is_held(f) && (f->node.n[FLOW_SMALL] || f->node.n[FLOW_CHUNK]);
		for (int kind = 0; kind < FLOW_KINDS; kind++)
			ready += flow_is_held(f) ? 0 : f->node.n[kind];
		if (!wrong)
			wrong = check_node(q, &f->node);
		if (!wrong)
			wrong = check_node(q, &f->group->node);
		if (!wrong)
			wrong = check_flow(f, &reads, &waiting);
		if (!wrong)
			wrong = check_writebacks(f, c);
		if (!wrong)
			wrong = check_committing(q, f);
		if (!wrong)
			wrong = check_set(&f->group->flows);
		if (!wrong)
			wrong = check_order(&f->overdue.batch);
	}
	if (!wrong)
		wrong = check_order(&q->flows.guests);
	if (wrong)
		return wrong;
	if (waiting)
		return "not all that is wanted is waited for";
	if (ready != sched_ready(q))
		return "those that may go have lost count";
	if (!reader_known)
		return "who read last is forgotten";
	if (n != q->flows.n || reading != q->flows.reading || reads + q->parked.n != sched_reads(q))
		return "flows have lost count";
	return NULL;
}

static const char *check_running(const struct sched_queue *q, struct counts *c)
{
	const struct sched_list *lists[] = {&q->active, &q->stuck};
	const char *wrong;

	for (int i = 0; i < 2; i++) {
		const struct sched_req *r, *last = NULL;

		TAILQ_FOREACH(r, lists[i], age) {
			if (r->state != REQ_RUNNING || r->stalled != (i == 1))
				return "what runs is not running, or not where it should be";
			if (!i && last && last->sign > r->sign)
				return "what runs is not by sign of life";
			wrong = check_waiters(r, c);
			if (wrong)
				return wrong;
			c->held += r->class == SCHED_DEMAND ? r->len : 0;
			*(i ? &c->stalled : &c->running) += 1;
			last = r;
		}
	}
	return NULL;
}

static const char *check_counts(const struct sched_queue *q, const struct counts *c)
{
	const struct sched_req *r;
	uint32_t queued = 0, going_on = 0;

	TAILQ_FOREACH(r, &q->going_on, on)
		going_on++;
	if (q->owners.n > q->by_class[SCHED_PREFETCH] ||
	    (q->owners.n == 0) != (q->by_class[SCHED_PREFETCH] == 0))
		return "the owners of chunks have been miscounted";
	if (going_on != c->going_on || q->short_chunks != c->short_chunks)
		return "those that go on, or short chunks, have lost count";
	for (int i = 0; i < SCHED_CLASSES; i++) {
		queued += c->queued[i];
		if (c->queued[i] != q->by_class[i])
			return "a class has lost count";
	}
	if (queued != q->queued || c->running != q->running || c->stalled != q->stalled)
		return "queued, running or stalled have lost count";
	if (c->joined != q->joined || c->with_others != q->with_others)
		return "joined has lost count";
	if (q->answering ? c->held > q->held : c->held != q->held)
		return "bytes held have lost count";
	return NULL;
}

/* Limits may have been lowered while more was queued: this is of those in force all the time. */
static const char *check_bounds(const struct sched_queue *q)
{
	if (q->stalled > SCHED_STALLED_MAX)
		return "more stalled than may";
	if (q->writeback.running > q->running)
		return "more write-backs running than requests";
	return NULL;
}

const char *sched_check(const struct sched_queue *q)
{
	struct counts c = {0};
	const char *wrong = check_reads(q, &c);

	if (!wrong)
		wrong = check_flows(q, &c);
	if (!wrong)
		wrong = check_running(q, &c);
	if (!wrong)
		wrong = check_counts(q, &c);
	if (!wrong)
		wrong = check_bounds(q);
	if (!wrong)
		wrong = check_order(&q->places);
	if (!wrong)
		wrong = check_order(&q->flows.held);
	if (!wrong)
		wrong = check_order(&q->flows.first[FLOW_DUE]);
	if (!wrong)
		wrong = check_order(&q->flows.first[FLOW_OPENED]);
	return wrong ? wrong : check_order(&q->parked);
}
