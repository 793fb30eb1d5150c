/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The one thread that asks a name server, or for a netgroup, which rule holds for a client: as long as those please,
 * while no request waits.
 *
 *   request --> client_table_find --> by addresses: undecided --> queue --> this thread --> name server
 *                     |                                                          |
 *                     '--> the rule that it had, or 0          client_table_answer <--
 *
 * At the end it is waited for. Where the name server is silent for too long it is left behind, and ends when it has its
 * answer, without touching the table.
 */
#ifndef SHARES_NAME_THREAD_H
#define SHARES_NAME_THREAD_H

#include "shares/client_table.h"

/* How long (ns) a server that ends waits for the answer of a name server. */
#define NAME_THREAD_WAIT UINT64_C(2000000000)

struct name_thread;

/*
 * Asks ASK(address) for all that wait in CLIENTS, on a thread that NAME names (NULL: nobody does). Left behind, it may be
 * within ASK for long after name_thread_stop(). NULL: no memory, or no thread can be had.
 */
struct name_thread *name_thread_start(struct client_table *clients, client_asker ask,
				      void (*name)(const char *name));
/*
 * Waits TIMEOUT ns for the answer under way; what else waits is not asked for, and no more will be. False: it is left
 * behind. NULL does nothing.
 */
bool name_thread_stop(struct name_thread *n, uint64_t timeout);

#endif
