/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Handles: wrapping what the sub-FSAL finds, and the methods of names and attributes. Each one
 * calls the sub-FSAL's method on the sub-FSAL's handle; those that change a file's extent or its
 * links tell the data path afterwards.
 */
#include "common/clock.h"
#include "far_write.h"
#include "open_handle.h"
#include "own_answer.h"
#include "remote_io.h"
#include "rename.h"
#include "subcall.h"
#include "unanswered.h"
#include "walk.h"
#include "writeback/writeback.h"

#include <string.h>

#include "FSAL/fsal_localfs.h"

/* Wrapping */

/* Only files can have a descriptor of ours. */
static void init_slot(struct ra_handle *hdl)
{
	struct gsh_buffdesc key = {0};

	if (hdl->obj_handle.type == REGULAR_FILE)
		hdl->sub_handle->obj_ops->handle_to_key(hdl->sub_handle, &key);
	backing_slot_init(&hdl->slot, open_handle, key.addr, key.len);
	backing_slot_set_remote(&hdl->slot, remote_open);
}

static struct ra_handle *alloc_handle(struct ra_export *exp, struct fsal_obj_handle *sub)
{
	struct ra_handle *hdl = gsh_calloc(1, sizeof(*hdl));

	/* Before the module's list has it: ra_handles_close() looks at it there. */
	hdl->sub_handle = sub;
	hdl->far = remote_is_far(sub);
	hdl->made_under = exp->serial;
	ra_obj_handle_init(&hdl->obj_handle, &exp->export, sub->type);
	hdl->obj_handle.obj_ops = &ra_module_of(&exp->export)->handle_ops;
	hdl->obj_handle.fs = sub->fs;
	hdl->obj_handle.fsid = sub->fsid;
	hdl->obj_handle.fileid = sub->fileid;
	hdl->obj_handle.state_hdl = sub->state_hdl;
	hdl->cluster = remote_is_cluster(sub);
	init_slot(hdl);
	return hdl;
}

fsal_status_t ra_wrap(struct ra_export *exp, fsal_status_t status, struct fsal_obj_handle *sub,
		      struct fsal_obj_handle **handle)
{
	*handle = NULL;
	if (!FSAL_IS_ERROR(status) && sub != NULL)
		*handle = &alloc_handle(exp, sub)->obj_handle;
	return status;
}

/*
 * At shutdown the core walks each module's handles without an op_ctx, in no order that we could
 * know: the sub-FSAL's handle may be freed by then, or will be, by its own module's walk. FSAL_CEPH cannot
 * release one without a context: it is hidden from that walk, and goes with the process.
 */
static void release(struct fsal_obj_handle *obj_hdl)
{
	struct ra_handle *hdl = ra_handle_of(obj_hdl);

	if (op_ctx == NULL) /* a request that outlasted the drain has it still */
		(void)exports_abandon(DRAIN_LEAST);
	backing_slot_fini(&hdl->slot);
	if (hdl->unstable.written)
		far_write_forget(hdl);
	/* Out of the module's list first: ra_handles_close() finds it there. */
	ra_obj_handle_fini(&hdl->obj_handle);
	visit_leave(&hdl->closing);
	if (op_ctx != NULL && op_ctx->fsal_export != NULL)
		SUB_OBJ(obj_hdl, release);
	else if (hdl->far)
		remote_hide(hdl->sub_handle);
	gsh_free(hdl);
}

#if RA_MUST_CLOSE_FILES
/*
 * Whether HDL's file is to be closed when EXP goes. With the module's lock. FSAL_CEPH closes by the client of the export
 * in the context, which must be that by which it was opened.
 */
static bool goes_with(struct ra_handle *hdl, const struct ra_export *exp)
{
	if (hdl->obj_handle.type != REGULAR_FILE)
		return false;
	if (hdl->made_under == exp->serial) {
		hdl->made_under = 0;
		return true;
	}
	return hdl->made_under == 0 && !hdl->far &&
	       hdl->sub_handle->fsal == exp->export.sub_export->fsal;
}

static void find_closing(struct visit *v, const struct ra_export *exp)
{
	struct fsal_module *module = exp->export.fsal;
	struct glist_head *at;

	PTHREAD_RWLOCK_wrlock(&module->RA_MODULE_LOCK);
	glist_for_each(at, &module->handles)
	{
		struct fsal_obj_handle *obj = glist_entry(at, struct fsal_obj_handle, handles);

		if (goes_with(ra_handle_of(obj), exp))
			(void)visit_add(v, &ra_handle_of(obj)->closing);
	}
	PTHREAD_RWLOCK_unlock(&module->RA_MODULE_LOCK);
}

void ra_handles_close(struct ra_export *exp)
{
	uint64_t until = clock_now() + ra_io_drain_timeout();
	struct visited *x;
	struct visit v;
	size_t left;

	visit_begin(&v);
	find_closing(&v, exp);
	while (clock_now() < until && (x = visit_next(&v)) != NULL) {
		struct ra_handle *hdl = container_of(x, struct ra_handle, closing);

		own_answer_closed(hdl);
		(void)SUB_OBJ(&hdl->obj_handle, close);
	}
	left = visit_end(&v);
	if (left != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: export %u goes while the FSAL below has not closed %zu of its files",
			exp->export.export_id, left);
}
#else
void ra_handles_close(struct ra_export *exp)
{
	(void)exp;
}
#endif

static fsal_status_t merge(struct fsal_obj_handle *orig, struct fsal_obj_handle *dupe)
{
	walk_merge(ra_handle_of(orig), ra_handle_of(dupe));
	return SUB_OBJ(orig, merge, ra_sub_of(dupe));
}

/* Where handles come from */

fsal_status_t ra_lookup_path(struct fsal_export *exp_hdl, const char *path,
			     struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = SUB_EXP(exp_hdl, lookup_path, path, &sub, attrs_out);

	if (!FSAL_IS_ERROR(status) && sub->fs != NULL && sub->fs->path != NULL)
		ra_io_export_root(ra_export_of(exp_hdl), sub->fs->path);
	else if (!FSAL_IS_ERROR(status) && remote_export_root(ra_export_of(exp_hdl)))
		ra_io_module_update();
	return ra_wrap(ra_export_of(exp_hdl), status, sub, handle);
}

fsal_status_t ra_lookup_junction(struct fsal_export *exp_hdl, struct fsal_obj_handle *junction,
				 struct fsal_obj_handle **handle)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = SUB_EXP(exp_hdl, lookup_junction, ra_sub_of(junction), &sub);

	return ra_wrap(ra_export_of(exp_hdl), status, sub, handle);
}

fsal_status_t ra_create_handle(struct fsal_export *exp_hdl, struct gsh_buffdesc *fh_desc,
			       struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	uint64_t asked = clock_now();
	fsal_status_t status;
	unsigned int tries = 0;

	do
		status = SUB_EXP(exp_hdl, create_handle, fh_desc, &sub, attrs_out);
	while (unanswered_find(&status, &tries));
	status = ra_wrap(ra_export_of(exp_hdl), status, sub, handle);
	if (!FSAL_IS_ERROR(status))
		remote_shown(ra_handle_of(*handle), attrs_out, asked);
	return status;
}

static fsal_status_t lookup(struct fsal_obj_handle *dir_hdl, const char *name,
			    struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	uint64_t asked = remote_asked(ra_handle_of(dir_hdl));
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status;
	unsigned int tries = 0;

	do
		status = SUB_OBJ(dir_hdl, lookup, name, &sub, attrs_out);
	while (unanswered_find(&status, &tries));
	status = ra_wrap(ra_export_of_op(), status, sub, handle);
	if (!FSAL_IS_ERROR(status))
		remote_shown(ra_handle_of(*handle), attrs_out, asked);
	/* a child is not its parent's parent */
	if (!FSAL_IS_ERROR(status) && strcmp(name, ".") && strcmp(name, ".."))
		walk_found(walk_dir(dir_hdl), *handle);
	return status;
}

static fsal_status_t mkdir_(struct fsal_obj_handle *dir_hdl, const char *name,
			    struct fsal_attrlist *attrs_in, struct fsal_obj_handle **new_obj,
			    struct fsal_attrlist *attrs_out RA_DIR_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = SUB_OBJ(dir_hdl, mkdir, name, attrs_in, &sub, attrs_out RA_DIR_ARGS);

	status = ra_wrap(ra_export_of_op(), status, sub, new_obj);
	if (!FSAL_IS_ERROR(status))
		walk_found(walk_dir(dir_hdl), *new_obj);
	return status;
}

static fsal_status_t mknode(struct fsal_obj_handle *dir_hdl, const char *name,
			    object_file_type_t type, struct fsal_attrlist *attrs_in,
			    struct fsal_obj_handle **new_obj,
			    struct fsal_attrlist *attrs_out RA_DIR_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status =
		SUB_OBJ(dir_hdl, mknode, name, type, attrs_in, &sub, attrs_out RA_DIR_ARGS);

	return ra_wrap(ra_export_of_op(), status, sub, new_obj);
}

static fsal_status_t symlink_(struct fsal_obj_handle *dir_hdl, const char *name, const char *target,
			      struct fsal_attrlist *attrs_in, struct fsal_obj_handle **new_obj,
			      struct fsal_attrlist *attrs_out RA_DIR_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status =
		SUB_OBJ(dir_hdl, symlink, name, target, attrs_in, &sub, attrs_out RA_DIR_ARGS);

	return ra_wrap(ra_export_of_op(), status, sub, new_obj);
}

static fsal_status_t readlink_(struct fsal_obj_handle *obj_hdl, ra_link_content *content,
			       bool refresh)
{
	return SUB_OBJ(obj_hdl, readlink, content, refresh);
}

/* Directories */

/* What stands between the sub-FSAL's readdir and the caller's callback. */
struct readdir_call {
	struct ra_export *exp;
	fsal_readdir_cb cb;
	void *dir_state;
	uint64_t dir;	/* walk.h */
	uint64_t asked; /* remote_asked() */
};

static enum fsal_dir_result readdir_entry(const char *name, struct fsal_obj_handle *sub,
					  struct fsal_attrlist *attrs, void *dir_state,
					  fsal_cookie_t cookie)
{
	struct readdir_call *call = dir_state;
	struct fsal_obj_handle *obj = NULL;

	if (sub != NULL) {
		obj = &alloc_handle(call->exp, sub)->obj_handle;
		remote_shown(ra_handle_of(obj), attrs, call->asked);
	}
	walk_found(call->dir, obj);
	walk_lists_on(call->dir);
	return SUPERCALL(call->exp, call->cb(name, obj, attrs, call->dir_state, cookie));
}

static fsal_status_t readdir_(struct fsal_obj_handle *dir_hdl, fsal_cookie_t *whence,
			      void *dir_state, fsal_readdir_cb cb, attrmask_t attrmask, bool *eof)
{
	struct readdir_call call = {
		.exp = ra_export_of_op(),
		.cb = cb,
		.dir_state = dir_state,
		.dir = walk_dir(dir_hdl),
		.asked = remote_asked(ra_handle_of(dir_hdl)),
	};

	walk_list(call.dir, dir_hdl, whence);
	return SUB_OBJ(dir_hdl, readdir, whence, &call, readdir_entry, attrmask, eof);
}

static fsal_cookie_t compute_readdir_cookie(struct fsal_obj_handle *dir_hdl, const char *name)
{
	return SUB_OBJ(dir_hdl, compute_readdir_cookie, name);
}

static int dirent_cmp(struct fsal_obj_handle *dir_hdl, const char *name1, fsal_cookie_t cookie1,
		      const char *name2, fsal_cookie_t cookie2)
{
	return SUB_OBJ(dir_hdl, dirent_cmp, name1, cookie1, name2, cookie2);
}

static fsal_status_t link_(struct fsal_obj_handle *obj_hdl, struct fsal_obj_handle *dir_hdl,
			   const char *name RA_DIR_PARAMS)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, link, ra_sub_of(dir_hdl), name RA_DIR_ARGS));
}

/* Read-ahead in a removed file is of no use; one with other links is learnt anew. */
static void forget(struct ra_handle *hdl)
{
	if (hdl->slot.key_len != 0)
		readahead_forget(ra_export_of_op()->io->engine, hdl->slot.key, hdl->slot.key_len);
}

/*
 * Our own descriptor goes before the name does: Ganesha 4.3 does not close a file before it unlinks
 * it, and the space would stay pinned. A file with other links reopens at its next read.
 */
static fsal_status_t unlink_(struct fsal_obj_handle *dir_hdl, struct fsal_obj_handle *obj_hdl,
			     const char *name RA_DIR_PARAMS)
{
	struct backing_slot *slot = &ra_handle_of(obj_hdl)->slot;
	fsal_status_t status;

	backing_drop(slot);
	status = SUB_OBJ(dir_hdl, unlink, ra_sub_of(obj_hdl), name RA_DIR_ARGS);
	if (!FSAL_IS_ERROR(status)) {
		writeback_unlinked(slot);
		forget(ra_handle_of(obj_hdl));
	}
	return status;
}

/* Attributes */

static fsal_status_t test_access(struct fsal_obj_handle *obj_hdl, fsal_accessflags_t access_type,
				 fsal_accessflags_t *allowed, fsal_accessflags_t *denied,
				 bool owner_skip)
{
	return SUB_OBJ(obj_hdl, test_access, access_type, allowed, denied, owner_skip);
}

static fsal_status_t getattrs(struct fsal_obj_handle *obj_hdl, struct fsal_attrlist *attrs_out)
{
	uint64_t asked = remote_asked(ra_handle_of(obj_hdl));
	fsal_status_t status = SUB_OBJ(obj_hdl, getattrs, attrs_out);

	if (!FSAL_IS_ERROR(status))
		remote_shown(ra_handle_of(obj_hdl), attrs_out, asked);
	return status;
}

static fsal_status_t setattr2(struct fsal_obj_handle *obj_hdl, bool bypass, struct state_t *state,
			      struct fsal_attrlist *attrs)
{
	/* The sub-FSAL may clear bits of the mask while it works through them. */
	bool resize = (attrs->valid_mask & ATTR_SIZE) != 0;
	struct backing_slot *slot = &ra_handle_of(obj_hdl)->slot;
	fsal_status_t status;

	if (resize)
		backing_change_begins(slot, 0, UINT64_MAX);
	status = ra_changed(obj_hdl, SUB_OBJ(obj_hdl, setattr2, bypass, state, attrs));
	if (resize) /* it may have been cut off before the error came */
		backing_change_ends(slot, 0, UINT64_MAX);
	return status;
}

static bool is_referral(struct fsal_obj_handle *obj_hdl, struct fsal_attrlist *attrs,
			bool cache_attrs)
{
	return SUB_OBJ(obj_hdl, is_referral, attrs, cache_attrs);
}

/* Handles on the wire and in the cache */

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *obj_hdl,
				    fsal_digesttype_t output_type, struct gsh_buffdesc *fh_desc)
{
	return SUB_OBJ(obj_hdl, handle_to_wire, output_type, fh_desc);
}

static void handle_to_key(struct fsal_obj_handle *obj_hdl, struct gsh_buffdesc *fh_desc)
{
	SUB_OBJ(obj_hdl, handle_to_key, fh_desc);
}

static bool handle_cmp(struct fsal_obj_handle *obj_hdl1, struct fsal_obj_handle *obj_hdl2)
{
	return SUB_OBJ(obj_hdl1, handle_cmp, ra_sub_of(obj_hdl2));
}

/* Parallel NFS */

static nfsstat4 layoutget(struct fsal_obj_handle *obj_hdl, XDR *loc_body,
			  const struct fsal_layoutget_arg *arg, struct fsal_layoutget_res *res)
{
	return SUB_OBJ(obj_hdl, layoutget, loc_body, arg, res);
}

static nfsstat4 layoutreturn(struct fsal_obj_handle *obj_hdl, XDR *lrf_body,
			     const struct fsal_layoutreturn_arg *arg)
{
	return SUB_OBJ(obj_hdl, layoutreturn, lrf_body, arg);
}

static nfsstat4 layoutcommit(struct fsal_obj_handle *obj_hdl, XDR *lou_body,
			     const struct fsal_layoutcommit_arg *arg,
			     struct fsal_layoutcommit_res *res)
{
	return SUB_OBJ(obj_hdl, layoutcommit, lou_body, arg, res);
}

/*
 * get_ref and put_ref stay the defaults (MDCACHE counts references). close_func and reopen_func
 * (API 13) too: the core calls them for a fsal_fd, and every fsal_fd is the sub-FSAL's.
 */
void ra_handle_ops_init(struct fsal_obj_ops *ops)
{
	ops->release = release;
	ops->merge = merge;
	ops->lookup = lookup;
	ops->readdir = readdir_;
	ops->compute_readdir_cookie = compute_readdir_cookie;
	ops->dirent_cmp = dirent_cmp;
	ops->mkdir = mkdir_;
	ops->mknode = mknode;
	ops->symlink = symlink_;
	ops->readlink = readlink_;
	ops->test_access = test_access;
	ops->getattrs = getattrs;
	ops->setattr2 = setattr2;
	ops->link = link_;
	ops->rename = ra_rename;
	ops->unlink = unlink_;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->handle_cmp = handle_cmp;
	ops->is_referral = is_referral;
	ops->layoutget = layoutget;
	ops->layoutreturn = layoutreturn;
	ops->layoutcommit = layoutcommit;
}
