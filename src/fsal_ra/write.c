/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data path of a client's write.
 *
 *   WRITE -> the sub-FSAL puts it into the page cache; write-back is told, and the reply may be held
 *            back a little while too much is dirty (writeback/pacer.h)
 *         -> of a cluster: into its client's memory, or the cluster's; the same while too much was not
 *            made stable, and one WRITE makes the file's stable first (far_write.h)
 *   COPY  -> the sub-FSAL copies; what it changed is treated as a WRITE, without delay
 */
#include <errno.h>

#include "call.h"
#include "common/clock.h"
#include "common/container.h"
#include "disk/backing_slot.h"
#include "far_write.h"
#include "fs_dev.h"
#include "request_flow.h"
#include "resume.h"
#include "writeback/writeback.h"

/* Answers a write whose reply has been held back. */
static void answer(struct paced *p)
{
	struct call *call = CONTAINER_OF(p, struct call, paced);
	struct req_op_context ctx;
	struct export_io *io = call_resume(call, &ctx);

	if (io == NULL)
		return;
	call_done(NULL, call->status, call->write_arg, call);
	call_resumed(io);
}

/* Holds the reply of CALL back for DELAY ns; false: it is to be answered now. */
static bool hold(struct call *call, fsal_status_t status, uint64_t delay)
{
	if (!call_park(call))
		return false;
	call->status = status;
	call->paced.elsewhere = ra_handle_of(call->obj_hdl)->cluster;
	if (pacer_hold(&call->paced, call_length(call->write_arg), delay, answer))
		return true;
	call_unpark(call);
	return false;
}

/* With op_ctx: AMOUNT bytes at OFFSET of HDL are in the page cache. S: the settings; true: remembered as dirty. */
static bool dirtied(struct ra_handle *hdl, struct export_io *io, uint64_t offset, uint64_t amount,
		    struct writeback_settings *s)
{
	const struct fsal_filesystem *fs = hdl->sub_handle->fs;

	export_io_writeback(io, s);
	/* where there is no local file system, writing out is the FSAL's affair */
	return s->on && fs != NULL && !backing_write_spared(io, fs_dev(fs)) &&
	       writeback_wrote(&hdl->slot, io, s, ra_flow_of_op(clock_now()), offset, amount);
}

/* CALL's write has succeeded: its ranges are dirty. For how long (ns) to hold back the reply. */
static uint64_t account(struct call *call)
{
	struct ra_handle *hdl = ra_handle_of(call->obj_hdl);
	struct fsal_io_arg *arg = call->write_arg;
	struct writeback_settings s;

	if (call->stable)
		return 0;
	if (hdl->cluster) {
		export_io_writeback(call->exp->io, &s);
		return far_wrote(call->obj_hdl, arg->io_amount, &s);
	}
	if (!dirtied(hdl, call->exp->io, arg->offset, arg->io_amount, &s))
		return 0;
	return pacer_delay((uint64_t)(uintptr_t)op_ctx->client, arg->io_amount, s.reply_delay_max);
}

/*
 * FSAL_VFS from 5.9 on puts the error of its fsync where nobody looks: a stable write then succeeds
 * and says that it was not stable, and the kernel tells of the error no second time.
 */
static bool lost_its_error(const struct call *call, fsal_status_t status)
{
	return call->stable && !FSAL_IS_ERROR(status) && !call->write_arg->fsal_stable;
}

/* The data of a write is in the page cache, or on the disk if it was to be stable. */
static void written(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
		    void *caller_data)
{
	struct call *call = caller_data;
	uint64_t delay = 0;

	/* All of it: an error may have come after a part. As often as ra_write2() has asked. */
	backing_change_ends(&ra_handle_of(call->obj_hdl)->slot, call->write_arg->offset,
			    call_length(call->write_arg));
	if (resume_wanted(call, call->write_arg, &status))
		return;
	if (lost_its_error(call, status))
		status = fsalstat(ERR_FSAL_IO, EIO);
	if (!FSAL_IS_ERROR(status) && call->began != 0)
		export_io_wrote(call->exp->io, call->write_arg->io_amount, call->stable,
				clock_now() - call->began);
	if (!FSAL_IS_ERROR(status))
		delay = SUPERCALL(call->exp, account(call));
	if (!delay || !hold(call, status, delay))
		call_done(sub, status, obj_data, caller_data);
}

/* To a cluster: what was written before may have to be made stable first. */
static void first(struct fsal_obj_handle *obj_hdl, const struct fsal_io_arg *arg)
{
	struct writeback_settings s;

	if (arg->fsal_stable || !ra_handle_of(obj_hdl)->cluster)
		return;
	export_io_writeback(ra_export_of_op()->io, &s);
	far_write_first(obj_hdl, &s);
}

static struct call *new_write(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb,
			      struct fsal_io_arg *write_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	call->write_arg = write_arg;
	call->stable = write_arg->fsal_stable;
	call->began = ra_sub_of(obj_hdl)->fs != NULL ? 0 : clock_now();
	return call;
}

void ra_write2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *write_arg, void *caller_arg)
{
	struct call *call = NULL;

	if (ra_io_wants_resume(write_arg))
		call = resume_taken(obj_hdl, write_arg, done_cb, caller_arg);
	else
		first(obj_hdl, write_arg);
	if (call == NULL)
		call = new_write(obj_hdl, done_cb, write_arg, caller_arg);
	backing_change_begins(&ra_handle_of(obj_hdl)->slot, write_arg->offset,
			      call_length(write_arg));
	SUB_OBJ(obj_hdl, write2, bypass, written, write_arg, call);
}

#if RA_HAVE_CONTROL_AND_COPY
/*
 * With op_ctx of the source's export. MDCACHE asks us for two handles of ours, which may stand on FSALs
 * that know nothing of each other: a client that is told EXDEV reads and writes by itself.
 * The copy may have been made stable: then it is dirty here until write-back finds nothing to do.
 */
fsal_status_t ra_copy_file_range(struct fsal_obj_handle *src_hdl, struct state_t *src_state,
				 struct fsal_obj_handle *dst_hdl, struct state_t *dst_state,
				 uint64_t src_offset, uint64_t dst_offset, uint64_t count,
				 uint64_t *copied)
{
	struct ra_handle *dst = ra_handle_of(dst_hdl);
	struct writeback_settings s;
	fsal_status_t status;

	if (ra_sub_of(src_hdl)->fsal != dst->sub_handle->fsal)
		return fsalstat(ERR_FSAL_XDEV, EXDEV);
	backing_change_begins(&dst->slot, dst_offset, backing_copy_len(count, 0));
	*copied = 0; /* also where an error says nothing of it */
	status = SUB_OBJ(src_hdl, copy_file_range, src_state, dst->sub_handle, dst_state,
			 src_offset, dst_offset, count, copied);
	/* An error may have come after a part of it. */
	backing_change_ends(&dst->slot, dst_offset, backing_copy_len(count, *copied));
	if (!FSAL_IS_ERROR(status) && *copied > 0)
		(void)dirtied(dst, ra_export_of_op()->io, dst_offset, *copied, &s);
	return status;
}
#endif
