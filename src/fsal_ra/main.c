/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The module RA: registration with the server, the global block, unloading.
 *
 * The file must be named libfsalra.so: the server derives the name from the FSAL's.
 */
#include "ceph_client.h"
#include "ra_methods.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <limits.h>

static const char ra_name[] = "RA";

/* What a sub-FSAL says counts: see export.c. These are the module's own, for completeness. */
static struct ra_module RA = {
	.module.fs_info =
		{
			.maxfilesize = INT64_MAX,
			.maxlink = _POSIX_LINK_MAX,
			.maxnamelen = NAME_MAX,
			.maxpathlen = PATH_MAX,
			.no_trunc = true,
			.chown_restricted = true,
			.case_preserving = true,
			.link_support = true,
			.symlink_support = true,
			.lock_support = true,
			.named_attr = true,
			.unique_handles = true,
			.acl_support = FSAL_ACLSUPPORT_ALLOW,
			.cansettime = true,
			.homogenous = true,
			.supported_attrs = ALL_ATTRIBUTES,
			.maxread = FSAL_MAXIOSIZE,
			.maxwrite = FSAL_MAXIOSIZE,
			.link_supports_permission_checks = true,
			.expire_time_parent = -1,
		},
};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* Once the block RA was read, with so many ERRORS; with the lock. */
static fsal_status_t start(struct fsal_module *module, int errors)
{
	int err;

	if (errors != 0)
		return fsalstat(ERR_FSAL_INVAL, 0);
	err = ra_io_module_start();
	if (err != 0) {
		LogCrit(COMPONENT_FSAL, "RA: cannot start: %s", strerror(err));
		return fsalstat(posix2fsal_error(err), err);
	}
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t init_config(struct fsal_module *module, config_file_t config,
				 struct config_error_type *err_type)
{
	fsal_status_t status;

	ceph_client_configure(config);
	pthread_mutex_lock(&starting);
	status = start(module, ra_config_module(config, err_type));
	pthread_mutex_unlock(&starting);
	return status;
}

/*
 * The core has the module started once, for the first export, and keeps it loaded where that failed: each further
 * export comes to a module that has not started. So each tries again, which serves it if the block RA was mended
 * meanwhile.
 */
static bool has_started(struct fsal_module *module, struct config_error_type *err_type)
{
	bool runs;

	pthread_mutex_lock(&starting);
	runs = ra_io_module_runs() ||
	       !FSAL_IS_ERROR(start(module, ra_config_module_late(err_type)));
	pthread_mutex_unlock(&starting);
	return runs;
}

static fsal_status_t create_export(struct fsal_module *module, void *parse_node,
				   struct config_error_type *err_type,
				   const struct fsal_up_vector *up_ops)
{
	if (has_started(module, err_type))
		return ra_create_export(module, parse_node, err_type, up_ops);
	LogCrit(COMPONENT_FSAL,
		"RA, export of %s: RA has not started, for what the lines above say: "
		"mend that, and send SIGHUP",
		op_ctx->ctx_fullpath != NULL ? CTX_FULLPATH(op_ctx) : "(no path)");
	return fsalstat(ERR_FSAL_INVAL, EINVAL);
}

#if RA_HAVE_DELEG_TRANSITION
/* orig is MDCACHE's export, and the FSAL that acts on it expects that one: only the vector is
 * below. */
static void handle_deleg_transition(struct fsal_export *orig, struct gsh_export *exp)
{
	struct fsal_export *below = orig->sub_export;

	while (below != NULL && below->fsal == &RA.module)
		below = below->sub_export;
	if (below != NULL)
		below->fsal->m_ops.handle_deleg_transition(orig, exp);
}
#endif

static int (*unload_by_core)(struct fsal_module *module);

/*
 * The core's unload closes this library, at the server's end, whose code stays all the same (-z nodelete): threads that
 * were left behind, at a directory, a name server or a cluster that hangs, may come back to it, and so does this.
 */
static int unload(struct fsal_module *module)
{
	ra_io_module_stop();
	return unload_by_core(module);
}

MODULE_INIT static void ra_load(void)
{
	struct fsal_module *module = &RA.module;

	if (register_fsal(module, ra_name, FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION,
			  FSAL_ID_NO_PNFS) != 0) {
		fprintf(stderr, "FSAL RA: the server refused to register it\n");
		return;
	}
	module->m_ops.init_config = init_config;
	unload_by_core = module->m_ops.unload;
	module->m_ops.unload = unload;
#if RA_HAVE_DELEG_TRANSITION
	module->m_ops.handle_deleg_transition = handle_deleg_transition;
#endif
	module->m_ops.create_export = create_export;
	module->m_ops.update_export = ra_update_export;
	fsal_default_obj_ops_init(&RA.handle_ops);
	ra_handle_ops_init(&RA.handle_ops);
	ra_file_ops_init(&RA.handle_ops);
	ra_xattr_ops_init(&RA.handle_ops);
}

/* At the process's end. The module has stopped, unless the server ends without unloading it. */
MODULE_FINI static void ra_unload(void)
{
	ra_io_module_stop();
	if (unregister_fsal(&RA.module) != 0)
		fprintf(stderr, "FSAL RA: still in use at unload\n");
}
