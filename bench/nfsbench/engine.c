/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Running a load: one thread, one poll loop over the connections.
 *
 * A flow keeps `outstanding` requests in flight; each answer issues its successor from the
 * callback. A request is described by a slot (who, where, when) out of an array that has exactly
 * as many as can be in flight, so nothing is allocated while the load runs.
 */
#include "load.h"
#include "content.h"
#include "progress.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define CONNECT_SECONDS 10.0

struct engine;

struct slot {
	struct engine *engine;
	struct flow *flow;
	struct slot *next_free;
	uint64_t offset;
	uint32_t len;
	uint64_t issued; /* ns */
};

struct engine {
	struct load *load;
	struct rpc_context **connections;
	unsigned int connection_count;
	struct pollfd *polls;
	struct slot *slots;
	struct slot *free_slots;
	char *write_buffer; /* the RPC layer copies out of it when a call is queued */
	uint64_t began;	    /* ns */
	uint64_t last_answer;
	uint64_t foreground_bytes;
	unsigned int foreground_left; /* flows not in the background and not done */
	unsigned int main_left;	      /* flows of the main group not done */
	unsigned int in_flight;
	bool stop; /* issue nothing more */
	struct progress progress;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double since_start(const struct engine *e, uint64_t ns)
{
	return 1e-9 * (double)(ns - e->began);
}

__attribute__((format(printf, 2, 3))) static void problem(struct load *load, const char *format,
							  ...)
{
	va_list args;

	if (load->problem[0])
		return; /* the first one explains the others */
	va_start(args, format);
	vsnprintf(load->problem, sizeof(load->problem), format, args);
	va_end(args);
}

static void issue(struct engine *e, struct flow *f);

static struct slot *take_slot(struct engine *e, struct flow *f)
{
	struct slot *s = e->free_slots;

	e->free_slots = s->next_free;
	s->flow = f;
	s->issued = now_ns();
	f->in_flight++;
	e->in_flight++;
	return s;
}

static void give_slot(struct engine *e, struct slot *s)
{
	s->flow->in_flight--;
	e->in_flight--;
	s->next_free = e->free_slots;
	e->free_slots = s;
}

/* A flow's own connection; with more connections than flows, they are its own in turn. */
static struct rpc_context *connection_of(struct engine *e, const struct flow *f)
{
	unsigned int flows = e->load->flow_count, index = (unsigned int)(f - e->load->flows);
	unsigned int each = e->connection_count / flows;

	if (each < 2)
		return e->connections[index % e->connection_count];
	return e->connections[index + flows * (f->next % each)];
}

/* What the others did while the main group ran: their rate and their latencies beside it. */
static void main_group_done(struct load *load, double end)
{
	load->main_end = end;
	for (unsigned int i = 0; i < load->flow_count; i++) {
		load->flows[i].beside = load->flows[i].requests;
		load->flows[i].beside_bytes = load->flows[i].bytes;
	}
	for (unsigned int i = 0; i < load->group_count; i++)
		load->groups[i].beside = load->groups[i].latency;
}

static void flow_done(struct engine *e, struct flow *f, uint64_t ns)
{
	f->done = true;
	f->end = since_start(e, ns);
	if (f->group == e->load->main_group && --e->main_left == 0)
		main_group_done(e->load, f->end);
	if (f->background)
		return;
	e->load->elapsed = f->end;
	if (--e->foreground_left == 0)
		e->stop = true;
}

static void committed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct engine *e = s->engine;
	struct flow *f = s->flow;
	COMMIT3res *res = data;

	e->last_answer = now_ns();
	if (status != RPC_STATUS_SUCCESS || res->status != NFS3_OK) {
		f->errors++;
		problem(e->load, "COMMIT of w%04u failed", f->file);
	} else {
		f->committed = since_start(e, e->last_answer);
	}
	give_slot(e, s);
	flow_done(e, f, e->last_answer);
}

static void commit(struct engine *e, struct flow *f)
{
	struct slot *s = take_slot(e, f);
	COMMIT3args args = {0};

	f->committing = true;
	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	if (rpc_nfs3_commit_async(connection_of(e, f), committed, &args, s) < 0) {
		f->errors++;
		problem(e->load, "cannot queue a COMMIT");
		give_slot(e, s);
		flow_done(e, f, now_ns());
	}
}

/* After an answer: the next requests, or the flow's end. */
static void proceed(struct engine *e, struct flow *f, uint64_t ns)
{
	issue(e, f);
	if (f->in_flight || f->done || f->committing)
		return;
	if (f->write)
		f->acknowledged = since_start(e, ns);
	if (f->commit && !f->errors)
		commit(e, f);
	else
		flow_done(e, f, ns);
}

static void account(struct engine *e, struct slot *s, uint64_t ns)
{
	struct flow *f = s->flow;
	uint64_t us = (ns - s->issued) / 1000;

	if (!f->requests++)
		f->first = since_start(e, ns);
	f->bytes += s->len;
	if (us > f->max_us)
		f->max_us = us;
	if (!f->background)
		e->foreground_bytes += s->len;
	latency_add(&e->load->groups[f->group].latency, us);
}

static bool answer_failed(struct engine *e, struct slot *s, int status, int nfs_status,
			  const char *what)
{
	struct flow *f = s->flow;

	if (status == RPC_STATUS_SUCCESS && nfs_status == NFS3_OK)
		return false;
	f->errors++;
	problem(e->load, "%s of f%04u at %llu, %u bytes: %s", what, f->file,
		(unsigned long long)s->offset, s->len,
		status == RPC_STATUS_SUCCESS ? nfsstat3_to_str(nfs_status) : "connection lost");
	/* Without its connection a flow cannot go on. */
	if (status != RPC_STATUS_SUCCESS)
		f->next = f->blocks;
	return true;
}

static void check_data(struct engine *e, struct slot *s, const READ3resok *ok)
{
	struct flow *f = s->flow;
	size_t wrong;

	if (ok->data.data_len != s->len) {
		f->errors++;
		problem(e->load, "READ of f%04u at %llu: %u bytes instead of %u", f->file,
			(unsigned long long)s->offset, ok->data.data_len, s->len);
		return;
	}
	if (!e->load->options->verify)
		return;
	wrong = content_differences(f->content, s->offset, ok->data.data_val, s->len);
	if (wrong) {
		f->mismatches++;
		problem(e->load, "READ of f%04u at %llu, %u bytes: %zu words are not the file's",
			f->file, (unsigned long long)s->offset, s->len, wrong);
	}
}

static void read_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct engine *e = s->engine;
	struct flow *f = s->flow;
	READ3res *res = data;
	uint64_t ns = now_ns();

	e->last_answer = ns;
	if (!answer_failed(e, s, status, status ? 0 : (int)res->status, "READ")) {
		account(e, s, ns);
		check_data(e, s, &res->READ3res_u.resok);
	}
	give_slot(e, s);
	proceed(e, f, ns);
}

static void write_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct engine *e = s->engine;
	struct flow *f = s->flow;
	WRITE3res *res = data;
	uint64_t ns = now_ns();

	e->last_answer = ns;
	if (!answer_failed(e, s, status, status ? 0 : (int)res->status, "WRITE")) {
		account(e, s, ns);
		if (res->WRITE3res_u.resok.count != s->len) {
			f->errors++;
			problem(e->load, "WRITE of f%04u at %llu: short", f->file,
				(unsigned long long)s->offset);
		}
	}
	give_slot(e, s);
	proceed(e, f, ns);
}

static int send_read(struct engine *e, struct slot *s)
{
	struct flow *f = s->flow;
	READ3args args = {.offset = s->offset, .count = s->len};

	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	return rpc_nfs3_read_async(connection_of(e, f), read_answered, &args, s);
}

static int send_write(struct engine *e, struct slot *s)
{
	struct flow *f = s->flow;
	WRITE3args args = {.offset = s->offset, .count = s->len, .stable = UNSTABLE};

	content_fill(f->content, s->offset, e->write_buffer, s->len);
	args.file.data.data_len = f->handle.len;
	args.file.data.data_val = f->handle.data;
	args.data.data_len = s->len;
	args.data.data_val = e->write_buffer;
	return rpc_nfs3_write_async(connection_of(e, f), write_answered, &args, s);
}

static void issue(struct engine *e, struct flow *f)
{
	while (!e->stop && f->in_flight < f->outstanding && f->next < f->blocks) {
		struct slot *s = take_slot(e, f);
		uint64_t left;

		s->offset = (uint64_t)f->order[f->next] * f->request;
		left = f->size - s->offset;
		s->len = left < f->request ? (uint32_t)left : f->request;
		if ((f->write ? send_write(e, s) : send_read(e, s)) < 0) {
			f->errors++;
			problem(e->load, "cannot queue a request");
			give_slot(e, s);
			f->next = f->blocks;
			return;
		}
		f->next++;
	}
}

/* ---- before the start ---- */

static int prepare_flow(struct engine *e, struct flow *f, const struct handle *dir)
{
	struct rpc_context *nfs = e->connections[0];
	char name[16];
	uint64_t size = 0;

	snprintf(name, sizeof(name), "%c%04u", f->write ? 'w' : 'f', f->file);
	if (f->write)
		return session_create(nfs, dir, name, CONNECT_SECONDS, &f->handle);
	if (session_lookup(nfs, dir, name, CONNECT_SECONDS, &f->handle, &size))
		return -1;
	if (size < f->size) {
		fprintf(stderr, "nfsbench: file %s has %llu bytes, the work needs %llu\n", name,
			(unsigned long long)size, (unsigned long long)f->size);
		return -1;
	}
	return 0;
}

static int connect_all(struct engine *e)
{
	const struct options *o = e->load->options;
	unsigned int want = o->connections ? (unsigned int)o->connections : e->load->flow_count;

	e->connections = calloc(want, sizeof(*e->connections));
	e->polls = calloc(want, sizeof(*e->polls));
	if (!e->connections || !e->polls)
		return -1;
	while (e->connection_count < want) {
		struct rpc_context *rpc = session_connect(o->server, (int)o->port, CONNECT_SECONDS);

		if (!rpc)
			return -1;
		e->connections[e->connection_count++] = rpc;
	}
	return 0;
}

static int make_slots(struct engine *e)
{
	size_t count = 0;

	for (unsigned int i = 0; i < e->load->flow_count; i++)
		count += e->load->flows[i].outstanding;
	e->slots = calloc(count, sizeof(*e->slots));
	e->write_buffer = malloc(MAX_REQUEST);
	if (!e->slots || !e->write_buffer)
		return -1;
	for (size_t i = 0; i < count; i++) {
		e->slots[i].engine = e;
		e->slots[i].next_free = e->free_slots;
		e->free_slots = &e->slots[i];
	}
	return 0;
}

static int prepare(struct engine *e)
{
	const struct options *o = e->load->options;
	struct handle root, dir;
	uint64_t size;
	int rc = 0;

	if (make_slots(e) || connect_all(e))
		return -1;
	if (session_mount(o->server, (int)o->mount_port, o->export_path, CONNECT_SECONDS, &root) ||
	    session_lookup(e->connections[0], &root, o->dir ? o->dir : "", CONNECT_SECONDS, &dir,
			   &size))
		return -1;
	for (unsigned int i = 0; i < e->load->flow_count && !rc; i++)
		rc = prepare_flow(e, &e->load->flows[i], &dir);
	return rc;
}

/* ---- the loop ---- */

static void service(struct engine *e, unsigned int i)
{
	struct rpc_context *rpc = e->connections[i];
	int rc = rpc_service(rpc, e->polls[i].revents);

	/* Requests queued by the callbacks go out now, without another turn of the loop. */
	if (rc == 0 && (rpc_which_events(rpc) & POLLOUT))
		rc = rpc_service(rpc, POLLOUT);
	if (rc < 0) {
		problem(e->load, "connection %u: %s", i,
			rpc_get_error(rpc) ? rpc_get_error(rpc) : "lost");
		e->load->timed_out = true;
		e->stop = true;
	}
}

static void poll_once(struct engine *e)
{
	for (unsigned int i = 0; i < e->connection_count; i++) {
		e->polls[i].fd = rpc_get_fd(e->connections[i]);
		e->polls[i].events = (short)rpc_which_events(e->connections[i]);
		e->polls[i].revents = 0;
	}
	if (poll(e->polls, e->connection_count, 100) <= 0)
		return;
	for (unsigned int i = 0; i < e->connection_count && !e->load->timed_out; i++) {
		if (e->polls[i].revents)
			service(e, i);
	}
}

/* The bounds on the whole. Returns false when the loop must end now. */
static bool within_bounds(struct engine *e, uint64_t ns)
{
	const struct options *o = e->load->options;
	double elapsed = since_start(e, ns);

	if (o->duration > 0 && elapsed >= o->duration)
		e->stop = true;
	if (interrupted)
		problem(e->load, "interrupted by signal %d", (int)interrupted);
	else if (elapsed > o->max_time)
		problem(e->load, "not done after %.0f s (--max-time)", o->max_time);
	else if (ns > e->last_answer && 1e-9 * (double)(ns - e->last_answer) > o->stall)
		problem(e->load, "no answer for %.0f s (--stall)", o->stall);
	else
		return !e->load->timed_out;
	e->load->timed_out = true;
	return false;
}

static void start_flows(struct engine *e)
{
	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		e->foreground_left += !e->load->flows[i].background;
		e->main_left += e->load->flows[i].group == e->load->main_group;
	}
	e->began = e->load->began = e->last_answer = now_ns();
	for (unsigned int i = 0; i < e->load->flow_count; i++)
		proceed(e, &e->load->flows[i], e->began);
}

static void loop(struct engine *e)
{
	uint64_t ns = e->began;

	while (e->in_flight && within_bounds(e, ns)) {
		poll_once(e);
		ns = now_ns();
		if (!e->load->options->quiet)
			progress_update(&e->progress, since_start(e, ns), e->foreground_bytes,
					e->load->planned_bytes);
	}
	e->load->total = since_start(e, e->last_answer);
	/* Flows cut off by an error or a bound count up to the last answer. */
	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		if (!e->load->flows[i].done)
			e->load->flows[i].end = e->load->total;
	}
	if (e->load->elapsed == 0)
		e->load->elapsed = e->load->total;
}

static void tear_down(struct engine *e)
{
	/* Destroying a connection with calls in flight runs their callbacks: issue nothing more. */
	e->stop = true;
	for (unsigned int i = 0; i < e->load->flow_count; i++)
		e->load->flows[i].committing = true;
	for (unsigned int i = 0; i < e->connection_count; i++)
		rpc_destroy_context(e->connections[i]);
	free(e->connections);
	free(e->polls);
	free(e->slots);
	free(e->write_buffer);
}

int load_run(struct load *load)
{
	struct engine e = {.load = load};
	struct sigaction action = {.sa_handler = on_signal};
	int rc;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = prepare(&e);
	if (rc == 0) {
		progress_begin(&e.progress);
		start_flows(&e);
		loop(&e);
		progress_end(&e.progress);
	}
	tear_down(&e);
	return rc;
}
