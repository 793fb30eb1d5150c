/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names of clients as this machine knows them: name server, /etc/hosts, netgroups. They may block. */
#ifndef SHARES_SYSTEM_NAMES_H
#define SHARES_SYSTEM_NAMES_H

#include "shares/client_list.h"

extern const struct client_names system_names;

#endif
