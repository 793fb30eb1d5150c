/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Patterns, tried in their order. See client_list.h. */
#include "shares/client_list.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define V4_BITS	   32
#define V6_BITS	   128
#define V4_IS_FROM (V6_BITS - V4_BITS) /* an IPv4 address is the last bits of a mapped one */

/* ---- making ----------------------------------------------------------------------------- */

/* "address" or "address/bits". */
static bool parse_network(const char *text, struct client_pattern *p)
{
	const char *slash = strchr(text, '/'), *at = slash != NULL ? slash + 1 : NULL;
	char address[CLIENT_TEXT_MAX];
	unsigned int bits = strchr(text, ':') != NULL ? V6_BITS : V4_BITS;
	uint64_t prefix = bits;

	if (slash == NULL)
		slash = text + strlen(text);
	if ((size_t)(slash - text) >= sizeof(address))
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	if (!client_address_parse(address, &p->address))
		return false;
	if (at != NULL && (!isdigit((unsigned char)*at) || !text_number(&at, &prefix) ||
			   *at != '\0' || prefix > bits))
		return false;
	p->kind = CLIENT_NETWORK;
	p->bits = (uint8_t)(prefix + (bits == V4_BITS ? V4_IS_FROM : 0));
	return true;
}

/* P, with a copy of TEXT, becomes the last of L. */
static bool append(struct client_list *l, struct client_pattern p, const char *text)
{
	struct client_pattern *more = realloc(l->pattern, (l->n + 1) * sizeof(*more));

	if (more != NULL)
		l->pattern = more;
	p.text = more != NULL ? strdup(text) : NULL;
	if (p.text != NULL)
		l->pattern[l->n++] = p;
	return p.text != NULL;
}

/* The same, with WHY not. */
static bool append_or_say(struct client_list *l, struct client_pattern p, const char *text,
			  char *why, size_t size)
{
	if (l->n == CLIENT_PATTERNS_MAX)
		snprintf(why, size, "%s: more than %d clients are named", text,
			 CLIENT_PATTERNS_MAX);
	else if (!append(l, p, text))
		snprintf(why, size, "%s: no memory", text);
	else
		return true;
	return false;
}

/* Of letters, digits, "-" and "_" with dots between; the last part is not a number, as an address's is. */
static bool is_host_name(const char *text)
{
	size_t n = strlen(text);
	bool number = true;

	n -= n > 1 && text[n - 1] == '.';
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL)
			return false;
		number = text[i] == '.' || (number && isdigit((unsigned char)text[i]));
	}
	return text[0] != '-' && text[0] != '.' && !number;
}

static bool append_host(struct client_list *l, const char *text, const struct client_names *names,
			char *why, size_t size)
{
	struct client_address a[CLIENT_HOST_ADDRESSES];
	const char *reason = "";
	int n = names->addresses_of(text, a, CLIENT_HOST_ADDRESSES, &reason);
	bool later = n == NAMES_LATER;

	for (int i = 0; i < n; i++) {
		struct client_pattern p = {
			.kind = CLIENT_NETWORK, .address = a[i], .bits = V6_BITS};

		if (!append_or_say(l, p, text, why, size))
			return false;
	}
	if (n > 0)
		return true;
	if (!is_host_name(text)) {
		snprintf(why, size, "%s is no address, network, @netgroup or name of a host", text);
		return false;
	}
	if (!append_or_say(l, (struct client_pattern){.kind = CLIENT_HOST, .later = later}, text,
			   why, size))
		return false;
	if (client_list_hosts(l) > 1)
		return true;
	snprintf(why, size,
		 "no address of %s is known (%s): it is asked for again when clients come%s", text,
		 reason, later ? ", unless it had one before" : "");
	return true;
}

bool client_list_add(struct client_list *l, const char *text, const struct client_names *names,
		     char *why, size_t size)
{
	struct client_pattern p = {0};

	why[0] = '\0';
	if (text[0] == '\0' || strlen(text) > CLIENT_PATTERN_LEN) {
		snprintf(why, size, "\"%.32s%s\" is empty or longer than %d characters", text,
			 text[0] ? "..." : "", CLIENT_PATTERN_LEN);
		return false;
	}
	if (strcmp(text, "*") == 0)
		p.kind = CLIENT_ANY;
	else if (text[0] == '@' && text[1] != '\0')
		p.kind = CLIENT_NETGROUP;
	else if (strpbrk(text, "*?[") != NULL)
		p.kind = CLIENT_WILDCARD;
	else if (!parse_network(text, &p))
		return append_host(l, text, names, why, size);
	return append_or_say(l, p, text, why, size);
}

/* ---- asking ----------------------------------------------------------------------------- */

static bool in_network(const struct client_pattern *p, const struct client_address *a)
{
	unsigned int whole = p->bits / 8, rest = p->bits % 8;

	return !memcmp(&p->address, a, whole) &&
	       (rest == 0 || (p->address.byte[whole] ^ a->byte[whole]) >> (8 - rest) == 0);
}

/* The name of the address: asked for once. */
static const char *name_of(struct client_query *q)
{
	if (q->names == NULL)
		q->open = true;
	else if (!q->asked)
		q->named = q->names->name_of(q->address, q->name, sizeof(q->name));
	q->asked = true;
	return q->named ? q->name : NULL;
}

static bool in_netgroup(const struct client_pattern *p, struct client_query *q)
{
	const char *name = name_of(q);

	return name != NULL && q->names->in_netgroup(p->text + 1, name);
}

/* By then it may have addresses. */
static bool is_host(const struct client_pattern *p, struct client_query *q)
{
	struct client_address a[CLIENT_HOST_ADDRESSES];
	const char *reason;
	int n = NAMES_LATER;

	if (q->names != NULL)
		n = q->names->addresses_of(p->text, a, CLIENT_HOST_ADDRESSES, &reason);
	if (n == NAMES_LATER)
		q->open = true;
	for (int i = 0; i < n; i++)
		if (memcmp(&a[i], q->address, sizeof(a[i])) == 0)
			return true;
	return false;
}

static bool has_form(const struct client_pattern *p, struct client_query *q)
{
	char text[CLIENT_TEXT_MAX];
	const char *name;

	client_address_text(q->address, text);
	if (fnmatch(p->text, text, FNM_PATHNAME) == 0)
		return true;
	name = name_of(q);
	return name != NULL && fnmatch(p->text, name, FNM_PATHNAME) == 0;
}

static bool matches(const struct client_pattern *p, struct client_query *q)
{
	switch (p->kind) {
	case CLIENT_NETWORK:
		return in_network(p, q->address);
	case CLIENT_HOST:
		return is_host(p, q);
	case CLIENT_NETGROUP:
		return in_netgroup(p, q);
	case CLIENT_WILDCARD:
		return has_form(p, q);
	case CLIENT_ANY:
		break;
	}
	return true;
}

bool client_list_has(const struct client_list *l, struct client_query *q)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (matches(&l->pattern[i], q))
			return true;
	return false;
}

bool client_list_needs_names(const struct client_list *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->pattern[i].kind >= CLIENT_HOST)
			return true;
	return false;
}

unsigned int client_list_hosts(const struct client_list *l)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->n; i++)
		n += l->pattern[i].kind == CLIENT_HOST;
	return n;
}

static bool pattern_equals(const struct client_pattern *p, const struct client_pattern *q)
{
	return p->kind == q->kind && p->bits == q->bits &&
	       !memcmp(&p->address, &q->address, sizeof(p->address)) && !strcmp(p->text, q->text);
}

bool client_list_equals(const struct client_list *l, const struct client_list *m)
{
	if (l->n != m->n)
		return false;
	for (unsigned int i = 0; i < l->n; i++)
		if (!pattern_equals(&l->pattern[i], &m->pattern[i]))
			return false;
	return true;
}

/* ---- the rest --------------------------------------------------------------------------- */

bool client_list_copy(struct client_list *to, const struct client_list *from)
{
	*to = (struct client_list){0};
	for (unsigned int i = 0; i < from->n; i++)
		if (!append(to, from->pattern[i], from->pattern[i].text)) {
			client_list_free(to);
			return false;
		}
	return true;
}

/* The addresses of the host TEXT in KNOWN become the last of L; false: there are none, or too many. */
static bool append_known(struct client_list *l, const struct client_list *known, const char *text)
{
	bool found = false;

	for (unsigned int i = 0; i < known->n; i++) {
		const struct client_pattern *p = &known->pattern[i];

		if (p->kind != CLIENT_NETWORK || strcmp(p->text, text) != 0)
			continue;
		found = l->n < CLIENT_PATTERNS_MAX && append(l, *p, text);
		if (!found)
			break;
	}
	return found;
}

static bool may_be_recalled(const struct client_list *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->pattern[i].later)
			return true;
	return false;
}

void client_list_recall(struct client_list *l, client_list_finder find, const void *arg)
{
	struct client_list with = {0};
	bool done = may_be_recalled(l);

	for (unsigned int i = 0; i < l->n && done; i++) {
		const struct client_pattern *p = &l->pattern[i];
		const struct client_list *known = p->later ? find(p->text, arg) : NULL;

		if (known == NULL || !append_known(&with, known, p->text))
			done = with.n < CLIENT_PATTERNS_MAX && append(&with, *p, p->text);
	}
	client_list_free(done ? l : &with);
	if (done)
		*l = with;
}

void client_list_free(struct client_list *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		free(l->pattern[i].text);
	free(l->pattern);
	*l = (struct client_list){0};
}

bool client_list_is_addresses(const struct client_list *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->pattern[i].kind != CLIENT_NETWORK || l->pattern[i].bits != V6_BITS)
			return false;
	return true;
}

unsigned int client_list_least(const struct client_list *l)
{
	return client_list_is_addresses(l) ? l->n : 1;
}

void client_list_text(const struct client_list *l, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < l->n && used < size; i++) {
		const char *next = l->pattern[i].text;

		if (i > 0 && !strcmp(next, l->pattern[i - 1].text))
			continue; /* another address of the same host */
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", next);
	}
	if (used >= size && size > 4)
		strcpy(text + size - 4, "...");
}
