/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From options to connections; see dial.h. */
#include "dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

int dial(struct connection *c, const struct options *o, const char *from, unsigned int number,
	 FILE *trace)
{
	struct udp_options udp = {
		.server = o->server,
		.from = from,
		.port = (int)o->port,
		.dynamic = o->transport == TRANSPORT_UDP_DYNAMIC,
		.constant = o->timeo * MS,
		.drop = (double)o->drop / 100,
		.seed = o->order_seed * 1024 + number,
		.trace = trace,
	};
	bool tcp = o->transport == TRANSPORT_TCP;
	int rc = connection_open(c, o->server, (int)o->port, from, tcp ? NULL : &udp,
				 CONNECT_SECONDS);

	if (rc)
		connection_close(c);
	return rc;
}

int dial_directory(struct connection *c, const struct options *o, const char *path, const char *dir,
		   struct handle *found)
{
	struct handle root;
	uint64_t size;

	if (session_mount(o->server, (int)o->mount_port, path ? path : o->export_path,
			  CONNECT_SECONDS, &root))
		return -1;
	if (!dir)
		dir = o->dir ? o->dir : "";
	return session_lookup(c, &root, dir, CONNECT_SECONDS, found, &size);
}

int dial_lines(const char *path, FILE **file)
{
	if (!path)
		return 0;
	*file = fopen(path, "w");
	if (!*file) {
		fprintf(stderr, "nfsbench: cannot write %s: %s\n", path, strerror(errno));
		return -1;
	}
	return setvbuf(*file, NULL, _IOLBF, 0);
}
