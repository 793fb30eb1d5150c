/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients as a configuration names them, in the way of the server's own CLIENT blocks, and whether an
 * address is one of them.
 *
 *   10.1.2.3   2001:db8::7          this address
 *   10.1.0.0/16   2001:db8::/32     addresses with this prefix
 *   host.example.org                its addresses when the list is made; where nobody says then whether it has one, those
 *                                   in the list before; else, or where it has none, when a client comes
 *   @group                          hosts of the netgroup, by the name that the address has
 *   10.1.2.*   *.example.org        addresses, or names of addresses, of this form: * ? [ ]
 *   *                               all
 *
 * The host's functions say names, and may block. Pure else; a list is not locked: it is made, and
 * then only read.
 */
#ifndef SHARES_CLIENT_LIST_H
#define SHARES_CLIENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares/client_table.h"

#define CLIENT_PATTERNS_MAX   1024 /* of a list */
#define CLIENT_PATTERN_LEN    255  /* the longest name that the domain name system knows */
#define CLIENT_HOST_ADDRESSES 16   /* of one name; more do not count */

/* Instead of a number: whoever should know does not answer now. */
#define NAMES_LATER (-1)

/* May block; any thread. */
struct client_names {
	/* The name of A; false: none is known. */
	bool (*name_of)(const struct client_address *a, char *name, size_t size);
	bool (*in_netgroup)(const char *group, const char *name);
	/* How many addresses of NAME, up to MAX; 0: it has none, or NAMES_LATER, and *REASON, in words, static. */
	int (*addresses_of)(const char *name, struct client_address *a, unsigned int max,
			    const char **reason);
};

enum client_pattern_kind {
	CLIENT_ANY,
	CLIENT_NETWORK,
	CLIENT_HOST, /* its addresses are not known; from here on somebody is asked */
	CLIENT_NETGROUP,
	CLIENT_WILDCARD,
};

struct client_pattern {
	enum client_pattern_kind kind;
	struct client_address address;
	uint8_t bits; /* of the address, 0..128 */
	bool later;   /* of a host: nobody said whether it has one */
	char *text;   /* as it was given; owned. Of a netgroup with its @ */
};

/* Zeros: nobody. */
struct client_list {
	struct client_pattern *pattern;
	unsigned int n;
};

/* An address that lists are asked about, with its name once that is known: zeros but for these. */
struct client_query {
	const struct client_address *address;
	const struct client_names *names; /* NULL: nobody is asked for a name */
	bool asked, named;
	bool open; /* a name could have decided otherwise, or may later */
	char name[CLIENT_PATTERN_LEN + 1];
};

/* One more of them. False, and WHY of SIZE bytes: it names nobody, or there are too many. True, and WHY is not
 * empty: it is the first host of which no address is known now. */
bool client_list_add(struct client_list *l, const char *text, const struct client_names *names,
		     char *why, size_t size);
bool client_list_has(const struct client_list *l, struct client_query *q);
/* Whether it has patterns that a name may be of. */
bool client_list_needs_names(const struct client_list *l);
/* How many are hosts of which no address is known. */
unsigned int client_list_hosts(const struct client_list *l);
/* Both name the same. */
bool client_list_equals(const struct client_list *l, const struct client_list *m);
/* A list that has addresses of HOST; NULL: none. */
typedef const struct client_list *(*client_list_finder)(const char *host, const void *arg);
/*
 * Hosts of which nobody said whether they have an address are those that they are in the list that FIND, asked once for each,
 * finds for them, if there is room.
 */
void client_list_recall(struct client_list *l, client_list_finder find, const void *arg);
/* False: no memory. */
bool client_list_copy(struct client_list *to, const struct client_list *from);
void client_list_free(struct client_list *l);
/* Whether all that it names are single addresses. */
bool client_list_is_addresses(const struct client_list *l);
/* How many clients it is at least: its single addresses; 1 where it has others too. */
unsigned int client_list_least(const struct client_list *l);
/* "10.1.0.0/16, @group", cut short with ... where it is longer than SIZE bytes. */
void client_list_text(const struct client_list *l, char *text, size_t size);

#endif
