/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A world for clients of bench/canfs: a server in memory, whose answers come when the test says so, in the
 * order it says, at a time it says. One test at a time.
 */
#ifndef UNIT_CANFS_WORLD_H
#define UNIT_CANFS_WORLD_H

#include "support.h"

#include "client.h"
#include "content.h"
#include "internal.h"

#define WORLD_FILES   64
#define WORLD_BYTES   (4u << 20) /* of a file, at most */
#define WORLD_CLIENTS 3
#define WORLD_CALLS   4096

struct world_file {
	char name[32];
	bool exists;
	uint64_t size, changed;
	char *data;
};

struct world {
	uint64_t now, seed, verifier;
	struct world_file files[WORLD_FILES];
	struct client clients[WORLD_CLIENTS];
	struct rpc *calls[WORLD_CALLS];
	unsigned int n_calls, done, failed, turn;
	uint64_t n[CALL_KINDS];
	uint64_t disk_writes; /* bytes of WRITE that came */
	double price, price_ahead;
	bool priced, fail_writes, unordered, again;
};
static struct world world;

static void world_send(void *io, struct rpc *rpc)
{
	assert_true(world.n_calls < WORLD_CALLS);
	world.calls[world.n_calls++] = rpc;
	world.n[rpc->kind]++;
}

static const struct io_ops world_ops = {.send = world_send};

static void world_begin(void)
{
	memset(&world, 0, sizeof(world));
	world.now = SEC;
	world.verifier = 77;
	world.seed = 1;
}

static struct world_file *world_find(const char *name, bool create)
{
	struct world_file *free_one = NULL;

	for (int i = 0; i < WORLD_FILES; i++) {
		struct world_file *f = &world.files[i];

		if (f->exists && strcmp(f->name, name) == 0)
			return f;
		if (!f->exists && !f->data && !free_one)
			free_one = f;
	}
	if (!create)
		return NULL;
	assert_non_null(free_one);
	snprintf(free_one->name, sizeof(free_one->name), "%s", name);
	free_one->exists = true;
	free_one->data = calloc(1, WORLD_BYTES);
	return free_one;
}

/* A file as if somebody had laid it out. */
static struct world_file *world_file(const char *name, uint64_t size, uint64_t content)
{
	struct world_file *f = world_find(name, true);

	content_fill(content, 0, f->data, size);
	f->size = size;
	f->changed = ++world.now;
	return f;
}

static void attr_of(const struct world_file *f, struct file_attr *a)
{
	*a = (struct file_attr){.mtime = f->changed, .ctime = f->changed, .size = f->size};
}

static struct world_file *by_handle(const struct rpc *rpc)
{
	struct world_file *f = &world.files[(unsigned char)rpc->file->handle.data[0]];

	return f->exists ? f : NULL;
}

static void handle_of(const struct world_file *f, struct nfs_handle *h)
{
	h->len = 1;
	h->data[0] = (char)(f - world.files);
}

static void world_fsstat(struct answer *a)
{
	struct fsstat_files files = {.total = 1u << 20, .free = 1u << 19, .avail = 1u << 19};
	const struct fsstat_prices p = {
		.write = world.price, .readahead = world.price_ahead, .turn = world.turn++};

	if (world.priced)
		fsstat_price_encode(&files, &p);
	a->total = files.total;
	a->avail = files.avail;
}

static void world_write(struct rpc *rpc, struct world_file *f, struct answer *a)
{
	assert_true(rpc->offset + rpc->length <= WORLD_BYTES);
	memcpy(f->data + rpc->offset, rpc->data, rpc->length);
	if (rpc->offset + rpc->length > f->size)
		f->size = rpc->offset + rpc->length;
	f->changed = ++world.now;
	world.disk_writes += rpc->length;
	a->length = rpc->length;
	a->stable = rpc->stable;
	a->verifier = world.verifier;
}

static void world_do(struct rpc *rpc, struct answer *a)
{
	bool names =
		rpc->kind == CALL_LOOKUP || rpc->kind == CALL_CREATE || rpc->kind == CALL_REMOVE;
	struct world_file *f;

	if (rpc->kind == CALL_FSSTAT) {
		world_fsstat(a);
		return;
	}
	f = names ? world_find(rpc->file->name, rpc->kind == CALL_CREATE) : by_handle(rpc);
	if (!f || (rpc->kind == CALL_WRITE && world.fail_writes)) {
		a->status = f ? ANSWER_FAILED : ANSWER_STALE;
		a->error = "it is told to";
		return;
	}
	a->has_before = true;
	attr_of(f, &a->before);
	if (rpc->kind == CALL_WRITE)
		world_write(rpc, f, a);
	if (rpc->kind == CALL_COMMIT)
		a->verifier = world.verifier;
	if (rpc->kind == CALL_CREATE) {
		f->size = 0;
		f->changed = ++world.now;
	}
	if (rpc->kind == CALL_READ) {
		a->data = f->data + rpc->offset;
		a->length = rpc->offset >= f->size ? 0
			    : f->size - rpc->offset < rpc->length
				    ? (uint32_t)(f->size - rpc->offset)
				    : rpc->length;
	}
	if (rpc->kind == CALL_REMOVE)
		f->exists = false;
	handle_of(f, &a->handle);
	a->has_after = true;
	attr_of(f, &a->after);
}

/* Answers the oldest call, or any. */
static void world_answer(void)
{
	unsigned int i =
		world.unordered ? (unsigned int)random_below(&world.seed, world.n_calls) : 0;
	struct rpc *rpc = world.calls[i];
	struct answer a = {.status = ANSWER_OK, .error = ""};

	memmove(&world.calls[i], &world.calls[i + 1], (world.n_calls - i - 1) * sizeof(rpc));
	world.n_calls--;
	world.now += 10000;
	if (world.again && random_below(&world.seed, 8) == 0)
		a.status = ANSWER_AGAIN;
	else
		world_do(rpc, &a);
	client_answer(rpc->client, rpc, &a, world.now);
}

static void world_done(struct op *op, uint64_t now)
{
	world.done++;
	world.failed += op->status != ANSWER_OK;
	op->owner = NULL;
}

static struct client *world_client(int which, const struct client_settings *s)
{
	struct client *c = &world.clients[which];

	assert_null(client_settings_bad(s));
	assert_int_equal(client_init(c, s, &world_ops, NULL, world.now), 0);
	return c;
}

/* Time goes by in ticks, and all calls are answered. */
static void world_run(double seconds)
{
	uint64_t end = world.now + (uint64_t)(seconds * 1e9);

	do {
		while (world.n_calls)
			world_answer();
		world.now += CLIENT_TICK;
		for (int i = 0; i < WORLD_CLIENTS; i++)
			if (world.clients[i].ops)
				client_tick(&world.clients[i], world.now);
	} while (world.now < end || world.n_calls);
}

static void start(struct client *c, struct op *op, enum op_kind kind, struct file *f,
		  uint64_t offset, uint64_t length, uint64_t content)
{
	*op = (struct op){.kind = kind,
			  .file = f,
			  .offset = offset,
			  .length = length,
			  .content = content,
			  .verify = true,
			  .done = world_done,
			  .owner = op};
	client_submit(c, op, ++world.now);
}

/* The operation, to its end; its status. */
static int perform(struct client *c, enum op_kind kind, struct file *f, uint64_t offset,
		   uint64_t length, uint64_t content)
{
	struct op op;

	start(c, &op, kind, f, offset, length, content);
	for (int i = 0; op.owner && i < 100000; i++) {
		if (world.n_calls) {
			world_answer();
		} else {
			world.now += CLIENT_TICK;
			client_tick(c, world.now);
		}
	}
	assert_null(op.owner);
	return op.status;
}

static void world_end(void)
{
	for (int i = 0; i < WORLD_FILES; i++)
		free(world.files[i].data);
}

#endif
