/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What src/shares asks of the server: which disks there are, what they have shown, who is on which. */
#include "shares_host.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "disk/export_io.h"
#include "shares/system_names.h"

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
	.now = clock_now,
	.names = &system_names,
	.publish = device_set_shares,
	.disks = disks,
	.disks_of = exports_devices,
};
