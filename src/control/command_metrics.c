/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Counters never go back here: no reset of `stats` is seen. See command_metrics.h. */
#include "control/command_metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "control/command_clients.h"
#include "control/describe.h"
#include "pricing/ledger.h"

#define EXPORTS_MAX 512 /* listed, in an answer of 1 MiB */
static const struct control_host *host;
static uint64_t started; /* ns */

/* Counts by power of two of us, up to the last that is not 0. */
static void describe_buckets(struct json_object *o, const char *name, const uint64_t *count, int n)
{
	struct json_object *list = describe_array(o, name);

	while (n > 0 && count[n - 1] == 0)
		n--;
	for (int b = 0; b < n; b++)
		json_object_array_add(list, json_object_new_uint64(count[b]));
}

static void describe_use(struct json_object *o, const struct client_total *t)
{
	describe_number(o, "disk_time_us", t->disk_time / 1000);
	describe_number(o, "read_bytes", t->read);
	describe_number(o, "written_bytes", t->written);
	describe_number(o, "requests", t->requests);
	describe_number(o, "refused", t->refused);
}

static int by_client(const void *a, const void *b)
{
	const struct client_price_facts *x = a, *y = b;

	return (x->client > y->client) - (x->client < y->client);
}

static int by_use(const void *a, const void *b)
{
	const struct client_price_facts *x = a, *y = b;

	return x->use != y->use ? (x->use < y->use) - (x->use > y->use) : by_client(a, b);
}

/*
 * A client has a standing on each export with a share of its own, and one for all others. Of the N standings each client
 * once, with what it used of all: those that used most come first. Returns how many they are.
 */
static unsigned int each_once(struct client_price_facts *f, unsigned int n)
{
	unsigned int clients = 0;

	qsort(f, n, sizeof(*f), by_client);
	for (unsigned int i = 0; i < n; i++)
		if (clients > 0 && f[clients - 1].client == f[i].client)
			f[clients - 1].use += f[i].use;
		else
			f[clients++] = f[i];
	qsort(f, clients, sizeof(*f), by_use);
	return clients;
}

static void describe_largest(struct json_object *o, const struct client_price_facts *f,
			     unsigned int n)
{
	char name[FACTS_CLIENT_NAME];

	describe_number(o, "clients_total", n);
	if (n == 0 || !host->client_name(f[0].client, name))
		return;
	describe_text(o, "largest_client", name);
	describe_real(o, "largest_share", f[0].use);
}

/* Of the N the first MOST clients that are known by address: they come first. Returns how many. */
static unsigned int choose(struct client_price_facts *f, unsigned int n, unsigned int most)
{
	char name[FACTS_CLIENT_NAME];
	unsigned int chosen = 0;

	for (unsigned int i = 0; i < n && chosen < most; i++)
		if (host->client_name(f[i].client, name))
			f[chosen++] = f[i];
	return chosen;
}

/* What each of the N had of the device in all, on whatever exports: not only of its flows lately used, or it would go back. */
static void add_up(unsigned int device, const struct client_price_facts *f, unsigned int n,
		   struct client_total *totals)
{
	for (unsigned int i = 0; i < n; i++)
		totals[i] = (struct client_total){.client = f[i].client};
	qsort(totals, n, sizeof(*totals), client_total_order);
	host->client_totals(device, totals, n);
}

static void describe_client(struct json_object *list, const struct client_price_facts *f,
			    const struct client_total *totals, unsigned int n)
{
	const struct client_total key = {.client = f->client};
	struct json_object *c;
	char name[FACTS_CLIENT_NAME];

	if (!host->client_name(f->client, name)) /* not any more */
		return;
	c = json_object_new_object();
	describe_text(c, "client", name);
	describe_real(c, "share", f->use);
	describe_use(c, bsearch(&key, totals, n, sizeof(*totals), client_total_order));
	json_object_array_add(list, c);
}

/* Those of the N that used the device most lately, MOST at most: no more than FACTS_CLIENT_PRICES_MAX. */
static void describe_clients(struct json_object *o, unsigned int device,
			     struct client_price_facts *f, unsigned int n, unsigned int most)
{
	struct client_total totals[FACTS_CLIENT_PRICES_MAX];
	struct json_object *list = describe_array(o, "clients");

	n = choose(f, n, most);
	add_up(device, f, n, totals);
	for (unsigned int i = 0; i < n; i++)
		describe_client(list, &f[i], totals, n);
}

/* Who used the device: nothing, where there is no memory to look at all of them. */
static void describe_users(struct json_object *o, unsigned int device, unsigned int most)
{
	struct client_price_facts *f = calloc(LEDGER_ENTRIES, sizeof(*f));
	unsigned int n;

	if (f == NULL)
		return;
	n = host->client_prices(device, f, LEDGER_ENTRIES);
	n = each_once(f, n < LEDGER_ENTRIES ? n : LEDGER_ENTRIES);
	describe_largest(o, f, n);
	if (most != 0)
		describe_clients(o, device, f, n, most);
	free(f);
}

static struct json_object *describe_one_device(unsigned int n, const struct device_facts *f,
					       unsigned int clients)
{
	const struct sched_stats *s = &f->queue.counted;
	struct json_object *o = json_object_new_object();

	describe_device_stats(o, f);
	describe_device_state(o, &f->queue);
	describe_buckets(o, "waits", s->waits, SCHED_WAIT_BUCKETS);
	describe_number(o, "waited_us", s->waited / 1000);
	describe_busy(o, f);
	describe_price_of(o, host, n);
	describe_users(o, n, clients);
	return o;
}

/* The Nth of F, MOST in all, still closes and another has its number by now: one series for each number. */
static bool is_replaced(const struct export_facts *f, unsigned int most, unsigned int n)
{
	for (unsigned int i = 0; i < most && f[n].closing; i++)
		if (f[i].id == f[n].id && (!f[i].closing || i < n))
			return true;
	return false;
}

static void describe_all_exports(struct json_object *answer)
{
	struct json_object *list = describe_array(answer, "exports"), *o;
	struct export_facts *f = calloc(EXPORTS_MAX, sizeof(*f));
	unsigned int n = f != NULL ? host->exports(f, EXPORTS_MAX) : 0;
	unsigned int most = n < EXPORTS_MAX ? n : EXPORTS_MAX;

	for (unsigned int i = 0; i < most; i++) {
		if (is_replaced(f, most, i))
			continue;
		o = json_object_new_object();
		describe_export(o, &f[i]);
		json_object_array_add(list, o);
	}
	free(f);
	describe_number(answer, "exports_total", n);
}

static struct json_object *add_object(struct json_object *o, const char *name)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(o, name, object);
	return object;
}

void command_metrics(struct control_call *call)
{
	int64_t clients = control_number(call, "clients");
	struct writing_facts writing;
	struct engine_facts engine;
	struct device_facts f = {0};
	struct json_object *list, *o;

	if (clients > FACTS_CLIENT_PRICES_MAX) {
		control_refuse(call, "clients = %" PRId64 " is out of range: 0 to %d", clients,
			       FACTS_CLIENT_PRICES_MAX);
		return;
	}

	describe_text(call->answer, "version", control_version());
	describe_number(call->answer, "uptime_s", (host->now() - started) / CLOCK_SECOND);
	describe_all_exports(call->answer);
	host->engine(&engine);
	describe_engine(add_object(call->answer, "engine"), &engine);
	host->writing(&writing);
	o = add_object(call->answer, "writing");
	describe_writing(o, &writing);
	describe_buckets(o, "commit_waits", writing.commit_waits, FACTS_WAIT_BUCKETS);
	describe_number(o, "commit_waited_us", writing.commit_waited / 1000);
	list = describe_array(call->answer, "devices");
	for (unsigned int i = 0; i < FACTS_DEVICES_MAX && host->device(i, &f); i++)
		json_object_array_add(
			list, describe_one_device(i, &f, clients > 0 ? (unsigned int)clients : 0));
}

void command_metrics_start(const struct control_host *h)
{
	host = h;
	started = host_started(h);
}
