/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Opening a datagram socket, and the first call on it; see udp_socket.h. */
#include "udp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUFFER		   (8 << 20) /* bytes of the socket's buffers: a window of large answers */
#define AGAIN_MS	   500	     /* the NULL call is repeated so often */
#define NFS_PROGRAM_NUMBER 100003u
#define FIRST_XID	   0x4e756c6cu /* of the NULL call */

static void enlarge(int fd)
{
	int size = BUFFER;

	/* Beyond the system's bound where that is permitted. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int bind_to(int fd, const char *from)
{
	struct sockaddr_in here = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, from, &here.sin_addr) != 1) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return bind(fd, (struct sockaddr *)&here, sizeof(here));
}

static int connected(const char *server, int port, const char *from)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found;
	char service[16];
	int fd, rc;

	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(server, service, &hints, &found);
	if (rc) {
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, server,
			gai_strerror(rc));
		return -1;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (from && bind_to(fd, from)) ||
	    connect(fd, found->ai_addr, found->ai_addrlen)) {
		fprintf(stderr, "%s: cannot reach %s port %d by UDP%s%s: %s\n",
			program_invocation_short_name, server, port, from ? " from " : "",
			from ? from : "", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd >= 0)
		enlarge(fd);
	return fd;
}

/* 0: answered well; 1: not yet; -1: never, with a word why in *why. */
static int null_answer(int fd, const char **why)
{
	uint32_t answer[64];
	ssize_t n = recv(fd, answer, sizeof(answer), 0);

	if (n < 0 && errno == ECONNREFUSED) {
		*why = UDP_REFUSED;
		return -1;
	}
	if (n < 24 || ntohl(answer[0]) != FIRST_XID)
		return 1;
	/* reply, accepted, a verifier of no length, success */
	if (ntohl(answer[2]) == 0 && ntohl(answer[5]) == 0)
		return 0;
	*why = "the server does not serve NFSv3 over UDP";
	return -1;
}

static int ask_null(int fd, double seconds, const char **why)
{
	/* xid, call, RPC version, program, version, procedure, AUTH_NONE twice */
	const uint32_t call[10] = {
		htonl(FIRST_XID), 0, htonl(2), htonl(NFS_PROGRAM_NUMBER), htonl(3), 0, 0, 0, 0, 0};
	int rc = 1;

	*why = "no answer to NULL over UDP: is the link up, and does the server have Enable_UDP?";
	for (int ms = 0; rc > 0 && ms < seconds * 1000; ms += AGAIN_MS) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (send(fd, call, sizeof(call), 0) < 0 && errno == ECONNREFUSED) {
			*why = UDP_REFUSED;
			return -1;
		}
		while (rc > 0 && poll(&p, 1, AGAIN_MS) > 0)
			rc = null_answer(fd, why);
	}
	return rc ? -1 : 0;
}

int udp_socket(const char *server, int port, const char *from, double seconds)
{
	int fd = connected(server, port, from);
	const char *why;

	if (fd >= 0 && ask_null(fd, seconds, &why)) {
		fprintf(stderr, "%s: %s port %d: %s\n", program_invocation_short_name, server, port,
			why);
		close(fd);
		return -1;
	}
	return fd;
}
