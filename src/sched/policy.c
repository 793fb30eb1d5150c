/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of policies, by name and by number. */
#include "sched/policy.h"

#include <string.h>
#include <strings.h>

static const struct sched_policy *const policies[] = {
#define POLICY(name) &sched_##name,
	SCHED_POLICIES(POLICY)
#undef POLICY
};

const struct sched_policy *sched_policy_nth(unsigned int n)
{
	return n < sizeof(policies) / sizeof(policies[0]) ? policies[n] : NULL;
}

const struct sched_policy *sched_policy_find(const char *name)
{
	const struct sched_policy *p;

	for (unsigned int i = 0; (p = sched_policy_nth(i)); i++)
		if (!strcasecmp(p->name, name))
			return p;
	return NULL;
}
