/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Call records and their free lists. See call.h. */
#include "call.h"

#include "common/container.h"
#include "common/thread_shard.h"

static struct home_lists lists = HOME_LISTS_INITIALIZER;
static pthread_key_t list_key;
static bool list_key_made;
static _Thread_local struct home_list *my_list THREAD_LOCAL_FAST;

static void list_leave(void *list)
{
	home_list_leave(&lists, list);
	my_list = NULL;
}

static struct home_list *new_list(void)
{
	my_list = home_list_adopt(&lists);
	if (my_list == NULL) {
		my_list = gsh_calloc(1, sizeof(*my_list));
		home_list_enter(&lists, my_list);
	}
	pthread_setspecific(list_key, my_list);
	return my_list;
}

static struct home_list *this_threads_list(void)
{
	return my_list != NULL ? my_list : new_list();
}

static struct call *call_get(void)
{
	struct home_list *list = this_threads_list();
	struct home_record *r = home_get(list);

	if (r == NULL) {
		r = gsh_malloc(sizeof(struct call));
		home_own(list, r);
	}
	return CONTAINER_OF(r, struct call, record);
}

static void call_put(struct call *call)
{
	home_put(this_threads_list(), &call->record);
}

int calls_start(void)
{
	int err = list_key_made ? 0 : pthread_key_create(&list_key, list_leave);

	list_key_made = err == 0;
	return err;
}

void calls_stop(void)
{
	if (list_key_made)
		pthread_key_delete(list_key);
	list_key_made = false;
	my_list = NULL;
	home_lists_free(&lists);
}

struct call *call_new(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb, void *caller_arg)
{
	struct call *call = call_get();

	call->exp = ra_export_of_op();
	call->obj_hdl = obj_hdl;
	call->done_cb = done_cb;
	call->caller_arg = caller_arg;
	call->failed = fsalstat(ERR_FSAL_NO_ERROR, 0);
	return call;
}

void call_done(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data, void *caller_data)
{
	struct call *call = caller_data;
	struct ra_export *exp = call->exp;
	struct fsal_obj_handle *obj_hdl = call->obj_hdl;
	fsal_async_cb done_cb = call->done_cb;
	void *caller_arg = call->caller_arg;

	/* Before the callback: afterwards the request, and with it the context, may be gone. */
	call_put(call);
	SUPERCALL(exp, done_cb(obj_hdl, status, obj_data, caller_arg));
}

size_t call_length(const struct fsal_io_arg *arg)
{
	size_t len = 0;

	for (int i = 0; i < arg->iov_count; i++)
		len += arg->iov[i].iov_len;
	return len;
}

bool call_park(struct call *call)
{
	struct export_io *io = call->exp->io;

	if (!export_io_enter(io))
		return false;
	call->io = export_io_ref(io);
	call->creds = op_ctx->creds;
	call->gsh_export = op_ctx->ctx_export;
	get_gsh_export_ref(call->gsh_export);
	return true;
}

void call_unpark(struct call *call)
{
	put_gsh_export(call->gsh_export);
	export_io_leave(call->io);
	export_io_put(call->io);
}

/* What it refers to may have been freed: only what it has a reference on, or holds itself, is touched. */
static void lose(struct call *call)
{
	export_io_leave(call->io);
	export_io_put(call->io);
	call_put(call);
}

struct export_io *call_resume(struct call *call, struct req_op_context *ctx)
{
	if (!export_io_answers(call->io)) {
		lose(call);
		return NULL;
	}
	call_context(call, ctx);
	return call->io;
}

void call_context(struct call *call, struct req_op_context *ctx)
{
	init_op_context_simple(ctx, call->gsh_export, &call->exp->export);
	ctx->creds = call->creds;
}

void call_resumed(struct export_io *io)
{
	export_io_answered(io);
	export_io_leave(io); /* before the export's reference goes */
	export_io_put(io);
	release_op_context();
}
