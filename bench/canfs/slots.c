/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Calls and their slots. A mount has so many at a time (Linux' RPC slot table); who waits for
 * one goes by class: what programs wait for, read-ahead, write-back.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

const char *const call_kind_names[CALL_KINDS] = {
	[CALL_LOOKUP] = "lookup", [CALL_GETATTR] = "getattr", [CALL_CREATE] = "create",
	[CALL_REMOVE] = "remove", [CALL_READ] = "read",	      [CALL_WRITE] = "write",
	[CALL_COMMIT] = "commit", [CALL_FSSTAT] = "fsstat",
};

void client_problem(struct client *c, const char *what, const struct file *f, const char *why)
{
	if (!c->n.errors++)
		snprintf(c->n.error, sizeof(c->n.error), "%s of %s: %s", what, f ? f->name : "-",
			 why);
}

struct rpc *rpc_new(struct client *c, enum call_kind kind, answered_fn *answered, struct file *f,
		    uint64_t offset, uint32_t length)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));

	if (!rpc)
		abort();
	rpc->client = c;
	rpc->kind = kind;
	rpc->answered = answered;
	rpc->file = f;
	rpc->offset = offset;
	rpc->length = length;
	TAILQ_INIT(&rpc->pages);
	TAILQ_INIT(&rpc->waiters);
	return rpc;
}

void rpc_free(struct rpc *rpc)
{
	assert(TAILQ_EMPTY(&rpc->pages) && TAILQ_EMPTY(&rpc->waiters));
	free(rpc->data);
	free(rpc);
}

static struct rpc *take(struct client *c)
{
	for (int class = 0; class < CALL_CLASSES; class ++) {
		struct rpc *rpc = TAILQ_FIRST(&c->queued[class]);

		if (rpc) {
			TAILQ_REMOVE(&c->queued[class], rpc, next);
			return rpc;
		}
	}
	return NULL;
}

void slots_pump(struct client *c, uint64_t now)
{
	struct rpc *rpc;

	while (c->inflight < c->set.slots && (rpc = take(c))) {
		c->inflight++;
		rpc->sent = now;
		c->n.calls[rpc->kind]++;
		c->since_fsstat += rpc->kind == CALL_READ || rpc->kind == CALL_WRITE;
		c->ops->send(c->io, rpc);
	}
}

static void enqueue(struct rpc *rpc)
{
	rpc->sent = 0;
	TAILQ_INSERT_TAIL(&rpc->client->queued[rpc->class], rpc, next);
}

void rpc_send(struct rpc *rpc, enum call_class class, uint64_t now)
{
	rpc->class = class;
	if (rpc->kind == CALL_WRITE || rpc->kind == CALL_COMMIT)
		rpc->client->background++;
	enqueue(rpc);
	slots_pump(rpc->client, now);
}

/* Those that waited for this answer, or for the file's being saved. */
static void go_on(struct rpc *rpc, int status, uint64_t now)
{
	struct op_list waiters = TAILQ_HEAD_INITIALIZER(waiters);
	struct op *op;

	TAILQ_CONCAT(&waiters, &rpc->waiters, next);
	if (rpc->file && (rpc->kind == CALL_WRITE || rpc->kind == CALL_COMMIT))
		TAILQ_CONCAT(&waiters, &rpc->file->sync_waiters, next);
	rpc_free(rpc);
	while ((op = TAILQ_FIRST(&waiters))) {
		TAILQ_REMOVE(&waiters, op, next);
		if (status != ANSWER_OK && (op->kind == OP_READ || op->kind == OP_WRITE))
			op_done(op, status, now);
		else
			op_step(op, now);
	}
}

void slots_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct client *c = rpc->client;

	c->inflight--;
	if (a->status == ANSWER_AGAIN) { /* NFS3ERR_JUKEBOX: with the next answer or tick */
		enqueue(rpc);
		return;
	}
	if (rpc->kind == CALL_WRITE || rpc->kind == CALL_COMMIT)
		c->background--;
	if (a->status == ANSWER_OK && (rpc->kind == CALL_READ || rpc->kind == CALL_WRITE)) {
		c->n.bytes[rpc->kind] += a->length;
		c->net_bytes += a->length;
	}
	rpc->answered(rpc, a, now);
	go_on(rpc, a->status, now);
}
