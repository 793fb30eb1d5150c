/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * libnfs' raw calls made synchronous: each call is queued, then the sockets are polled and served
 * until every callback has run or the deadline passes.
 */
#include "nfsc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIAL_TIMEOUT_MS 10000
#define CALL_TIMEOUT_MS 30000
#define MAX_WAIT_CONNS	16

struct dial {
	int outstanding;
	int status;
	struct nfsc_fh *root;
};

uint64_t nfsc_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool nfsc_parse_server(char *text, struct nfsc_server *server)
{
	char *port = strchr(text, ':');
	char *mport = port ? strchr(port + 1, ':') : NULL;

	if (!mport)
		return false;
	*port++ = '\0';
	*mport++ = '\0';
	server->host = text;
	server->port = atoi(port);
	server->mport = atoi(mport);
	return server->port > 0 && server->port < 65536 && server->mport > 0 &&
	       server->mport < 65536;
}

bool nfsc_keep(struct nfsc_fh *fh, const nfs_fh3 *wire)
{
	if (wire->data.data_len > sizeof(fh->data))
		return false;
	fh->len = wire->data.data_len;
	memcpy(fh->data, wire->data.data_val, fh->len);
	return true;
}

bool nfsc_wait(struct rpc_context *const *rpc, int n, const int *outstanding, int timeout_ms)
{
	uint64_t deadline = nfsc_now_ms() + (uint64_t)timeout_ms;
	struct pollfd pfd[MAX_WAIT_CONNS];
	int i;

	while (*outstanding > 0) {
		uint64_t now = nfsc_now_ms();

		if (now >= deadline)
			return false;
		for (i = 0; i < n; i++) {
			pfd[i].fd = rpc_get_fd(rpc[i]);
			pfd[i].events = (short)rpc_which_events(rpc[i]);
			pfd[i].revents = 0;
		}
		if (poll(pfd, (nfds_t)n, (int)(deadline - now)) < 0 && errno != EINTR)
			return false;
		for (i = 0; i < n; i++) {
			if (pfd[i].revents && rpc_service(rpc[i], pfd[i].revents) < 0)
				return false;
		}
	}
	return true;
}

static void dialled(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct dial *dial = private_data;

	dial->status = status;
	dial->outstanding--;
}

static struct rpc_context *dial_port(const char *host, int port, int program, int version)
{
	struct dial dial = {.outstanding = 1, .status = RPC_STATUS_ERROR};
	struct rpc_context *rpc = rpc_init_context();

	if (!rpc)
		return NULL;
	if (rpc_connect_port_async(rpc, host, port, program, version, dialled, &dial) == 0 &&
	    nfsc_wait(&rpc, 1, &dial.outstanding, DIAL_TIMEOUT_MS) &&
	    dial.status == RPC_STATUS_SUCCESS)
		return rpc;
	fprintf(stderr, "cannot connect to %s port %d: %s\n", host, port, rpc_get_error(rpc));
	rpc_destroy_context(rpc);
	return NULL;
}

struct rpc_context *nfsc_connect(const struct nfsc_server *server)
{
	return dial_port(server->host, server->port, NFS_PROGRAM, NFS_V3);
}

static void mounted(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct dial *dial = private_data;
	mountres3 *res = data;
	nfs_fh3 wire;

	dial->outstanding--;
	if (status != RPC_STATUS_SUCCESS)
		return;
	dial->status = (int)res->fhs_status;
	if (res->fhs_status != MNT3_OK)
		return;
	wire.data.data_len = res->mountres3_u.mountinfo.fhandle.fhandle3_len;
	wire.data.data_val = res->mountres3_u.mountinfo.fhandle.fhandle3_val;
	if (!nfsc_keep(dial->root, &wire))
		dial->status = -1;
}

int nfsc_mount(const struct nfsc_server *server, const char *path, struct nfsc_fh *root)
{
	struct dial dial = {.outstanding = 1, .status = -1, .root = root};
	struct rpc_context *rpc;

	rpc = dial_port(server->host, server->mport, MOUNT_PROGRAM, MOUNT_V3);
	if (!rpc)
		return -1;
	if (rpc_mount3_mnt_async(rpc, mounted, (char *)path, &dial) != 0 ||
	    !nfsc_wait(&rpc, 1, &dial.outstanding, DIAL_TIMEOUT_MS))
		dial.status = -1;
	rpc_destroy_context(rpc);
	return dial.status;
}

void nfsc_credentials(struct rpc_context *rpc, uint32_t uid, uint32_t gid, uint32_t extra_gid)
{
	uint32_t groups[2] = {gid, extra_gid};

	/* libnfs owns the credentials from here and frees the ones before. */
	rpc_set_auth(rpc,
		     libnfs_authunix_create("e2e", uid, gid, extra_gid == gid ? 1 : 2, groups));
}

struct call {
	int outstanding;
	int status;
	struct nfsc_fh *fh; /* LOOKUP, CREATE: where the handle goes */
	bool create;
	bool write;
	uint32_t written;
};

/* Every result starts with its status; a handle is kept where one was asked for. */
static void called(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct call *call = private_data;

	call->outstanding--;
	if (status != RPC_STATUS_SUCCESS)
		return;
	call->status = (int)*(const nfsstat3 *)data;
	if (call->status != NFS3_OK)
		return;
	if (call->write)
		call->written = ((const WRITE3res *)data)->WRITE3res_u.resok.count;
	if (!call->fh)
		return;
	if (call->create)
		nfsc_keep(call->fh,
			  &((const CREATE3res *)data)->CREATE3res_u.resok.obj.post_op_fh3_u.handle);
	else
		nfsc_keep(call->fh, &((const LOOKUP3res *)data)->LOOKUP3res_u.resok.object);
}

/* Waits for the one call that was queued with result `queued`. */
static int finish(struct rpc_context *rpc, struct call *call, int queued)
{
	if (queued != 0 || !nfsc_wait(&rpc, 1, &call->outstanding, CALL_TIMEOUT_MS))
		return -1;
	return call->status;
}

int nfsc_lookup(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name,
		struct nfsc_fh *fh)
{
	struct call call = {.outstanding = 1, .status = -1, .fh = fh};
	LOOKUP3args args = {{nfsc_wire(dir), (char *)name}};

	return finish(rpc, &call, rpc_nfs3_lookup_async(rpc, called, &args, &call));
}

int nfsc_create(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name,
		struct nfsc_fh *fh)
{
	struct call call = {.outstanding = 1, .status = -1, .fh = fh, .create = true};
	CREATE3args args = {.where = {nfsc_wire(dir), (char *)name}};

	return finish(rpc, &call, rpc_nfs3_create_async(rpc, called, &args, &call));
}

int nfsc_remove(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name)
{
	struct call call = {.outstanding = 1, .status = -1};
	REMOVE3args args = {{nfsc_wire(dir), (char *)name}};

	return finish(rpc, &call, rpc_nfs3_remove_async(rpc, called, &args, &call));
}

int nfsc_rename(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *from,
		const char *to)
{
	struct call call = {.outstanding = 1, .status = -1};
	RENAME3args args = {{nfsc_wire(dir), (char *)from}, {nfsc_wire(dir), (char *)to}};

	return finish(rpc, &call, rpc_nfs3_rename_async(rpc, called, &args, &call));
}

int nfsc_truncate(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t size)
{
	struct call call = {.outstanding = 1, .status = -1};
	SETATTR3args args = {.object = nfsc_wire(fh)};

	args.new_attributes.size.set_it = 1;
	args.new_attributes.size.set_size3_u.size = size;
	return finish(rpc, &call, rpc_nfs3_setattr_async(rpc, called, &args, &call));
}

int nfsc_write(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, const void *data,
	       uint32_t count, stable_how stable)
{
	struct call call = {.outstanding = 1, .status = -1, .write = true};
	WRITE3args args = {nfsc_wire(fh), offset, count, stable, {count, (char *)data}};
	int status = finish(rpc, &call, rpc_nfs3_write_async(rpc, called, &args, &call));

	return status == NFS3_OK && call.written != count ? -1 : status;
}

int nfsc_commit(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, uint32_t count)
{
	struct call call = {.outstanding = 1, .status = -1};
	COMMIT3args args = {nfsc_wire(fh), offset, count};

	return finish(rpc, &call, rpc_nfs3_commit_async(rpc, called, &args, &call));
}
