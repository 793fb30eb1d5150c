/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Files: opening, closing, locks, space. Reads are in read.c, writes in write.c.
 */
#include <errno.h>

#include "common/clock.h"
#include "disk/backing_slot.h"
#include "far_write.h"
#include "fs_dev.h"
#include "own_answer.h"
#include "remote_io.h"
#include "request_flow.h"
#include "timed_out.h"
#include "walk.h"
#include "writeback/commit.h"

static fsal_status_t close_(struct fsal_obj_handle *obj_hdl)
{
	own_answer_closed(ra_handle_of(obj_hdl));
	backing_drop(&ra_handle_of(obj_hdl)->slot);
	return SUB_OBJ(obj_hdl, close);
}

/*
 * HDL's file may have been. Where it was opened BY_NAME, which the core does not know, HDL is new, and the core drops it
 * for the handle that it has of the file: what that one keeps of a cluster's file goes too.
 */
static void cut_off(struct ra_handle *hdl, bool by_name)
{
	backing_invalidate(&hdl->slot, 0, UINT64_MAX);
	if (by_name && hdl->sub_handle->fs == NULL)
		backing_drop_others(&hdl->slot);
}

/* With a name obj_hdl is the directory, and the file comes back in new_obj. */
static fsal_status_t open2(struct fsal_obj_handle *obj_hdl, struct state_t *state,
			   fsal_openflags_t openflags, enum fsal_create_mode createmode,
			   const char *name, struct fsal_attrlist *attrs_in,
			   fsal_verifier_t verifier, struct fsal_obj_handle **new_obj,
			   struct fsal_attrlist *attrs_out, bool *caller_perm_check RA_DIR_PARAMS)
{
	bool truncate = (openflags & FSAL_O_TRUNC) != 0 ||
			(attrs_in != NULL && (attrs_in->valid_mask & ATTR_SIZE) != 0);
	struct fsal_obj_handle *sub = NULL;
	struct fsal_obj_handle *opened = obj_hdl;
	uint64_t asked = remote_asked(ra_handle_of(obj_hdl));
	fsal_status_t status;

	if (truncate && name == NULL)
		backing_invalidate(&ra_handle_of(obj_hdl)->slot, 0, UINT64_MAX);
	status = SUB_OBJ(obj_hdl, open2, state, openflags, createmode, name, attrs_in, verifier,
			 &sub, attrs_out, caller_perm_check RA_DIR_ARGS);
	if (!FSAL_IS_ERROR(status) && sub != NULL) {
		ra_wrap(ra_export_of_op(), status, sub, new_obj);
		opened = *new_obj;
		if (name != NULL)
			walk_found(walk_dir(obj_hdl), opened);
	}
	if (truncate) /* also before an error came; of one with a name that failed we have no handle */
		cut_off(ra_handle_of(opened), opened != obj_hdl);
	if (!FSAL_IS_ERROR(status))
		remote_shown(ra_handle_of(opened), attrs_out, asked);
	return status;
}

static bool check_verifier(struct fsal_obj_handle *obj_hdl, fsal_verifier_t verifier)
{
	return SUB_OBJ(obj_hdl, check_verifier, verifier);
}

static fsal_openflags_t status2(struct fsal_obj_handle *obj_hdl, struct state_t *state)
{
	return SUB_OBJ(obj_hdl, status2, state);
}

static fsal_status_t reopen2(struct fsal_obj_handle *obj_hdl, struct state_t *state,
			     fsal_openflags_t openflags)
{
	bool truncate = (openflags & FSAL_O_TRUNC) != 0;
	struct backing_slot *slot = &ra_handle_of(obj_hdl)->slot;
	fsal_status_t status;

	if (truncate)
		backing_invalidate(slot, 0, UINT64_MAX);
	status = SUB_OBJ(obj_hdl, reopen2, state, openflags);
	if (truncate)
		backing_invalidate(slot, 0, UINT64_MAX);
	return status;
}

static fsal_status_t close2(struct fsal_obj_handle *obj_hdl, struct state_t *state)
{
	return SUB_OBJ(obj_hdl, close2, state);
}

static fsal_status_t seek2(struct fsal_obj_handle *obj_hdl, struct state_t *state,
			   struct io_info *info)
{
	return SUB_OBJ(obj_hdl, seek2, state, info);
}

static fsal_status_t io_advise2(struct fsal_obj_handle *obj_hdl, struct state_t *state,
				struct io_hints *hints)
{
	return SUB_OBJ(obj_hdl, io_advise2, state, hints);
}

/* The sub-FSAL's part of a COMMIT, and what it said. */
struct commit_call {
	struct fsal_obj_handle *obj_hdl;
	off_t offset;
	size_t len;
	fsal_status_t status;
	int err; /* STATUS, as writeback_commit() was told it; 0: there was none */
};

static int fsync_below(void *arg)
{
	struct commit_call *call = arg;

	fsal_status_t status = ra_handle_of(call->obj_hdl)->cluster
				       ? far_commit(call->obj_hdl, call->offset, call->len)
				       : SUB_OBJ(call->obj_hdl, commit2, call->offset, call->len);

	if (!FSAL_IS_ERROR(status))
		return 0;
	/* It has not tried: it has no descriptor to spare. Its minor may be anything, also 0. */
	if (status.major == ERR_FSAL_DELAY && !status_timed_out(status))
		return EAGAIN;
	if (call->err)
		return call->err; /* the first one is told */
	call->status = status_told(status);
	call->err = status.minor ? status.minor : EIO;
	return call->err;
}

/*
 * FSAL_VFS opens whatever a COMMIT names: a FIFO would keep the server's thread for good, and a device do whatever
 * it does when it is opened. Anybody who may make such nodes may ask for it.
 */
static bool harms_when_opened(const struct fsal_obj_handle *obj_hdl)
{
	return obj_hdl->type == FIFO_FILE || obj_hdl->type == CHARACTER_FILE ||
	       obj_hdl->type == BLOCK_FILE;
}

static fsal_status_t commit2(struct fsal_obj_handle *obj_hdl, off_t offset, size_t len)
{
	const struct fsal_filesystem *fs = ra_handle_of(obj_hdl)->sub_handle->fs;
	struct commit_call call = {.obj_hdl = obj_hdl, .offset = offset, .len = len};
	struct writeback_settings s;
	struct commit c = {.slot = &ra_handle_of(obj_hdl)->slot,
			   .inode = obj_hdl->fileid,
			   .offset = (uint64_t)offset,
			   .len = len,
			   .flow = ra_flow_of_op(clock_now()),
			   .fsync_below = fsync_below,
			   .arg = &call};
	int err;

	if (harms_when_opened(obj_hdl))
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	export_io_writeback(ra_export_of_op()->io, &s);
	if (fs != NULL)
		c.device = backing_last_device(ra_export_of_op()->io, fs_dev(fs));
	c.wait = s.commit_wait;
	c.part = s.commit_part;
	c.little = device_shares_differ() ? 0 : COMMIT_LITTLE; /* by turns it is charged */
	err = writeback_commit(&c);
	if (!err)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	/* In the FSAL's own words, if it is the FSAL's. */
	if (err == call.err)
		return call.status;
	/* Not known yet, or nobody has tried: the client asks again. */
	if (err == EAGAIN)
		return fsalstat(ERR_FSAL_DELAY, err);
	return status_told(fsalstat(posix2fsal_error(err), err));
}

static fsal_status_t lock_op2(struct fsal_obj_handle *obj_hdl, struct state_t *state, void *owner,
			      fsal_lock_op_t lock_op, fsal_lock_param_t *request,
			      fsal_lock_param_t *conflict)
{
	struct ra_handle *hdl = ra_handle_of(obj_hdl);
	fsal_status_t status = SUB_OBJ(obj_hdl, lock_op2, state, owner, lock_op, request, conflict);

	/* Who has a lock reads what others wrote before he had it. */
	if (!FSAL_IS_ERROR(status) && lock_op == FSAL_OP_LOCK && remote_keeps(hdl))
		backing_invalidate(&hdl->slot, 0, UINT64_MAX);
	return status;
}

static fsal_status_t lease_op2(struct fsal_obj_handle *obj_hdl, struct state_t *state, void *owner,
			       fsal_deleg_t deleg)
{
	return SUB_OBJ(obj_hdl, lease_op2, state, owner, deleg);
}

static fsal_status_t fallocate_(struct fsal_obj_handle *obj_hdl, struct state_t *state,
				uint64_t offset, uint64_t length, bool allocate)
{
	struct backing_slot *slot = &ra_handle_of(obj_hdl)->slot;
	fsal_status_t status;

	backing_change_begins(slot, offset, length);
	status = SUB_OBJ(obj_hdl, fallocate, state, offset, length, allocate);
	/* An error may have come after a part of it. */
	backing_change_ends(slot, offset, length);
	return status;
}

#if RA_HAVE_CONTROL_AND_COPY
/* What it does is the FSAL's affair (keys of fscrypt); stock FSALs have none. */
static fsal_status_t control(struct fsal_obj_handle *obj_hdl, int operation, void *data)
{
	return SUB_OBJ(obj_hdl, control, operation, data);
}
#endif

void ra_file_ops_init(struct fsal_obj_ops *ops)
{
	ops->close = close_;
	ops->open2 = open2;
	ops->check_verifier = check_verifier;
	ops->status2 = status2;
	ops->reopen2 = reopen2;
	ops->close2 = close2;
	ops->read2 = ra_read2;
	ops->write2 = ra_write2;
	ops->seek2 = seek2;
	ops->io_advise2 = io_advise2;
	ops->commit2 = commit2;
	ops->lock_op2 = lock_op2;
	ops->lease_op2 = lease_op2;
	ops->fallocate = fallocate_;
#if RA_HAVE_CONTROL_AND_COPY
	ops->control = control;
	ops->copy_file_range = ra_copy_file_range;
#endif
}
