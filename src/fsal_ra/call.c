/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Call records and their free lists. See call.h. */
#include "call.h"

/* Records that a thread keeps. */
#define CALLS_KEPT 64

struct call_list {
	struct call *head;
	unsigned int kept;
};

static pthread_key_t list_key;
static bool list_key_made;
static _Thread_local struct call_list *my_list;

static void call_list_free(void *arg)
{
	struct call_list *list = arg;

	while (list->head != NULL) {
		struct call *call = list->head;

		list->head = call->next;
		gsh_free(call);
	}
	gsh_free(list);
	my_list = NULL;
}

static struct call_list *this_threads_list(void)
{
	if (my_list == NULL) {
		my_list = gsh_calloc(1, sizeof(*my_list));
		pthread_setspecific(list_key, my_list);
	}
	return my_list;
}

static struct call *call_get(void)
{
	struct call_list *list = this_threads_list();
	struct call *call = list->head;

	if (call == NULL)
		return gsh_malloc(sizeof(*call));
	list->head = call->next;
	list->kept--;
	return call;
}

static void call_put(struct call *call)
{
	struct call_list *list = this_threads_list();

	if (list->kept >= CALLS_KEPT) {
		gsh_free(call);
		return;
	}
	call->next = list->head;
	list->head = call;
	list->kept++;
}

int calls_start(void)
{
	int err = list_key_made ? 0 : pthread_key_create(&list_key, call_list_free);

	list_key_made = err == 0;
	return err;
}

void calls_stop(void)
{
	if (my_list != NULL)
		call_list_free(my_list);
	if (list_key_made)
		pthread_key_delete(list_key);
	list_key_made = false;
}

struct call *call_new(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb, void *caller_arg)
{
	struct call *call = call_get();

	call->exp = ra_export_of_op();
	call->obj_hdl = obj_hdl;
	call->done_cb = done_cb;
	call->caller_arg = caller_arg;
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

struct export_io *call_resume(struct call *call, struct req_op_context *ctx)
{
	init_op_context_simple(ctx, call->gsh_export, &call->exp->export);
	ctx->creds = call->creds;
	return call->io;
}

void call_resumed(struct export_io *io)
{
	export_io_leave(io); /* before the export's reference goes */
	export_io_put(io);
	release_op_context();
}
