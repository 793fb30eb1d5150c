/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The export: creation on top of the sub-FSAL's export, reconfiguration, and its methods, which all
 * answer what the sub-FSAL answers. FSSTAT passes through a hook of the data path.
 */
#include "ceph_client.h"
#include "remote_io.h"
#include "subcall.h"

#include <string.h>
#include <errno.h>

static const char *export_path(void)
{
	return op_ctx->ctx_fullpath != NULL ? CTX_FULLPATH(op_ctx) : "(no path)";
}

/* Life */

static void release(struct fsal_export *exp_hdl)
{
	struct ra_export *exp = ra_export_of(exp_hdl);
	struct fsal_export *sub = exp_hdl->sub_export;
	struct fsal_module *sub_module = sub->fsal;

	/*
	 * At shutdown requests may be left, which need their handles. Else they hold references on
	 * the export: with the last one none is left, and it may have been given back on a thread
	 * that prefetches still need.
	 */
	if (op_ctx == NULL) {
		ra_io_export_drain(exp);
		(void)exports_abandon(DRAIN_LEAST);
	}
	ra_io_export_release(exp);
	remote_export_gone(exp);
	if (op_ctx != NULL)
		SUBCALL(exp, sub->exp_ops.release(sub));
	else
		sub->exp_ops.release(sub);
	/* The reference that subfsal_commit took when the export was created. */
	fsal_put(sub_module);
	free_export_ops(exp_hdl);
	gsh_free(exp->user_below);
	gsh_free(exp);
}

static void prepare_unexport(struct fsal_export *exp_hdl)
{
	ra_io_export_drain(ra_export_of(exp_hdl));
	ra_handles_close(ra_export_of(exp_hdl));
	SUB_EXP(exp_hdl, prepare_unexport);
}

static void unexport(struct fsal_export *exp_hdl, struct fsal_obj_handle *root_obj)
{
	ra_io_export_drain(ra_export_of(exp_hdl));
	SUB_EXP(exp_hdl, unexport, root_obj != NULL ? ra_sub_of(root_obj) : NULL);
}

static void unmount(struct fsal_export *exp_hdl, struct fsal_obj_handle *junction)
{
	SUB_EXP(exp_hdl, unmount, junction != NULL ? ra_sub_of(junction) : NULL);
}

/* Handles on the wire and in the cache */

static fsal_status_t wire_to_host(struct fsal_export *exp_hdl, fsal_digesttype_t in_type,
				  struct gsh_buffdesc *fh_desc, int flags)
{
	return SUB_EXP(exp_hdl, wire_to_host, in_type, fh_desc, flags);
}

static fsal_status_t host_to_key(struct fsal_export *exp_hdl, struct gsh_buffdesc *fh_desc)
{
	return SUB_EXP(exp_hdl, host_to_key, fh_desc);
}

/* What the file system can do */

static fsal_status_t get_fs_dynamic_info(struct fsal_export *exp_hdl,
					 struct fsal_obj_handle *obj_hdl,
					 fsal_dynamicfsinfo_t *info)
{
	fsal_status_t status;

	status = SUB_EXP(exp_hdl, get_fs_dynamic_info, ra_sub_of(obj_hdl), info);
	if (!FSAL_IS_ERROR(status))
		ra_io_fsstat(ra_export_of(exp_hdl), info);
	return status;
}

static bool fs_supports(struct fsal_export *exp_hdl, fsal_fsinfo_options_t option)
{
	return SUB_EXP(exp_hdl, fs_supports, option);
}

static uint64_t fs_maxfilesize(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxfilesize);
}

static uint32_t fs_maxread(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxread);
}

static uint32_t fs_maxwrite(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxwrite);
}

static uint32_t fs_maxlink(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxlink);
}

static uint32_t fs_maxnamelen(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxnamelen);
}

static uint32_t fs_maxpathlen(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maxpathlen);
}

static fsal_aclsupp_t fs_acl_support(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_acl_support);
}

static attrmask_t fs_supported_attrs(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_supported_attrs);
}

static uint32_t fs_umask(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_umask);
}

static int32_t fs_expiretimeparent(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_expiretimeparent);
}

#if RA_HAVE_READDIR_MODE
static enum fsal_readdir_mode fs_readdir_mode(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_readdir_mode);
}
#endif

static void get_write_verifier(struct fsal_export *exp_hdl, struct gsh_buffdesc *verf_desc)
{
	SUB_EXP(exp_hdl, get_write_verifier, verf_desc);
}

static bool is_superuser(struct fsal_export *exp_hdl, const struct user_cred *creds)
{
	return SUB_EXP(exp_hdl, is_superuser, creds);
}

/* Quota */

static fsal_status_t check_quota(struct fsal_export *exp_hdl, const char *path, int type)
{
	return SUB_EXP(exp_hdl, check_quota, path, type);
}

static fsal_status_t get_quota(struct fsal_export *exp_hdl, const char *path, int type, int id,
			       fsal_quota_t *quota)
{
	return SUB_EXP(exp_hdl, get_quota, path, type, id, quota);
}

static fsal_status_t set_quota(struct fsal_export *exp_hdl, const char *path, int type, int id,
			       fsal_quota_t *quota, fsal_quota_t *result)
{
	return SUB_EXP(exp_hdl, set_quota, path, type, id, quota, result);
}

/* Parallel NFS */

static nfsstat4 getdevicelist(struct fsal_export *exp_hdl, layouttype4 type, void *opaque,
			      bool (*cb)(void *opaque, const uint64_t id),
			      struct fsal_getdevicelist_res *res)
{
	return SUB_EXP(exp_hdl, getdevicelist, type, opaque, cb, res);
}

static void fs_layouttypes(struct fsal_export *exp_hdl, int32_t *count, const layouttype4 **types)
{
	SUB_EXP(exp_hdl, fs_layouttypes, count, types);
}

static uint32_t fs_layout_blocksize(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_layout_blocksize);
}

static uint32_t fs_maximum_segments(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_maximum_segments);
}

static size_t fs_loc_body_size(struct fsal_export *exp_hdl)
{
	return SUB_EXP(exp_hdl, fs_loc_body_size);
}

/* NFSv4 state: made of the sub-FSAL's size, so that it finds its descriptor in it */

static struct state_t *alloc_state(struct fsal_export *exp_hdl, enum state_type type,
				   struct state_t *related)
{
	return SUB_EXP(exp_hdl, alloc_state, type, related);
}

#if RA_HAVE_FREE_STATE
static void free_state(struct fsal_export *exp_hdl, struct state_t *state)
{
	SUB_EXP(exp_hdl, free_state, state);
}
#endif

/* get_name stays the default: the server shows it as the FSAL's name, and that is ours. */
static void export_ops_init(struct export_ops *ops)
{
	ops->release = release;
	ops->prepare_unexport = prepare_unexport;
	ops->unexport = unexport;
	ops->unmount = unmount;
	ops->lookup_path = ra_lookup_path;
	ops->lookup_junction = ra_lookup_junction;
	ops->create_handle = ra_create_handle;
	ops->wire_to_host = wire_to_host;
	ops->host_to_key = host_to_key;
	ops->get_fs_dynamic_info = get_fs_dynamic_info;
	ops->fs_supports = fs_supports;
	ops->fs_maxfilesize = fs_maxfilesize;
	ops->fs_maxread = fs_maxread;
	ops->fs_maxwrite = fs_maxwrite;
	ops->fs_maxlink = fs_maxlink;
	ops->fs_maxnamelen = fs_maxnamelen;
	ops->fs_maxpathlen = fs_maxpathlen;
	ops->fs_acl_support = fs_acl_support;
	ops->fs_supported_attrs = fs_supported_attrs;
	ops->fs_umask = fs_umask;
	ops->fs_expiretimeparent = fs_expiretimeparent;
#if RA_HAVE_READDIR_MODE
	ops->fs_readdir_mode = fs_readdir_mode;
#endif
	ops->get_write_verifier = get_write_verifier;
	ops->is_superuser = is_superuser;
	ops->check_quota = check_quota;
	ops->get_quota = get_quota;
	ops->set_quota = set_quota;
	ops->getdevicelist = getdevicelist;
	ops->fs_layouttypes = fs_layouttypes;
	ops->fs_layout_blocksize = fs_layout_blocksize;
	ops->fs_maximum_segments = fs_maximum_segments;
	ops->fs_loc_body_size = fs_loc_body_size;
	ops->alloc_state = alloc_state;
#if RA_HAVE_FREE_STATE
	ops->free_state = free_state;
#endif
}

/* Creation */

/*
 * The module of the sub-FSAL, with the one reference that subfsal_commit took while the block was
 * parsed: lookup_fsal takes a second, which goes back at once.
 */
static struct fsal_module *sub_module_of(struct ra_export *exp)
{
	struct fsal_module *module = lookup_fsal(exp->subfsal.name);

	if (module == NULL) {
		LogCrit(COMPONENT_FSAL, "RA, export of %s: the FSAL %s below is not loaded",
			export_path(), exp->subfsal.name);
		return NULL;
	}
	fsal_put(module);
	return module;
}

static void forget_parsed(struct ra_export *exp)
{
	ra_export_params_drop(&exp->params);
	gsh_free(exp->subfsal.name);
	memset(&exp->subfsal, 0, sizeof(exp->subfsal));
}

/* Leaves the sub-FSAL's export in op_ctx->fsal_export, as create_export does. */
static fsal_status_t create_sub_export(struct ra_export *exp, struct fsal_module *sub_module,
				       struct config_error_type *err_type,
				       const struct fsal_up_vector *up_ops)
{
	fsal_status_t status;

	status = sub_module->m_ops.create_export(sub_module, exp->subfsal.fsal_node, err_type,
						 up_ops);
	if (FSAL_IS_ERROR(status))
		LogCrit(COMPONENT_FSAL, "RA, export of %s: the FSAL %s below cannot export it: %s",
			export_path(), sub_module->name, msg_fsal_err(status.major));
	return status;
}

static void release_sub_export(struct ra_export *exp, struct fsal_module *sub_module)
{
	struct fsal_export *sub = exp->export.sub_export;

	SUBCALL(exp, sub->exp_ops.release(sub));
	fsal_put(sub_module);
}

static int start_io(struct ra_export *exp)
{
	int err = ra_io_export_start(exp);

	if (err != 0)
		LogCrit(COMPONENT_FSAL, "RA, export of %s: cannot start: %s", export_path(),
			strerror(err));
	else
		ra_reload_export_new(exp->export.export_id);
	return err;
}

static struct ra_export *new_export(void)
{
	static _Atomic uint64_t serials;
	struct ra_export *exp = gsh_calloc(1, sizeof(*exp));

	exp->serial = atomic_fetch_add(&serials, 1) + 1;
	return exp;
}

fsal_status_t ra_create_export(struct fsal_module *module, void *parse_node,
			       struct config_error_type *err_type,
			       const struct fsal_up_vector *up_ops)
{
	struct fsal_export *saved = op_ctx->fsal_export;
	struct ra_export *exp = new_export();
	struct fsal_module *sub_module = NULL;
	fsal_status_t status = fsalstat(ERR_FSAL_INVAL, EINVAL);
	int err;

	if (ra_config_export(parse_node, &exp->subfsal, &exp->params, err_type) == 0)
		sub_module = sub_module_of(exp);
	if (sub_module == NULL)
		goto err_free;

	status = create_sub_export(exp, sub_module, err_type, up_ops);
	if (FSAL_IS_ERROR(status)) {
		fsal_put(sub_module);
		goto err_free;
	}
	fsal_export_stack(op_ctx->fsal_export, &exp->export);
	fsal_export_init(&exp->export);
	export_ops_init(&exp->export.exp_ops);
	exp->export.up_ops = up_ops;
	exp->export.fsal = module;
	exp->user_below = ceph_client_user(exp->subfsal.fsal_node);

	err = start_io(exp);
	if (err != 0) {
		status = posix2fsal_status(err);
		release_sub_export(exp, sub_module);
		goto err_free;
	}
	forget_parsed(exp);
	op_ctx->fsal_export = &exp->export;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);

err_free:
	op_ctx->fsal_export = saved;
	forget_parsed(exp);
	gsh_free(exp->user_below);
	gsh_free(exp);
	return status;
}

static fsal_status_t update_below(struct ra_export *exp, struct fsal_module *sub_module,
				  struct config_error_type *err_type)
{
	fsal_status_t status;

	status = sub_module->m_ops.update_export(sub_module, exp->subfsal.fsal_node, err_type,
						 exp->export.sub_export, exp->export.fsal);
	if (FSAL_IS_ERROR(status))
		LogCrit(COMPONENT_FSAL, "RA, export of %s: the FSAL %s below refuses the update",
			export_path(), sub_module->name);
	return status;
}

/*
 * What is refused, by whom ever, changes nothing of ours: so those come last, and can fail then only as memory is missing, or
 * another export took the last share.
 */
static fsal_status_t update_both(struct ra_export *exp, struct fsal_module *sub_module,
				 struct config_error_type *err_type)
{
	fsal_status_t status;
	int err;

	if (!ra_io_export_may(exp))
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	status = update_below(exp, sub_module, err_type);
	if (FSAL_IS_ERROR(status))
		return status;
	err = ra_io_export_update(exp);
	return err != 0 ? posix2fsal_status(err) : status;
}

/*
 * SIGHUP. The core first asks whether the stack is still the same one; only then may the parameters
 * change. Parsing takes a reference on the sub-FSAL's module that nobody here keeps.
 */
fsal_status_t ra_update_export(struct fsal_module *module, void *parse_node,
			       struct config_error_type *err_type, struct fsal_export *original,
			       struct fsal_module *updated_super)
{
	struct ra_export *exp = ra_export_of(original);
	struct fsal_module *sub_module;
	fsal_status_t status;

	ra_reload_export_update(original->export_id, err_type);
	status = update_export(module, parse_node, err_type, original, updated_super);
	if (FSAL_IS_ERROR(status))
		return status;
	if (ra_config_export(parse_node, &exp->subfsal, &exp->params, err_type) != 0)
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	sub_module = sub_module_of(exp);
	if (sub_module == NULL) {
		forget_parsed(exp);
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	}
	status = update_both(exp, sub_module, err_type);
	fsal_put(sub_module);
	forget_parsed(exp);
	return status;
}
