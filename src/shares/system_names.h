/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names of clients as this machine knows them: name server, /etc/hosts, netgroups. They may block. */
#ifndef SHARES_SYSTEM_NAMES_H
#define SHARES_SYSTEM_NAMES_H

#include "shares/client_list.h"

/* For who waits for all of a configuration: hosts behind one that took long are not asked for. */
extern const struct client_names system_names;
/* For clients, one after the other, on a thread that may wait: but not for the same host with each of them. */
extern const struct client_names patient_names;

#endif
