/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * DEVICE blocks: a path or a serial, and settings of the queue of the device that it stands for, with the names,
 * ranges and units of an export's. What a block does not say is as the exports say.
 */
#include "config_devices.h"

#include <string.h>

#include "config_gone.h"
#include "params_table.h"
#include "sched/policy.h"

#define UNSET UINT64_MAX

/* clang-format off */
#define IF_DEVICE(...) __VA_ARGS__
#define IF_EXPORT(...)
#define IF_MODULE(...)

enum {
#define RA_GONE(scope, Name, instead) IF_##scope(GONE_##Name,)
#include "params.def"
	GONE
};
/* clang-format on */

/* One block while it is parsed. */
struct device_args {
	char *path, *serial, *scheduler;
	uint64_t value[DEVICE_PARAMS];
	uint64_t gone[GONE];
};

/* clang-format off */
struct config_item ra_device_items[] = {
	CONF_ITEM_STR("Path", 1, 4095, NULL, device_args, path),
	CONF_ITEM_STR("Serial", 1, DEVICE_IDENTITY_MAX - 1, NULL, device_args, serial),
	CONF_ITEM_STR("Scheduler", 1, 32, NULL, device_args, scheduler),
#define VALUE(Name) CONF_ITEM_UI64(#Name, 0, UINT64_MAX, UNSET, device_args, value[DEVICE_##Name])
	VALUE(Queue_Depth), VALUE(Queue_Limit), VALUE(Queue_Bytes), VALUE(Stall_Time),
	VALUE(Max_Io), VALUE(Max_Wait), VALUE(Demand_Wait), VALUE(Seek_Share),
	VALUE(Chunk_Min), VALUE(Chunk_Max), VALUE(Prefetch_Max_Age),
	VALUE(Writeback_Share), VALUE(Writeback_Turn), VALUE(Writeback_Idle),
#define RA_GONE(scope, Name, instead) \
	IF_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, RA_GONE_UNSET, device_args, \
				  gone[GONE_##Name]),)
#include "params.def"
	CONFIG_EOL,
};
/* clang-format on */

void *ra_device_init(void *link, void *self)
{
	struct device_args *args = self;

	if (link == NULL)
		return self;
	if (args == NULL)
		return gsh_calloc(1, sizeof(*args));
	gsh_free(args->path);
	gsh_free(args->serial);
	gsh_free(args->scheduler);
	gsh_free(args);
	return NULL;
}

/* What the block calls its device, for messages. */
static const char *called(const struct device_args *args)
{
	return args->path != NULL ? args->path : args->serial;
}

/* The value of one number; false, after a line in the log: it is out of its range. */
static bool choose(const char *path, const struct parameter *p, uint64_t value,
		   struct device_choice *choice)
{
	enum device_param which = device_param_find(p->name);
	char why[PARAMETER_WHY];

	if (value == UNSET)
		return true;
	if (!parameter_in_range(p, value, why, sizeof(why))) {
		LogCrit(COMPONENT_CONFIG, "RA, DEVICE of %s: %s", path, why);
		return false;
	}
	device_choice_set(choice, which, value, NULL);
	return true;
}

static bool choose_scheduler(const struct device_args *args, struct device_choice *choice)
{
	const struct sched_policy *policy =
		args->scheduler != NULL ? sched_policy_find(args->scheduler) : NULL;
	char list[128] = "";

	if (args->scheduler == NULL)
		return true;
	if (policy != NULL) {
		device_choice_set(choice, DEVICE_Scheduler, 0, policy);
		return true;
	}
	for (unsigned int i = 0; (policy = sched_policy_nth(i)) != NULL; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 policy->name);
	LogCrit(COMPONENT_CONFIG, "RA, DEVICE of %s: Scheduler = %s is none of %s", called(args),
		args->scheduler, list);
	return false;
}

static bool choose_all(const struct device_args *args, struct device_choice *choice)
{
	bool good = choose_scheduler(args, choice);
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);

	for (unsigned int i = 0; i < n; i++)
		if (p[i].of == PARAMETER_OF_DEVICE && p[i].kind == PARAMETER_NUMBER)
			good = choose(called(args), &p[i],
				      args->value[device_param_find(p[i].name)], choice) &&
			       good;
	if (good && choice->set >> DEVICE_Chunk_Min & choice->set >> DEVICE_Chunk_Max & 1 &&
	    choice->value[DEVICE_Chunk_Min] > choice->value[DEVICE_Chunk_Max]) {
		LogCrit(COMPONENT_CONFIG, "RA, DEVICE of %s: Chunk_Min is above Chunk_Max",
			called(args));
		good = false;
	}
	return good;
}

/* clang-format off */
static void log_gone(const struct device_args *args)
{
	char where[256];

	snprintf(where, sizeof(where), "DEVICE of %s", called(args));
#define RA_GONE(scope, Name, instead) \
	IF_##scope(ra_config_gone(where, #Name, instead, args->gone[GONE_##Name]);)
#include "params.def"
}
/* clang-format on */

/* A path that is not there costs this block only: a disk may be away for a while. */
static bool add_block(struct device_blocks *blocks, const struct device_args *args)
{
	struct device_block b = {0};
	char why[PARAMETER_WHY];

	if ((args->path == NULL) == (args->serial == NULL)) {
		LogCrit(COMPONENT_CONFIG, "RA: a DEVICE block has either Path or Serial: %s",
			args->path != NULL ? args->path : "this one has neither");
		return false;
	}
	log_gone(args);
	if (!choose_all(args, &b.choice))
		return false;
	if (args->serial != NULL)
		snprintf(b.serial, sizeof(b.serial), "%s", args->serial);
	else if (!device_path(args->path, &b.dev, why, sizeof(why))) {
		LogWarn(COMPONENT_CONFIG, "RA, DEVICE: %s: the block stands for nothing now", why);
		return true;
	}
	if (blocks->n == DEVICE_BLOCKS_MAX) {
		LogCrit(COMPONENT_CONFIG,
			"RA, DEVICE of %s: there are %d DEVICE blocks before it: no more can be",
			called(args), DEVICE_BLOCKS_MAX);
		return false;
	}
	blocks->block[blocks->n++] = b;
	return true;
}

int ra_device_commit(void *node, void *link, void *self, struct config_error_type *err_type)
{
	(void)node;
	if (!add_block(link, self)) {
		err_type->invalid = true;
		err_type->errors++;
		return 1; /* the parser frees */
	}
	ra_device_init(link, self);
	return 0;
}
