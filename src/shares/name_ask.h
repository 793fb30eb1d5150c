/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One question to a name server that somebody waits for, but not for as long as it pleases.
 *
 *   who asks       ask --- waits a while at most ---> goes on, with the answer or without
 *   a thread             ask . . . . . . . . . . . . . . . . answer, which may be nobody's by then
 *
 * One question is asked at a time: while a thread is left to one there is no other.
 */
#ifndef SHARES_NAME_ASK_H
#define SHARES_NAME_ASK_H

#include "shares/client_table.h"

/*
 * *RULE is what ASK says of A, on a thread that NAME names (NULL: nobody does), if it says so within TIMEOUT ns and leaves no
 * other open; it may be within ASK for long after that. NULL, or why there is none.
 */
const char *name_ask(client_asker ask, const struct client_address *a, uint64_t timeout,
		     void (*name)(const char *name), uint16_t *rule);

#endif
