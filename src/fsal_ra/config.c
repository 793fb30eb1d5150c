/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Configuration: the FSAL block of an export, whose nested FSAL block names the FSAL below.
 */
#include "ra_methods.h"

#include <string.h>

/* The parser fills one of these; it reaches the export only when it is whole. */
struct export_args {
	struct ra_subfsal subfsal;
};

_Static_assert(sizeof(struct ra_subfsal) == sizeof(struct subfsal_args), "subfsal_commit's view");

static struct config_item subfsal_items[] = {
	CONF_ITEM_STR("name", 1, 10, NULL, ra_subfsal, name),
	CONFIG_EOL,
};

static struct config_item export_items[] = {
	CONF_ITEM_NOOP("name"),
	CONF_RELAX_BLOCK("FSAL", subfsal_items, noop_conf_init, subfsal_commit, export_args,
			 subfsal),
	CONFIG_EOL,
};

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.ra-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

int ra_config_module(config_file_t config, struct config_error_type *err_type)
{
	return 0;
}

/* The parser has said which line is wrong; this says which export it costs, and what would help. */
static void no_subfsal(const char *name)
{
	const char *path = op_ctx->ctx_fullpath != NULL ? CTX_FULLPATH(op_ctx) : "(no path)";

	if (name == NULL)
		LogCrit(COMPONENT_CONFIG,
			"RA, export of %s: its FSAL block lacks the FSAL below: FSAL { Name = VFS; }", path);
	else
		LogCrit(COMPONENT_CONFIG, "RA, export of %s: the FSAL below, %s, cannot be loaded", path,
			name);
}

/* Undoes subfsal_commit, which took a reference on the module: that one and lookup_fsal's go. */
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

int ra_config_export(void *parse_node, struct ra_export *exp, struct config_error_type *err_type)
{
	struct export_args args;
	int errors;

	memset(&args, 0, sizeof(args));
	errors = load_config_from_node(parse_node, &export_block, &args, true, err_type);
	if (args.subfsal.fsal_node == NULL) {
		no_subfsal(args.subfsal.name);
		errors = errors != 0 ? errors : 1;
	}
	if (errors != 0) {
		drop_subfsal(&args.subfsal);
		return errors;
	}
	exp->subfsal = args.subfsal;
	return 0;
}
