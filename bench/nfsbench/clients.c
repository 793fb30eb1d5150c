/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Work clients: groups of flows, each group from an address of its own (client_spec.h). They run
 * at once until one of them has nothing left to read, or until --duration; or, with --alone, one
 * client after another. Their files:
 *
 *   --client a,flows=2 --client b,work=random --client c,work=write --client d
 *            f0000 f0001          f0002                 w0000               f0003
 *
 * The flows of a random group read one file: each every n-th place of one order, so that no place
 * is read twice. A writer goes over its file again and again.
 */
#include "load.h"
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITES_MAX (1u << 20) /* of one writer: its order is as long */

static uint64_t files_of(const struct client_spec *c)
{
	return c->work == CLIENT_RANDOM ? 1 : c->flows;
}

/* Files to read and files to write are numbered apart. */
static uint64_t first_file(const struct options *o, unsigned int group)
{
	const struct client_spec *c = &o->clients[group];
	uint64_t first = o->first_file;

	if (c->first != UINT64_MAX)
		return c->first;
	for (unsigned int i = 0; i < group; i++) {
		if ((o->clients[i].work == CLIENT_WRITE) == (c->work == CLIENT_WRITE))
			first += files_of(&o->clients[i]);
	}
	return first;
}

unsigned int clients_flows(const struct options *o)
{
	uint64_t flows = 0;

	for (unsigned int i = 0; i < o->client_count; i++)
		flows += o->clients[i].flows;
	return (unsigned int)flows;
}

/* Names that are equal up to a dot are one client. */
static bool same_client(const char *a, const char *b)
{
	size_t length = strcspn(a, ".");

	return length == strcspn(b, ".") && strncmp(a, b, length) == 0;
}

int clients_plan_groups(struct load *load)
{
	const struct options *o = load->options;
	unsigned int turns = 0;

	load->group_count = o->client_count;
	for (unsigned int i = 0; i < o->client_count; i++) {
		struct group *g = &load->groups[i];
		unsigned int j = 0;

		g->spec = &o->clients[i];
		g->name = g->spec->name;
		while (!same_client(g->name, load->groups[j].name))
			j++;
		g->turn = j < i ? load->groups[j].turn : turns++;
	}
	load->turns = o->alone > 0 ? turns : 0;
	return 0;
}

static int order_random(struct flow *f, const struct client_spec *c, uint64_t seed,
			unsigned int which)
{
	uint64_t blocks = f->size / f->request;
	struct prng prng;
	uint32_t *all;

	if (order_allocate(f, blocks / c->flows))
		return -1;
	all = blocks <= MAX_BLOCKS ? malloc(blocks * sizeof(*all)) : NULL;
	if (!all) {
		fprintf(stderr, "nfsbench: --client %s: size is too large for its request\n",
			c->name);
		return -1;
	}
	prng_init(&prng, seed * 1024 + f->group);
	pattern_random(all, (uint32_t)blocks, (uint32_t)blocks, &prng);
	for (uint32_t i = 0; i < f->blocks; i++)
		f->order[i] = all[i * c->flows + which];
	free(all);
	return 0;
}

static int order_sequential(struct flow *f)
{
	uint32_t blocks = (uint32_t)((f->size + f->request - 1) / f->request);
	uint32_t passes = f->op == FLOW_WRITE && blocks < WRITES_MAX ? WRITES_MAX / blocks : 1;

	if (order_allocate(f, (uint64_t)passes * blocks))
		return -1;
	for (uint32_t i = 0; i < f->blocks; i++)
		f->order[i] = i % blocks;
	return 0;
}

int clients_plan_flow(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;
	const struct client_spec *c = o->clients;

	for (; index >= c->flows; c++)
		index -= (unsigned int)c->flows;
	f->group = (unsigned int)(c - o->clients);
	f->op = c->work == CLIENT_WRITE ? FLOW_WRITE : FLOW_READ;
	f->creates = f->op == FLOW_WRITE;
	f->file = (uint32_t)(first_file(o, f->group) + (c->work == CLIENT_RANDOM ? 0 : index));
	f->request = (uint32_t)c->request;
	f->size = (c->size ? c->size : o->size) / f->request * f->request;
	f->outstanding = (uint32_t)c->outstanding;
	f->commit_every = (uint32_t)(c->commit / c->request);
	return c->work == CLIENT_RANDOM ? order_random(f, c, o->order_seed, index)
					: order_sequential(f);
}
