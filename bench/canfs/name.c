/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Operations on names: open, create, stat, remove. Each is one call; open looks the name up anew
 * each time, which tells the attributes too: the half of close-to-open that is open's.
 */
#include <string.h>

#include "internal.h"

enum { BEGIN, ASKED };

static enum call_kind call_of(const struct op *op)
{
	switch (op->kind) {
	case OP_CREATE:
		return CALL_CREATE;
	case OP_REMOVE:
		return CALL_REMOVE;
	case OP_STAT:
		return op->file->known ? CALL_GETATTR : CALL_LOOKUP;
	default:
		return CALL_LOOKUP;
	}
}

/* What it held is gone for good. False: wait until what is under way is. */
static bool emptied(struct op *op)
{
	struct file *f = op->file;

	writeback_cancel(f);
	cache_invalidate(&f->client->cache, &f->cached, 0);
	if (!f->cached.count[PAGE_WRITING] && !f->cached.count[PAGE_COMMITTING])
		return true;
	op_wait_saved(op);
	return false;
}

static void looked_up(struct file *f, const struct answer *a)
{
	bool other = !f->known || f->handle.len != a->handle.len ||
		     memcmp(f->handle.data, a->handle.data, a->handle.len) != 0;

	f->handle = a->handle;
	f->known = true;
	if (other)
		f->own.foreign = true; /* another file of that name */
	if (a->has_after && !attr_revalidate(f, &a->after))
		cache_invalidate(&f->client->cache, &f->cached, 0);
}

static void created(struct file *f, const struct answer *a)
{
	f->handle = a->handle;
	f->known = true;
	f->size = 0;
	f->accessed = f->accessed_ahead = 0;
	memset(&f->own, 0, sizeof(f->own));
	if (a->has_after)
		attr_revalidate(f, &a->after);
}

static void name_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct op *op = TAILQ_FIRST(&rpc->waiters);
	struct file *f = rpc->file;

	op->status = a->status;
	if (a->status != ANSWER_OK) {
		client_problem(rpc->client, call_kind_names[rpc->kind], f, a->error);
		return;
	}
	switch (rpc->kind) {
	case CALL_LOOKUP:
		looked_up(f, a);
		break;
	case CALL_CREATE:
		created(f, a);
		break;
	case CALL_REMOVE:
		f->known = false;
		f->size = 0;
		break;
	case CALL_GETATTR:
		if (a->has_after && !attr_revalidate(f, &a->after))
			cache_invalidate(&f->client->cache, &f->cached, 0);
		break;
	default:
		break;
	}
	if (op->kind == OP_OPEN || op->kind == OP_CREATE)
		f->opens++;
}

bool name_step(struct op *op, uint64_t now)
{
	struct rpc *rpc;

	if (op->at == ASKED)
		return true;
	if ((op->kind == OP_CREATE || op->kind == OP_REMOVE) && !emptied(op))
		return false;
	op->at = ASKED;
	rpc = rpc_new(op->client, call_of(op), name_answered, op->file, 0, 0);
	op_wait(op, rpc);
	rpc_send(rpc, CLASS_DEMAND, now);
	return false;
}
