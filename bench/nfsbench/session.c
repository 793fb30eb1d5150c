/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connecting, mounting and looking up, each call waiting for its answer. */
#include "session.h"
#include "connection.h"
#include "tcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#define POLL_MS 10

/* One call under way: its callback copies what is wanted, for the answer dies with the callback. */
struct sync_call {
	bool done;
	int rpc_status;
	int status; /* of the protocol: 0 is success */
	struct handle handle;
	uint64_t size;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int wait_for(struct connection *c, struct sync_call *call, double seconds)
{
	double deadline = now() + seconds;

	while (!call->done) {
		struct pollfd polls[CONNECTION_POLLS];

		connection_polls(c, polls);
		poll(polls, CONNECTION_POLLS, POLL_MS);
		if (connection_service(c, polls, (uint64_t)(now() * 1e9)))
			return -1;
		if (now() > deadline)
			return -1;
	}
	return call->rpc_status == RPC_STATUS_SUCCESS ? 0 : -1;
}

/* Why a call has no answer. */
static void say_unanswered(const struct connection *c, const char *what, const char *name)
{
	const char *why = connection_problem(c);

	fprintf(stderr, "%s: %s of %s: no answer: %s\n", program_invocation_short_name, what, name,
		why);
}

static void begin(struct sync_call *call)
{
	memset(call, 0, sizeof(*call));
}

static void finish(struct sync_call *call, int rpc_status)
{
	call->done = true;
	call->rpc_status = rpc_status;
}

static void keep_handle(struct sync_call *call, const char *data, size_t len)
{
	if (len > sizeof(call->handle.data)) {
		call->status = -1;
		return;
	}
	call->handle.len = (uint32_t)len;
	memcpy(call->handle.data, data, len);
}

static void mounted(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct sync_call *call = private_data;
	mountres3 *res = data;

	finish(call, status);
	if (status != RPC_STATUS_SUCCESS)
		return;
	call->status = (int)res->fhs_status;
	if (res->fhs_status == MNT3_OK)
		keep_handle(call, res->mountres3_u.mountinfo.fhandle.fhandle3_val,
			    res->mountres3_u.mountinfo.fhandle.fhandle3_len);
}

int session_mount(const char *server, int mount_port, const char *path, double seconds,
		  struct handle *root)
{
	struct connection c = {
		.rpc = tcp_connect(server, mount_port, MOUNT_PROGRAM, NULL, seconds)};
	struct sync_call call;
	int rc = -1;

	if (!c.rpc)
		return -1;
	begin(&call);
	if (rpc_mount3_mnt_async(c.rpc, mounted, (char *)path, &call) < 0 ||
	    wait_for(&c, &call, seconds))
		say_unanswered(&c, "mount", path);
	else if (call.status)
		fprintf(stderr, "%s: mount of %s: %s\n", program_invocation_short_name, path,
			mountstat3_to_str(call.status));
	else
		rc = 0;
	*root = call.handle;
	connection_close(&c);
	return rc;
}

static void looked_up(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct sync_call *call = private_data;
	LOOKUP3res *res = data;
	LOOKUP3resok *ok;

	finish(call, status);
	if (status != RPC_STATUS_SUCCESS)
		return;
	call->status = (int)res->status;
	if (res->status != NFS3_OK)
		return;
	ok = &res->LOOKUP3res_u.resok;
	keep_handle(call, ok->object.data.data_val, ok->object.data.data_len);
	if (ok->obj_attributes.attributes_follow)
		call->size = ok->obj_attributes.post_op_attr_u.attributes.size;
	else
		call->status = -1;
}

static int lookup_one(struct connection *nfs, const char *name, double seconds,
		      struct handle *handle, uint64_t *size)
{
	LOOKUP3args args = {0};
	struct sync_call call;

	begin(&call);
	args.what.dir.data.data_len = handle->len;
	args.what.dir.data.data_val = handle->data;
	args.what.name = (char *)name;
	if (rpc_nfs3_lookup_async(nfs->rpc, looked_up, &args, &call) < 0 ||
	    wait_for(nfs, &call, seconds)) {
		say_unanswered(nfs, "lookup", name);
		return -1;
	}
	if (call.status) {
		fprintf(stderr, "%s: lookup of %s: %s\n", program_invocation_short_name, name,
			nfsstat3_to_str(call.status));
		return -1;
	}
	*handle = call.handle;
	*size = call.size;
	return 0;
}

int session_lookup(struct connection *nfs, const struct handle *from, const char *path,
		   double seconds, struct handle *found, uint64_t *size)
{
	char *copy = strdup(path), *rest = NULL, *name;
	int rc = copy ? 0 : -1;

	*found = *from;
	for (name = copy ? strtok_r(copy, "/", &rest) : NULL; name && !rc;
	     name = strtok_r(NULL, "/", &rest))
		rc = lookup_one(nfs, name, seconds, found, size);
	free(copy);
	return rc;
}

static void created(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct sync_call *call = private_data;
	CREATE3res *res = data;
	post_op_fh3 *fh;

	finish(call, status);
	if (status != RPC_STATUS_SUCCESS)
		return;
	call->status = (int)res->status;
	if (res->status != NFS3_OK)
		return;
	fh = &res->CREATE3res_u.resok.obj;
	if (fh->handle_follows)
		keep_handle(call, fh->post_op_fh3_u.handle.data.data_val,
			    fh->post_op_fh3_u.handle.data.data_len);
	else
		call->status = -1;
}

int session_create(struct connection *nfs, const struct handle *dir, const char *name,
		   double seconds, struct handle *made)
{
	CREATE3args args = {0};
	sattr3 *attr = &args.how.createhow3_u.obj_attributes;
	struct sync_call call;

	begin(&call);
	args.where.dir.data.data_len = dir->len;
	args.where.dir.data.data_val = (char *)dir->data;
	args.where.name = (char *)name;
	args.how.mode = UNCHECKED;
	attr->mode.set_it = 1;
	attr->mode.set_mode3_u.mode = 0644;
	attr->size.set_it = 1;
	if (rpc_nfs3_create_async(nfs->rpc, created, &args, &call) < 0 ||
	    wait_for(nfs, &call, seconds)) {
		say_unanswered(nfs, "create", name);
		return -1;
	}
	if (call.status) {
		fprintf(stderr, "%s: create of %s: %s\n", program_invocation_short_name, name,
			nfsstat3_to_str(call.status));
		return -1;
	}
	*made = call.handle;
	return 0;
}
