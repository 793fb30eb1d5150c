/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The calls of a trace and what their answers must be. Statuses are the trace's. Bytes read are the
 * file's own; where nobody writes to the file meanwhile there are as many as the trace's sizes say.
 */
#include "replay.h"

#include <stdarg.h>
#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define ALL_ACCESS 0x3f /* the six rights of ACCESS3args */

void replay_problem(struct replay *r, const char *format, ...)
{
	va_list args;

	if (r->problem[0])
		return; /* the first one explains the others */
	va_start(args, format);
	vsnprintf(r->problem, sizeof(r->problem), format, args);
	va_end(args);
}

static const struct trace_op *op_of(const struct replay_slot *s)
{
	return &s->replay->trace->ops[s->op];
}

/* Counts an error, and says so if it is the first. */
__attribute__((format(printf, 2, 3))) static void wrong(struct replay_slot *s, const char *format,
							...)
{
	const struct trace_op *op = op_of(s);
	struct replay *r = s->replay;
	char path[TRACE_PATH_MAX + 1], text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->kinds[op->kind].errors++;
	r->clients[op->client].errors++;
	replay_problem(r, "line %u, %s of %.64s: %s", op->line, trace_kind_name(op->kind),
		       trace_path(r->trace, op->object, path), text);
}

/* That of the root is there for operations that fail. */
static struct replay_object *object_of(struct replay *r, uint32_t object)
{
	return &r->objects[object == TRACE_NONE ? r->trace->object_count : object];
}

/* ---- answers ---- */

static void check_read(struct replay_slot *s, const READ3resok *ok)
{
	const struct trace_op *op = op_of(s);
	struct replay *r = s->replay;
	const struct replay_object *o = object_of(r, op->object);
	const bool calm = s->calm && o->writes == s->writes;
	uint64_t there = o->size > op->offset ? o->size - op->offset : 0;
	const char *expected;
	size_t n;

	if (there > op->length)
		there = op->length;
	if (ok->data.data_len > op->length || (calm && ok->data.data_len != there)) {
		wrong(s, "%u bytes instead of %llu", ok->data.data_len, (unsigned long long)there);
		return;
	}
	r->kinds[op->kind].bytes += ok->data.data_len;
	r->clients[op->client].bytes += ok->data.data_len;
	if (!r->options->verify)
		return;
	expected =
		bytes_of(r->options->seed, op->content, op->offset, r->expected, ok->data.data_len);
	n = bytes_wrong(ok->data.data_val, expected, ok->data.data_len,
			!calm || r->trace->sparse[op->content]);
	if (n) {
		wrong(s, "%zu bytes of %u are not the file's", n, ok->data.data_len);
		r->kinds[op->kind].mismatches++;
		r->clients[op->client].mismatches++;
	}
}

static void check_write(struct replay_slot *s, const WRITE3resok *ok)
{
	const struct trace_op *op = op_of(s);
	struct replay_object *o = object_of(s->replay, op->object);

	if (ok->count != op->length)
		wrong(s, "%u bytes written instead of %u", ok->count, op->length);
	else if ((int)ok->committed < op->stable)
		wrong(s, "not as stable as asked");
	if (op->offset + ok->count > o->size)
		o->size = op->offset + ok->count;
	s->replay->kinds[op->kind].bytes += ok->count;
	s->replay->clients[op->client].bytes += ok->count;
}

static void take_handle(struct replay_slot *s, const post_op_fh3 *fh)
{
	struct replay_object *o = object_of(s->replay, op_of(s)->object);
	const nfs_fh3 *handle = &fh->post_op_fh3_u.handle;

	o->size = 0;
	if (!fh->handle_follows || handle->data.data_len > sizeof(o->handle.data)) {
		wrong(s, "an answer without a handle");
		return;
	}
	o->handle.len = handle->data.data_len;
	memcpy(o->handle.data, handle->data.data_val, o->handle.len);
}

static void check(struct replay_slot *s, const void *data)
{
	const struct trace_op *op = op_of(s);
	struct replay_object *objects = s->replay->objects;

	switch (op->kind) {
	case TRACE_READ:
		check_read(s, &((const READ3res *)data)->READ3res_u.resok);
		break;
	case TRACE_WRITE:
		check_write(s, &((const WRITE3res *)data)->WRITE3res_u.resok);
		break;
	case TRACE_CREATE:
		take_handle(s, &((const CREATE3res *)data)->CREATE3res_u.resok.obj);
		break;
	case TRACE_MKDIR:
		take_handle(s, &((const MKDIR3res *)data)->MKDIR3res_u.resok.obj);
		break;
	case TRACE_SETATTR:
		objects[op->object].size = op->offset;
		break;
	case TRACE_RENAME:
		objects[op->to] = objects[op->object];
		break;
	default:
		break;
	}
}

static void answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct replay_slot *s = private_data;
	const struct trace_op *op = op_of(s);
	/* Every answer of NFSv3 begins with its status. */
	const int got = status == RPC_STATUS_SUCCESS ? (int)*(nfsstat3 *)data : -1;

	if (op->kind == TRACE_WRITE)
		object_of(s->replay, op->object)->writing--;
	if (got < 0)
		wrong(s, "connection lost");
	else if (got != op->status)
		wrong(s, "%s instead of %s", nfsstat3_to_str(got), nfsstat3_to_str(op->status));
	else if (got == NFS3_OK)
		check(s, data);
	s->replay->answered(s, got);
}

/* ---- calls ---- */

static nfs_fh3 fh_of(const struct handle *h)
{
	return (nfs_fh3){{h->len, (char *)h->data}};
}

static const struct handle *handle_of(const struct replay *r, uint32_t object)
{
	return object == TRACE_NONE ? &r->root : &r->objects[object].handle;
}

static const struct handle *parent_of(const struct replay *r, uint32_t object)
{
	return handle_of(r, r->trace->objects[object].parent);
}

static diropargs3 entry(const struct replay *r, uint32_t object)
{
	return (diropargs3){fh_of(parent_of(r, object)), (char *)r->trace->objects[object].name};
}

static bool by_name(const struct trace_op *op)
{
	return op->object != TRACE_NONE &&
	       (op->kind == TRACE_LOOKUP || op->kind == TRACE_CREATE || op->kind == TRACE_MKDIR ||
		op->kind == TRACE_REMOVE || op->kind == TRACE_RMDIR || op->kind == TRACE_RENAME);
}

static int send_read(struct replay_slot *s, struct rpc_context *rpc, nfs_fh3 fh)
{
	const struct trace_op *op = op_of(s);
	const struct replay_object *o = object_of(s->replay, op->object);
	READ3args args = {fh, op->offset, op->length};

	s->writes = o->writes;
	s->calm = !o->writing;
	return rpc_nfs3_read_async(rpc, answered, &args, s);
}

static int send_write(struct replay_slot *s, struct rpc_context *rpc, nfs_fh3 fh)
{
	const struct trace_op *op = op_of(s);
	struct replay *r = s->replay;
	WRITE3args args = {fh, op->offset, op->length, (stable_how)op->stable, {0}};

	args.data.data_len = op->length;
	args.data.data_val = (char *)bytes_of(r->options->seed, op->content, op->offset,
					      r->write_buffer, op->length);
	object_of(r, op->object)->writes++;
	object_of(r, op->object)->writing++;
	return rpc_nfs3_write_async(rpc, answered, &args, s);
}

static int send_made(struct replay_slot *s, struct rpc_context *rpc)
{
	const struct trace_op *op = op_of(s);
	CREATE3args create = {.where = entry(s->replay, op->object)};
	MKDIR3args mkdir = {.where = create.where};
	sattr3 *attr = &create.how.createhow3_u.obj_attributes;

	if (op->kind == TRACE_MKDIR) {
		mkdir.attributes.mode.set_it = 1;
		mkdir.attributes.mode.set_mode3_u.mode = 0755;
		return rpc_nfs3_mkdir_async(rpc, answered, &mkdir, s);
	}
	create.how.mode = UNCHECKED;
	attr->mode.set_it = 1;
	attr->mode.set_mode3_u.mode = 0644;
	attr->size.set_it = 1; /* to 0: one that is there is emptied */
	return rpc_nfs3_create_async(rpc, answered, &create, s);
}

static int send_by_name(struct replay_slot *s, struct rpc_context *rpc)
{
	const struct replay *r = s->replay;
	const struct trace_op *op = op_of(s);
	LOOKUP3args lookup = {entry(r, op->object)};
	REMOVE3args remove = {lookup.what};
	RMDIR3args rmdir = {lookup.what};
	RENAME3args rename = {.from = lookup.what};

	switch (op->kind) {
	case TRACE_LOOKUP:
		return rpc_nfs3_lookup_async(rpc, answered, &lookup, s);
	case TRACE_REMOVE:
		return rpc_nfs3_remove_async(rpc, answered, &remove, s);
	case TRACE_RMDIR:
		return rpc_nfs3_rmdir_async(rpc, answered, &rmdir, s);
	case TRACE_RENAME:
		rename.to = entry(r, op->to);
		return rpc_nfs3_rename_async(rpc, answered, &rename, s);
	default:
		return send_made(s, rpc);
	}
}

static int send_readdir(struct replay_slot *s, struct rpc_context *rpc, nfs_fh3 fh)
{
	const struct trace_op *op = op_of(s);
	READDIR3args plain = {.dir = fh, .count = op->length};
	READDIRPLUS3args plus = {.dir = fh, .dircount = op->length, .maxcount = op->length};

	if (op->kind == TRACE_READDIR)
		return rpc_nfs3_readdir_async(rpc, answered, &plain, s);
	return rpc_nfs3_readdirplus_async(rpc, answered, &plus, s);
}

static int send_by_handle(struct replay_slot *s, struct rpc_context *rpc, nfs_fh3 fh)
{
	const struct trace_op *op = op_of(s);
	GETATTR3args getattr = {fh};
	ACCESS3args access = {fh, ALL_ACCESS};
	FSSTAT3args fsstat = {fh};
	COMMIT3args commit = {fh, op->offset, op->length};
	SETATTR3args setattr = {.object = fh};

	switch (op->kind) {
	case TRACE_ACCESS:
		return rpc_nfs3_access_async(rpc, answered, &access, s);
	case TRACE_READ:
		return send_read(s, rpc, fh);
	case TRACE_WRITE:
		return send_write(s, rpc, fh);
	case TRACE_READDIR:
	case TRACE_READDIRPLUS:
		return send_readdir(s, rpc, fh);
	case TRACE_FSSTAT:
		return rpc_nfs3_fsstat_async(rpc, answered, &fsstat, s);
	case TRACE_COMMIT:
		return rpc_nfs3_commit_async(rpc, answered, &commit, s);
	case TRACE_SETATTR:
		setattr.new_attributes.size.set_it = 1;
		setattr.new_attributes.size.set_size3_u.size = op->offset;
		return rpc_nfs3_setattr_async(rpc, answered, &setattr, s);
	default: /* of the root a LOOKUP has no name */
		return rpc_nfs3_getattr_async(rpc, answered, &getattr, s);
	}
}

int replay_send(struct replay_slot *s)
{
	const struct replay *r = s->replay;
	const struct trace_op *op = op_of(s);
	struct rpc_context *rpc = r->connections[op->client];
	const struct handle *first, *second;

	if (by_name(op)) {
		first = parent_of(r, op->object);
		second = op->kind == TRACE_RENAME ? parent_of(r, op->to) : first;
		return !first->len || !second->len ? 1 : send_by_name(s, rpc) < 0 ? -1 : 0;
	}
	first = handle_of(r, op->object);
	return !first->len ? 1 : send_by_handle(s, rpc, fh_of(first)) < 0 ? -1 : 0;
}
