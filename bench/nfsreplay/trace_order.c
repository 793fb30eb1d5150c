/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What each operation of a client waited for when it was recorded: all of the client's operations that
 * had been answered by then. Sorted by the time of their answers these are a first part of them, so
 * that a number tells them (trace_op.needs).
 */
#include "trace.h"

#include <stdlib.h>

struct end {
	uint64_t at; /* µs */
	uint32_t op;
};

static int compare(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void order_client(struct trace *t, struct trace_client *c, struct end *ends)
{
	uint32_t n = 0, passed = 0;

	for (uint32_t i = c->first; i != TRACE_NONE; i = t->ops[i].next)
		ends[n++] = (struct end){t->ops[i].at + t->ops[i].took, i};
	qsort(ends, n, sizeof(*ends), compare);
	for (uint32_t rank = 0; rank < n; rank++) {
		c->by_end[rank] = ends[rank].op;
		t->ops[ends[rank].op].rank = rank;
	}
	for (uint32_t i = c->first; i != TRACE_NONE; i = t->ops[i].next) {
		/* One that ended in this very microsecond was before it if it is so in the text. */
		while (passed < n && ends[passed].at <= t->ops[i].at && ends[passed].op < i)
			passed++;
		t->ops[i].needs = passed;
	}
}

int trace_order(struct trace *t)
{
	uint32_t largest = 0, at = 0;
	struct end *ends;

	for (uint32_t i = 0; i < t->client_count; i++)
		largest = t->clients[i].count > largest ? t->clients[i].count : largest;
	t->ends = calloc(t->op_count + 1, sizeof(*t->ends));
	ends = calloc(largest + 1, sizeof(*ends));
	if (!t->ends || !ends) {
		free(ends);
		return -1;
	}
	for (uint32_t i = 0; i < t->client_count; i++) {
		t->clients[i].by_end = t->ends + at;
		at += t->clients[i].count;
		order_client(t, &t->clients[i], ends);
	}
	free(ends);
	return 0;
}
