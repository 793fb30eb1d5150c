/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rules of schedule.h. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

int schedule_init(struct schedule *s, const struct trace *t, enum schedule_pace pace, double speed,
		  uint32_t outstanding)
{
	*s = (struct schedule){.trace = t,
			       .pace = pace,
			       .speed = speed,
			       .outstanding = outstanding,
			       .left = t->op_count};
	for (uint32_t i = 0; i < t->client_count; i++)
		s->clients[i].next = t->clients[i].first;
	s->names = calloc(t->object_count + 1, sizeof(*s->names));
	s->answers = calloc(t->op_count + 1, sizeof(*s->answers));
	s->passed = calloc(t->op_count + 1, sizeof(*s->passed));
	return s->names && s->answers && s->passed ? 0 : -1;
}

void schedule_free(struct schedule *s)
{
	free(s->names);
	free(s->answers);
	free(s->passed);
	memset(s, 0, sizeof(*s));
}

static uint64_t scaled(const struct schedule *s, uint64_t us)
{
	return (uint64_t)(1e3 * (double)us / s->speed);
}

/* The client's operations by the time of their answers are passed[] from here on. */
static uint64_t *passed_of(const struct schedule *s, const struct trace_client *c)
{
	return s->passed + (c->by_end - s->trace->ends);
}

static uint64_t due_of(const struct schedule *s, const struct trace_op *op)
{
	const struct trace_client *c = &s->trace->clients[op->client];
	const struct trace_op *last;
	uint64_t answered;

	if (s->pace == PACE_RECORDED || (s->pace == PACE_THINK && !op->needs))
		return scaled(s, op->at);
	if (!op->needs)
		return 0;
	if (s->clients[op->client].answered < op->needs)
		return SCHEDULE_NEVER;
	answered = passed_of(s, c)[op->needs - 1];
	if (s->pace == PACE_FAST)
		return answered;
	last = &s->trace->ops[c->by_end[op->needs - 1]];
	return answered + scaled(s, op->at - last->at - last->took);
}

/* Whether the names that it is about are as the trace has them at its place. */
static bool names_ready(const struct schedule *s, const struct trace_op *op)
{
	for (unsigned int i = 0; i < op->refs; i++) {
		const struct trace_ref *r = &op->ref[i];
		const struct schedule_name *n = &s->names[r->object];

		if (n->generation != r->generation || (r->uses != TRACE_USE && n->uses != r->uses))
			return false;
	}
	return true;
}

uint32_t schedule_next(const struct schedule *s, uint32_t client, uint64_t now, uint64_t *due)
{
	const struct schedule_client *c = &s->clients[client];
	const struct trace_op *op;

	*due = SCHEDULE_NEVER;
	if (c->next == TRACE_NONE || c->in_flight >= s->outstanding)
		return TRACE_NONE;
	op = &s->trace->ops[c->next];
	if (!names_ready(s, op))
		return TRACE_NONE;
	*due = due_of(s, op);
	return *due <= now ? c->next : TRACE_NONE;
}

void schedule_sent(struct schedule *s, uint32_t op)
{
	struct schedule_client *c = &s->clients[s->trace->ops[op].client];

	c->next = s->trace->ops[op].next;
	c->in_flight++;
}

void schedule_answered(struct schedule *s, uint32_t index, uint64_t now)
{
	const struct trace_op *op = &s->trace->ops[index];
	const struct trace_client *c = &s->trace->clients[op->client];
	struct schedule_client *state = &s->clients[op->client];
	uint64_t *passed = passed_of(s, c);

	for (unsigned int i = 0; i < op->refs; i++) {
		struct schedule_name *n = &s->names[op->ref[i].object];

		if (op->ref[i].uses == TRACE_USE) {
			n->uses++;
		} else {
			n->generation++;
			n->uses = 0;
		}
	}
	state->in_flight--;
	s->left--;
	s->answers[index] = now + 1;
	for (; state->answered < c->count && s->answers[c->by_end[state->answered]];
	     state->answered++) {
		uint64_t at = s->answers[c->by_end[state->answered]] - 1;
		uint64_t before = state->answered ? passed[state->answered - 1] : 0;

		passed[state->answered] = at > before ? at : before;
	}
}
