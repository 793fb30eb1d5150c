/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A name server made up: ...7 is lab7.example.org, in the netgroup "lab"; "pair" has two addresses. */
#ifndef UNIT_FAKE_NAMES_H
#define UNIT_FAKE_NAMES_H

#include "shares/client_list.h"
#include "support.h"

static _Atomic unsigned int names_asked; /* on whichever thread */

static bool names_silent, names_gone; /* of hosts: nobody says, or all are without an address */

static bool fake_name_of(const struct client_address *a, char *name, size_t size)
{
	names_asked++;
	snprintf(name, size, "lab%u.example.org", a->byte[15]);
	return a->byte[15] < 100;
}

static bool fake_in_netgroup(const char *group, const char *name)
{
	return !strcmp(group, "lab") && !strcmp(name, "lab7.example.org");
}

static int fake_addresses_of(const char *name, struct client_address *a, unsigned int max,
			     const char **reason)
{
	*reason = "no answer";
	if (names_silent)
		return NAMES_LATER;
	if (strcmp(name, "pair") != 0 || names_gone || max < 2)
		return 0;
	assert_true(client_address_parse("10.9.9.1", &a[0]));
	assert_true(client_address_parse("2001:db8::9", &a[1]));
	return 2;
}

static const struct client_names fake_names = {
	.name_of = fake_name_of,
	.in_netgroup = fake_in_netgroup,
	.addresses_of = fake_addresses_of,
};

#endif
