/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A row for each client that a device's ledger knows, FACTS_CLIENT_PRICES_MAX at most. */
#include "control/client_prices.h"

#include "control/describe.h"

static struct json_object *row(const struct control_host *host, const struct client_price_facts *f)
{
	struct json_object *o = json_object_new_object();
	char name[FACTS_CLIENT_NAME];

	if (!host->client_name(f->client, name))
		name[0] = '\0'; /* it has asked for nothing for long */
	describe_text(o, "client", name);
	describe_number(o, "client_number", f->client);
	if (f->of_export)
		describe_number(o, "export", f->export_id);
	describe_number(o, "weight", f->weight);
	describe_real(o, "use", f->use);
	describe_real(o, "entitled", f->entitled);
	describe_real(o, "ratio", f->ratio);
	describe_real(o, "write_price", f->write);
	describe_real(o, "readahead_price", f->readahead);
	return o;
}

void client_prices_describe(struct json_object *o, const struct control_host *host, unsigned int n)
{
	struct client_price_facts facts[FACTS_CLIENT_PRICES_MAX];
	unsigned int known = host->client_prices(n, facts, FACTS_CLIENT_PRICES_MAX);
	struct json_object *list;

	if (known == 0)
		return;
	list = describe_array(o, "clients");
	for (unsigned int i = 0; i < known && i < FACTS_CLIENT_PRICES_MAX; i++)
		json_object_array_add(list, row(host, &facts[i]));
	describe_number(o, "clients_total", known);
}
