/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What src/shares asks of the server: which disks there are, what they have shown, who is on which; and
 * its rules and shares as operators see and turn them.
 */
#include "shares_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "disk/export_io.h"
#include "shares/system_names.h"
#include "thread_name.h"

_Static_assert(DEVICES_MAX <= SHARE_DISKS_MAX, "floors are admitted on all devices");

/* Of a device that was not read from in turns nothing is known. */
static unsigned int disks(struct share_disk *disk)
{
	struct device *d;
	unsigned int n;

	for (n = 0; (d = device_nth(n)) != NULL; n++) {
		struct cost_model cost = dispatcher_cost(&d->dispatcher);

		snprintf(disk[n].name, sizeof(disk[n].name), "%u:%u", major(d->dev), minor(d->dev));
		disk[n].ns_per_byte = cost_run_known(&cost) ? cost.ns_per_byte : 0;
		disk[n].seek = cost_seek_known(&cost) ? cost.seek_ns : 0;
	}
	return n;
}

const struct shares_ops ra_shares_ops = {
	.names = &patient_names,
	.name_thread = ra_name_thread,
	.publish = device_set_shares,
	.disks = disks,
	.disks_of = exports_devices,
};

/* ---- operators -------------------------------------------------------------------------- */

unsigned int ra_rules_facts(struct rule_facts *f)
{
	struct sched_shares *shares = calloc(1, sizeof(*shares));
	struct share_rules *rules = shares != NULL ? shares_look(shares) : NULL;
	unsigned int n = rules != NULL ? rules->n : 0;

	for (unsigned int i = 0; i < n; i++) {
		client_list_text(&rules->rule[i].clients, f[i].clients, sizeof(f[i].clients));
		f[i].by_operator = rules->rule[i].by_operator;
		f[i].share = shares->rules[i];
	}
	share_rules_drop(rules);
	free(shares);
	return n;
}

unsigned int ra_export_shares_facts(struct export_share *f)
{
	struct sched_shares *shares = calloc(1, sizeof(*shares));
	struct share_rules *rules = shares != NULL ? shares_look(shares) : NULL;
	unsigned int n = rules != NULL ? shares->n_exports : 0;

	if (n > 0)
		memcpy(f, shares->exports, n * sizeof(*f));
	share_rules_drop(rules);
	free(shares);
	return n;
}

bool ra_set_share(const char *client, uint16_t export_id, const char *key, uint64_t value,
		  char *why, size_t size)
{
	enum share_key found = share_key_find(key);
	char text[SHARES_WHY] = "";
	bool done = false;

	if (found == SHARE_KEYS)
		share_keys_text(key, text, sizeof(text));
	else if (client != NULL)
		done = shares_change_client(client, found, value, text);
	else
		done = shares_change_export(export_id, found, value, text);
	snprintf(why, size, "%s", text);
	return done;
}
