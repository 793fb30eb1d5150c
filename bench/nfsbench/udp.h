/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * RPC over UDP for a library that knows streams only.
 *
 *	libnfs --- records, socket pair --- udp.c --- one datagram a record --- server
 *
 * What libnfs writes is cut at its record marks; each record is a call (calls.h) and goes out as a
 * datagram, again and again until it is answered; the first answer goes back as a record. So every
 * work of nfsbench runs over UDP as over TCP, encoded by the same library. A record that does not
 * fit a datagram ends the connection with a message.
 *
 * All is done by udp_service(), which never waits; one thread.
 */
#ifndef NFSBENCH_UDP_H
#define NFSBENCH_UDP_H

#include <stdio.h>

#include "calls.h"

#define UDP_POLLS 2 /* descriptors to poll */
#define UDP_LARGEST_REQUEST                                                                        \
	(56u << 10) /* bytes of a READ or WRITE; 64 KiB with what is around it */

struct pollfd;
struct udp;

struct udp_options {
	const char *server,
		*from; /* numeric or resolvable; `from` NULL: whichever the kernel takes */
	int port;
	bool dynamic;	   /* A + 4D and the window, else the constant */
	uint64_t constant; /* ns */
	double drop;	   /* share of datagrams, each way, that are lost on purpose: 0 … 1 */
	uint64_t seed;	   /* of which */
	FILE *trace;	   /* a line for each answer, or NULL: seconds, class, round trip and
				   * time to wait in ms, sendings */
};

/* Asks the server's NULL procedure for `seconds` at most. *stream is libnfs' end, which the caller
 * owns. NULL after a message on stderr. */
struct udp *udp_open(const struct udp_options *options, double seconds, int *stream);
void udp_close(struct udp *u);

/* Fills UDP_POLLS of them. */
void udp_polls(const struct udp *u, struct pollfd *polls);
/* Everything that can be done now. 0, or -1 when the connection is of no use; udp_problem() says why. */
int udp_service(struct udp *u, uint64_t now);
/* When it is to be called again if nothing comes, ns; UINT64_MAX: no matter. */
uint64_t udp_due(const struct udp *u);
const char *udp_problem(const struct udp *u);
const struct calls *udp_calls(const struct udp *u);
/* Datagrams lost on purpose. */
uint64_t udp_dropped(const struct udp *u);

#endif
