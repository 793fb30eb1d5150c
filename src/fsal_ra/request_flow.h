/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whom a request is for: its client, by address, and its export; and who reads, for operators.
 */
#ifndef RA_REQUEST_FLOW_H
#define RA_REQUEST_FLOW_H

#include <string.h>

#include "disk/export_io.h"
#include "readahead/readahead.h"
#include "shares/shares.h"
#include "subcall.h"

/*
 * Of the operation under way, with op_ctx, at NOW (ns). Looks the client up, so it is not for a READ that memory
 * answers. Work of the server's own has no caller.
 */
static inline struct flow_id ra_flow_of_op(uint64_t now)
{
	return shares_flow((const struct sockaddr *)op_ctx->caller_addr,
			   ra_export_of_op()->io->export_id, now);
}

/* The number of the reader (readahead/readers.h), without a lock: for every READ. */
static inline uint32_t ra_reader_of_op(uint64_t now)
{
	struct client_address a;
	struct reader_address address;

	_Static_assert(sizeof(a) == sizeof(address), "one kind of address");
	if (!client_address_of((const struct sockaddr *)op_ctx->caller_addr, &a))
		return 0;
	memcpy(&address, &a, sizeof(address));
	return readers_find(readahead_readers(ra_export_of_op()->io->engine), &address, now);
}

/* A READ of it found its data in memory. */
static inline void ra_count_resident(struct export_io *io, uint32_t reader)
{
	readahead_count(&io->counters, READAHEAD_RESIDENT, 1);
	readers_count(readahead_readers(io->engine), reader, READER_RESIDENT, 1);
}

#endif /* RA_REQUEST_FLOW_H */
