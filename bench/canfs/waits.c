/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Operations that wait, and go on: for an answer, for memory, for a file's being saved. */
#include <stddef.h>

#include "internal.h"

void op_wait(struct op *op, struct rpc *rpc)
{
	struct client *c = rpc->client;

	op->waited = true;
	TAILQ_INSERT_TAIL(&rpc->waiters, op, next);
	if (!rpc->sent && rpc->class != CLASS_DEMAND) {
		TAILQ_REMOVE(&c->queued[rpc->class], rpc, next);
		rpc->class = CLASS_DEMAND;
		TAILQ_INSERT_TAIL(&c->queued[CLASS_DEMAND], rpc, next);
	}
}

void op_wait_saved(struct op *op)
{
	op->waited = true;
	TAILQ_INSERT_TAIL(&op->file->sync_waiters, op, next);
}

void op_block(struct op *op, uint64_t now)
{
	struct client *c = op->client;

	op->waited = true;
	op->blocked_since = now;
	if (c->waking) /* it was the first, and stays it */
		TAILQ_INSERT_HEAD(&c->blocked, op, next);
	else
		TAILQ_INSERT_TAIL(&c->blocked, op, next);
}

void op_done(struct op *op, int status, uint64_t now)
{
	op->status = status;
	op->client->n.wrong += op->wrong;
	op->done(op, now);
}

void op_step(struct op *op, uint64_t now)
{
	if (op->step(op, now))
		op_done(op, op->status, now);
}

static void settle(struct client *c, struct op *op, uint64_t now)
{
	op->blocked += now - op->blocked_since;
	if (op->kind != OP_READ)
		c->n.blocked_ns += now - op->blocked_since;
	op->blocked_since = now;
}

/* Those that still wait have waited too. */
void count_blocked(struct client *c, uint64_t now)
{
	struct op *op;

	TAILQ_FOREACH(op, &c->blocked, next)
		settle(c, op, now);
}

/* In their order, until one has to wait again. */
void wake_blocked(struct client *c, uint64_t now)
{
	struct op *op;

	if (c->waking)
		return;
	c->waking = true;
	while ((op = TAILQ_FIRST(&c->blocked)) && cache_has_room(&c->cache, 1) &&
	       (op->kind == OP_READ || unsaved(c) < c->limit)) {
		TAILQ_REMOVE(&c->blocked, op, next);
		settle(c, op, now);
		op_step(op, now);
	}
	c->waking = false;
}
