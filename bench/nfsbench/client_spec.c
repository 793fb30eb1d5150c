/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* --client NAME,KEY=VALUE,…: one table of keys with their ranges. */
#include "client_spec.h"
#include "number.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct key {
	const char *name;
	size_t field;
	uint64_t min, max; /* of a number; both 0: a text */
};

#define KEY(field) offsetof(struct client_spec, field)
#define NUMBER_KEY(n, low, high)                                                                   \
	{                                                                                          \
		.name = #n, .field = KEY(n), .min = low, .max = high                               \
	}
#define TEXT_KEY(n, to)                                                                            \
	{                                                                                          \
		.name = n, .field = KEY(to)                                                        \
	}

static const struct key keys[] = {
	TEXT_KEY("from", from),
	TEXT_KEY("export", export_path),
	TEXT_KEY("dir", dir),
	NUMBER_KEY(flows, 1, MAX_READERS),
	NUMBER_KEY(outstanding, 1, 256),
	NUMBER_KEY(request, 512, MAX_REQUEST),
	NUMBER_KEY(size, 4096, UINT64_C(1) << 40),
	NUMBER_KEY(commit, 4096, UINT64_C(1) << 40),
	NUMBER_KEY(first, 0, 9999),
};

static int set_work(struct client_spec *c, const char *value)
{
	static const char *const names[] = {
		[CLIENT_SEQ] = "seq", [CLIENT_RANDOM] = "random", [CLIENT_WRITE] = "write"};

	for (int w = CLIENT_SEQ; w <= CLIENT_WRITE; w++) {
		if (strcmp(value, names[w]) == 0) {
			c->work = (enum client_work)w;
			return 0;
		}
	}
	fprintf(stderr, "nfsbench: --client %s: work=%s: must be seq, random or write\n", c->name,
		value);
	return -1;
}

static int set_number(struct client_spec *c, const struct key *k, const char *value)
{
	uint64_t v;

	if (options_number(value, &v) || v < k->min || v > k->max) {
		fprintf(stderr,
			"nfsbench: --client %s: %s=%s: must be a number from %llu to %llu\n",
			c->name, k->name, value, (unsigned long long)k->min,
			(unsigned long long)k->max);
		return -1;
	}
	*(uint64_t *)((char *)c + k->field) = v;
	return 0;
}

static int set_key(struct client_spec *c, const char *key, const char *value)
{
	if (strcmp(key, "work") == 0)
		return set_work(c, value);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(key, keys[i].name))
			continue;
		if (keys[i].max)
			return set_number(c, &keys[i], value);
		*(const char **)((char *)c + keys[i].field) = value;
		return 0;
	}
	fprintf(stderr,
		"nfsbench: --client %s: %s: must be of from, work, flows, outstanding, request, "
		"size, first, commit, export, dir\n",
		c->name, key);
	return -1;
}

int client_spec_parse(struct client_spec *c, const char *text)
{
	char *rest = NULL, *part;

	*c = (struct client_spec){
		.flows = 1, .outstanding = 1, .request = 32 << 10, .first = UINT64_MAX};
	if ((size_t)snprintf(c->text, sizeof(c->text), "%s", text) >= sizeof(c->text)) {
		fprintf(stderr, "nfsbench: --client: must be shorter than %zu characters\n",
			sizeof(c->text));
		return -1;
	}
	c->name = strtok_r(c->text, ",", &rest);
	if (!c->name || strchr(c->name, '=') || strlen(c->name) >= CLIENT_NAME_MAX) {
		fprintf(stderr,
			"nfsbench: --client %s: must begin with a name of 1 to %d characters\n",
			text, CLIENT_NAME_MAX - 1);
		return -1;
	}
	while ((part = strtok_r(NULL, ",", &rest))) {
		char *value = strchr(part, '=');

		if (value)
			*value++ = '\0';
		if (set_key(c, part, value ? value : ""))
			return -1;
	}
	if (c->request % 8 || c->commit % c->request) {
		fprintf(stderr,
			"nfsbench: --client %s: request must be a multiple of 8, commit one of "
			"request\n",
			c->name);
		return -1;
	}
	return 0;
}
