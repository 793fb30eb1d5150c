/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* nfswalk's calls, one at a time. See tree.h. */
#include <string.h>

#include "tree.h"

#define TIMEOUT_MS 60000
#define DIR_COUNT  8192
#define MAX_COUNT  65536

/* A call that is waited for. */
struct waited {
	int outstanding, status;
	struct entries *list;
	cookie3 cookie;
	cookieverf3 verifier;
	bool eof;
	uint32_t got;
};

static int wait_for(struct rpc_context *rpc, struct waited *w)
{
	return nfsc_wait(&rpc, 1, &w->outstanding, TIMEOUT_MS) ? w->status : -1;
}

static void add_entry(struct waited *w, const entryplus3 *e)
{
	const fattr3 *a = &e->name_attributes.post_op_attr_u.attributes;
	struct entry found = {.name = e->name, .inode = e->fileid};

	if (!strcmp(e->name, ".") || !strcmp(e->name, ".."))
		return;
	if (!e->name_handle.handle_follows || !e->name_attributes.attributes_follow)
		return;
	found.directory = a->type == NF3DIR;
	found.size = a->size;
	if ((found.directory || a->type == NF3REG) &&
	    nfsc_keep(&found.fh, &e->name_handle.post_op_fh3_u.handle))
		entries_add(w->list, &found);
}

/* An answer came, of that status if it is one: each call's begins with it. False: nothing more is in it. */
static bool has_come(struct waited *w, int status, const nfsstat3 *answer)
{
	w->outstanding--;
	if (status == RPC_STATUS_SUCCESS)
		w->status = (int)*answer;
	return w->status == NFS3_OK;
}

static void listed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct waited *w = private_data;
	const READDIRPLUS3res *res = data;

	(void)rpc;
	if (!has_come(w, status, data))
		return;
	memcpy(w->verifier, res->READDIRPLUS3res_u.resok.cookieverf, sizeof(w->verifier));
	for (const entryplus3 *e = res->READDIRPLUS3res_u.resok.reply.entries; e;
	     e = e->nextentry) {
		w->cookie = e->cookie;
		add_entry(w, e);
	}
	w->eof = res->READDIRPLUS3res_u.resok.reply.eof;
}

int list_directory(struct rpc_context *rpc, const struct nfsc_fh *dir, struct entries *list)
{
	struct waited w = {.list = list};

	do {
		READDIRPLUS3args args = {.dir = nfsc_wire(dir),
					 .cookie = w.cookie,
					 .dircount = DIR_COUNT,
					 .maxcount = MAX_COUNT};

		memcpy(args.cookieverf, w.verifier, sizeof(w.verifier));
		w.status = -1;
		w.outstanding = 1;
		if (rpc_nfs3_readdirplus_async(rpc, listed, &args, &w) || wait_for(rpc, &w))
			return w.status ? w.status : -1;
	} while (!w.eof);
	return 0;
}

static void was_read(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct waited *w = private_data;
	const READ3res *res = data;

	(void)rpc;
	if (!has_come(w, status, data))
		return;
	w->got = res->READ3res_u.resok.count;
	w->eof = res->READ3res_u.resok.eof;
}

int read_part(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, uint32_t len,
	      uint32_t *got, bool *eof)
{
	READ3args args = {.file = nfsc_wire(fh), .offset = offset, .count = len};
	struct waited w = {.outstanding = 1, .status = -1};

	if (rpc_nfs3_read_async(rpc, was_read, &args, &w))
		return -1;
	wait_for(rpc, &w);
	*got = w.got;
	*eof = w.eof;
	return w.status;
}

static void answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	(void)rpc;
	(void)has_come(private_data, status, data);
}

int ask_attributes(struct rpc_context *rpc, const struct nfsc_fh *fh)
{
	GETATTR3args args = {.object = nfsc_wire(fh)};
	struct waited w = {.outstanding = 1, .status = -1};

	if (rpc_nfs3_getattr_async(rpc, answered, &args, &w))
		return -1;
	return wait_for(rpc, &w);
}
