/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-behind: which data goes to the server when, and when the server is to have it on disk.
 *
 *                         WRITE                          COMMIT
 *   fsync, close          all of the file                when it has all
 *   30 s old              all of the file                when it has all
 *   above flush point     all, oldest file first         from commit_batch on, or when it has all
 *   accelerate            what is a whole WRITE, or is a  the same
 *                         while old
 *   plain, send           what is a whole WRITE          -
 *   defer                 -                              -
 *
 * Calls are made as slots get free, so that each follows the last price.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define SECOND	       UINT64_C(1000000000)
#define EXPIRY_TICK    (5 * SECOND) /* Linux' dirty_writeback_centisecs */
#define ACCELERATE_AGE (SECOND / 5) /* a part of a WRITE waits so long for the rest */

#define BATCH_SHARE 0.5 /* of what may be unsaved: a COMMIT of more is not waited for */

enum reason { NOTHING, WHOLE, WHOLE_OR_OLD, ALL };

static uint32_t flush_point(const struct client *c)
{
	double share = c->way == AUCTION_DEFER ? 1 : c->set.flush_point;
	double pages = share * c->cache.limit;

	return (uint32_t)(pages < c->limit ? pages : c->limit);
}

static enum reason wanted(const struct client *c, const struct file *f)
{
	if (f->syncing || f->expired || unsaved(c) > flush_point(c))
		return ALL;
	if (c->way == AUCTION_DEFER)
		return NOTHING;
	if (c->way == AUCTION_ACCELERATE)
		return WHOLE_OR_OLD;
	return c->set.eager ? WHOLE : NOTHING;
}

/* The run of dirty pages around the oldest one, of one WRITE at most: its first page and length. */
static struct page *run_of(const struct client *c, const struct file *f, uint32_t *pages)
{
	struct page *first = TAILQ_FIRST(&f->cached.dirty), *p;
	uint32_t most = c->set.wsize / PAGE_BYTES;
	uint64_t from;

	if (!first)
		return NULL;
	for (*pages = 1; *pages < most && first->index; ++*pages) {
		p = cache_find(&c->cache, &f->cached, first->index - 1);
		if (!p || p->state != PAGE_DIRTY || first->index * PAGE_BYTES % c->set.wsize == 0)
			break;
		first = p;
	}
	from = first->index;
	while (*pages < most) {
		p = cache_find(&c->cache, &f->cached, from + *pages);
		if (!p || p->state != PAGE_DIRTY)
			break;
		++*pages;
	}
	return first;
}

static unsigned int age(const struct page *p, uint64_t now)
{
	uint64_t seconds = (now - p->dirtied) / SECOND;

	return seconds < WRITE_BACK_SECONDS ? (unsigned int)seconds : WRITE_BACK_SECONDS - 1;
}

static void sample(struct client *c, const struct page *p, uint64_t now)
{
	if (c->write_back.ended)
		return;
	c->write_back.pages++;
	c->write_back.in_second[age(p, now)]++;
}

/* Of those under commit that was counted when their COMMIT began. */
static bool not_marked(const struct page *p)
{
	return p->state == PAGE_DIRTY || p->state == PAGE_WRITING || p->state == PAGE_UNSTABLE;
}

void client_end_times(struct client *c, uint64_t now)
{
	struct file *f;
	struct page *p;

	c->write_back.ended = true;
	TAILQ_FOREACH(f, &c->dirty, next)
		TAILQ_FOREACH(p, &f->cached.pages, in_file)
			if (not_marked(p))
				c->write_back.kept[age(p, now)]++;
}

static void unlist(struct client *c, struct file *f)
{
	if (!f->listed || file_unsaved(f))
		return;
	f->listed = f->expired = false;
	TAILQ_REMOVE(&c->dirty, f, next);
}

static void to_dirty(struct client *c, struct page *p, uint64_t now)
{
	if (p->again)
		p->dirtied = now;
	p->again = false;
	cache_move(&c->cache, p, PAGE_DIRTY, NULL);
}

static void to_clean(struct client *c, struct page *p, uint64_t now)
{
	c->n.saved += PAGE_BYTES;
	if (p->again)
		to_dirty(c, p, now);
	else
		cache_move(&c->cache, p, PAGE_CLEAN, NULL);
}

/* As Linux: the data is given up, and the next fsync or close says so. */
static void lost(struct client *c, struct rpc *rpc, const char *why)
{
	struct page *p;

	rpc->file->failed = true;
	client_problem(c, call_kind_names[rpc->kind], rpc->file, why);
	while ((p = TAILQ_FIRST(&rpc->pages)))
		cache_drop(&c->cache, p);
}

static void write_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct client *c = rpc->client;
	struct page *p;

	attr_own_call(rpc->file, a);
	if (a->status != ANSWER_OK)
		lost(c, rpc, a->error);
	while ((p = TAILQ_FIRST(&rpc->pages))) {
		uint64_t end = (p->index + 1) * PAGE_BYTES - rpc->offset;

		if (end > rpc->length)
			end = rpc->length;
		if (a->length < end) { /* less was written than asked */
			to_dirty(c, p, now);
		} else if (a->stable) {
			sample(c, p, rpc->sent);
			to_clean(c, p, now);
		} else if (p->again) {
			to_dirty(c, p, now);
		} else {
			p->verifier = a->verifier;
			cache_move(&c->cache, p, PAGE_UNSTABLE, NULL);
		}
	}
	unlist(c, rpc->file);
}

static void commit_answered(struct rpc *rpc, const struct answer *a, uint64_t now)
{
	struct client *c = rpc->client;
	struct page *p;

	rpc->file->commit = NULL;
	attr_own_call(rpc->file, a);
	if (a->status != ANSWER_OK)
		lost(c, rpc, a->error);
	while ((p = TAILQ_FIRST(&rpc->pages))) {
		if (p->verifier == a->verifier)
			to_clean(c, p, now);
		else /* the server has begun anew, and lost it */
			to_dirty(c, p, now);
	}
	unlist(c, rpc->file);
}

/* One WRITE says it all: no COMMIT is needed then (Linux' FLUSH_STABLE). */
static bool all_of_it(const struct file *f, uint32_t pages)
{
	return f->syncing && file_unsaved(f) == pages;
}

static void send_run(struct client *c, struct file *f, struct page *first, uint32_t pages,
		     uint64_t now)
{
	uint64_t index = first->index, offset = index * PAGE_BYTES;
	uint64_t length = (uint64_t)pages * PAGE_BYTES;
	struct rpc *rpc;

	if (offset + length > f->size)
		length = f->size > offset ? f->size - offset : 0;
	rpc = rpc_new(c, CALL_WRITE, write_answered, f, offset, (uint32_t)length);
	rpc->stable = all_of_it(f, pages);
	rpc->data = malloc((size_t)pages * PAGE_BYTES);
	if (!rpc->data)
		abort();
	for (uint32_t i = 0; i < pages; i++) {
		struct page *p = cache_find(&c->cache, &f->cached, index + i);

		memcpy(rpc->data + (size_t)i * PAGE_BYTES, p->data, PAGE_BYTES);
		p->again = false;
		cache_move(&c->cache, p, PAGE_WRITING, rpc);
	}
	rpc_send(rpc, f->syncing ? CLASS_DEMAND : CLASS_BACKGROUND, now);
}

static bool send_some(struct client *c, struct file *f, uint64_t now)
{
	enum reason why = wanted(c, f);
	uint32_t pages;
	struct page *first = why == NOTHING ? NULL : run_of(c, f, &pages);

	if (!first)
		return false;
	if (why != ALL && pages < c->set.wsize / PAGE_BYTES &&
	    !(why == WHOLE_OR_OLD && now - first->dirtied >= ACCELERATE_AGE))
		return false;
	send_run(c, f, first, pages, now);
	return true;
}

/* Pages; with little memory less, so that some can be sent while others are committed. */
static uint32_t commit_batch(const struct client *c)
{
	double share = c->limit * BATCH_SHARE;
	uint32_t batch = c->set.commit_batch / PAGE_BYTES;

	return share < batch ? (uint32_t)share : batch;
}

static bool commit_wanted(const struct client *c, const struct file *f)
{
	uint32_t ready = f->cached.count[PAGE_UNSTABLE];
	bool all = !f->cached.count[PAGE_DIRTY] && !f->cached.count[PAGE_WRITING];

	if (!ready || f->commit)
		return false;
	if (f->syncing || f->expired)
		return all;
	if (c->way == AUCTION_ACCELERATE || unsaved(c) > flush_point(c))
		return all || ready >= commit_batch(c);
	return false;
}

static void commit(struct client *c, struct file *f, uint64_t now)
{
	struct rpc *rpc = rpc_new(c, CALL_COMMIT, commit_answered, f, 0, 0);
	struct page *p;

	while ((p = TAILQ_FIRST(&f->cached.unstable))) {
		sample(c, p, now);
		cache_move(&c->cache, p, PAGE_COMMITTING, rpc);
	}
	f->commit = rpc;
	rpc_send(rpc, f->syncing ? CLASS_DEMAND : CLASS_BACKGROUND, now);
}

static void run_file(struct client *c, struct file *f, uint64_t now)
{
	while (c->background < c->set.slots && send_some(c, f, now))
		;
	if (commit_wanted(c, f))
		commit(c, f, now);
}

void writeback_run(struct client *c, uint64_t now)
{
	struct file *f, *next;

	if (c->running)
		return;
	c->running = true;
	market_judge(c, now);
	for (f = TAILQ_FIRST(&c->dirty); f; f = TAILQ_NEXT(f, next))
		if (f->syncing)
			run_file(c, f, now);
	for (f = TAILQ_FIRST(&c->dirty); f; f = next) {
		next = TAILQ_NEXT(f, next);
		if (!f->syncing)
			run_file(c, f, now);
	}
	c->running = false;
}

/* Old data, each few seconds as Linux does. */
void writeback_tick(struct client *c, uint64_t now)
{
	struct file *f;

	if (now - c->last_expiry < EXPIRY_TICK)
		return;
	c->last_expiry = now;
	TAILQ_FOREACH(f, &c->dirty, next) {
		struct page *dirty = TAILQ_FIRST(&f->cached.dirty);
		struct page *sent = TAILQ_FIRST(&f->cached.unstable);

		f->expired = (dirty && now - dirty->dirtied >= c->set.expiry) ||
			     (sent && now - sent->dirtied >= c->set.expiry);
	}
}

bool sync_step(struct op *op, uint64_t now)
{
	struct file *f = op->file;

	if (op->kind == OP_CLOSE && op->client->set.lazy_close)
		return true;
	if (!op->waited)
		f->syncing++;
	if (file_unsaved(f)) {
		bool first = !op->waited;

		op_wait_saved(op);
		if (first)
			writeback_run(op->client, now);
		return false;
	}
	f->syncing--;
	if (op->kind == OP_CLOSE && f->opens)
		f->opens--;
	op->status = f->failed ? ANSWER_FAILED : ANSWER_OK;
	f->failed = false;
	return true;
}

void writeback_cancel(struct file *f)
{
	struct client *c = f->client;
	struct page *p;

	while ((p = TAILQ_FIRST(&f->cached.dirty))) {
		c->n.cancelled += PAGE_BYTES;
		cache_drop(&c->cache, p);
	}
	while ((p = TAILQ_FIRST(&f->cached.unstable)))
		cache_drop(&c->cache, p);
	unlist(c, f);
}
