/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A plugin made up of numbers, for tests of the control channel's commands. */
#ifndef UNIT_FAKE_HOST_H
#define UNIT_FAKE_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "control/facts.h"

#define FAKE_FLOWS 300

static struct {
	const char *plugin_file; /* NULL: "loaded" */
	uint64_t now;
	unsigned int devices, exports;
	struct device_facts device[2];
	struct device_price_facts price[2];
	struct client_price_facts client_price[3];
	unsigned int client_prices; /* how many the first device has, also beyond 3 */
	struct flow_stats flow[2][FAKE_FLOWS];
	struct rule_facts rule[2];
	struct export_share share; /* none where its export is 0 */
	unsigned int flows[2];	   /* how many a device has, also beyond FAKE_FLOWS */
	struct export_facts export[2];
	uint64_t counted[READAHEAD_COUNTERS];
	struct writing_facts writing;
	struct file_facts file[2];
	unsigned int files;
	struct readahead_cursor_look cursor; /* the one that each file has */
	unsigned int logged;
	bool no_memory, held;
	bool is_set[8], file_is_newer; /* of the parameters; Table_Size in the file is */
	uint64_t number[8];
} world;

static uint64_t now(void)
{
	return world.now;
}

static bool device(unsigned int n, struct device_facts *f)
{
	if (n >= world.devices)
		return false;
	*f = world.device[n];
	return true;
}

static bool device_prices(unsigned int n, struct device_price_facts *f)
{
	*f = world.price[n];
	return true;
}

static unsigned int client_prices(unsigned int n, struct client_price_facts *f, unsigned int max)
{
	if (n != 0)
		return 0;
	for (unsigned int i = 0; i < world.client_prices && i < max; i++)
		f[i] = world.client_price[i % 3];
	return world.client_prices;
}

static unsigned int flows(unsigned int n, struct flow_stats *f, unsigned int max)
{
	for (unsigned int i = 0; i < max && i < world.flows[n] && i < FAKE_FLOWS; i++)
		f[i] = world.flow[n][i];
	return world.flows[n];
}

static void client_totals(unsigned int n, struct client_total *t, size_t count)
{
	for (unsigned int i = 0; i < world.flows[n] && i < FAKE_FLOWS; i++) {
		const struct flow_stats *f = &world.flow[n][i];

		for (size_t k = 0; k < count; k++) {
			if (k > 0 && t[k].client <= t[k - 1].client)
				abort(); /* they are not in order */
			if (t[k].client != f->id.client)
				continue;
			t[k].disk_time += f->disk_time[0];
			t[k].read += f->bytes[0] + f->bytes[1];
			t[k].written += f->bytes[2];
		}
	}
}

/* Clients up to 999 are 10.0.x.y; those above it are forgotten. */
static bool client_name(uint64_t client, char name[FACTS_CLIENT_NAME])
{
	snprintf(name, FACTS_CLIENT_NAME, "10.0.%u.%u", (unsigned int)client / 100,
		 (unsigned int)client % 100);
	return client < 1000;
}

static unsigned int rules(struct rule_facts *f)
{
	memcpy(f, world.rule, sizeof(world.rule));
	return 2;
}

static unsigned int export_shares(struct export_share *f)
{
	f[0] = world.share;
	return world.share.export_id != 0;
}

/* Only the Weight of 10.1.2.3 and of export 7 can be changed. */
static bool set_share(const char *client, uint16_t export_id, const char *key, uint64_t value,
		      char *why, size_t size)
{
	if (strcmp(key, "Weight") != 0 ||
	    (client ? strcmp(client, "10.1.2.3") != 0 : export_id != 7)) {
		snprintf(why, size, "%s of %s cannot be", key, client ? client : "that export");
		return false;
	}
	if (client != NULL)
		world.rule[1].share.weight = (uint32_t)value;
	else
		world.share = (struct export_share){7, {.weight = (uint32_t)value}};
	return true;
}

static unsigned int exports(struct export_facts *f, unsigned int max)
{
	for (unsigned int i = 0; i < world.exports && i < max; i++)
		f[i] = world.export[i % 2]; /* there may be more of the two */
	return world.exports;
}

static void counters(uint64_t counted[READAHEAD_COUNTERS])
{
	memcpy(counted, world.counted, sizeof(world.counted));
}

static void engine(struct engine_facts *f)
{
	*f = (struct engine_facts){.descriptors = 12, .kept = 65536, .readahead = {.unread = 4096}};
}

static void writing(struct writing_facts *f)
{
	*f = world.writing;
}

static unsigned int files(struct file_facts *f, unsigned int max)
{
	for (unsigned int i = 0; i < world.files && i < max; i++)
		f[i] = world.file[i];
	return world.files;
}

static uint64_t file_name(uint64_t dev, uint64_t inode)
{
	return inode + 1000 * dev;
}

static int cursors(uint64_t file, struct file_facts *f, struct readahead_cursor_look *c,
		   unsigned int max)
{
	for (unsigned int i = 0; i < world.files; i++)
		if (world.file[i].look.file == file) {
			*f = world.file[i];
			c[0] = world.cursor;
			return max > 0;
		}
	return -1;
}

static void price_k(double k[PRICE_RESOURCES])
{
	for (int r = 0; r < PRICE_RESOURCES; r++)
		k[r] = 10 * (r + 1);
}

static uint64_t price_interval(void)
{
	return 1000;
}

/* Of each kind of owner one, and one that cannot change live. */
static const struct parameter fake_parameters[] = {
	{.name = "Scheduler",
	 .kind = PARAMETER_NAME,
	 .of = PARAMETER_OF_DEVICE,
	 .unit = "",
	 .live = true,
	 .preset_name = "turns"},
	{.name = "Heuristic",
	 .kind = PARAMETER_NAME,
	 .of = PARAMETER_OF_EXPORT,
	 .unit = "",
	 .live = true,
	 .preset_name = "cursor"},
	{.name = "Max_Wait",
	 .kind = PARAMETER_NUMBER,
	 .of = PARAMETER_OF_DEVICE,
	 .class = PARAMETER_ADMIN,
	 .unit = "ms",
	 .live = true,
	 .min = 10,
	 .max = 600000,
	 .preset = 2000},
	{.name = "Writeback",
	 .kind = PARAMETER_FLAG,
	 .of = PARAMETER_OF_EXPORT,
	 .unit = "",
	 .live = true,
	 .preset = 1},
	{.name = "Price_Memory",
	 .kind = PARAMETER_NUMBER,
	 .of = PARAMETER_OF_SERVER,
	 .unit = "s",
	 .live = true,
	 .min = 1,
	 .max = 86400,
	 .preset = 60},
	{.name = "Table_Size",
	 .kind = PARAMETER_NUMBER,
	 .of = PARAMETER_OF_SERVER,
	 .unit = "files",
	 .min = 1,
	 .max = 4194304,
	 .preset = 65536},
};

static const struct parameter *parameters(unsigned int *n)
{
	*n = sizeof(fake_parameters) / sizeof(fake_parameters[0]);
	return fake_parameters;
}

/* Numbers and flags are world.number's; names those of the device or export. */
static bool get_parameter(const struct parameter *p, const struct parameter_target *t,
			  struct parameter_value *now_, struct parameter_value *file)
{
	parameter_default(p, file);
	*now_ = *file;
	if (p->kind != PARAMETER_NAME) {
		if (world.is_set[p - fake_parameters])
			now_->number = world.number[p - fake_parameters];
		file->number += (uint64_t)(p - fake_parameters == 5 && world.file_is_newer);
	} else if (p->of == PARAMETER_OF_DEVICE) {
		snprintf(now_->name, sizeof(now_->name), "%s",
			 world.device[t->device].queue.policy->name);
	} else {
		for (unsigned int i = 0; i < world.exports; i++)
			if (world.export[i].id == t->export_id)
				snprintf(now_->name, sizeof(now_->name), "%s",
					 world.export[i].heuristic);
	}
	return true;
}

static bool set_parameter(const struct parameter *p, const struct parameter_target *t,
			  const struct parameter_value *v, char *why, size_t size)
{
	if (world.no_memory) {
		snprintf(why, size, "out of memory");
		return false;
	}
	if (p->kind != PARAMETER_NAME) {
		world.is_set[p - fake_parameters] = true;
		world.number[p - fake_parameters] = v->number;
	} else if (p->of == PARAMETER_OF_DEVICE) {
		world.device[t->device].queue.policy = sched_policy_find(v->name);
	} else {
		for (unsigned int i = 0; i < world.exports; i++)
			if (world.export[i].id == t->export_id)
				world.export[i].heuristic = heuristic_find(v->name)->name;
	}
	return true;
}

static const char *plugin_file(void)
{
	return world.plugin_file != NULL ? world.plugin_file : "loaded";
}

static const struct control_host host = {
	.ganesha_api = "11.0",
	.plugin_file = plugin_file,
	.now = now,
	.device = device,
	.device_prices = device_prices,
	.client_prices = client_prices,
	.flows = flows,
	.client_totals = client_totals,
	.client_name = client_name,
	.rules = rules,
	.export_shares = export_shares,
	.set_share = set_share,
	.exports = exports,
	.counters = counters,
	.engine = engine,
	.writing = writing,
	.files = files,
	.file_name = file_name,
	.cursors = cursors,
	.price_k = price_k,
	.price_interval = price_interval,
	.parameters = parameters,
	.get_parameter = get_parameter,
	.set_parameter = set_parameter,
};

/* Two devices and two exports, at 1000 s. */
static void fake_host_reset(void)
{
	memset(&world, 0, sizeof(world));
	world.now = 1000 * CLOCK_SECOND;
	world.devices = world.exports = 2;
	world.rule[0].share.weight = 100;
	world.rule[1] = (struct rule_facts){
		.clients = "10.1.2.3",
		.by_operator = true,
		.share = {.weight = 200, .floor.time = 5, .ceiling.bandwidth = 40000000}};
	for (unsigned int i = 0; i < 2; i++) {
		world.device[i] = (struct device_facts){
			.major = 4095, /* nothing has it */
			.minor = i,
			.rotating = true,
			.queue = {.policy = sched_policy_find("turns"), .depth = 1}};
		world.price[i].age = UINT64_MAX;
		world.export[i] = (struct export_facts){
			.id = (uint16_t)(7 + i), .heuristic = "cursor", .fsstat = "no FSSTAT yet"};
	}
}

#endif
