/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The server's one set of shares. See shares.h. */
#include "shares/shares.h"

#include <errno.h>
#include <stddef.h>

static struct {
	const struct shares_ops *ops;
	struct client_table *clients;
} state;

static uint16_t match(const struct client_address *a, void *arg)
{
	(void)a;
	(void)arg;
	return 0;
}

int shares_start(const struct shares_ops *ops, uint32_t clients_max)
{
	state.ops = ops;
	state.clients = client_table_new(clients_max, match, NULL);
	return state.clients != NULL ? 0 : ENOMEM;
}

void shares_stop(void)
{
	client_table_free(state.clients);
	state.clients = NULL;
}

struct flow_id shares_flow(const struct sockaddr *addr, uint16_t export_id)
{
	struct flow_id flow = {.export_id = export_id};
	struct client_address a;
	struct client c;

	if (!client_address_of(addr, &a))
		return flow;
	c = client_table_find(state.clients, &a, state.ops->now());
	flow.client = c.number;
	flow.rule = c.rule;
	return flow;
}

bool shares_client_text(uint64_t client, char text[CLIENT_TEXT_MAX])
{
	struct client_address a;

	if (state.clients == NULL || !client_table_address(state.clients, client, &a))
		return false;
	client_address_text(&a, text);
	return true;
}
