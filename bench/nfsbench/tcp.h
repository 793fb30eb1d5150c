/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connecting libnfs over TCP. */
#ifndef NFSBENCH_TCP_H
#define NFSBENCH_TCP_H

struct rpc_context;

/* To a program (NFS, MOUNT) of version 3, from the numeric IPv4 address `from` (NULL: whichever the
 * kernel takes), within so many seconds. The caller destroys it. NULL after a message on stderr. */
struct rpc_context *tcp_connect(const char *server, int port, int program, const char *from,
				double seconds);

#endif
