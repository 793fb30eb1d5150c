/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Before a load begins: memory, connections, and the handles of its directories and files. */
#include "engine.h"
#include "dial.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int prepare_flow(struct engine *e, struct flow *f)
{
	const struct handle *dir = &e->load->groups[f->group].dir;
	struct connection *nfs = &e->connections[0];
	char name[16];
	uint64_t size = 0;

	if (f->op == FLOW_FSSTAT || f->pieces)
		return 0; /* of the latter LOOKUPs are part of the load */
	snprintf(name, sizeof(name), "%c%04u", f->creates ? 'w' : 'f', f->file);
	if (f->creates)
		return session_create(nfs, dir, name, CONNECT_SECONDS, &f->handle);
	if (session_lookup(nfs, dir, name, CONNECT_SECONDS, &f->handle, &size))
		return -1;
	if (size < f->size) {
		fprintf(stderr, "nfsbench: file %s has %llu bytes, the work needs %llu\n", name,
			(unsigned long long)size, (unsigned long long)f->size);
		return -1;
	}
	return 0;
}

/* Where connection number `index` comes from: in works with more than one address each flow has one. */
static const char *address_of(const struct engine *e, unsigned int index)
{
	const struct load *load = e->load;

	const struct group *g = &load->groups[load->flows[index % load->flow_count].group];

	if (g->spec)
		return g->spec->from;
	return strcmp(g->name, "random") == 0 ? load->options->random_from : NULL;
}

static int connect_all(struct engine *e)
{
	const struct options *o = e->load->options;
	unsigned int want = o->connections && o->work != WORK_CLIENTS ? (unsigned int)o->connections
			    : e->load->client_count		      ? e->load->client_count
								      : e->load->flow_count;

	e->connections = calloc(want, sizeof(*e->connections));
	e->polls = calloc((size_t)want * CONNECTION_POLLS, sizeof(*e->polls));
	if (!e->connections || !e->polls)
		return -1;
	while (e->connection_count < want) {
		struct connection *c = &e->connections[e->connection_count++];
		const char *from = address_of(e, e->connection_count - 1);

		if (dial(c, o, from, e->connection_count, e->trace)) {
			e->connection_count--;
			return -1;
		}
	}
	return 0;
}

static int make_slots(struct engine *e)
{
	size_t count = 0;

	for (unsigned int i = 0; i < e->load->flow_count; i++)
		count += e->load->flows[i].outstanding;
	e->slots = calloc(count, sizeof(*e->slots));
	e->write_buffer = malloc(MAX_REQUEST);
	if (!e->slots || !e->write_buffer)
		return -1;
	for (size_t i = 0; i < count; i++) {
		e->slots[i].engine = e;
		e->slots[i].next_free = e->free_slots;
		e->free_slots = &e->slots[i];
	}
	return 0;
}

static int find_directories(struct engine *e)
{
	int rc = dial_directory(&e->connections[0], e->load->options, NULL, NULL, &e->dir);

	for (unsigned int i = 0; i < e->load->group_count && !rc; i++) {
		struct group *g = &e->load->groups[i];

		g->dir = e->dir;
		if (g->spec && (g->spec->export_path || g->spec->dir))
			rc = dial_directory(&e->connections[0], e->load->options,
					    g->spec->export_path, g->spec->dir, &g->dir);
	}
	return rc;
}

int engine_prepare(struct engine *e)
{
	int rc;

	if (make_slots(e) || dial_lines(e->load->options->prices, &e->prices) ||
	    dial_lines(e->load->options->udp_trace, &e->trace) || connect_all(e))
		return -1;
	rc = find_directories(e);
	for (unsigned int i = 0; i < e->load->flow_count && !rc; i++)
		rc = prepare_flow(e, &e->load->flows[i]);
	return rc;
}
