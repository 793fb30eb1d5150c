/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Configuration: the global block RA { }, and the FSAL block of an export, whose nested FSAL block
 * names the FSAL below. The items are made from params.def; what the parser cannot check params_check.c
 * does.
 */
#include "ra_methods.h"

#include <string.h>

#include "config_block.h"
#include "config_clients.h"
#include "config_devices.h"
#include "config_gone.h"
#include "live_params.h"
#include "shares/shares.h"

/* What was a parameter before, in the order of params.def. */
enum {
#define RA_GONE(scope, Name, instead) GONE_##scope##_##Name,
#include "params.def"
	GONE
};

/* The parser fills one of these; it reaches the export only when it is whole. */
struct export_args {
	struct ra_subfsal subfsal;
	struct ra_export_params params;
	uint64_t gone[GONE];
};

struct module_args {
	struct ra_module_params params;
	struct share_rules *rules; /* of its CLIENT blocks */
	struct device_blocks devices;
	uint64_t gone[GONE];
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
#define EXPORT_DEVICE(...)
#define MODULE_DEVICE(...)

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
#define RA_GONE(scope, Name, instead) \
	EXPORT_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, RA_GONE_UNSET, export_args, \
				      gone[GONE_##scope##_##Name]))
#include "params.def"
	CONFIG_EOL,
};

/* The longest text is a socket's path. */
static struct config_item module_items[] = {
	RA_CONF_ITEM_BLOCKS("CLIENT", ra_client_items, ra_client_init, ra_client_commit, module_args,
			    rules),
	RA_CONF_ITEM_BLOCKS("DEVICE", ra_device_items, ra_device_init, ra_device_commit, module_args,
			    devices),
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	MODULE_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, def, module_args, params.field))
#define RA_NAME(scope, Name, field, def, help) \
	MODULE_##scope(CONF_ITEM_STR(#Name, 0, 107, def, module_args, params.field))
#define RA_BOOL(scope, Name, field, def, help) \
	MODULE_##scope(CONF_ITEM_BOOL(#Name, def, module_args, params.field))
#define RA_GONE(scope, Name, instead) \
	MODULE_##scope(CONF_ITEM_UI64(#Name, 0, UINT64_MAX, RA_GONE_UNSET, module_args, \
				      gone[GONE_##scope##_##Name]))
#include "params.def"
	CONFIG_EOL,
};

/* clang-format on */

static struct config_block export_block =
	RA_CONFIG_BLOCK("org.ganesha.nfsd.config.fsal.ra-export%d", "FSAL", export_items, 0);

static struct config_block module_block =
	RA_CONFIG_BLOCK("org.ganesha.nfsd.config.fsal.ra", "RA", module_items, CONFIG_UNIQUE);

static const char *export_path(void)
{
	return op_ctx != NULL && op_ctx->ctx_fullpath != NULL ? CTX_FULLPATH(op_ctx) : "?";
}

/* For who asks later what was in force: the numbers that are not at their defaults. */
static void log_numbers(const char *where, const void *params, bool of_server)
{
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);
	struct parameter_value v;

	for (unsigned int i = 0; i < n; i++) {
		if (p[i].kind != PARAMETER_NUMBER || (p[i].of == PARAMETER_OF_SERVER) != of_server)
			continue;
		ra_params_get(&p[i], params, &v);
		if (v.number != p[i].preset)
			LogDebug(COMPONENT_CONFIG,
				 "RA, %s: %s = %" PRIu64 " %s (default %" PRIu64 ")", where,
				 p[i].name, v.number, p[i].unit, p[i].preset);
	}
}

/* clang-format off */
static void log_gone_of_server(const struct module_args *args)
{
#define RA_GONE(scope, Name, instead) \
	MODULE_##scope(ra_config_gone("block RA", #Name, instead, args->gone[GONE_##scope##_##Name]))
#include "params.def"
	(void)0;
}

static void log_gone_of_export(const char *where, const struct export_args *args)
{
#define RA_GONE(scope, Name, instead) \
	EXPORT_##scope(ra_config_gone(where, #Name, instead, args->gone[GONE_##scope##_##Name]))
#include "params.def"
	(void)0;
}
/* clang-format on */

static void log_wrong(void *where, const char *line)
{
	LogCrit(COMPONENT_CONFIG, "RA, %s: %s", (const char *)where, line);
}

static int check_module(const struct ra_module_params *p)
{
	static char where[] = "block RA";

	log_numbers(where, p, true);
	return ra_params_check_module(p, log_wrong, where);
}

/* What was parsed, with ERRORS; takes all that ARGS owns. Returns the number of errors. */
static int take_module(struct module_args *args, int errors)
{
	char why[SHARES_WHY];

	log_gone_of_server(args);
	if (errors != 0)
		LogCrit(COMPONENT_CONFIG, "RA: errors in the block RA { }: see the lines above");
	else
		errors = check_module(&args->params);
	if (errors == 0 && !shares_set_rules(share_rules_use(args->rules), why)) {
		LogCrit(COMPONENT_CONFIG, "RA, block RA: %s", why);
		errors++;
	}
	share_rules_drop(args->rules);
	if (errors == 0) {
		device_params_configure(args->devices.block, args->devices.n);
		errors = live_params_server(&args->params) ? 0 : 1;
	}
	ra_module_params_drop(&args->params);
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

static bool take_defaults(struct ra_module_params *params)
{
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);
	struct parameter_value v;

	for (unsigned int i = 0; i < n; i++) {
		parameter_default(&p[i], &v);
		if (p[i].of == PARAMETER_OF_SERVER && !ra_params_put(&p[i], params, &v))
			return false;
	}
	return true;
}

int ra_config_module_late(struct config_error_type *err_type)
{
	struct module_args args;

	if (config_GetBlockNode("RA") != NULL)
		return ra_config_module_again(err_type);
	if (!module_args_init(&args))
		return 1;
	for (unsigned int i = 0; i < GONE; i++)
		args.gone[i] = RA_GONE_UNSET;
	return take_module(&args, take_defaults(&args.params) ? 0 : 1);
}

static int check_params(const struct export_args *args)
{
	char where[256];

	snprintf(where, sizeof(where), "export of %s", export_path());
	log_gone_of_export(where, args);
	log_numbers(where, &args->params, false);
	return ra_params_check_export(&args->params, log_wrong, where);
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

int ra_config_export(void *parse_node, struct ra_subfsal *subfsal, struct ra_export_params *params,
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
		errors = check_params(&args);
	if (errors == 0) {
		*params = args.params;
		*subfsal = args.subfsal;
	} else {
		drop_subfsal(&args.subfsal);
		ra_export_params_drop(&args.params);
	}
	return errors;
}
