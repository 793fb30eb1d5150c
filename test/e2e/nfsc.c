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
	rpc_set_auth(rpc, libnfs_authunix_create("e2e", uid, gid, extra_gid == gid ? 1 : 2,
						 groups));
}
