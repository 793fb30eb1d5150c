/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Waiting for a read of the FSAL below. See read_below.h. */
#include "read_below.h"

#include "common/clock.h"
#include "common/lock.h"
#include "remote/overdue.h"

/* One under way, which may end on another thread. */
struct pending {
	struct lock lock;
	pthread_cond_t ended;
	bool over;
	fsal_status_t status; /* the first error counts */
};

static void read_ended(struct fsal_obj_handle *obj, fsal_status_t status, void *obj_data, void *arg)
{
	struct pending *p = arg;

	lock_take(&p->lock);
	if (!FSAL_IS_ERROR(p->status))
		p->status = status;
	p->over = true;
	pthread_cond_signal(&p->ended);
	lock_drop(&p->lock);
}

static void wait_ended(struct pending *p)
{
	lock_take(&p->lock);
	while (!p->over)
		pthread_cond_wait(&p->ended, &p->lock.mutex);
	p->over = false;
	lock_drop(&p->lock);
}

/* A FSAL may want to be called once more to end it, and then calls the first call's callback: resume.h. */
fsal_status_t read_below(struct fsal_obj_handle *sub, bool bypass, struct fsal_io_arg *arg)
{
	struct pending p = {.status = fsalstat(ERR_FSAL_NO_ERROR, 0)};

	lock_init(&p.lock, LOCK_LEAF);
	pthread_cond_init(&p.ended, NULL);
	do {
		sub->obj_ops->read2(sub, bypass, read_ended, arg, &p);
		wait_ended(&p);
	} while (ra_io_wants_resume(arg));
	pthread_cond_destroy(&p.ended);
	lock_fini(&p.lock);
	return p.status;
}

void read_below_of(struct call *call)
{
	struct req_op_context ctx;
	struct overdue_read here;
	struct overdue *watched = backing_asks(call->backing, &here);
	uint64_t begun = clock_now();

	get_gsh_export_ref(call->gsh_export); /* the context's */
	call_context(call, &ctx);
	call->status = SUBCALL(call->exp,
			       read_below(ra_sub_of(call->obj_hdl), call->bypass, call->read_arg));
	release_op_context();
	call->told = true;
	if (watched != NULL)
		overdue_end(watched, &here);
	if (!FSAL_IS_ERROR(call->status))
		backing_answered(call->backing, call->read_arg->offset, call_length(call->read_arg),
				 false, clock_now() - begun);
}
