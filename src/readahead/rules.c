/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sets of rules by name. See rules.h. */
#include "readahead/rules.h"

#include <stddef.h>
#include <strings.h>

static const struct readahead_rules *const rules[] = {
	&rules_extended, &rules_ordered, &rules_streakless, &rules_forward,
	&rules_apart,	 &rules_endless, &rules_paper};

const struct readahead_rules *rules_nth(unsigned int n)
{
	return n < sizeof(rules) / sizeof(rules[0]) ? rules[n] : NULL;
}

const struct readahead_rules *rules_find(const char *name)
{
	const struct readahead_rules *r;

	for (unsigned int i = 0; (r = rules_nth(i)); i++)
		if (!strcasecmp(r->name, name))
			return r;
	return NULL;
}
