/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connecting over TCP, waiting for it; see tcp.h. */
#include "tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#define POLL_MS 50

struct call {
	bool done;
	int status;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int wait_for(struct rpc_context *rpc, const struct call *call, double seconds)
{
	double deadline = now() + seconds;

	while (!call->done) {
		struct pollfd p = {.fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc)};

		if (poll(&p, 1, POLL_MS) > 0 && rpc_service(rpc, p.revents) < 0)
			return -1;
		if (now() > deadline)
			return -1;
	}
	return call->status == RPC_STATUS_SUCCESS ? 0 : -1;
}

static void connected(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct call *call = private_data;

	call->done = true;
	call->status = status;
}

static struct rpc_context *connect_to(const char *server, int port, int program, double seconds)
{
	struct rpc_context *rpc = rpc_init_context();
	struct call call = {0};

	if (!rpc)
		return NULL;
	if (rpc_connect_port_async(rpc, server, port, program, 3, connected, &call) < 0 ||
	    wait_for(rpc, &call, seconds)) {
		fprintf(stderr, "%s: cannot connect to %s port %d: %s\n",
			program_invocation_short_name, server, port,
			rpc_get_error(rpc) ? rpc_get_error(rpc) : "no answer");
		rpc_destroy_context(rpc);
		return NULL;
	}
	return rpc;
}

/*
 * Requests go out at once, as a kernel's client sends them (TCP_NODELAY): else those behind the first wait until that
 * is answered, or for 40 ms, and the server sees one at a time of a client that has several on their way.
 */
static void send_at_once(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A socket bound to `from`, connected to where the socket fd is. -1 with errno when it fails. */
static int connect_from(const char *from, int fd)
{
	struct sockaddr_in here = {.sin_family = AF_INET}, there;
	socklen_t length = sizeof(there);
	int bound = -1;

	if (getpeername(fd, (struct sockaddr *)&there, &length))
		return -1;
	if (there.sin_family != AF_INET || inet_pton(AF_INET, from, &here.sin_addr) != 1) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bound < 0)
		return -1;
	send_at_once(bound);
	if (bind(bound, (struct sockaddr *)&here, sizeof(here)) ||
	    connect(bound, (struct sockaddr *)&there, length) ||
	    fcntl(bound, F_SETFL, O_NONBLOCK) < 0) {
		close(bound);
		return -1;
	}
	return bound;
}

/* libnfs cannot be told where to come from: it connects, then gets another socket instead. */
struct rpc_context *tcp_connect(const char *server, int port, int program, const char *from,
				double seconds)
{
	struct rpc_context *rpc = connect_to(server, port, program, seconds);
	int old, bound;

	if (rpc)
		send_at_once(rpc_get_fd(rpc));
	if (!rpc || !from)
		return rpc;
	old = rpc_get_fd(rpc);
	bound = connect_from(from, old);
	if (bound < 0) {
		fprintf(stderr, "%s: cannot connect to %s from %s: %s\n",
			program_invocation_short_name, server, from, strerror(errno));
		rpc_destroy_context(rpc);
		return NULL;
	}
	rpc_set_fd(rpc, bound);
	close(old);
	return rpc;
}
