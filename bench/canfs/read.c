/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads: from the cache, what lacks by READs of up to rsize; and ahead of programs that read in
 * order:
 *
 *        read so far      window n       window n + 1
 *     ----------------|--------------|------------------------|
 *                     ^ trigger: a read that gets here has n + 1 fetched, twice as long, up to
 *                       what market_window() says
 */
#include <string.h>

#include "content.h"
#include "internal.h"

#define FIRST_WINDOW	(16u << 10) /* bytes */
#define CONFIDENCE_FADE 4096	    /* pages of evidence: then old ones count half */

static void fill_page(struct page *p, const struct rpc *rpc, const struct answer *a)
{
	uint64_t at = p->index * PAGE_BYTES - rpc->offset;
	uint32_t have = at < a->length ? (uint32_t)(a->length - at) : 0;

	if (have > PAGE_BYTES)
		have = PAGE_BYTES;
	memcpy(p->data, a->data + at, have);
	memset(p->data + have, 0, PAGE_BYTES - have);
}

static void read_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct client *c = rpc->client;
	struct page *p;

	if (a->status != ANSWER_OK)
		client_problem(c, "READ", rpc->file, a->error);
	while ((p = TAILQ_FIRST(&rpc->pages))) {
		if (a->status != ANSWER_OK || p->gone) {
			cache_drop(&c->cache, p);
			continue;
		}
		fill_page(p, rpc, a);
		cache_move(&c->cache, p, PAGE_CLEAN, NULL);
	}
}

/* As much of a READ as there is room and need for; its pages are READING. */
struct rpc *read_pages(struct client *c, struct file *f, uint64_t index, uint64_t last,
		       enum call_class class, uint64_t now)
{
	uint32_t most = c->set.rsize / PAGE_BYTES, n = 0;
	struct rpc *rpc;

	if (!cache_has_room(&c->cache, 1))
		return NULL;
	rpc = rpc_new(c, CALL_READ, read_answered, f, index * PAGE_BYTES, 0);
	while (n < most && index + n <= last && !cache_find(&c->cache, &f->cached, index + n)) {
		struct page *p = cache_add(&c->cache, &f->cached, index + n);

		if (!p)
			break;
		p->ahead = class == CLASS_AHEAD;
		cache_move(&c->cache, p, PAGE_READING, rpc);
		n++;
	}
	if (!n) {
		rpc_free(rpc);
		return NULL;
	}
	rpc->length = n * PAGE_BYTES;
	rpc_send(rpc, class, now);
	return rpc;
}

/* How far the reader is to have its data, from `from` on. */
static void fetch_window(struct client *c, struct file *f, struct reader *r, uint64_t from,
			 uint64_t now)
{
	uint64_t end = from + r->window < f->size ? from + r->window : f->size;

	r->trigger = from;
	r->ahead = end;
	for (uint64_t i = from / PAGE_BYTES; i * PAGE_BYTES < end;) {
		struct rpc *rpc = NULL;

		if (!cache_find(&c->cache, &f->cached, i))
			rpc = read_pages(c, f, i, (end - 1) / PAGE_BYTES, CLASS_AHEAD, now);
		else if (++i)
			continue;
		if (!rpc)
			return;
		i += rpc->length / PAGE_BYTES;
	}
}

static void read_ahead(struct client *c, struct op *op, uint64_t end, uint64_t now)
{
	struct reader *r = op->reader;
	uint32_t most;

	if (op->offset != r->next) {
		*r = (struct reader){.next = end, .ahead = end, .trigger = end};
		return;
	}
	r->next = end;
	most = market_window(c, op->file);
	if (end < r->trigger || !most)
		return;
	r->window = r->window ? r->window * 2 : FIRST_WINDOW;
	if (r->window < 2 * op->length)
		r->window = (uint32_t)(2 * op->length);
	if (r->window > most)
		r->window = most;
	fetch_window(c, op->file, r, r->ahead > end ? r->ahead : end, now);
}

/* Demand first, so that it is before what is read ahead; all of it at once. */
static bool fetch_wanted(struct op *op, uint64_t end, uint64_t now)
{
	struct client *c = op->client;
	uint64_t last = (end - 1) / PAGE_BYTES;

	for (uint64_t i = op->offset / PAGE_BYTES; i <= last; i++)
		if (!cache_find(&c->cache, &op->file->cached, i) &&
		    !read_pages(c, op->file, i, last, CLASS_DEMAND, now))
			return false;
	return true;
}

static void count(struct client *c, struct op *op, const struct page *p)
{
	struct file *f = op->file;

	if (op->at < op->counted)
		return;
	op->counted = op->at + 1;
	if (p && p->ahead)
		c->n.pages_hit_ahead++, f->accessed_ahead++;
	else if (p && p->state != PAGE_READING)
		c->n.pages_hit++;
	else
		c->n.pages_missed++, op->missed = true;
	if (++f->accessed > CONFIDENCE_FADE) {
		f->accessed /= 2;
		f->accessed_ahead /= 2;
	}
}

static void consume(struct op *op, struct page *p, uint64_t end)
{
	uint64_t start = p->index * PAGE_BYTES;
	uint64_t stop = start + PAGE_BYTES < end ? start + PAGE_BYTES : end;

	if (op->verify)
		op->wrong += content_differences(op->content, op->at, p->data + (op->at - start),
						 stop - op->at);
	cache_touch(&op->client->cache, p);
	op->at = stop;
}

static void begin(struct op *op, uint64_t end, uint64_t now)
{
	struct client *c = op->client;

	op->at = op->offset;
	for (uint64_t i = op->offset / PAGE_BYTES; i <= (end - 1) / PAGE_BYTES; i++) {
		op->at = i * PAGE_BYTES > op->offset ? i * PAGE_BYTES : op->offset;
		count(c, op, cache_find(&c->cache, &op->file->cached, i));
	}
	op->at = op->offset;
	if (c->ghost)
		ghost_read(c->ghost, op->file->id, op->offset, end - op->offset);
	fetch_wanted(op, end, now);
	if (op->reader)
		read_ahead(c, op, end, now);
}

bool read_step(struct op *op, uint64_t now)
{
	struct client *c = op->client;
	uint64_t end = op->offset + op->length;

	if (end > op->file->size)
		end = op->file->size;
	if (end <= op->offset) {
		op->length = 0;
		return true;
	}
	if (!op->waited && !op->counted)
		begin(op, end, now);
	while (op->at < end) {
		struct page *p = cache_find(&c->cache, &op->file->cached, op->at / PAGE_BYTES);

		if (!p && !fetch_wanted(op, end, now)) {
			op_block(op, now);
			return false;
		}
		if (!p)
			continue;
		if (p->state == PAGE_READING) {
			op_wait(op, p->rpc);
			return false;
		}
		consume(op, p, end);
	}
	op->length = end - op->offset;
	return true;
}
