/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Running a load: one thread, one poll loop over the connections.
 *
 * A flow keeps `outstanding` requests in flight; each answer issues its successor from the
 * callback, unless the flow is held back by its rate or by its client (load.h). A request is
 * described by a slot (who, where, when) out of an array that has exactly as many as can be in
 * flight, so nothing is allocated while the load runs.
 */
#include "content.h"
#include "engine.h"
#include "pace.h"
#include "transport.h"
#include "turns.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#define POLL_NS UINT64_C(100000000)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static struct slot *take_slot(struct engine *e, struct flow *f)
{
	struct slot *s = e->free_slots;

	e->free_slots = s->next_free;
	s->flow = f;
	s->issued = engine_now();
	f->in_flight++;
	return s;
}

static void give_slot(struct engine *e, struct slot *s)
{
	s->flow->in_flight--;
	s->next_free = e->free_slots;
	e->free_slots = s;
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
	f->end = engine_seconds(e, ns);
	e->flows_left--;
	if (f->group == e->load->main_group && --e->main_left == 0)
		main_group_done(e->load, f->end);
	if (f->background)
		return;
	e->load->elapsed = f->end;
	if (--e->foreground_left == 0)
		e->stop = true;
}

/* Not yet: it is not its time, or its client's other flows are behind. */
static bool held_back(const struct flow *f, uint64_t ns)
{
	return f->due > ns || f->committing ||
	       (f->commit_every && f->uncommitted == f->commit_every) ||
	       (f->client && f->next >= (f->client->transactions + 1) * f->per_transaction);
}

/* What is left of the block of F's request S, as much as one READ may ask for. */
static void take_part(const struct engine *e, struct flow *f, struct slot *s)
{
	s->offset += f->part;
	s->len -= f->part;
	f->part = 0;
	if (s->len > e->load->read_size.size) {
		s->len = e->load->read_size.size;
		f->part = (uint32_t)(s->offset % f->unit) + s->len;
	}
}

/* Work ends: call NUMBER of F is the LOOKUP of a file, which carries no bytes, or a piece of it. */
static void take_piece(const struct engine *e, struct flow *f, uint32_t number, struct slot *s)
{
	const struct options *o = e->load->options;
	uint32_t calls = 1 + f->pieces->count, call = number % calls;

	if (call) {
		s->offset = f->size - f->pieces->piece[call - 1].back;
		s->len = f->pieces->piece[call - 1].bytes;
		return;
	}
	f->file = (uint32_t)(o->first_file + number / calls);
	f->content = content_start(o->seed, f->file);
	s->offset = s->len = 0;
}

/* The next request of F, described by a slot. */
static struct slot *next_request(struct engine *e, struct flow *f)
{
	struct slot *s = take_slot(e, f);
	uint32_t block = f->order[f->next];
	uint64_t left;

	if (f->pieces) {
		take_piece(e, f, block, s);
		return s;
	}
	if (f->client && !f->creates)
		block = blocks_take(&f->client->blocks, block, f->op == FLOW_WRITE);
	s->offset = block * f->unit;
	left = f->size - s->offset;
	s->len = left < f->request ? (uint32_t)left : f->request;
	if (e->load->adapts && f->op == FLOW_READ && !f->client)
		take_part(e, f, s);
	return s;
}

static void request_over(struct engine *e, struct slot *s)
{
	struct flow *f = s->flow;

	if (f->client && !f->creates)
		blocks_give(&f->client->blocks, (uint32_t)(s->offset / f->request),
			    f->op == FLOW_WRITE);
	give_slot(e, s);
}

static void issue(struct engine *e, struct flow *f, uint64_t ns)
{
	while (!e->stop && turns_run(e->load, f) && f->in_flight < f->outstanding &&
	       f->next < f->blocks && !held_back(f, ns)) {
		struct slot *s = next_request(e, f);

		if (f->interval)
			s->issued = pace_take(&f->due, f->interval, ns);
		if (request_send(s) < 0) {
			f->errors++;
			engine_problem(e, "cannot queue a request");
			request_over(e, s);
			f->next = f->blocks;
			return;
		}
		f->next += f->part == 0;
		f->uncommitted += f->commit_every != 0;
	}
}

static void proceed(struct engine *e, struct flow *f, uint64_t ns);

/* S was the COMMIT that ends its flow, or of a flow that commits again and again. */
static void committed(struct engine *e, struct slot *s)
{
	struct flow *f = s->flow;

	give_slot(e, s);
	if (!f->commit_every) {
		flow_done(e, f, engine_now());
		return;
	}
	f->committing = false;
	f->uncommitted = 0;
	proceed(e, f, engine_now());
}

static void commit(struct engine *e, struct flow *f)
{
	struct slot *s = take_slot(e, f);

	f->committing = true;
	if (request_commit(s) < 0) {
		f->errors++;
		engine_problem(e, "cannot queue a COMMIT");
		committed(e, s);
	}
}

/* A flow of work clients with nothing left to do: nobody is measured beside it any more. */
static void exhausted(struct engine *e, struct flow *f, uint64_t ns)
{
	if (f->next >= f->blocks && turns_end(e->load, f, engine_seconds(e, ns)))
		e->turn_ending = true;
}

static bool must_commit(const struct engine *e, const struct flow *f)
{
	if (f->errors || !f->commit_every)
		return false;
	return f->uncommitted == f->commit_every ||
	       (f->uncommitted && (e->stop || !turns_run(e->load, f)));
}

/* Its next requests, or its end. */
static void proceed(struct engine *e, struct flow *f, uint64_t ns)
{
	issue(e, f, ns);
	exhausted(e, f, ns);
	if (f->in_flight || f->done || f->committing)
		return;
	if (must_commit(e, f)) {
		commit(e, f);
		return;
	}
	if (!e->stop && f->next < f->blocks && !e->load->turn_ended)
		return; /* held back: the clock or its client's other flows wake it */
	if (f->op == FLOW_WRITE && !f->errors)
		f->acknowledged = engine_seconds(e, ns);
	if (f->commit && !f->errors)
		commit(e, f);
	else
		flow_done(e, f, ns);
}

/* After an answer to one of its flows: the next transaction when this one is done. */
static void advance(struct engine *e, struct client *c, uint64_t ns)
{
	struct flow *flows = &e->load->flows[c->first];

	for (unsigned int i = 0; i < c->flows; i++) {
		if (flows[i].requests < (c->transactions + 1) * (uint64_t)flows[i].per_transaction)
			return;
	}
	c->transactions++;
	for (unsigned int i = 0; i < c->flows; i++)
		proceed(e, &flows[i], ns);
}

/* S was answered, rightly or not: its flow goes on. */
static void answered(struct engine *e, struct slot *s)
{
	struct flow *f = s->flow;

	request_over(e, s);
	proceed(e, f, e->last_answer);
	if (f->client)
		advance(e, f->client, e->last_answer);
}

/* ---- the loop ---- */

static void service(struct engine *e, unsigned int i, uint64_t ns)
{
	struct connection *c = &e->connections[i];

	if (connection_service(c, e->polls + (size_t)i * CONNECTION_POLLS, ns) == 0)
		return;
	engine_problem(e, "connection %u: %s", i, connection_problem(c));
	e->load->timed_out = true;
	e->stop = true;
}

/* Until a flow that waits for its time may go on, at most POLL_NS. */
static struct timespec poll_time(const struct engine *e, uint64_t ns)
{
	uint64_t wait = POLL_NS;

	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		const struct flow *f = &e->load->flows[i];

		if (f->interval && !f->done && f->in_flight < f->outstanding && f->due < ns + wait)
			wait = f->due > ns ? f->due - ns : 0;
	}
	for (unsigned int i = 0; i < e->connection_count; i++) {
		uint64_t due = connection_due(&e->connections[i]);

		if (due < ns + wait)
			wait = due > ns ? due - ns : 0;
	}
	return (struct timespec){.tv_nsec = (long)wait};
}

static void poll_once(struct engine *e, uint64_t ns)
{
	struct timespec wait = poll_time(e, ns);

	for (unsigned int i = 0; i < e->connection_count; i++)
		connection_polls(&e->connections[i], e->polls + (size_t)i * CONNECTION_POLLS);
	if (ppoll(e->polls, e->connection_count * CONNECTION_POLLS, &wait, NULL) < 0)
		return;
	ns = engine_now();
	for (unsigned int i = 0; i < e->connection_count && !e->load->timed_out; i++)
		service(e, i, ns);
}

/* Flows whose time has come go on, and those that wait for it end when the load was stopped. */
static void wake(struct engine *e, uint64_t ns)
{
	bool ending = (e->stop && !e->stopped) || e->turn_ending;

	e->stopped = e->stop;
	e->turn_ending = false;
	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		struct flow *f = &e->load->flows[i];

		if (!f->done && turns_has(e->load, f) && (ending || (f->interval && f->due <= ns)))
			proceed(e, f, ns);
	}
}

/* The bounds on the whole. Returns false when the loop must end now. */
static bool within_bounds(struct engine *e, uint64_t ns)
{
	const struct options *o = e->load->options;
	double elapsed = engine_seconds(e, ns);

	if (turns_end(e->load, NULL, elapsed))
		e->turn_ending = true;
	if (o->duration > 0 && elapsed >= o->duration && !e->load->turns)
		e->stop = true;
	if (interrupted)
		engine_problem(e, "interrupted by signal %d", (int)interrupted);
	else if (elapsed > o->max_time)
		engine_problem(e, "not done after %.0f s (--max-time)", o->max_time);
	else if (ns > e->last_answer && 1e-9 * (double)(ns - e->last_answer) > o->stall)
		engine_problem(e, "no answer for %.0f s (--stall)", o->stall);
	else
		return !e->load->timed_out;
	e->load->timed_out = true;
	return false;
}

/* The flows whose turn it is; of works without turns all. */
static void start_turn(struct engine *e, unsigned int turn, uint64_t ns)
{
	turns_begin(e->load, turn, engine_seconds(e, ns));
	turns_due(e->load, ns);
	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		if (turns_run(e->load, &e->load->flows[i]))
			proceed(e, &e->load->flows[i], ns);
	}
}

/* Clients that take turns: the next one, when all requests of this one are answered. */
static void next_turn(struct engine *e, uint64_t ns)
{
	struct load *load = e->load;

	if (!e->stop && load->turn + 1 < load->turns && turns_done(load))
		start_turn(e, load->turn + 1, ns);
}

static void start_flows(struct engine *e)
{
	e->flows_left = e->load->flow_count;
	for (unsigned int i = 0; i < e->load->flow_count; i++) {
		e->foreground_left += !e->load->flows[i].background;
		e->main_left += e->load->flows[i].group == e->load->main_group;
	}
	e->began = e->load->began = e->last_answer = engine_now();
	start_turn(e, 0, e->began);
}

static void loop(struct engine *e)
{
	uint64_t ns = e->began;

	while (e->flows_left && within_bounds(e, ns)) {
		poll_once(e, ns);
		ns = engine_now();
		wake(e, ns);
		next_turn(e, ns);
		transport_learn(e->load, e->connections, e->connection_count);
		if (!e->load->options->quiet)
			progress_update(&e->progress, engine_seconds(e, ns), e->foreground_bytes,
					e->load->planned_bytes);
	}
	e->load->total = engine_seconds(e, e->last_answer);
	transport_total(&e->load->transport, e->connections, e->connection_count);
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
		connection_close(&e->connections[i]);
	if (e->prices)
		fclose(e->prices);
	if (e->trace)
		fclose(e->trace);
	free(e->connections);
	free(e->polls);
	free(e->slots);
	free(e->write_buffer);
}

int load_run(struct load *load)
{
	struct engine e = {.load = load, .answered = answered, .committed = committed};
	struct sigaction action = {.sa_handler = on_signal};
	int rc;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = engine_prepare(&e);
	if (rc == 0) {
		progress_begin(&e.progress);
		start_flows(&e);
		loop(&e);
		progress_end(&e.progress);
	}
	tear_down(&e);
	return rc;
}
