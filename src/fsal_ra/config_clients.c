/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * CLIENT blocks: the server's parser reads them; who is meant, src/shares finds out, since no version
 * of the server exports its own matcher.
 */
#include "config_clients.h"

#include <string.h>

#include "shares/shares.h"
#include "shares/system_names.h"

/* One block while it is parsed. */
struct client_args {
	struct client_list clients;
	uint64_t value[SHARE_KEYS];
};

static int add_clients(const char *token, enum term_type type, struct config_item *item,
		       void *param, void *node, struct config_error_type *err_type)
{
	char why[SHARES_WHY];

	(void)type;
	(void)item;
	(void)node;
	if (client_list_add(param, token, &system_names, why, sizeof(why))) {
		if (why[0] != '\0')
			LogWarn(COMPONENT_CONFIG, "RA, CLIENT: Clients: %s", why);
		return 0;
	}
	LogCrit(COMPONENT_CONFIG, "RA, CLIENT: Clients: %s", why);
	err_type->invalid = true;
	return 1;
}

#define VALUE(Name, key) CONF_ITEM_UI64(Name, 0, UINT64_MAX, 0, client_args, value[key])

struct config_item ra_client_items[] = {
	RA_CONF_ITEM_TOKENS("Clients", noop_conf_init, add_clients, client_args, clients),
	VALUE("Weight", SHARE_WEIGHT),
	VALUE("Floor_Bandwidth", SHARE_FLOOR_BANDWIDTH),
	VALUE("Floor_Iops", SHARE_FLOOR_IOPS),
	VALUE("Floor_Time", SHARE_FLOOR_TIME),
	VALUE("Ceiling_Bandwidth", SHARE_CEILING_BANDWIDTH),
	VALUE("Ceiling_Iops", SHARE_CEILING_IOPS),
	VALUE("Ceiling_Time", SHARE_CEILING_TIME),
	CONFIG_EOL,
};

void *ra_client_init(void *link, void *self)
{
	struct client_args *args = self;

	if (link == NULL)
		return self;
	if (args == NULL)
		return gsh_calloc(1, sizeof(*args));
	client_list_free(&args->clients);
	gsh_free(args);
	return NULL;
}

/* The share that ARGS come to; false: a value is out of range, or contradicts another. */
static bool share_of(const struct client_args *args, const char *named, struct share *share)
{
	char why[SHARES_WHY];

	for (enum share_key key = 0; key < SHARE_KEYS; key++)
		if (!share_change(share, key, args->value[key], why, sizeof(why))) {
			LogCrit(COMPONENT_CONFIG, "RA, CLIENT of %s: %s", named, why);
			return false;
		}
	return true;
}

static bool add_rule(struct share_rules *rules, struct client_args *args)
{
	struct share_rule rule = {.clients = args->clients};
	unsigned int hosts = client_list_hosts(&args->clients);
	char named[64];

	client_list_text(&args->clients, named, sizeof(named));
	if (args->clients.n == 0) {
		LogCrit(COMPONENT_CONFIG, "RA: a CLIENT block without Clients");
		return false;
	}
	if (hosts > 1)
		LogWarn(COMPONENT_CONFIG, "RA, CLIENT of %s: no address of %u hosts is known",
			named, hosts);
	if (!share_of(args, named, &rule.share))
		return false;
	if (!share_rules_add(rules, &rule)) {
		LogCrit(COMPONENT_CONFIG,
			"RA, CLIENT of %s: there are %d CLIENT blocks before it: no more can be",
			named, SHARE_RULES_MAX - 1);
		return false;
	}
	args->clients = rule.clients; /* the rules have them */
	return true;
}

int ra_client_commit(void *node, void *link, void *self, struct config_error_type *err_type)
{
	struct share_rules **rules = link;

	(void)node;
	if (!add_rule(*rules, self)) {
		err_type->invalid = true;
		err_type->errors++;
		return 1; /* the parser frees */
	}
	ra_client_init(link, self);
	return 0;
}
