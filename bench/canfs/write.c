/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Writes: into the cache, page by page; they wait where too much is unsaved. */
#include <string.h>

#include "content.h"
#include "internal.h"

/* A page of which a part is written and that is not there: it is needed first, unless all that the
 * file has of it is overwritten. */
static bool must_read(const struct op *op, uint64_t index, uint64_t end)
{
	uint64_t start = index * PAGE_BYTES, size = op->file->size;

	if (start >= size || (op->at == start && (end >= start + PAGE_BYTES || end >= size)))
		return false;
	return true;
}

static void list_file(struct file *f)
{
	if (f->listed)
		return;
	f->listed = true;
	TAILQ_INSERT_TAIL(&f->client->dirty, f, next);
}

static void make_dirty(struct client *c, struct file *f, struct page *p, uint64_t now)
{
	switch (p->state) {
	case PAGE_WRITING:
	case PAGE_COMMITTING:
		p->again = true;
		break;
	case PAGE_DIRTY:
		c->n.cancelled += PAGE_BYTES;
		break;
	default:
		p->dirtied = now;
		p->again = false;
		cache_move(&c->cache, p, PAGE_DIRTY, NULL);
	}
	cache_touch(&c->cache, p);
	list_file(f);
}

/* The page to write to; NULL: the operation waits. */
static struct page *page_for(struct op *op, uint64_t end, uint64_t now)
{
	struct client *c = op->client;
	struct file *f = op->file;
	uint64_t index = op->at / PAGE_BYTES;
	struct page *p = cache_find(&c->cache, &f->cached, index);
	struct rpc *rpc;

	if (p && p->state == PAGE_READING) {
		op_wait(op, p->rpc);
		return NULL;
	}
	if (p)
		return p;
	if (must_read(op, index, end)) {
		rpc = read_pages(c, f, index, index, CLASS_DEMAND, now);
		if (rpc)
			op_wait(op, rpc);
		else
			op_block(op, now);
		return NULL;
	}
	p = cache_add(&c->cache, &f->cached, index);
	if (!p) {
		op_block(op, now);
		return NULL;
	}
	memset(p->data, 0, PAGE_BYTES);
	return p;
}

static bool saved(const struct page *p)
{
	return !p || p->state == PAGE_CLEAN || p->state == PAGE_READING;
}

bool write_step(struct op *op, uint64_t now)
{
	struct client *c = op->client;
	struct file *f = op->file;
	uint64_t end;

	if (!op->at) {
		if (op->kind == OP_APPEND)
			op->offset = f->size;
		op->at = op->offset;
	}
	end = op->offset + op->length;
	while (op->at < end) {
		struct page *p = cache_find(&c->cache, &f->cached, op->at / PAGE_BYTES);
		uint64_t stop = (op->at / PAGE_BYTES + 1) * PAGE_BYTES;

		if (saved(p) && unsaved(c) >= c->limit) {
			c->n.blocked += op->blocked == 0;
			if (!c->n.first_blocked)
				c->n.first_blocked = now;
			op_block(op, now);
			return false;
		}
		p = page_for(op, end, now);
		if (!p)
			return false;
		if (stop > end)
			stop = end;
		content_fill(op->content, op->at, p->data + op->at % PAGE_BYTES, stop - op->at);
		op->at = stop;
		make_dirty(c, f, p, now);
		if (f->size < stop)
			f->size = stop;
	}
	c->n.written += op->length;
	return true;
}
