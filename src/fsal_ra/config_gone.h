/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What was a parameter before (RA_GONE of params.def): who still sets it is told once each time that the
 * configuration is read, and its number is ignored.
 */
#ifndef RA_CONFIG_GONE_H
#define RA_CONFIG_GONE_H

#include "compat.h"

#define RA_GONE_UNSET UINT64_MAX

static inline void ra_config_gone(const char *where, const char *name, const char *instead,
				  uint64_t value)
{
	if (value != RA_GONE_UNSET)
		LogWarn(COMPONENT_CONFIG,
			"RA, %s: %s is no parameter any more, and ignored: %s; please remove it",
			where, name, instead);
}

#endif /* RA_CONFIG_GONE_H */
