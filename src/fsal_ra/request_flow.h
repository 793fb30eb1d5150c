/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whom a request is for: its client, by address, and its export.
 */
#ifndef RA_REQUEST_FLOW_H
#define RA_REQUEST_FLOW_H

#include "sched/flow.h"
#include "subcall.h"

/*
 * Of the operation under way, with op_ctx. Looks the client up, so it is not for a READ that memory
 * answers.
 */
static inline struct flow_id ra_flow_of_op(void)
{
	return (struct flow_id){.export_id = ra_export_of_op()->io->export_id};
}

#endif /* RA_REQUEST_FLOW_H */
