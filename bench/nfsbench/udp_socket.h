/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A datagram socket to an NFS server that is known to answer. */
#ifndef NFSBENCH_UDP_SOCKET_H
#define NFSBENCH_UDP_SOCKET_H

#define UDP_REFUSED                                                                                \
	"nothing serves NFS over UDP there: Ganesha does with Enable_UDP = true in "               \
	"NFS_CORE_PARAM, and UDP among the Transports of the EXPORT"

/* Connected, not blocking, from the numeric address `from` if not NULL. The NULL procedure was
 * answered within `seconds`. -1 after a message on stderr. */
int udp_socket(const char *server, int port, const char *from, double seconds);

#endif
