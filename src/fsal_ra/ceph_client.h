/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What FSAL_CEPH's client library was configured for, as far as read-ahead above it depends on it. */
#ifndef RA_CEPH_CLIENT_H
#define RA_CEPH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "compat.h"

struct ceph_client {
	bool known;	  /* the rest is */
	bool caches;	  /* client_oc */
	bool reads_ahead; /* by itself: client_readahead_max_bytes is not 1 (or less than a page) */
	uint64_t cache;	  /* client_oc_size, bytes */
};

/* When the server starts, with its configuration: what its block CEPH says of the library's. */
void ceph_client_configure(config_file_t config);
/* The User_Id in the FSAL block NODE of an export of FSAL_CEPH, to be given to gsh_free(); NULL: none. */
char *ceph_client_user(void *node);
/*
 * With FSAL_CEPH loaded, while an export of it is made. Reads the file that its block CEPH { Ceph_Conf } names,
 * or the library's own one, as client.USER does, which has a section of its own there; NULL: client.admin, as in
 * FSAL_CEPH. That of later versions sets client_oc itself: that is not seen here.
 */
void ceph_client_ask(struct ceph_client *c, const char *user);
/* Says in the log what should be set otherwise, with MEMORY bytes of Readahead_Memory. */
void ceph_client_say(const struct ceph_client *c, uint64_t memory);

#endif /* RA_CEPH_CLIENT_H */
