/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connections over TCP and UDP; see connection.h. */
#include "connection.h"
#include "tcp.h"

#include <poll.h>
#include <stdio.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

static int open_udp(struct connection *c, const struct udp_options *options, double seconds)
{
	int stream;

	c->udp = udp_open(options, seconds, &stream);
	if (!c->udp)
		return -1;
	c->rpc = rpc_init_context();
	if (!c->rpc) {
		fprintf(stderr, "nfsbench: no memory for a connection\n");
		return -1;
	}
	/* A socket that is ready to write is one that is connected. */
	rpc_set_fd(c->rpc, stream);
	return rpc_service(c->rpc, POLLOUT) < 0 ? -1 : 0;
}

int connection_open(struct connection *c, const char *server, int port, const char *from,
		    const struct udp_options *udp, double seconds)
{
	*c = (struct connection){0};
	if (udp)
		return open_udp(c, udp, seconds);
	c->rpc = tcp_connect(server, port, NFS_PROGRAM, from, seconds);
	return c->rpc ? 0 : -1;
}

void connection_close(struct connection *c)
{
	if (c->rpc)
		rpc_destroy_context(c->rpc);
	if (c->udp)
		udp_close(c->udp);
	*c = (struct connection){0};
}

void connection_polls(const struct connection *c, struct pollfd *polls)
{
	polls[0] = (struct pollfd){.fd = rpc_get_fd(c->rpc),
				   .events = (short)rpc_which_events(c->rpc)};
	for (int i = 1; i < CONNECTION_POLLS; i++)
		polls[i] = (struct pollfd){.fd = -1};
	if (c->udp)
		udp_polls(c->udp, polls + 1);
}

/* What libnfs has to read or write is done, also what its callbacks queued. */
static int service_rpc(struct connection *c, short events)
{
	int rc = events ? rpc_service(c->rpc, events) : 0;

	if (rc == 0 && (rpc_which_events(c->rpc) & POLLOUT))
		rc = rpc_service(c->rpc, POLLOUT);
	return rc;
}

static int service_udp(struct connection *c, uint64_t now)
{
	struct pollfd p = {.fd = rpc_get_fd(c->rpc), .events = POLLIN};

	/* Calls that libnfs has queued, out; answers, through the pair to libnfs, and out again what
	 * their callbacks queued. */
	if (service_rpc(c, 0) || udp_service(c->udp, now))
		return -1;
	if (poll(&p, 1, 0) > 0 && (service_rpc(c, p.revents) || udp_service(c->udp, now)))
		return -1;
	return 0;
}

int connection_service(struct connection *c, const struct pollfd *polls, uint64_t now)
{
	if (c->udp)
		return service_udp(c, now);
	return polls[0].revents ? service_rpc(c, polls[0].revents) : 0;
}

const char *connection_problem(const struct connection *c)
{
	const char *text = c->udp ? udp_problem(c->udp) : "";

	if (!*text && c->rpc)
		text = rpc_get_error(c->rpc);
	return text && *text ? text : "lost";
}

uint64_t connection_due(const struct connection *c)
{
	return c->udp ? udp_due(c->udp) : UINT64_MAX;
}
