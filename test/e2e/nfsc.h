/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A thin layer over libnfs' raw calls for the end-to-end tests: connect to explicit ports (no
 * port mapper), mount, and wait for answers with a deadline. A connection belongs to one thread.
 */
#ifndef RA_E2E_NFSC_H
#define RA_E2E_NFSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

/* A file handle by value. */
struct nfsc_fh {
	uint32_t len;
	char data[NFS3_FHSIZE];
};

/* Where a server listens. `host` is not owned. */
struct nfsc_server {
	const char *host;
	int port;  /* NFS program */
	int mport; /* MOUNT program */
};

/* Reads "HOST:PORT:MOUNTPORT" (an IPv4 address) into *server; text must outlive it and is
 * modified. False when malformed. */
bool nfsc_parse_server(char *text, struct nfsc_server *server);

/* A connection to the NFS program; NULL (and a line on stderr) on failure. */
struct rpc_context *nfsc_connect(const struct nfsc_server *server);

/* Asks the MOUNT program for the handle of `path`. 0, or the mount status, or -1 (no answer). */
int nfsc_mount(const struct nfsc_server *server, const char *path, struct nfsc_fh *root);

/* Sets AUTH_UNIX credentials for the calls that follow on this connection. */
void nfsc_credentials(struct rpc_context *rpc, uint32_t uid, uint32_t gid, uint32_t extra_gid);

/* Serves up to 16 connections until *outstanding is 0 (the callbacks lower it). False when
 * timeout_ms passed or a connection broke. */
bool nfsc_wait(struct rpc_context *const *rpc, int n, const int *outstanding, int timeout_ms);

/* Whole calls, for where one at a time will do. Each returns the NFS status, or -1 when no answer
 * came within 30 s. */
int nfsc_lookup(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name,
		struct nfsc_fh *fh);
int nfsc_create(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name,
		struct nfsc_fh *fh);
int nfsc_remove(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *name);
int nfsc_rename(struct rpc_context *rpc, const struct nfsc_fh *dir, const char *from,
		const char *to);
int nfsc_truncate(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t size);
/* Writes all of it or fails (a short write: -1). */
int nfsc_write(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, const void *data,
	       uint32_t count, stable_how stable);
int nfsc_commit(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, uint32_t count);

/* Milliseconds of a clock that never steps. */
uint64_t nfsc_now_ms(void);

static inline nfs_fh3 nfsc_wire(const struct nfsc_fh *fh)
{
	nfs_fh3 wire = {.data = {.data_len = fh->len, .data_val = (char *)fh->data}};

	return wire;
}

/* Copies a handle out of an answer; false when it is longer than the protocol allows. */
bool nfsc_keep(struct nfsc_fh *fh, const nfs_fh3 *wire);

#endif
