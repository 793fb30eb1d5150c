/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Each kind of call: its arguments, and what the answer tells. A call that cannot be sent or that loses its
 * connection ends the program: there is nothing to measure any more.
 */
#include "nfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

uint64_t nfs_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct nfs_fh3 fh_of(struct nfs_handle *h)
{
	struct nfs_fh3 fh = {.data = {.data_len = h->len, .data_val = h->data}};

	return fh;
}

static uint64_t ns_of(const nfstime3 *t)
{
	return (uint64_t)t->seconds * 1000000000u + t->nseconds;
}

static void attr_of(const fattr3 *from, struct file_attr *a)
{
	*a = (struct file_attr){
		.mtime = ns_of(&from->mtime), .ctime = ns_of(&from->ctime), .size = from->size};
}

static void after(struct answer *a, const post_op_attr *p)
{
	a->has_after = p->attributes_follow;
	if (a->has_after)
		attr_of(&p->post_op_attr_u.attributes, &a->after);
}

static void wcc(struct answer *a, const wcc_data *w)
{
	const wcc_attr *before = &w->before.pre_op_attr_u.attributes;

	after(a, &w->after);
	a->has_before = w->before.attributes_follow;
	if (a->has_before)
		a->before = (struct file_attr){.mtime = ns_of(&before->mtime),
					       .ctime = ns_of(&before->ctime),
					       .size = before->size};
}

static void keep_handle(struct answer *a, const nfs_fh3 *fh)
{
	if (fh->data.data_len > HANDLE_MAX) {
		a->status = ANSWER_FAILED;
		a->error = "handle too long";
		return;
	}
	a->handle.len = fh->data.data_len;
	memcpy(a->handle.data, fh->data.data_val, fh->data.data_len);
}

static struct answer begin(struct rpc *call, int rpc_status, const void *data)
{
	nfsstat3 status;

	if (rpc_status != RPC_STATUS_SUCCESS) {
		fprintf(stderr, "canfs: %s: connection lost\n", call_kind_names[call->kind]);
		exit(1);
	}
	status = *(const nfsstat3 *)data; /* the first member of every answer */
	if (status == NFS3_OK)
		return (struct answer){.status = ANSWER_OK};
	return (struct answer){.status = status == NFS3ERR_JUKEBOX ? ANSWER_AGAIN
					 : status == NFS3ERR_STALE ? ANSWER_STALE
								   : ANSWER_FAILED,
			       .error = nfsstat3_to_str(status)};
}

static void finish(struct rpc *call, const struct answer *a)
{
	client_answer(call->client, call, a, nfs_now());
}

static void looked_up(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const LOOKUP3resok *ok = &((LOOKUP3res *)data)->LOOKUP3res_u.resok;

	if (a.status == ANSWER_OK) {
		keep_handle(&a, &ok->object);
		after(&a, &ok->obj_attributes);
	}
	finish(private_data, &a);
}

static void got_attr(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);

	if (a.status == ANSWER_OK) {
		attr_of(&((GETATTR3res *)data)->GETATTR3res_u.resok.obj_attributes, &a.after);
		a.has_after = true;
	}
	finish(private_data, &a);
}

static void created(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const CREATE3resok *ok = &((CREATE3res *)data)->CREATE3res_u.resok;

	if (a.status == ANSWER_OK && ok->obj.handle_follows) {
		keep_handle(&a, &ok->obj.post_op_fh3_u.handle);
		after(&a, &ok->obj_attributes);
	} else if (a.status == ANSWER_OK) {
		a.status = ANSWER_FAILED;
		a.error = "no handle in the answer";
	}
	finish(private_data, &a);
}

static void removed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);

	finish(private_data, &a);
}

static void was_read(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const READ3resok *ok = &((READ3res *)data)->READ3res_u.resok;

	if (a.status == ANSWER_OK) {
		a.data = ok->data.data_val;
		a.length = ok->data.data_len;
		after(&a, &ok->file_attributes);
	}
	finish(private_data, &a);
}

static void was_written(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const WRITE3resok *ok = &((WRITE3res *)data)->WRITE3res_u.resok;

	if (a.status == ANSWER_OK) {
		a.length = ok->count;
		a.stable = ok->committed != UNSTABLE;
		memcpy(&a.verifier, ok->verf, sizeof(a.verifier));
		wcc(&a, &ok->file_wcc);
	}
	finish(private_data, &a);
}

static void was_committed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const COMMIT3resok *ok = &((COMMIT3res *)data)->COMMIT3res_u.resok;

	if (a.status == ANSWER_OK) {
		memcpy(&a.verifier, ok->verf, sizeof(a.verifier));
		wcc(&a, &ok->file_wcc);
	}
	finish(private_data, &a);
}

static void got_fsstat(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer a = begin(private_data, status, data);
	const FSSTAT3resok *ok = &((FSSTAT3res *)data)->FSSTAT3res_u.resok;

	if (a.status == ANSWER_OK) {
		a.total = ok->tfiles;
		a.avail = ok->afiles;
	}
	finish(private_data, &a);
}

static int send_create(struct rpc_context *rpc, struct rpc *call)
{
	CREATE3args args = {.where = {.dir = fh_of(&call->file->dir), .name = call->file->base}};
	sattr3 *attr = &args.how.createhow3_u.obj_attributes;

	args.how.mode = UNCHECKED;
	attr->mode.set_it = 1;
	attr->mode.set_mode3_u.mode = 0644;
	attr->size.set_it = 1;
	return rpc_nfs3_create_async(rpc, created, &args, call);
}

static int send_name(struct rpc_context *rpc, struct rpc *call)
{
	struct diropargs3 what = {.dir = fh_of(&call->file->dir), .name = call->file->base};
	LOOKUP3args look = {.what = what};
	REMOVE3args remove = {.object = what};

	return call->kind == CALL_LOOKUP ? rpc_nfs3_lookup_async(rpc, looked_up, &look, call)
					 : rpc_nfs3_remove_async(rpc, removed, &remove, call);
}

static int send_io(struct rpc_context *rpc, struct rpc *call)
{
	READ3args read = {.offset = call->offset, .count = call->length};
	WRITE3args write = {.offset = call->offset, .count = call->length};
	COMMIT3args commit = {.file = fh_of(&call->file->handle)};

	switch (call->kind) {
	case CALL_READ:
		read.file = fh_of(&call->file->handle);
		return rpc_nfs3_read_async(rpc, was_read, &read, call);
	case CALL_WRITE:
		write.file = fh_of(&call->file->handle);
		write.stable = call->stable ? FILE_SYNC : UNSTABLE;
		write.data.data_len = call->length;
		write.data.data_val = call->data;
		return rpc_nfs3_write_async(rpc, was_written, &write, call);
	default:
		return rpc_nfs3_commit_async(rpc, was_committed, &commit, call);
	}
}

static int send_call(struct edge *c, struct rpc *call)
{
	GETATTR3args attr = {0};
	FSSTAT3args fsstat = {.fsroot = fh_of(&c->client->root)};

	switch (call->kind) {
	case CALL_LOOKUP:
	case CALL_REMOVE:
		return send_name(c->nfs.rpc, call);
	case CALL_GETATTR:
		attr.object = fh_of(&call->file->handle);
		return rpc_nfs3_getattr_async(c->nfs.rpc, got_attr, &attr, call);
	case CALL_CREATE:
		return send_create(c->nfs.rpc, call);
	case CALL_FSSTAT:
		return rpc_nfs3_fsstat_async(c->nfs.rpc, got_fsstat, &fsstat, call);
	default:
		return send_io(c->nfs.rpc, call);
	}
}

static void nfs_send(void *io, struct rpc *call)
{
	struct edge *c = io;

	if (send_call(c, call) < 0) {
		fprintf(stderr, "canfs: %s cannot be sent: %s\n", call_kind_names[call->kind],
			rpc_get_error(c->nfs.rpc));
		exit(1);
	}
}

const struct io_ops nfs_ops = {.send = nfs_send};
