/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whom a request is for: its client, by address, and its export.
 */
#ifndef RA_REQUEST_FLOW_H
#define RA_REQUEST_FLOW_H

#include "shares/shares.h"
#include "subcall.h"

/*
 * Of the operation under way, with op_ctx. Looks the client up, so it is not for a READ that memory
 * answers. Work of the server's own has no caller.
 */
static inline struct flow_id ra_flow_of_op(void)
{
	return shares_flow((const struct sockaddr *)op_ctx->caller_addr,
			   ra_export_of_op()->io->export_id);
}

#endif /* RA_REQUEST_FLOW_H */
