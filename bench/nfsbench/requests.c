/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The calls of a load and their answers. Every byte read is compared with what must be there:
 * the file as it was laid out, or, where the load also writes (see blocks.h), what was written.
 */
#include "content.h"
#include "engine.h"
#include "pricing/fsstat_price.h"

#include <stdio.h>
#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

/* What counts in the interval of its group, of work clients. */
static void account_steady(struct engine *e, const struct slot *s, uint64_t ns)
{
	struct steady *steady = &e->load->groups[s->flow->group].steady;
	uint64_t before = steady->bytes;

	if (!e->load->groups[s->flow->group].spec)
		return;
	steady_add(steady, engine_seconds(e, s->issued), engine_seconds(e, ns), s->len);
	s->flow->steady_bytes += steady->bytes - before;
}

static void account(struct slot *s, uint64_t ns)
{
	struct engine *e = s->engine;
	struct flow *f = s->flow;
	uint64_t us = (ns - s->issued) / 1000;

	if (!f->requests++)
		f->first = engine_seconds(e, ns);
	f->bytes += s->len;
	if (us > f->max_us)
		f->max_us = us;
	if (!f->background)
		e->foreground_bytes += s->len;
	latency_add(&e->load->groups[f->group].latency, us);
	account_steady(e, s, ns);
}

/* Whether the call was answered well; then it counts. */
static bool answered_well(struct slot *s, int status, int nfs_status, const char *what)
{
	struct engine *e = s->engine;
	struct flow *f = s->flow;

	e->last_answer = engine_now();
	if (status == RPC_STATUS_SUCCESS && nfs_status == NFS3_OK) {
		account(s, e->last_answer);
		return true;
	}
	f->errors++;
	engine_problem(e, "%s of f%04u at %llu, %u bytes: %s", what, f->file,
		       (unsigned long long)s->offset, s->len,
		       status == RPC_STATUS_SUCCESS ? nfsstat3_to_str(nfs_status)
						    : "connection lost");
	/* Without its connection a flow cannot go on, nor those that wait for it. */
	if (status != RPC_STATUS_SUCCESS)
		f->next = f->blocks;
	if (f->client)
		e->stop = true;
	return false;
}

/* Words that are not what must be there. Of a file that the load writes, block by block: of this
 * generation where this run wrote, else wholly of an earlier one. */
static size_t differences(const struct slot *s, const void *data)
{
	const struct flow *f = s->flow;
	const struct options *o = s->engine->load->options;

	if (!f->client)
		return content_differences(f->content, s->offset, data, s->len);
	if (blocks_written(&f->client->blocks, s->offset / f->request))
		return content_differences(content_generation(o->seed, f->file, o->generation),
					   s->offset, data, s->len);
	for (uint64_t g = 0; g < o->generation; g++) {
		if (content_is(content_generation(o->seed, f->file, g), s->offset, data, s->len))
			return 0;
	}
	return s->len / 8;
}

static void check_data(struct slot *s, const READ3resok *ok)
{
	struct flow *f = s->flow;
	size_t wrong;

	if (ok->data.data_len != s->len) {
		f->errors++;
		engine_problem(s->engine, "READ of f%04u at %llu: %u bytes instead of %u", f->file,
			       (unsigned long long)s->offset, ok->data.data_len, s->len);
		return;
	}
	if (!s->engine->load->options->verify)
		return;
	wrong = differences(s, ok->data.data_val);
	if (wrong) {
		f->mismatches++;
		engine_problem(s->engine,
			       "READ of f%04u at %llu, %u bytes: %zu words are not the file's",
			       f->file, (unsigned long long)s->offset, s->len, wrong);
	}
}

static void read_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	READ3res *res = data;

	if (answered_well(s, status, status ? 0 : (int)res->status, "READ"))
		check_data(s, &res->READ3res_u.resok);
	s->engine->answered(s->engine, s);
}

static void write_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	WRITE3res *res = data;

	if (answered_well(s, status, status ? 0 : (int)res->status, "WRITE")) {
		const WRITE3resok *ok = &res->WRITE3res_u.resok;

		if (ok->count != s->len || (s->flow->stable && ok->committed == UNSTABLE)) {
			s->flow->errors++;
			engine_problem(s->engine, "WRITE of w%04u at %llu: %s", s->flow->file,
				       (unsigned long long)s->offset,
				       ok->count != s->len ? "short" : "not stable as asked");
		}
	}
	s->engine->answered(s->engine, s);
}

/* A line for the prices that the counters of an answer carry. */
static void write_prices(FILE *out, uint64_t ns, const FSSTAT3resok *ok)
{
	struct fsstat_files files = {.total = ok->tfiles, .free = ok->ffiles, .avail = ok->afiles};
	struct fsstat_prices prices;

	if (fsstat_price_decode(&files, &prices))
		fprintf(out, "%.3f,%.5f,%.5f\n", 1e-9 * (double)ns, prices.write, prices.readahead);
	else
		fprintf(out, "%.3f,-,-\n", 1e-9 * (double)ns);
}

static void fsstat_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	FSSTAT3res *res = data;

	if (answered_well(s, status, status ? 0 : (int)res->status, "FSSTAT") && s->engine->prices)
		write_prices(s->engine->prices, s->engine->last_answer, &res->FSSTAT3res_u.resok);
	s->engine->answered(s->engine, s);
}

static void committed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct flow *f = s->flow;
	COMMIT3res *res = data;

	s->engine->last_answer = engine_now();
	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK) {
		f->errors++;
		engine_problem(s->engine, "COMMIT of file %04u failed", f->file);
	} else {
		f->committed = engine_seconds(s->engine, s->engine->last_answer);
		f->commits++;
	}
	s->engine->committed(s->engine, s);
}

static int send_read(struct slot *s)
{
	struct flow *f = s->flow;
	READ3args args = {.offset = s->offset, .count = s->len};

	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	return rpc_nfs3_read_async(engine_connection(s->engine, f), read_answered, &args, s);
}

/* Its handle and its size, from whose end the pieces are; false after a message. */
static bool keep_file(struct slot *s, const LOOKUP3resok *ok)
{
	struct flow *f = s->flow;
	uint64_t size = ok->obj_attributes.post_op_attr_u.attributes.size;

	if (!ok->obj_attributes.attributes_follow || size % 8 || size < f->pieces->furthest ||
	    ok->object.data.data_len > sizeof(f->handle.data)) {
		f->errors++;
		engine_problem(s->engine,
			       "LOOKUP of f%04u: its size must be told, a multiple of 8 and at "
			       "least %llu",
			       f->file, (unsigned long long)f->pieces->furthest);
		return false;
	}
	f->size = size;
	f->handle.len = ok->object.data.data_len;
	memcpy(f->handle.data, ok->object.data.data_val, f->handle.len);
	return true;
}

static void looked_up(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	LOOKUP3res *res = data;

	if (!answered_well(s, status, status ? 0 : (int)res->status, "LOOKUP") ||
	    !keep_file(s, &res->LOOKUP3res_u.resok))
		s->flow->next = s->flow->blocks; /* its pieces cannot be read */
	s->engine->answered(s->engine, s);
}

static int send_lookup(struct slot *s)
{
	struct flow *f = s->flow;
	struct handle *dir = &s->engine->load->groups[f->group].dir;
	LOOKUP3args args = {.what = {.dir = {.data = {dir->len, dir->data}}}};
	char name[16];

	snprintf(name, sizeof(name), "f%04u", f->file);
	args.what.name = name;
	return rpc_nfs3_lookup_async(engine_connection(s->engine, f), looked_up, &args, s);
}

static int send_write(struct slot *s)
{
	struct flow *f = s->flow;
	WRITE3args args = {.offset = s->offset, .count = s->len};

	args.stable = f->stable ? FILE_SYNC : UNSTABLE;
	content_fill(f->content, s->offset, s->engine->write_buffer, s->len);
	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	args.data.data_len = s->len;
	args.data.data_val = s->engine->write_buffer;
	return rpc_nfs3_write_async(engine_connection(s->engine, f), write_answered, &args, s);
}

static int send_fsstat(struct slot *s)
{
	FSSTAT3args args = {0};

	args.fsroot.data.data_len = s->engine->dir.len;
	args.fsroot.data.data_val = s->engine->dir.data;
	return rpc_nfs3_fsstat_async(engine_connection(s->engine, s->flow), fsstat_answered, &args,
				     s);
}

int request_send(struct slot *s)
{
	switch (s->flow->op) {
	case FLOW_READ:
		return s->len ? send_read(s) : send_lookup(s);
	case FLOW_WRITE:
		return send_write(s);
	case FLOW_FSSTAT:
		return send_fsstat(s);
	}
	return -1;
}

int request_commit(struct slot *s)
{
	struct flow *f = s->flow;
	COMMIT3args args = {0};

	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	return rpc_nfs3_commit_async(engine_connection(s->engine, f), committed, &args, s);
}
