/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loop of work mix; see mix.h. */
#include "mix.h"
#include "dial.h"
#include "mix_parts.h"
#include "transport.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND	  UINT64_C(1000000000)
#define DRAIN_MAX 20.0 /* seconds for answers after the last call, or --stall if that is less */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void account(struct mix_run *r, const struct mix_slot *s, uint64_t now)
{
	uint64_t us = (now - s->due) / 1000;
	double due = 1e-9 * (double)s->due;

	r->ended = now;
	if (due < r->warm_up || due >= r->warm_up + r->seconds)
		return;
	latency_add(&r->total, us);
	latency_add(&r->latency[s->op], us);
}

static void answered(struct mix_slot *s, bool well)
{
	struct mix_run *r = s->run;

	if (well)
		account(r, s, now_ns() - r->began);
	else
		r->errors++;
	s->next_free = r->free;
	r->free = s;
	r->under_way--;
}

/* A block of a file by chance. */
static void aim(struct mix_run *r, struct mix_slot *s)
{
	uint64_t blocks = r->options->size / r->options->request;

	s->file = prng_below(&r->prng, r->options->files);
	s->offset = r->options->request * prng_below(&r->prng, blocks ? blocks : 1);
}

static void issue(struct mix_run *r, uint64_t due, uint64_t now)
{
	struct mix_slot *s = r->free;
	double late = 1e-9 * (double)(now - due);

	r->free = s->next_free;
	s->op = mix_draw(&r->mix, &r->prng);
	s->due = due;
	aim(r, s);
	if (late > r->latest_issue_s)
		r->latest_issue_s = late;
	if (++r->under_way > r->peak)
		r->peak = r->under_way;
	if (mix_call(s) < 0) {
		mix_problem(r, mix_op_name(s->op), "cannot queue a call");
		answered(s, false);
	}
	r->issued++;
}

/* Those that are due, as far as there are slots. Returns when the next one is, UINT64_MAX: none. */
static uint64_t issue_due(struct mix_run *r, uint64_t *next, uint64_t now)
{
	uint64_t end = (uint64_t)(1e9 * (r->warm_up + r->seconds));

	while (*next <= now && *next < end && r->free) {
		issue(r, *next, now);
		*next = schedule_next(&r->schedule);
	}
	if (*next >= end)
		return UINT64_MAX;
	return r->free ? *next : now + SECOND;
}

static int serve(struct mix_run *r, uint64_t wait)
{
	struct pollfd polls[MIX_CONNECTIONS * CONNECTION_POLLS];
	struct timespec ts;
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < r->connection_count; i++) {
		uint64_t due = connection_due(&r->connections[i]);

		connection_polls(&r->connections[i], polls + (size_t)i * CONNECTION_POLLS);
		if (due < now + wait)
			wait = due > now ? due - now : 0;
	}
	ts = (struct timespec){.tv_sec = (time_t)(wait / SECOND), .tv_nsec = (long)(wait % SECOND)};
	ppoll(polls, r->connection_count * CONNECTION_POLLS, &ts, NULL);
	now = now_ns();
	for (unsigned int i = 0; i < r->connection_count; i++) {
		struct connection *c = &r->connections[i];

		if (connection_service(c, polls + (size_t)i * CONNECTION_POLLS, now)) {
			mix_problem(r, "connection", connection_problem(c));
			return -1;
		}
	}
	return 0;
}

static int loop(struct mix_run *r)
{
	double drain = r->options->stall < DRAIN_MAX ? r->options->stall : DRAIN_MAX;
	uint64_t end = (uint64_t)(1e9 * (r->warm_up + r->seconds + drain));
	uint64_t next;

	r->began = now_ns();
	next = schedule_next(&r->schedule);
	for (;;) {
		uint64_t now = now_ns() - r->began;
		uint64_t due = issue_due(r, &next, now);
		uint64_t wait = due == UINT64_MAX ? SECOND / 10 : due > now ? due - now : 0;

		if (due == UINT64_MAX && !r->under_way)
			return 0;
		if (now > end) {
			mix_problem(r, "calls", "some were never answered");
			return -1;
		}
		if (interrupted) {
			mix_problem(r, "interrupted", "by a signal");
			return -1;
		}
		/* New calls go out with the service of their connection. */
		if (serve(r, wait < SECOND / 10 ? wait : SECOND / 10))
			return -1;
	}
}

static int prepare_files(struct mix_run *r)
{
	const struct options *o = r->options;
	struct connection *c = &r->connections[0];
	char name[16];
	uint64_t size;
	int rc = 0;

	for (uint32_t i = 0; i < o->files && !rc; i++) {
		snprintf(name, sizeof(name), "f%04u", i);
		rc = session_lookup(c, &r->dir, name, CONNECT_SECONDS, &r->files[i], &size);
		if (!rc && size < o->size) {
			mix_problem(r, name, "the file is smaller than --size");
			rc = -1;
		}
		snprintf(name, sizeof(name), "w%04u", i);
		if (!rc && r->mix.weight[MIX_WRITE])
			rc = session_create(c, &r->dir, name, CONNECT_SECONDS, &r->written[i]);
	}
	if (!rc && r->mix.weight[MIX_READLINK])
		rc = session_lookup(c, &r->dir, "link0000", CONNECT_SECONDS, &r->link, &size);
	return rc;
}

static int prepare(struct mix_run *r)
{
	const struct options *o = r->options;
	unsigned int want = o->connections ? (unsigned int)o->connections : 1;

	r->files = calloc(o->files, sizeof(*r->files));
	r->written = calloc(o->files, sizeof(*r->written));
	r->buffer = malloc(MAX_REQUEST);
	if (!r->files || !r->written || !r->buffer || dial_lines(o->udp_trace, &r->trace))
		return -1;
	for (unsigned int i = 0; i < MIX_SLOTS; i++) {
		r->slots[i].run = r;
		r->slots[i].next_free = r->free;
		r->free = &r->slots[i];
	}
	while (r->connection_count < want) {
		unsigned int number = r->connection_count;

		if (dial(&r->connections[number], o, NULL, number, r->trace))
			return -1;
		r->connection_count++;
	}
	if (dial_directory(&r->connections[0], o, NULL, NULL, &r->dir))
		return -1;
	return prepare_files(r);
}

static void tear_down(struct mix_run *r)
{
	for (unsigned int i = 0; i < r->connection_count; i++)
		connection_close(&r->connections[i]);
	if (r->trace)
		fclose(r->trace);
	free(r->files);
	free(r->written);
	free(r->buffer);
}

int mix_run(const struct options *o)
{
	static struct mix_run r; /* large */
	struct sigaction action = {.sa_handler = on_signal};
	int rc;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = (struct mix_run){
		.options = o, .load = {.options = o}, .answered = answered, .warm_up = o->warm_up};
	r.seconds = o->duration - o->warm_up;
	if (mix_parse(&r.mix, o->mix))
		return -1;
	schedule_init(&r.schedule, (double)o->offered, o->poisson, o->order_seed);
	prng_init(&r.prng, o->order_seed + 1);
	rc = prepare(&r);
	if (rc == 0) {
		rc = loop(&r);
		transport_total(&r.load.transport, r.connections, r.connection_count);
		rc |= mix_report(&r);
	} else if (r.load.problem[0]) {
		fprintf(stderr, "nfsbench: %s\n", r.load.problem);
	}
	if (r.errors || r.mismatches)
		rc = -1;
	tear_down(&r);
	return rc;
}
