/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A connection to the NFS service: libnfs on a TCP socket, or on a socket pair with udp.c behind. */
#ifndef NFSBENCH_CONNECTION_H
#define NFSBENCH_CONNECTION_H

#include <stdint.h>

#include "udp.h"

#define CONNECTION_POLLS (1 + UDP_POLLS)

struct pollfd;
struct rpc_context;

struct connection {
	struct rpc_context *rpc;
	struct udp *udp; /* NULL: TCP */
};

/* `udp` NULL: TCP, to the server and port of the others. 0, or -1 after a message; connection_close()
 * either way. */
int connection_open(struct connection *c, const char *server, int port, const char *from,
		    const struct udp_options *udp, double seconds);
void connection_close(struct connection *c);

/* Fills CONNECTION_POLLS of them; what is not in use has descriptor -1. */
void connection_polls(const struct connection *c, struct pollfd *polls);
/* After poll(): what came is handed to callbacks, and what these called goes out. 0, or -1 when the
 * connection is lost; connection_problem() says how. */
int connection_service(struct connection *c, const struct pollfd *polls, uint64_t now);
const char *connection_problem(const struct connection *c);
/* ns; when it is to be served again though nothing comes, UINT64_MAX: no matter. */
uint64_t connection_due(const struct connection *c);

#endif
