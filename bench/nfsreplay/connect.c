/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Before a replay: a connection for each client, and the handles of what the trace needs. */
#include "nfsbench/connection.h"
#include "nfsbench/tcp.h"
#include "replay.h"

#include <arpa/inet.h>
#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>

#define CONNECT_SECONDS 10.0

static int connect_clients(struct replay *r)
{
	const struct replay_options *o = r->options;
	struct in_addr from = {0};
	char text[INET_ADDRSTRLEN];

	if (o->from)
		inet_pton(AF_INET, o->from, &from);
	for (uint32_t i = 0; i < r->trace->client_count; i++) {
		struct in_addr own = {htonl(ntohl(from.s_addr) + i)};

		inet_ntop(AF_INET, &own, text, sizeof(text));
		r->connections[i] = tcp_connect(o->server, (int)o->port, NFS_PROGRAM,
						o->from ? text : NULL, CONNECT_SECONDS);
		if (!r->connections[i])
			return -1;
	}
	return 0;
}

static int look_up(struct replay *r, uint32_t object)
{
	const struct trace_object *t = &r->trace->objects[object];
	struct replay_object *o = &r->objects[object];
	const struct handle *parent =
		t->parent == TRACE_NONE ? &r->root : &r->objects[t->parent].handle;
	struct connection first = {.rpc = r->connections[0]};
	char path[TRACE_PATH_MAX + 1];

	if (session_lookup(&first, parent, t->name, CONNECT_SECONDS, &o->handle, &o->size)) {
		fprintf(stderr,
			"nfsreplay: the trace needs %s on the server: nfsreplay --prepare makes "
			"it\n",
			trace_path(r->trace, object, path));
		return -1;
	}
	if (t->prepared == TRACE_FILE && o->size != t->prepared_size) {
		fprintf(stderr,
			"nfsreplay: %s has %llu bytes, the trace needs %llu: prepare it anew "
			"before "
			"each replay\n",
			trace_path(r->trace, object, path), (unsigned long long)o->size,
			(unsigned long long)t->prepared_size);
		return -1;
	}
	return 0;
}

static int look_all_up(struct replay *r)
{
	const struct replay_options *o = r->options;
	struct connection first = {.rpc = r->connections[0]};
	struct handle top;
	uint64_t size;

	if (session_mount(o->server, (int)o->mount_port, o->export_path, CONNECT_SECONDS, &top) ||
	    session_lookup(&first, &top, o->dir ? o->dir : "", CONNECT_SECONDS, &r->root, &size))
		return -1;
	/* A directory's number is below those of what it holds. */
	for (uint32_t i = 0; i < r->trace->object_count; i++) {
		if (r->trace->objects[i].prepared && look_up(r, i))
			return -1;
	}
	return 0;
}

int replay_connect(struct replay *r)
{
	return connect_clients(r) || look_all_up(r) ? -1 : 0;
}
