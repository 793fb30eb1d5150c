/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The blocks CLIENT { } within RA { }: each becomes a rule. For config.c's table of items. */
#ifndef RA_CONFIG_CLIENTS_H
#define RA_CONFIG_CLIENTS_H

#include "compat.h"

extern struct config_item ra_client_items[];

/* LINK: the struct share_rules * that rules are added to. See config_parsing.h. */
void *ra_client_init(void *link, void *self);
int ra_client_commit(void *node, void *link, void *self, struct config_error_type *err_type);

#endif /* RA_CONFIG_CLIENTS_H */
