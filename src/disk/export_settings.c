/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Settings published under RCU. See export_settings.h. */
#include "disk/export_settings.h"

#include <stdlib.h>

#include <urcu-bp.h>

/*
 * The distribution's liburcu is not built for the thread sanitizer, which would not see that a grace
 * period lies between the last reader and the end of what it read.
 */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
static char grace;
#define TELL_ACQUIRE() __tsan_acquire(&grace)
#define TELL_RELEASE() __tsan_release(&grace)
#else
#define TELL_ACQUIRE() ((void)0)
#define TELL_RELEASE() ((void)0)
#endif

struct export_settings *export_settings_copy(const struct export_settings *s)
{
	struct export_settings *copy = malloc(sizeof(*copy));

	if (copy != NULL)
		*copy = *s;
	return copy;
}

const struct export_settings *export_settings_begin(struct export_settings *const *at)
{
	const struct export_settings *s;

	urcu_bp_read_lock();
	s = rcu_dereference(*at);
	TELL_ACQUIRE();
	return s;
}

void export_settings_end(void)
{
	TELL_RELEASE();
	urcu_bp_read_unlock();
}

struct export_settings *export_settings_publish(struct export_settings **at,
						struct export_settings *s)
{
	struct export_settings *old = *at;

	TELL_RELEASE();
	rcu_assign_pointer(*at, s);
	return old;
}

void export_settings_reclaim(struct export_settings *old)
{
	urcu_bp_synchronize_rcu();
	TELL_ACQUIRE();
	free(old);
}
