/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loop: what is due is sent, then answers or the next time are awaited. */
#include "replay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#define WAIT_NS	     UINT64_C(200000000) /* the loop looks at its bounds so often at least */
#define TOLD_SECONDS 5.0		 /* between lines of progress */
#define SECOND	     UINT64_C(1000000000)

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

static uint64_t now_of(const struct replay *r)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec - r->began;
}

/* ---- before it begins ---- */

static int make_room(struct replay *r)
{
	const struct trace *t = r->trace;
	size_t count = t->client_count * (size_t)r->options->outstanding;

	if (count > t->op_count)
		count = t->op_count;
	r->objects = calloc(t->object_count + 1, sizeof(*r->objects));
	r->polls = calloc(t->client_count, sizeof(*r->polls));
	r->slots = calloc(count, sizeof(*r->slots));
	r->write_buffer = malloc(TRACE_LENGTH_MAX + 16);
	r->expected = malloc(TRACE_LENGTH_MAX + 16);
	if (!r->objects || !r->polls || !r->slots || !r->write_buffer || !r->expected ||
	    schedule_init(&r->schedule, t, r->options->pace, r->options->speed,
			  (uint32_t)r->options->outstanding)) {
		fprintf(stderr, "nfsreplay: no memory\n");
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		r->slots[i].replay = r;
		r->slots[i].next_free = r->free_slots;
		r->free_slots = &r->slots[i];
	}
	return 0;
}

static int open_log(struct replay *r)
{
	if (!r->options->log)
		return 0;
	r->log = fopen(r->options->log, "w");
	if (!r->log) {
		fprintf(stderr, "nfsreplay: cannot write %s: %s\n", r->options->log,
			strerror(errno));
		return -1;
	}
	fprintf(r->log, "line,client,operation,due_us,sent_us,answered_us,status\n");
	return 0;
}

/* ---- sending ---- */

static void write_log(const struct replay_slot *s, uint64_t answered, const char *status)
{
	const struct replay *r = s->replay;
	const struct trace_op *op = &r->trace->ops[s->op];

	if (r->log)
		fprintf(r->log, "%u,%s,%s,%.3f,%.3f,%.3f,%s\n", op->line,
			r->trace->clients[op->client].name, trace_kind_name(op->kind),
			1e-3 * (double)s->due, 1e-3 * (double)s->sent, 1e-3 * (double)answered,
			status);
}

static void give_slot(struct replay_slot *s)
{
	s->next_free = s->replay->free_slots;
	s->replay->free_slots = s;
}

static void answered(struct replay_slot *s, int status)
{
	struct replay *r = s->replay;
	const struct trace_op *op = &r->trace->ops[s->op];
	const uint64_t now = now_of(r);
	char text[16];

	r->under_way--;
	r->last_answer = now;
	if (r->failed)
		return; /* connections are being closed */
	if (status < 0) {
		r->failed = true;
	} else {
		r->kinds[op->kind].count++;
		r->clients[op->client].count++;
		replay_times_add(&r->times[op->kind], s->due, s->sent, now);
		replay_times_add(&r->of_client[op->client], s->due, s->sent, now);
	}
	snprintf(text, sizeof(text), "%d", status);
	write_log(s, now, text);
	schedule_answered(&r->schedule, s->op, now);
	give_slot(s);
}

/* It cannot be sent: its place in the order is passed on. */
static void give_up(struct replay_slot *s)
{
	struct replay *r = s->replay;
	const struct trace_op *op = &r->trace->ops[s->op];

	r->kinds[op->kind].unplayed++;
	r->clients[op->client].unplayed++;
	write_log(s, s->sent, "unplayed");
	schedule_answered(&r->schedule, s->op, s->sent);
	give_slot(s);
}

static void send_one(struct replay *r, uint32_t op, uint64_t due, uint64_t now)
{
	struct replay_slot *s = r->free_slots;
	int rc;

	r->free_slots = s->next_free;
	s->op = op;
	s->due = due;
	s->sent = now;
	schedule_sent(&r->schedule, op);
	rc = replay_send(s);
	if (rc == 0) {
		if (!r->under_way++)
			r->last_answer = now; /* from now on one is awaited */
		return;
	}
	if (rc < 0) {
		replay_problem(r, "cannot queue a request of client %s",
			       r->trace->clients[r->trace->ops[op].client].name);
		r->failed = true;
	}
	give_up(s);
}

/* Sends all that is due. The time of the next, SCHEDULE_NEVER: only answers are awaited. */
static uint64_t send_due(struct replay *r)
{
	uint64_t next = SCHEDULE_NEVER, due;

	for (uint32_t c = 0; c < r->trace->client_count && !r->stop; c++) {
		uint32_t op;

		/* A trace without an answer to wait for must not keep the loop from its answers. */
		for (unsigned int n = 0; n < 64; n++) {
			const uint64_t now = now_of(r);

			op = schedule_next(&r->schedule, c, now, &due);
			if (due < next)
				next = due;
			if (op == TRACE_NONE || r->failed)
				break;
			send_one(r, op, due, now);
		}
	}
	return next;
}

/* ---- the loop ---- */

static void service(struct replay *r, uint32_t client)
{
	struct rpc_context *rpc = r->connections[client];
	int rc = rpc_service(rpc, r->polls[client].revents);

	if (rc < 0) {
		replay_problem(r, "client %s: %s", r->trace->clients[client].name,
			       rpc_get_error(rpc) ? rpc_get_error(rpc) : "connection lost");
		r->failed = true;
	}
}

static void wait_until(struct replay *r, uint64_t next)
{
	const uint64_t now = now_of(r);
	uint64_t wait = next > now ? next - now : 0;
	struct timespec ts;

	if (wait > WAIT_NS)
		wait = WAIT_NS;
	ts = (struct timespec){0, (long)wait};
	for (uint32_t i = 0; i < r->trace->client_count; i++) {
		r->polls[i].fd = rpc_get_fd(r->connections[i]);
		r->polls[i].events = (short)rpc_which_events(r->connections[i]);
		r->polls[i].revents = 0;
	}
	if (ppoll(r->polls, r->trace->client_count, &ts, NULL) <= 0)
		return;
	for (uint32_t i = 0; i < r->trace->client_count && !r->failed; i++) {
		if (r->polls[i].revents)
			service(r, i);
	}
}

static void tell(const struct replay *r, double seconds)
{
	const uint32_t all = r->trace->op_count;

	fprintf(stderr, "nfsreplay: %3.0f %%  %.0f s  %u under way\n",
		100.0 * (all - r->schedule.left) / all, seconds, r->under_way);
}

static void keep_bounds(struct replay *r)
{
	const struct replay_options *o = r->options;
	const uint64_t now = now_of(r);
	const double seconds = 1e-9 * (double)now;

	if (o->duration > 0 && seconds >= o->duration)
		r->stop = true;
	if (interrupted)
		replay_problem(r, "interrupted by signal %d", (int)interrupted);
	else if (seconds > o->max_time)
		replay_problem(r, "not done after %.0f s (--max-time)", o->max_time);
	else if (r->under_way && now > r->last_answer &&
		 1e-9 * (double)(now - r->last_answer) > o->stall)
		replay_problem(r, "no answer for %.0f s (--stall)", o->stall);
	else
		return;
	r->failed = true;
}

static void loop(struct replay *r)
{
	double told = 0;

	r->began = 0;
	r->began = now_of(r);
	while (!r->failed && (r->stop ? r->under_way : r->schedule.left)) {
		uint64_t next = send_due(r);
		double seconds = 1e-9 * (double)now_of(r);

		if (next == SCHEDULE_NEVER && !r->under_way && !r->stop && r->schedule.left) {
			replay_problem(r, "%u operations wait for each other", r->schedule.left);
			break;
		}
		if (r->schedule.left)
			wait_until(r, next);
		keep_bounds(r);
		if (!r->options->quiet && seconds > told + TOLD_SECONDS) {
			told = seconds;
			tell(r, seconds);
		}
	}
}

int replay_run(struct replay *r, const struct replay_options *o, const struct trace *t)
{
	struct sigaction action = {.sa_handler = on_signal};

	memset(r, 0, sizeof(*r));
	r->options = o;
	r->trace = t;
	r->answered = answered;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (make_room(r) || open_log(r) || replay_connect(r))
		return -1;
	loop(r);
	if (r->log && fflush(r->log)) {
		fprintf(stderr, "nfsreplay: cannot write %s: %s\n", o->log, strerror(errno));
		return -1;
	}
	return 0;
}

void replay_free(struct replay *r)
{
	r->failed = true; /* destroying a connection runs the callbacks of what is under way */
	for (uint32_t i = 0; r->trace && i < r->trace->client_count; i++) {
		if (r->connections[i])
			rpc_destroy_context(r->connections[i]);
	}
	if (r->log)
		fclose(r->log);
	schedule_free(&r->schedule);
	free(r->objects);
	free(r->polls);
	free(r->slots);
	free(r->write_buffer);
	free(r->expected);
}
