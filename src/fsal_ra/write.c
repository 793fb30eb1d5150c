/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data path of a client's write.
 *
 *   WRITE -> the sub-FSAL puts it into the page cache; write-back is told, and the reply may be held
 *            back a little while too much is dirty (writeback/pacer.h)
 */
#include <errno.h>

#include "call.h"
#include "common/container.h"
#include "request_flow.h"
#include "writeback/writeback.h"

/* Answers a write whose reply has been held back. */
static void answer(struct paced *p)
{
	struct call *call = CONTAINER_OF(p, struct call, paced);
	struct req_op_context ctx;
	struct export_io *io = call_resume(call, &ctx);

	call_done(NULL, call->status, call->write_arg, call);
	call_resumed(io);
}

/* Holds the reply of CALL back for DELAY ns; false: it is to be answered now. */
static bool hold(struct call *call, fsal_status_t status, uint64_t delay)
{
	if (!call_park(call))
		return false;
	call->status = status;
	if (pacer_hold(&call->paced, call_length(call->write_arg), delay, answer))
		return true;
	call_unpark(call);
	return false;
}

/* CALL's write has succeeded: its ranges are dirty. For how long (ns) to hold back the reply. */
static uint64_t account(struct call *call)
{
	struct ra_handle *hdl = ra_handle_of(call->obj_hdl);
	struct fsal_io_arg *arg = call->write_arg;
	struct writeback_settings s;

	backing_invalidate(&hdl->slot);
	export_io_writeback(call->exp->io, &s);
	if (call->stable || !s.on ||
	    !writeback_wrote(&hdl->slot, call->exp->io, &s, ra_flow_of_op(), arg->offset,
			     arg->io_amount))
		return 0;
	return pacer_delay((uint64_t)(uintptr_t)op_ctx->client, arg->io_amount, s.reply_delay_max);
}

/*
 * FSAL_VFS from 6.5 on puts the error of its fsync where nobody looks: a stable write then succeeds
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

	if (lost_its_error(call, status))
		status = fsalstat(ERR_FSAL_IO, EIO);
	if (!FSAL_IS_ERROR(status))
		delay = SUPERCALL(call->exp, account(call));
	if (!delay || !hold(call, status, delay))
		call_done(sub, status, obj_data, caller_data);
}

void ra_write2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *write_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	call->write_arg = write_arg;
	call->stable = write_arg->fsal_stable;
	backing_invalidate(&ra_handle_of(obj_hdl)->slot);
	SUB_OBJ(obj_hdl, write2, bypass, written, write_arg, call);
}
