/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Settings published under RCU. See export_settings.h. */
#include "disk/export_settings.h"

#include <stdlib.h>

#include "common/rcu.h"

struct export_settings *export_settings_copy(const struct export_settings *s)
{
	struct export_settings *copy = malloc(sizeof(*copy));

	if (copy != NULL)
		*copy = *s;
	return copy;
}

const struct export_settings *export_settings_begin(struct export_settings *const *at)
{
	rcu_begin();
	return rcu_read(*at);
}

void export_settings_end(void)
{
	rcu_end();
}

struct export_settings *export_settings_publish(struct export_settings **at,
						struct export_settings *s)
{
	struct export_settings *old = *at;

	rcu_publish(*at, s);
	return old;
}

void export_settings_reclaim(struct export_settings *old)
{
	rcu_wait();
	free(old);
}
