/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The calls of work mix. All results of NFSv3 begin with their status. */
#include "content.h"
#include "mix_parts.h"

#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define READDIR_BYTES 8192
#define NAME_BYTES    32
#define CREATED_LEAD  32 /* names made and not taken away, at least */

void mix_problem(struct mix_run *r, const char *what, const char *why)
{
	if (!r->load.problem[0])
		snprintf(r->load.problem, sizeof(r->load.problem), "%s: %s", what, why);
}

static void check_read(struct mix_slot *s, const READ3resok *ok)
{
	struct mix_run *r = s->run;
	uint64_t start = content_start(r->options->seed, s->file);

	if (!r->options->verify ||
	    !content_differences(start, s->offset, ok->data.data_val, ok->data.data_len))
		return;
	r->mismatches++;
	mix_problem(r, "READ", "bytes that are not the file's");
}

static void answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct mix_slot *s = private_data;
	bool well = status == RPC_STATUS_SUCCESS && *(nfsstat3 *)data == NFS3_OK;

	if (!well)
		mix_problem(s->run, mix_op_name(s->op),
			    status == RPC_STATUS_SUCCESS ? nfsstat3_to_str((int)*(nfsstat3 *)data)
							 : "connection lost");
	else if (s->op == MIX_READ)
		check_read(s, &((READ3res *)data)->READ3res_u.resok);
	s->run->answered(s, well);
}

static nfs_fh3 fh(struct handle *h)
{
	return (nfs_fh3){.data = {.data_len = h->len, .data_val = h->data}};
}

static int call_read(struct rpc_context *rpc, struct mix_slot *s)
{
	READ3args args = {.file = fh(&s->run->files[s->file]),
			  .offset = s->offset,
			  .count = (count3)s->run->options->request};

	return rpc_nfs3_read_async(rpc, answered, &args, s);
}

/* FILE_SYNC: the protocol of the paper's time knew nothing else. */
static int call_write(struct rpc_context *rpc, struct mix_slot *s)
{
	struct mix_run *r = s->run;
	uint32_t count = (uint32_t)r->options->request;
	WRITE3args args = {.file = fh(&r->written[s->file]),
			   .offset = s->offset,
			   .count = count,
			   .stable = FILE_SYNC,
			   .data = {.data_len = count, .data_val = r->buffer}};

	content_fill(content_start(r->options->seed, s->file), s->offset, r->buffer, count);
	return rpc_nfs3_write_async(rpc, answered, &args, s);
}

static int call_lookup(struct rpc_context *rpc, struct mix_slot *s)
{
	char name[NAME_BYTES];
	LOOKUP3args args = {.what = {.dir = fh(&s->run->dir), .name = name}};

	snprintf(name, sizeof(name), "f%04u", s->file);
	return rpc_nfs3_lookup_async(rpc, answered, &args, s);
}

static int call_create(struct rpc_context *rpc, struct mix_slot *s)
{
	char name[NAME_BYTES];
	CREATE3args args = {.where = {.dir = fh(&s->run->dir), .name = name},
			    .how = {.mode = UNCHECKED}};

	snprintf(name, sizeof(name), "c%08u", s->run->created++);
	return rpc_nfs3_create_async(rpc, answered, &args, s);
}

/* What was created first, if that is long ago: calls overtake each other. Else one is made. */
static int call_remove(struct rpc_context *rpc, struct mix_slot *s)
{
	char name[NAME_BYTES];
	REMOVE3args args = {.object = {.dir = fh(&s->run->dir), .name = name}};

	if (s->run->created - s->run->removed <= CREATED_LEAD) {
		s->op = MIX_CREATE;
		return call_create(rpc, s);
	}
	snprintf(name, sizeof(name), "c%08u", s->run->removed++);
	return rpc_nfs3_remove_async(rpc, answered, &args, s);
}

static int call_setattr(struct rpc_context *rpc, struct mix_slot *s)
{
	SETATTR3args args = {
		.object = fh(&s->run->files[s->file]),
		.new_attributes = {.mode = {.set_it = 1, .set_mode3_u = {.mode = 0644}}}};

	return rpc_nfs3_setattr_async(rpc, answered, &args, s);
}

static int call_readdir(struct rpc_context *rpc, struct mix_slot *s)
{
	READDIR3args args = {.dir = fh(&s->run->dir), .count = READDIR_BYTES};

	return rpc_nfs3_readdir_async(rpc, answered, &args, s);
}

static int call_simple(struct rpc_context *rpc, struct mix_slot *s)
{
	GETATTR3args getattr = {.object = fh(&s->run->files[s->file])};
	READLINK3args readlink = {.symlink = fh(&s->run->link)};
	FSSTAT3args fsstat = {.fsroot = fh(&s->run->dir)};

	switch (s->op) {
	case MIX_GETATTR:
		return rpc_nfs3_getattr_async(rpc, answered, &getattr, s);
	case MIX_READLINK:
		return rpc_nfs3_readlink_async(rpc, answered, &readlink, s);
	default:
		return rpc_nfs3_fsstat_async(rpc, answered, &fsstat, s);
	}
}

int mix_call(struct mix_slot *s)
{
	struct mix_run *r = s->run;
	struct rpc_context *rpc = r->connections[r->issued % r->connection_count].rpc;

	switch (s->op) {
	case MIX_READ:
		return call_read(rpc, s);
	case MIX_WRITE:
		return call_write(rpc, s);
	case MIX_LOOKUP:
		return call_lookup(rpc, s);
	case MIX_CREATE:
		return call_create(rpc, s);
	case MIX_REMOVE:
		return call_remove(rpc, s);
	case MIX_SETATTR:
		return call_setattr(rpc, s);
	case MIX_READDIR:
		return call_readdir(rpc, s);
	default:
		return call_simple(rpc, s);
	}
}
