/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * WHO gets how much: which client and rule a request is charged to, and what shares are in force.
 *
 *   request --> address --> client table --> struct flow_id, with the request to the disk's queue
 *
 * One for the server, as its devices are.
 */
#ifndef SHARES_SHARES_H
#define SHARES_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sched/flow.h"
#include "shares/client_table.h"

/* The host's. */
struct shares_ops {
	uint64_t (*now)(void); /* ns */
};

/* Before the first request; for CLIENTS_MAX clients. 0 or ENOMEM. */
int shares_start(const struct shares_ops *ops, uint32_t clients_max);
/* After the last request. */
void shares_stop(void);

/*
 * Whom a request is charged to that came from ADDR through the export: the server itself where that is
 * NULL, or no IP address. Once for each request that goes to the disk, not for a cached READ. Takes no
 * lock that other clients want, but may ask a name server when a client is new: hold no lock.
 */
struct flow_id shares_flow(const struct sockaddr *addr, uint16_t export_id);
/* The server's own work on the export. */
static inline struct flow_id shares_flow_own(uint16_t export_id)
{
	return (struct flow_id){.export_id = export_id};
}

/* The address of flow_id.client; false: the table knows it no more, or it is 0. */
bool shares_client_text(uint64_t client, char text[CLIENT_TEXT_MAX]);

#endif
