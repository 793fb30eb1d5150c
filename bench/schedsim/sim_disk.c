/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The disks: models in virtual time. See sim_disk.h. */
#include "sim_disk.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the drive to the thread that waits, and on to the next command (ns). */
#define HOST_NS 100000
/* Several arms share the addresses in pieces of this (bytes). */
#define STRIPE (UINT64_C(1) << 20)
/* Flash (ns): before the first byte, for each byte. */
#define FLASH_NS	  80000
#define FLASH_NS_PER_BYTE 2
/* Into a drive's cache (ns). */
#define CACHE_NS_PER_BYTE 2

#define KIB	    UINT64_C(1024)
#define MIB	    (1024 * KIB)
#define SPLIT	    (1280 * KIB)
#define COMMAND_MAX MIB

#define NOJOIN "write-join", "0"
#define SLOW                                                                                       \
	"seek-min", "1.2", "seek-max", "19", "track-switch", "1.5", "rate-outer", "110",           \
		"rate-inner", "60"
#define FAST                                                                                       \
	"rpm", "10000", "seek-min", "0.4", "seek-max", "9", "rate-outer", "220", "rate-inner",     \
		"120", "depth", "32"

const struct sim_disk_kind sim_disk_kinds[] = {
	{"own", "bench/mechdisk's defaults", {NULL}, .arms = 1},
	{"own-q32", "the same, a drive queue of 32", {"depth", "32", NULL}, .arms = 1},
	{"own-host",
	 "own, a server that takes 0.4 ms from one read to the next",
	 {NULL},
	 .arms = 1,
	 .host = 300000},
	{"own-busy", "own, a host that takes 1 ms a command", {NULL}, .arms = 1, .pause = 1000000},
	{"nojoin", "no write cache: each write waits for its place", {NOJOIN, NULL}, .arms = 1},
	{"nojoin-q32", "the same, a drive queue of 32", {NOJOIN, "depth", "32", NULL}, .arms = 1},
	{"nojoin-small",
	 "no write cache, commands of 64 KiB",
	 {NOJOIN, NULL},
	 .arms = 1,
	 .command_max = 64 * KIB},
	{"slow", "slow seeks and platters, no write cache", {NOJOIN, SLOW, NULL}, .arms = 1},
	{"fast", "fast seeks and platters, a drive queue of 32", {FAST, NULL}, .arms = 1},
	{"cache",
	 "a write cache of 4 MiB, which reads wait for",
	 {NULL},
	 .arms = 1,
	 .cache = 4 * MIB},
	{"cache-slow",
	 "one of 8 MiB, slow platters, no joining",
	 {NOJOIN, SLOW, NULL},
	 .arms = 1,
	 .cache = 8 * MIB},
	{"raid4", "four arms side by side", {NULL}, .arms = 4},
	{"flash", "no arms", {NULL}},
	{NULL},
};

const struct sim_disk_kind *sim_disk_find(const char *name)
{
	for (const struct sim_disk_kind *k = sim_disk_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

static int init_arm(struct sim_disk *d, struct sim_arm *a, const struct disk_params *p)
{
	a->disk = d;
	TAILQ_INIT(&a->uncached);
	a->model = disk_model_new(p);
	disk_queue_init(&a->queue, (uint32_t)p->depth, (int64_t)(p->age_ms * 1e6));
	return a->model ? 0 : ENOMEM;
}

int sim_disk_init(struct sim_disk *d, struct events *events, const struct sim_disk_kind *kind)
{
	struct disk_params p;
	char err[200];

	*d = (struct sim_disk){.events = events, .kind = kind};
	disk_params_default(&p);
	for (int i = 0; kind->options[i]; i += 2)
		if (disk_params_set(&p, kind->options[i], kind->options[i + 1], err, sizeof(err)))
			return EINVAL;
	d->arms = kind->arms ? kind->arms : SIM_ARMS_MAX;
	d->depth = kind->arms ? (uint32_t)p.depth : 1;
	for (uint32_t i = 0; i < d->arms; i++)
		if (init_arm(d, &d->arm[i], &p))
			return ENOMEM;
	d->size = d->arms * disk_model_size(d->arm[0].model);
	return 0;
}

void sim_disk_fini(struct sim_disk *d)
{
	for (uint32_t i = 0; i < d->arms; i++)
		disk_model_free(d->arm[i].model);
	blocks_fini(&d->blocks);
}

static void told(void *arg)
{
	struct sim_io *io = arg;

	io->done(io);
}

/* C's io need not wait for it any more. */
static void acknowledge(struct sim_arm *a, struct sim_command *c, uint64_t delay)
{
	struct events *e = a->disk->events;
	struct sim_io *io = c->io;

	c->io = NULL;
	if (--io->left == 0)
		events_at(e, e->now + delay + HOST_NS + a->disk->kind->host, told, io);
}

/* What the drive's cache has room for, in order. */
static void fill_cache(struct sim_arm *a)
{
	struct sim_command *c;

	while ((c = TAILQ_FIRST(&a->uncached)) &&
	       a->cached + c->command.length <= a->disk->kind->cache) {
		TAILQ_REMOVE(&a->uncached, c, link);
		a->cached += c->command.length;
		acknowledge(a, c, c->command.length * CACHE_NS_PER_BYTE);
	}
}

static void serve(void *arg);

/* The arm is free from now on. */
static void served(void *arg)
{
	struct sim_arm *a = arg;
	struct sim_command *c = a->serving;

	a->serving = NULL;
	if (c->io)
		acknowledge(a, c, 0);
	else
		a->cached -= c->command.length;
	block_free(c);
	fill_cache(a);
	a->resume = a->disk->events->now + a->disk->kind->pause;
	events_at(a->disk->events, a->resume, serve, a);
}

static uint64_t service_ns(struct sim_arm *a, const struct disk_command *c, uint64_t now)
{
	struct disk_service s;

	if (!a->disk->kind->arms)
		return FLASH_NS + c->length * FLASH_NS_PER_BYTE;
	disk_model_serve(a->model, c->op, c->offset, c->length, (int64_t)now, &s);
	return (uint64_t)s.end_ns - now;
}

static bool is_cacheable(const struct sim_arm *a, const struct sim_command *c)
{
	return a->disk->kind->cache && c->command.op == DISK_WRITE && !c->stable;
}

static void serve(void *arg)
{
	struct sim_arm *a = arg;
	struct events *e = a->disk->events;
	struct disk_command *c;
	uint64_t took;

	if (a->serving || e->now < a->resume)
		return;
	c = disk_queue_take(&a->queue, a->model, (int64_t)e->now);
	if (!c)
		return;
	a->serving = (struct sim_command *)c;
	if (is_cacheable(a, a->serving) && a->serving->io)
		TAILQ_REMOVE(&a->uncached, a->serving, link);
	took = service_ns(a, c, e->now);
	a->disk->time[a->serving->client] += took;
	a->disk->commands[c->op]++;
	events_at(e, e->now + took, served, a);
}

/* Where OFFSET is: its arm, and there. */
static struct sim_arm *place(struct sim_disk *d, uint64_t *offset)
{
	uint64_t stripe = *offset / STRIPE;

	if (d->arms == 1)
		return &d->arm[0];
	*offset = stripe / d->arms * STRIPE + *offset % STRIPE;
	return &d->arm[stripe % d->arms];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The next command's: the block layer splits at SPLIT, whatever is below at the kind's own bound. */
static uint64_t piece(const struct sim_disk *d, const struct sim_io *io, uint64_t at)
{
	uint64_t left = least(io->offset + io->len - at, SPLIT - (at - io->offset) % SPLIT);

	left = least(left, d->kind->command_max ? d->kind->command_max : COMMAND_MAX);
	return d->arms > 1 ? least(left, STRIPE - at % STRIPE) : left;
}

static void add(struct sim_disk *d, struct sim_io *io, uint64_t at, uint64_t n)
{
	struct sim_command *c = block_new(&d->blocks, sizeof(*c));
	struct sim_arm *a = place(d, &at);

	c->io = io;
	c->client = io->client;
	c->stable = io->stable;
	c->command = (struct disk_command){
		.op = io->op, .offset = at, .length = n, .arrival_ns = (int64_t)d->events->now};
	disk_queue_add(&a->queue, &c->command);
	if (is_cacheable(a, c))
		TAILQ_INSERT_TAIL(&a->uncached, c, link);
	serve(a); /* they come one by one: an arm that is idle takes the first */
}

void sim_disk_submit(struct sim_disk *d, struct sim_io *io)
{
	uint64_t n;

	assert(io->len && io->client < SIM_CLIENTS_MAX);
	io->begun = d->events->now;
	io->left = 0;
	for (uint64_t at = io->offset; at < io->offset + io->len; at += n) {
		n = piece(d, io, at);
		io->left++;
		add(d, io, at, n);
	}
	for (uint32_t i = 0; i < d->arms; i++)
		fill_cache(&d->arm[i]);
}
