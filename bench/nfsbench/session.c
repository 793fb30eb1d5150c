/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connecting, mounting and looking up, each call waiting for its answer. */
#include "session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

/* One call under way: its callback copies what is wanted, for the answer dies with the callback. */
struct call {
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

static int wait_for(struct rpc_context *rpc, struct call *call, double seconds)
{
	double deadline = now() + seconds;

	while (!call->done) {
		struct pollfd p = {.fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc)};

		if (poll(&p, 1, 50) > 0 && rpc_service(rpc, p.revents) < 0)
			return -1;
		if (now() > deadline)
			return -1;
	}
	return call->rpc_status == RPC_STATUS_SUCCESS ? 0 : -1;
}

static void begin(struct call *call)
{
	memset(call, 0, sizeof(*call));
}

static void finish(struct call *call, int rpc_status)
{
	call->done = true;
	call->rpc_status = rpc_status;
}

static void keep_handle(struct call *call, const char *data, size_t len)
{
	if (len > sizeof(call->handle.data)) {
		call->status = -1;
		return;
	}
	call->handle.len = (uint32_t)len;
	memcpy(call->handle.data, data, len);
}

static void connected(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	finish(private_data, status);
}

static struct rpc_context *connect_to(const char *server, int port, int program, double seconds)
{
	struct rpc_context *rpc = rpc_init_context();
	struct call call;

	if (!rpc)
		return NULL;
	begin(&call);
	if (rpc_connect_port_async(rpc, server, port, program, 3, connected, &call) < 0 ||
	    wait_for(rpc, &call, seconds)) {
		fprintf(stderr, "nfsbench: cannot connect to %s port %d: %s\n", server, port,
			rpc_get_error(rpc) ? rpc_get_error(rpc) : "no answer");
		rpc_destroy_context(rpc);
		return NULL;
	}
	return rpc;
}

/* A socket bound to `from`, connected to where the socket fd is. -1 with errno when it fails. */
static int connect_from(const char *from, int fd)
{
	struct sockaddr_in here = {.sin_family = AF_INET}, there;
	socklen_t length = sizeof(there);
	int one = 1, bound = -1;

	if (getpeername(fd, (struct sockaddr *)&there, &length))
		return -1;
	if (there.sin_family != AF_INET || inet_pton(AF_INET, from, &here.sin_addr) != 1) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bound < 0)
		return -1;
	setsockopt(bound, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(bound, (struct sockaddr *)&here, sizeof(here)) ||
	    connect(bound, (struct sockaddr *)&there, length) ||
	    fcntl(bound, F_SETFL, O_NONBLOCK) < 0) {
		close(bound);
		return -1;
	}
	return bound;
}

/* libnfs cannot be told where to come from: it connects, then gets another socket instead. */
struct rpc_context *session_connect(const char *server, int port, const char *from, double seconds)
{
	struct rpc_context *rpc = connect_to(server, port, NFS_PROGRAM, seconds);
	int old, bound;

	if (!rpc || !from)
		return rpc;
	old = rpc_get_fd(rpc);
	bound = connect_from(from, old);
	if (bound < 0) {
		fprintf(stderr, "nfsbench: cannot connect to %s from %s: %s\n", server, from,
			strerror(errno));
		rpc_destroy_context(rpc);
		return NULL;
	}
	rpc_set_fd(rpc, bound);
	close(old);
	return rpc;
}

static void mounted(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct call *call = private_data;
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
	struct rpc_context *rpc = connect_to(server, mount_port, MOUNT_PROGRAM, seconds);
	struct call call;
	int rc = -1;

	if (!rpc)
		return -1;
	begin(&call);
	if (rpc_mount3_mnt_async(rpc, mounted, (char *)path, &call) < 0 ||
	    wait_for(rpc, &call, seconds))
		fprintf(stderr, "nfsbench: mount of %s: no answer\n", path);
	else if (call.status)
		fprintf(stderr, "nfsbench: mount of %s: %s\n", path,
			mountstat3_to_str(call.status));
	else
		rc = 0;
	*root = call.handle;
	rpc_destroy_context(rpc);
	return rc;
}

static void looked_up(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct call *call = private_data;
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

static int lookup_one(struct rpc_context *nfs, const char *name, double seconds,
		      struct handle *handle, uint64_t *size)
{
	LOOKUP3args args = {0};
	struct call call;

	begin(&call);
	args.what.dir.data.data_len = handle->len;
	args.what.dir.data.data_val = handle->data;
	args.what.name = (char *)name;
	if (rpc_nfs3_lookup_async(nfs, looked_up, &args, &call) < 0 ||
	    wait_for(nfs, &call, seconds)) {
		fprintf(stderr, "nfsbench: lookup of %s: no answer\n", name);
		return -1;
	}
	if (call.status) {
		fprintf(stderr, "nfsbench: lookup of %s: %s\n", name, nfsstat3_to_str(call.status));
		return -1;
	}
	*handle = call.handle;
	*size = call.size;
	return 0;
}

int session_lookup(struct rpc_context *nfs, const struct handle *from, const char *path,
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
	struct call *call = private_data;
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

int session_create(struct rpc_context *nfs, const struct handle *dir, const char *name,
		   double seconds, struct handle *made)
{
	CREATE3args args = {0};
	sattr3 *attr = &args.how.createhow3_u.obj_attributes;
	struct call call;

	begin(&call);
	args.where.dir.data.data_len = dir->len;
	args.where.dir.data.data_val = (char *)dir->data;
	args.where.name = (char *)name;
	args.how.mode = UNCHECKED;
	attr->mode.set_it = 1;
	attr->mode.set_mode3_u.mode = 0644;
	attr->size.set_it = 1;
	if (rpc_nfs3_create_async(nfs, created, &args, &call) < 0 ||
	    wait_for(nfs, &call, seconds)) {
		fprintf(stderr, "nfsbench: create of %s: no answer\n", name);
		return -1;
	}
	if (call.status) {
		fprintf(stderr, "nfsbench: create of %s: %s\n", name, nfsstat3_to_str(call.status));
		return -1;
	}
	*made = call.handle;
	return 0;
}
