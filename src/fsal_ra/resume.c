/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls that the FSAL below wants to be made again. See resume.h. */
#include "resume.h"

#include "common/lock.h"

static struct {
	struct lock lock;
	TAILQ_HEAD(, call) calls; /* the last one first */
} kept = {LOCK_INITIALIZER(LOCK_LEAF), TAILQ_HEAD_INITIALIZER(kept.calls)};

static void keep(struct call *call, const struct fsal_io_arg *arg)
{
	call->resume_arg = arg;
	lock_take(&kept.lock);
	TAILQ_INSERT_HEAD(&kept.calls, call, resume_link);
	lock_drop(&kept.lock);
}

static struct call *take(const struct fsal_io_arg *arg)
{
	struct call *call;

	lock_take(&kept.lock);
	TAILQ_FOREACH(call, &kept.calls, resume_link)
		if (call->resume_arg == arg)
			break;
	if (call != NULL)
		TAILQ_REMOVE(&kept.calls, call, resume_link);
	lock_drop(&kept.lock);
	return call;
}

bool resume_wanted(struct call *call, struct fsal_io_arg *arg, fsal_status_t *status)
{
	struct ra_export *exp = call->exp;
	struct fsal_obj_handle *obj_hdl = call->obj_hdl;
	fsal_async_cb done_cb = call->done_cb;
	void *caller_arg = call->caller_arg;

	if (FSAL_IS_ERROR(call->failed))
		*status = call->failed;
	if (!ra_io_wants_resume(arg))
		return false;
	call->failed = *status;
	keep(call, arg);
	SUPERCALL(exp, done_cb(obj_hdl, *status, arg, caller_arg));
	return true;
}

struct call *resume_taken(struct fsal_obj_handle *obj_hdl, const struct fsal_io_arg *arg,
			  fsal_async_cb done_cb, void *caller_arg)
{
	struct call *call = take(arg);

	if (call == NULL)
		return NULL;
	call->exp = ra_export_of_op();
	call->obj_hdl = obj_hdl;
	call->done_cb = done_cb;
	call->caller_arg = caller_arg;
	return call;
}
