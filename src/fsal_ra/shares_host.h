/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The server below src/shares: its devices and exports. Above it: what operators see and turn. */
#ifndef RA_SHARES_HOST_H
#define RA_SHARES_HOST_H

#include "control/facts.h"
#include "shares/shares.h"

extern const struct shares_ops ra_shares_ops;

/* As in struct control_host. */
unsigned int ra_rules_facts(struct rule_facts *f);
unsigned int ra_export_shares_facts(struct export_share *f);
bool ra_set_share(const char *client, uint16_t export_id, const char *key, uint64_t value,
		  char *why, size_t size);

#endif /* RA_SHARES_HOST_H */
