/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The data path. A read or write goes to the sub-FSAL with a call record in place of the caller's
 * argument, since the sub-FSAL completes it with its own handle and in its own context; the record
 * says what the caller wants to see. Records come from a small free list per thread: no malloc per
 * read once a thread has warmed up.
 */
#include "subcall.h"

#include <pthread.h>

/* Records that a thread keeps: more than it can have outstanding in a sub-FSAL that answers inline. */
#define CALLS_KEPT 16

struct call {
	struct call *next;
	struct ra_export *exp;
	struct fsal_obj_handle *obj_hdl;
	fsal_async_cb done_cb;
	void *caller_arg;
};

struct call_list {
	struct call *head;
	unsigned int kept;
};

static pthread_key_t list_key;
static bool list_key_made;

static void call_list_free(void *arg)
{
	struct call_list *list = arg;

	while (list->head != NULL) {
		struct call *call = list->head;

		list->head = call->next;
		gsh_free(call);
	}
	gsh_free(list);
}

static struct call_list *this_threads_list(void)
{
	struct call_list *list = pthread_getspecific(list_key);

	if (list == NULL) {
		list = gsh_calloc(1, sizeof(*list));
		pthread_setspecific(list_key, list);
	}
	return list;
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

static void done(struct fsal_obj_handle *sub, fsal_status_t status, void *obj_data,
		 void *caller_data)
{
	struct call call = *(struct call *)caller_data;

	/* Before the callback: afterwards the request, and with it the context, may be gone. */
	call_put(caller_data);
	SUPERCALL(call.exp, call.done_cb(call.obj_hdl, status, obj_data, call.caller_arg));
}

static struct call *call_new(struct fsal_obj_handle *obj_hdl, fsal_async_cb done_cb,
			     void *caller_arg)
{
	struct call *call = call_get();

	call->exp = ra_export_of_op();
	call->obj_hdl = obj_hdl;
	call->done_cb = done_cb;
	call->caller_arg = caller_arg;
	return call;
}

void ra_read2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *read_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	SUB_OBJ(obj_hdl, read2, bypass, done, read_arg, call);
}

void ra_write2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *write_arg, void *caller_arg)
{
	struct call *call = call_new(obj_hdl, done_cb, caller_arg);

	SUB_OBJ(obj_hdl, write2, bypass, done, write_arg, call);
}

void ra_io_handle_init(struct ra_handle *hdl)
{
}

void ra_io_handle_release(struct ra_handle *hdl)
{
}

void ra_io_handle_close(struct ra_handle *hdl)
{
}

void ra_io_handle_changed(struct ra_handle *hdl, uint64_t off, uint64_t len)
{
}

void ra_io_renamed(struct ra_export *exp)
{
}

int ra_io_export_start(struct ra_export *exp)
{
	return 0;
}

void ra_io_export_drain(struct ra_export *exp)
{
}

void ra_io_export_release(struct ra_export *exp)
{
}

void ra_io_fsstat(struct ra_export *exp, fsal_dynamicfsinfo_t *info)
{
}

int ra_io_module_start(void)
{
	int err = 0;

	if (!list_key_made) {
		err = pthread_key_create(&list_key, call_list_free);
		list_key_made = err == 0;
	}
	return err;
}

void ra_io_module_stop(void)
{
	if (list_key_made)
		pthread_key_delete(list_key);
	list_key_made = false;
}
