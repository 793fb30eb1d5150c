/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client as its users see it: settings, the life of clients and files, and the three entries. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MS UINT64_C(1000000)

const char *const op_kind_names[OP_KINDS] = {
	[OP_OPEN] = "open",   [OP_CREATE] = "create", [OP_READ] = "read",
	[OP_WRITE] = "write", [OP_APPEND] = "append", [OP_FSYNC] = "fsync",
	[OP_CLOSE] = "close", [OP_STAT] = "stat",     [OP_REMOVE] = "remove",
};

static bool (*const steps[OP_KINDS])(struct op *op, uint64_t now) = {
	[OP_OPEN] = name_step,	 [OP_CREATE] = name_step,  [OP_READ] = read_step,
	[OP_WRITE] = write_step, [OP_APPEND] = write_step, [OP_FSYNC] = sync_step,
	[OP_CLOSE] = sync_step,	 [OP_STAT] = name_step,	   [OP_REMOVE] = name_step,
};

/* Linux 2.6.18 over TCP: 16 slots, dirty_background_ratio 10, dirty_ratio 40, dirty_expire 30 s,
 * fifteen READs ahead; CA-NFS, section 3.4: FSSTAT every ten calls or ten seconds. */
const struct client_settings client_defaults = {
	.defer = true,
	.accelerate = true,
	.price_readahead = true,
	.eager = true,
	.memory = 64 << 20,
	.flush_point = 0.1,
	.dirty_limit = 0.4,
	.dirty_most = 0.8,
	.expiry = 30000 * MS,
	.rsize = 32 << 10,
	.wsize = 32 << 10,
	.readahead = 480 << 10,
	.slots = 16,
	.commit_batch = 4 << 20,
	.fsstat_every = 10,
	.fsstat_interval = 10000 * MS,
	.terms = {.k_dirty = 1e4,
		  .k_worth = 10,
		  .k_network = 1000,
		  .price_min = 0.05,
		  .hysteresis = 1.25,
		  .cheap = 0.5},
};

const char *client_settings_bad(const struct client_settings *s)
{
	if (s->memory < 1 << 20 || s->memory > UINT64_C(1) << 40)
		return "memory: must be from 1 MiB to 1 TiB";
	if (!(s->flush_point >= 0 && s->flush_point <= s->dirty_limit))
		return "flush point: must be from 0 to the dirty limit";
	if (!(s->dirty_limit > 0 && s->dirty_limit <= 0.9))
		return "dirty limit: must be above 0 and at most 0.9";
	if (!(s->dirty_most >= s->flush_point && s->dirty_most <= 0.9))
		return "dirty most: must be from the flush point to 0.9";
	if (s->rsize < PAGE_BYTES || s->rsize > 1 << 20 || s->rsize % PAGE_BYTES)
		return "rsize: must be a multiple of 4096, up to 1 MiB";
	if (s->wsize < PAGE_BYTES || s->wsize > 1 << 20 || s->wsize % PAGE_BYTES)
		return "wsize: must be a multiple of 4096, up to 1 MiB";
	if (s->slots < 2 || s->slots > 1024)
		return "slots: must be from 2 to 1024";
	if (s->fsstat_every < 1)
		return "fsstat every: must be at least 1";
	return NULL;
}

int client_init(struct client *c, const struct client_settings *settings, const struct io_ops *ops,
		void *io, uint64_t now)
{
	memset(c, 0, sizeof(*c));
	c->set = *settings;
	c->ops = ops;
	c->io = io;
	TAILQ_INIT(&c->dirty);
	TAILQ_INIT(&c->blocked);
	for (int class = 0; class < CALL_CLASSES; class ++)
		TAILQ_INIT(&c->queued[class]);
	if (!cache_init(&c->cache, settings->memory))
		return -1;
	market_init(c, now);
	return c->ghost || !settings->ca ? 0 : -1;
}

void client_free(struct client *c)
{
	ghost_free(c->ghost);
	cache_free(&c->cache);
}

struct file *file_new(struct client *c, const struct nfs_handle *dir, const char *name)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->name = strdup(name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->base = strrchr(f->name, '/') ? strrchr(f->name, '/') + 1 : f->name;
	cached_file_init(&f->cached);
	TAILQ_INIT(&f->sync_waiters);
	f->client = c;
	f->dir = *dir;
	f->id = ++c->file_ids;
	return f;
}

void file_free(struct file *f)
{
	struct page *p;

	if (f->listed)
		TAILQ_REMOVE(&f->client->dirty, f, next);
	while ((p = TAILQ_FIRST(&f->cached.pages)))
		cache_drop(&f->client->cache, p);
	free(f->name);
	free(f);
}

void client_submit(struct client *c, struct op *op, uint64_t now)
{
	op->client = c;
	op->at = op->counted = op->blocked = op->wrong = 0;
	op->missed = op->waited = false;
	op->status = ANSWER_OK;
	op->began = now;
	op->step = steps[op->kind];
	op_step(op, now);
	writeback_run(c, now);
	market_run(c, now);
}

void client_answer(struct client *c, struct rpc *rpc, const struct answer *answer, uint64_t now)
{
	slots_answered(rpc, answer, now);
	writeback_run(c, now);
	wake_blocked(c, now);
	market_run(c, now);
	slots_pump(c, now);
}

void client_tick(struct client *c, uint64_t now)
{
	market_tick(c, now);
	writeback_tick(c, now);
	writeback_run(c, now);
	wake_blocked(c, now);
	count_blocked(c, now);
	slots_pump(c, now);
}
