/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Configuration: the global block RA { }, and the FSAL block of an export, whose nested FSAL block
 * names the FSAL below. The items are made from params.def; what the parser cannot check (names out
 * of a list, numbers that must agree) is checked here, with messages that name the right values.
 */
#include "ra_methods.h"

#include <net/if.h>
#include <string.h>
#include <strings.h>

#include "disk/residency.h"
#include "params.h"
#include "pricing/ghost_cache.h"
#include "readahead/heuristic.h"
#include "readahead/rules.h"
#include "sched/policy.h"
#include "config_clients.h"
#include "shares/shares.h"

/* Heuristics, rules or policies that a message lists. */
#define NAMES_MAX 16

struct ra_module_params ra_module_params;

/* The parser fills one of these; it reaches the export only when it is whole. */
struct export_args {
	struct ra_subfsal subfsal;
	struct ra_export_params params;
};

struct module_args {
	struct ra_module_params params;
	struct share_rules *rules; /* of its CLIENT blocks */
};

_Static_assert(sizeof(struct ra_subfsal) == sizeof(struct subfsal_args), "subfsal_commit's view");

static struct config_item subfsal_items[] = {
	CONF_ITEM_STR("name", 1, 10, NULL, ra_subfsal, name),
	CONFIG_EOL,
};

/* clang-format off */
#define EXPORT_EXPORT(...) __VA_ARGS__,
#define EXPORT_MODULE(...)
#define MODULE_MODULE(...) __VA_ARGS__,
#define MODULE_EXPORT(...)

static struct config_item export_items[] = {
	CONF_ITEM_NOOP("name"),
	CONF_RELAX_BLOCK("FSAL", subfsal_items, noop_conf_init, subfsal_commit, export_args,
			 subfsal),
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	EXPORT_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, def, export_args, params.field))
#define RA_NAME(scope, Name, field, def, help) \
	EXPORT_##scope(CONF_ITEM_STR(#Name, 1, 32, def, export_args, params.field))
#define RA_BOOL(scope, Name, field, def, help) \
	EXPORT_##scope(CONF_ITEM_BOOL(#Name, def, export_args, params.field))
#include "params.def"
	CONFIG_EOL,
};

/* The longest text is a socket's path. */
static struct config_item module_items[] = {
	RA_CONF_ITEM_BLOCKS("CLIENT", ra_client_items, ra_client_init, ra_client_commit, module_args,
			    rules),
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	MODULE_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, def, module_args, params.field))
#define RA_NAME(scope, Name, field, def, help) \
	MODULE_##scope(CONF_ITEM_STR(#Name, 0, 107, def, module_args, params.field))
#define RA_BOOL(scope, Name, field, def, help) \
	MODULE_##scope(CONF_ITEM_BOOL(#Name, def, module_args, params.field))
#include "params.def"
	CONFIG_EOL,
};

/* The numbers' ranges: checked here, since the parser's message names neither parameter nor range. */
struct number {
	const char *name, *unit;
	uint64_t min, max, preset;
	size_t at;
};

static const struct number export_numbers[] = {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	EXPORT_##scope({ #Name, unit, min, max, def, offsetof(struct ra_export_params, field) })
#include "params.def"
	{ 0 },
};

static const struct number module_numbers[] = {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	MODULE_##scope({ #Name, unit, min, max, def, offsetof(struct ra_module_params, field) })
#include "params.def"
	{ 0 },
};
/* clang-format on */

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.ra-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static struct config_block module_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.ra",
	.blk_desc.name = "RA",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_UNIQUE,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = module_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static const char *export_path(void)
{
	return op_ctx != NULL && op_ctx->ctx_fullpath != NULL ? CTX_FULLPATH(op_ctx) : "?";
}

/* NAMES end with NULL; capitals do not matter, as in the server's own blocks. */
static bool is_one_of(const char *value, const char *const *names)
{
	while (*names != NULL && strcasecmp(value, *names) != 0)
		names++;
	return *names != NULL;
}

/* Says that VALUE of the parameter NAME is none of NAMES, which end with NULL. */
static int wrong_name(const char *where, const char *name, const char *value,
		      const char *const *names)
{
	char list[256] = "";

	for (int i = 0; names[i] != NULL; i++) {
		size_t at = strlen(list);

		snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names[i]);
	}
	LogCrit(COMPONENT_CONFIG, "RA, %s: %s = %s is none of %s", where, name, value, list);
	return 1;
}

static int check_order(const char *where, const char *low_name, uint64_t low, const char *high_name,
		       uint64_t high)
{
	if (low <= high)
		return 0;
	LogCrit(COMPONENT_CONFIG, "RA, %s: %s = %" PRIu64 " is above %s = %" PRIu64, where,
		low_name, low, high_name, high);
	return 1;
}

/* A ceiling of 0 is none. */
static int check_floor(const char *where, const char *floor_name, uint64_t floor,
		       const char *ceiling_name, uint64_t ceiling)
{
	return ceiling == 0 ? 0 : check_order(where, floor_name, floor, ceiling_name, ceiling);
}

static int check_ranges(const char *where, const struct number *numbers, const void *params)
{
	int errors = 0;

	for (const struct number *n = numbers; n->name != NULL; n++) {
		uint64_t value = *(const uint64_t *)((const char *)params + n->at);

		if (value >= n->min && value <= n->max)
			continue;
		LogCrit(COMPONENT_CONFIG,
			"RA, %s: %s = %" PRIu64 " is out of range: %" PRIu64 " to %" PRIu64 " %s",
			where, n->name, value, n->min, n->max, n->unit);
		errors++;
	}
	return errors;
}

/* For who asks later what was in force: the numbers that are not at their defaults. */
static void log_numbers(const char *where, const struct number *numbers, const void *params)
{
	for (const struct number *n = numbers; n->name != NULL; n++) {
		uint64_t value = *(const uint64_t *)((const char *)params + n->at);

		if (value != n->preset)
			LogDebug(COMPONENT_CONFIG,
				 "RA, %s: %s = %" PRIu64 " %s (default %" PRIu64 ")", where,
				 n->name, value, n->unit, n->preset);
	}
}

/* clang-format off */
static void export_params_free(struct ra_export_params *p)
{
#define RA_NAME(scope, Name, field, def, help) \
	RA_FIELDS_EXPORT_##scope(gsh_free(p->field); p->field = NULL)
#include "params.def"
}

void ra_module_params_free(struct ra_module_params *p)
{
#define RA_NAME(scope, Name, field, def, help) \
	RA_FIELDS_MODULE_##scope(gsh_free(p->field); p->field = NULL)
#include "params.def"
}
/* clang-format on */

static int check_module(const struct ra_module_params *p)
{
	static const char *const meters[] = {"depth", "delay", NULL};
	const char *probes[NAMES_MAX + 1] = {NULL};
	const char *where = "block RA";
	int errors;

	log_numbers(where, module_numbers, p);
	errors = check_ranges(where, module_numbers, p) +
		 check_order(where, "Price_Sample", p->price_sample, "Price_Interval",
			     p->price_interval);

	for (int i = 0; i < NAMES_MAX; i++)
		probes[i] = residency_probe_nth(i);
	if (!is_one_of(p->residency_probe, probes))
		errors += wrong_name(where, "Residency_Probe", p->residency_probe, probes);
	if (!is_one_of(p->disk_meter, meters))
		errors += wrong_name(where, "Disk_Meter", p->disk_meter, meters);
	if (strlen(p->network_interface) >= IFNAMSIZ) {
		LogCrit(COMPONENT_CONFIG,
			"RA, %s: Network_Interface = %s is longer than the name of an interface "
			"can be: "
			"%d characters",
			where, p->network_interface, IFNAMSIZ - 1);
		errors++;
	}
	if (p->ghost_memory != 0 && p->ghost_memory < GHOST_MEMORY_MIN) {
		LogCrit(COMPONENT_CONFIG,
			"RA, %s: Ghost_Memory = %" PRIu64
			" is too small: 0 for none, or at least %d bytes",
			where, p->ghost_memory, GHOST_MEMORY_MIN);
		errors++;
	}
	return errors;
}

/* What can change on a running server. */
static void take_live(const struct ra_module_params *fresh)
{
	struct ra_module_params *live = &ra_module_params;

	live->readahead_memory = fresh->readahead_memory;
	live->descriptors_max = fresh->descriptors_max;
	live->descriptor_idle = fresh->descriptor_idle;
	live->drain_timeout = fresh->drain_timeout;
	live->full_threads = fresh->full_threads;
	live->price_sample = fresh->price_sample;
	live->price_memory = fresh->price_memory;
	live->k_cpu = fresh->k_cpu;
	live->k_network = fresh->k_network;
	live->k_disk = fresh->k_disk;
	live->k_memory = fresh->k_memory;
	/* the one that others look at here; the rest reaches them by ra_io_module_update() */
	__atomic_store_n(&live->price_interval, fresh->price_interval, __ATOMIC_RELAXED);
}

/* What was parsed, with ERRORS; takes all that ARGS owns. Returns the number of errors. */
static int take_module(struct module_args *args, int errors)
{
	char why[SHARES_WHY];

	if (errors != 0)
		LogCrit(COMPONENT_CONFIG, "RA: errors in the block RA { }: see the lines above");
	else
		errors = check_module(&args->params);
	if (errors == 0 && !shares_set_rules(share_rules_use(args->rules), why)) {
		LogCrit(COMPONENT_CONFIG, "RA, block RA: %s", why);
		errors++;
	}
	share_rules_drop(args->rules);
	if (errors == 0 && ra_module_params.residency_probe == NULL) {
		ra_module_params = args->params;
		return 0;
	}
	if (errors == 0)
		take_live(&args->params);
	ra_module_params_free(&args->params);
	return errors;
}

static bool module_args_init(struct module_args *args)
{
	memset(args, 0, sizeof(*args));
	args->rules = share_rules_new();
	return args->rules != NULL;
}

int ra_config_module(config_file_t config, struct config_error_type *err_type)
{
	struct module_args args;

	if (!module_args_init(&args))
		return 1;
	(void)load_config_from_parse(config, &module_block, &args, true, err_type);
	return take_module(&args, config_error_is_harmless(err_type) ? 0 : 1);
}

int ra_config_module_again(struct config_error_type *err_type)
{
	/* what is wrong with exports is not ours, nor theirs what is wrong here */
	struct config_error_type own = {.fp = err_type->fp};
	void *node = config_GetBlockNode("RA");
	struct module_args args;

	if (node == NULL || !module_args_init(&args))
		return node == NULL ? 0 : 1;
	(void)load_config_from_node(node, &module_block, &args, true, &own);
	return take_module(&args, config_error_is_harmless(&own) ? 0 : 1);
}

static int check_names(const char *where, const struct ra_export_params *p)
{
	static const char *const prices[] = {"auto", "true", "false", NULL};
	const char *names[NAMES_MAX + 1] = {NULL};
	const struct heuristic_ops *h;
	const struct readahead_rules *r;
	const struct sched_policy *s;
	int errors = 0;

	if (heuristic_find(p->heuristic) == NULL) {
		for (int i = 0; i < NAMES_MAX && (h = heuristic_nth(i)) != NULL; i++)
			names[i] = h->name;
		errors += wrong_name(where, "Heuristic", p->heuristic, names);
	}
	if (rules_find(p->rules) == NULL) {
		memset(names, 0, sizeof(names));
		for (int i = 0; i < NAMES_MAX && (r = rules_nth(i)) != NULL; i++)
			names[i] = r->name;
		errors += wrong_name(where, "Rules", p->rules, names);
	}
	if (sched_policy_find(p->scheduler) == NULL) {
		memset(names, 0, sizeof(names));
		for (int i = 0; i < NAMES_MAX && (s = sched_policy_nth(i)) != NULL; i++)
			names[i] = s->name;
		errors += wrong_name(where, "Scheduler", p->scheduler, names);
	}
	if (!is_one_of(p->fsstat_prices, prices))
		errors += wrong_name(where, "Fsstat_Prices", p->fsstat_prices, prices);
	return errors;
}

static int check_params(const struct ra_export_params *p)
{
	char where[256];

	snprintf(where, sizeof(where), "export of %s", export_path());
	log_numbers(where, export_numbers, p);
	return check_names(where, p) + check_ranges(where, export_numbers, p) +
	       check_order(where, "Chunk_Min", p->chunk_min, "Chunk_Max", p->chunk_max) +
	       check_order(where, "Window_Init", p->window_init, "Window_Max", p->window_max) +
	       check_order(where, "Seq_Threshold", p->seq_threshold, "Seq_Max", p->seq_max) +
	       check_floor(where, "Floor_Bandwidth", p->floor_bandwidth, "Ceiling_Bandwidth",
			   p->ceiling_bandwidth) +
	       check_floor(where, "Floor_Iops", p->floor_iops, "Ceiling_Iops", p->ceiling_iops) +
	       check_floor(where, "Floor_Time", p->floor_time, "Ceiling_Time", p->ceiling_time);
}

/* The parser has said which line is wrong; this says which export it costs, and what would help. */
static void no_subfsal(const char *name)
{
	if (name == NULL)
		LogCrit(COMPONENT_CONFIG,
			"RA, export of %s: no FSAL below: its FSAL block lacks FSAL { Name = VFS; "
			"}",
			export_path());
	else
		LogCrit(COMPONENT_CONFIG, "RA, export of %s: the FSAL below, %s, cannot be loaded",
			export_path(), name);
}

/* Parsing a valid block took a reference on the module below, and looking it up takes another. */
static void drop_subfsal(struct ra_subfsal *subfsal)
{
	struct fsal_module *module = NULL;

	if (subfsal->fsal_node != NULL)
		module = lookup_fsal(subfsal->name);
	if (module != NULL) {
		fsal_put(module);
		fsal_put(module);
	}
	gsh_free(subfsal->name);
}

int ra_config_export(void *parse_node, struct ra_subfsal *subfsal, struct export_settings *settings,
		     struct config_error_type *err_type)
{
	struct export_args args;
	int errors;

	memset(&args, 0, sizeof(args));
	errors = load_config_from_node(parse_node, &export_block, &args, true, err_type);
	if (args.subfsal.fsal_node == NULL) {
		no_subfsal(args.subfsal.name);
		errors = errors != 0 ? errors : 1;
	}
	if (errors == 0)
		errors = check_params(&args.params);
	if (errors == 0) {
		ra_settings_of(&args.params, settings);
		*subfsal = args.subfsal;
	} else {
		drop_subfsal(&args.subfsal);
	}
	export_params_free(&args.params);
	return errors;
}
