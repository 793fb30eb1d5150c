/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The edge: calls of a client over libnfs, and their answers. One connection a client. */
#ifndef CANFS_NFS_H
#define CANFS_NFS_H

#include <stdint.h>

#include "client.h"
#include "connection.h"

struct edge {
	struct connection nfs;
	struct client *client;
};

extern const struct io_ops nfs_ops; /* io: a struct edge */

/* ns, of a clock that only goes forward. */
uint64_t nfs_now(void);

#endif
