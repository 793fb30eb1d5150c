/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which READs are answered from our own descriptor. See own_answer.h. */
#include "own_answer.h"

#include "FSAL/fsal_localfs.h"

/*
 * The sub-FSAL refuses a handle whose file system another FSAL has claimed since. One that reaches a cluster
 * by itself has none.
 */
static bool is_claimed(const struct fsal_obj_handle *sub)
{
	return sub->fs == NULL || sub->fs->fsal == sub->fsal;
}

static bool has_buffers(const struct fsal_io_arg *arg)
{
	for (int i = 0; i < arg->iov_count; i++)
		if (arg->iov[i].iov_base == NULL)
			return false;
	return arg->iov_count > 0;
}

bool own_answer_allowed(const struct ra_handle *hdl, bool bypass, const struct fsal_io_arg *arg)
{
	return bypass && arg->state == NULL && arg->info == NULL &&
	       atomic_load_explicit(&hdl->read_below, memory_order_relaxed) &&
	       is_claimed(hdl->sub_handle) && has_buffers(arg);
}

void own_answer_read_below(struct ra_handle *hdl)
{
	if (!atomic_load_explicit(&hdl->read_below, memory_order_relaxed))
		atomic_store(&hdl->read_below, true);
}

void own_answer_closed(struct ra_handle *hdl)
{
	atomic_store(&hdl->read_below, false);
}
