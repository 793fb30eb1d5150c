/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the client's logic share; client.h tells who does what. */
#ifndef CANFS_INTERNAL_H
#define CANFS_INTERNAL_H

#include "client.h"

typedef void answered_fn(struct rpc *rpc, const struct answer *a, uint64_t now);

/* waits.c */
/* Until the answer is there; a call that waits for a slot is wanted then. */
void op_wait(struct op *op, struct rpc *rpc);
/* Until there is memory. */
void op_block(struct op *op, uint64_t now);
/* Until something of the file was saved. */
void op_wait_saved(struct op *op);
/* It goes on, and is done where it is finished. */
void op_step(struct op *op, uint64_t now);
void op_done(struct op *op, int status, uint64_t now);
/* Those that wait for memory go on, as far as there is some. */
void wake_blocked(struct client *c, uint64_t now);
void count_blocked(struct client *c, uint64_t now);

/* slots.c */
struct rpc *rpc_new(struct client *c, enum call_kind kind, answered_fn *answered, struct file *f,
		    uint64_t offset, uint32_t length);
void rpc_send(struct rpc *rpc, enum call_class class, uint64_t now);
void rpc_free(struct rpc *rpc);
void slots_pump(struct client *c, uint64_t now);
/* Handles the answer and wakes those that wait for it. */
void slots_answered(struct rpc *rpc, const struct answer *a, uint64_t now);
void client_problem(struct client *c, const char *what, const struct file *f, const char *why);

/* attr.c */
void attr_own_call(struct file *f, const struct answer *a);
/* At open: whether what is cached may be kept. Remembers the attributes as the newest. */
bool attr_revalidate(struct file *f, const struct file_attr *now);

/* name.c, read.c, write.c, writeback.c: struct op's step */
bool name_step(struct op *op, uint64_t now);
bool read_step(struct op *op, uint64_t now);
bool write_step(struct op *op, uint64_t now);
bool sync_step(struct op *op, uint64_t now);

/* A READ of pages that are not there, from `index` to `last` at most; NULL: no room. */
struct rpc *read_pages(struct client *c, struct file *f, uint64_t index, uint64_t last,
		       enum call_class class, uint64_t now);

void writeback_run(struct client *c, uint64_t now);
void writeback_tick(struct client *c, uint64_t now);
/* What of it is unsaved need not be saved: it is removed. */
void writeback_cancel(struct file *f);

/* market.c */
void market_init(struct client *c, uint64_t now);
void market_judge(struct client *c, uint64_t now);
void market_tick(struct client *c, uint64_t now);
/* Asks for prices if so many READs and WRITEs went out. */
void market_run(struct client *c, uint64_t now);
/* The most that a file may read ahead now, bytes. */
uint32_t market_window(struct client *c, const struct file *f);

static inline uint32_t unsaved(const struct client *c)
{
	return cache_unsaved(c->cache.count);
}

static inline uint32_t file_unsaved(const struct file *f)
{
	return cache_unsaved(f->cached.count);
}

#endif
