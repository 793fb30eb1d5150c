/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of calls in datagrams; see calls.h. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static void append(struct calls_list *l, struct call *call)
{
	call->next = NULL;
	call->previous = l->last;
	if (l->last)
		l->last->next = call;
	else
		l->first = call;
	l->last = call;
}

static void detach(struct calls_list *l, struct call *call)
{
	if (call->previous)
		call->previous->next = call->next;
	else
		l->first = call->next;
	if (call->next)
		call->next->previous = call->previous;
	else
		l->last = call->previous;
}

int calls_init(struct calls *c, const struct calls_policy *policy, unsigned int capacity)
{
	*c = (struct calls){.policy = *policy, .capacity = capacity};
	c->window = (struct window){.size = policy->window_first, .most = policy->window_most};
	c->all = calloc(capacity, sizeof(*c->all));
	if (!c->all)
		return -1;
	for (unsigned int i = capacity; i-- > 0;) {
		c->all[i].next = c->free;
		c->free = &c->all[i];
	}
	return 0;
}

void calls_free(struct calls *c)
{
	free(c->all);
	c->all = NULL;
}

bool calls_full(const struct calls *c)
{
	return !c->free;
}

static struct call **place(struct calls *c, uint32_t xid)
{
	struct call **p = &c->bucket[xid % CALLS_BUCKETS];

	while (*p && (*p)->xid != xid)
		p = &(*p)->same_bucket;
	return p;
}

struct call *calls_add(struct calls *c, uint32_t xid, uint32_t procedure, uint64_t now)
{
	struct call **p = place(c, xid);
	struct call *call = c->free;

	if (!call || *p)
		return NULL;
	c->free = call->next;
	*call = (struct call){.xid = xid, .class = rpc_class_of(procedure), .added = now};
	*p = call;
	append(&c->waiting, call);
	c->used++;
	return call;
}

static uint64_t doubled(const struct calls *c, enum rpc_class class, unsigned int doublings)
{
	const struct calls_policy *p = &c->policy;
	uint64_t once =
		p->dynamic ? rto_value(&c->rto[class], class, p->constant, p->least) : p->constant;

	return rto_backed_off(once, doublings, p->most);
}

uint64_t calls_rto(const struct calls *c, enum rpc_class class)
{
	return doubled(c, class, c->doublings[class]);
}

static uint64_t time_to_wait(const struct calls *c, const struct call *call)
{
	return doubled(c, call->class, call->doublings);
}

static void timed_out(struct calls *c, struct call *call)
{
	call->is_again = true;
	call->doublings++;
	c->counts[call->class].retransmitted++;
	if (!c->policy.dynamic)
		return;
	window_timed_out(&c->window);
	if (c->doublings[call->class] < call->doublings)
		c->doublings[call->class] = call->doublings;
}

static void tick(struct calls *c, uint64_t now)
{
	struct call *following;

	c->next_tick = now + c->policy.tick;
	for (struct call *call = c->sent.first; call; call = following) {
		following = call->next;
		if (now - call->sent < time_to_wait(c, call))
			continue;
		detach(&c->sent, call);
		append(&c->again, call);
		timed_out(c, call);
	}
}

static struct call *send(struct calls *c, struct calls_list *from, uint64_t now)
{
	struct call *call = from->first;

	detach(from, call);
	append(&c->sent, call);
	call->is_again = false;
	if (!call->sendings++)
		call->doublings = c->doublings[call->class];
	call->sent = now;
	return call;
}

struct call *calls_next(struct calls *c, uint64_t now)
{
	if (c->unanswered && now >= c->next_tick)
		tick(c, now);
	if (c->again.first)
		return send(c, &c->again, now);
	if (!c->waiting.first || (c->policy.dynamic && !window_open(&c->window, c->unanswered)))
		return NULL;
	if (!c->unanswered++)
		c->next_tick = now + c->policy.tick;
	return send(c, &c->waiting, now);
}

static void measure(struct calls *c, const struct call *call, uint64_t now)
{
	struct calls_counts *counts = &c->counts[call->class];

	counts->answered++;
	if (c->policy.dynamic)
		window_answered(&c->window);
	if (call->sendings > 1)
		return;
	c->doublings[call->class] = 0;
	counts->rtt_samples++;
	counts->rtt_sum += (double)(now - call->sent);
	rto_measured(&c->rto[call->class], now - call->sent);
}

static void forget(struct calls *c, struct call **p)
{
	struct call *call = *p;

	*p = call->same_bucket;
	c->recent[call->xid % CALLS_RECENT] = call->xid;
	c->recent_used[call->xid % CALLS_RECENT] = true;
	c->used--;
	call->next = c->free;
	c->free = call;
}

enum calls_answer calls_answered(struct calls *c, uint32_t xid, uint64_t now, struct call *found)
{
	struct call **p = place(c, xid), *call = *p;

	if (!call || !call->sendings) {
		bool known =
			c->recent_used[xid % CALLS_RECENT] && c->recent[xid % CALLS_RECENT] == xid;

		c->late += known;
		c->unknown += !known;
		return known ? ANSWER_LATE : ANSWER_UNKNOWN;
	}
	call->rto = time_to_wait(c, call);
	measure(c, call, now);
	detach(call->is_again ? &c->again : &c->sent, call);
	c->unanswered--;
	*found = *call;
	forget(c, p);
	return ANSWER_FIRST;
}

uint64_t calls_due(const struct calls *c)
{
	return c->unanswered ? c->next_tick : UINT64_MAX;
}
