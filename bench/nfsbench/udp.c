/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records of a stream as datagrams; see udp.h. */
#include "udp.h"
#include "prng.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udp_socket.h"

#define CAPACITY     1024  /* calls in the table; more wait in the socket pair */
#define DATAGRAM_MAX 65507 /* bytes of a UDP datagram over IPv4 */
#define RECORD_MARK  4	   /* bytes before a record */
#define LAST_RECORD  UINT32_C(0x80000000)
#define PROCEDURE_AT 20 /* bytes into a call; its xid is at 0 */
#define DENIED_AT    8	/* bytes into an answer: 1 is MSG_DENIED */
#define MS	     UINT64_C(1000000)
#define PENDING_MAX  (CAPACITY * (size_t)(DATAGRAM_MAX + RECORD_MARK))

/* The paper's old UDP, and its new one. The tick and the least time to wait are of today's networks:
 * the paper's machines had milliseconds where we have tens of microseconds. */
static const struct calls_policy policy = {
	.constant = 1000 * MS,
	.least = 20 * MS,
	.most = 60000 * MS,
	.tick = 10 * MS,
	.window_first = 8,
	.window_most = 64,
};

struct udp {
	struct calls calls;
	int socket, stream;
	/* The record that is being read off the stream. */
	char mark[RECORD_MARK];
	size_t mark_have, have, length;
	char *record;
	/* Answers that the stream had no room for. */
	char *pending;
	size_t pending_from, pending_to, pending_room;
	struct prng prng;
	double drop;
	uint64_t dropped;
	FILE *trace;
	char answer[DATAGRAM_MAX];
	char problem[200];
};

static int fail(struct udp *u, const char *format, ...)
{
	va_list args;

	if (u->problem[0])
		return -1;
	va_start(args, format);
	vsnprintf(u->problem, sizeof(u->problem), format, args);
	va_end(args);
	return -1;
}

static uint32_t word(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool lost(struct udp *u)
{
	if (u->drop <= 0 || prng_below(&u->prng, 1u << 30) >= u->drop * (1u << 30))
		return false;
	u->dropped++;
	return true;
}

/* ---- from the stream to datagrams ---- */

static int take_record(struct udp *u, uint64_t now)
{
	struct call *call;

	if (u->length <= PROCEDURE_AT + 4)
		return fail(u, "a record of %zu bytes is not a call", u->length);
	call = calls_add(&u->calls, word(u->record), word(u->record + PROCEDURE_AT), now);
	if (!call)
		return fail(u, "two calls with one xid");
	call->datagram = u->record;
	call->length = u->length;
	u->record = NULL;
	u->mark_have = u->have = 0;
	return 0;
}

static int begin_record(struct udp *u)
{
	uint32_t mark = word(u->mark);

	u->length = mark & ~LAST_RECORD;
	if (!(mark & LAST_RECORD) || u->length > DATAGRAM_MAX)
		return fail(u, "a call of %zu bytes does not fit a datagram (%d)", u->length,
			    DATAGRAM_MAX);
	u->record = malloc(u->length ? u->length : 1);
	return u->record ? 0 : fail(u, "no memory for a call");
}

/* 1: something was read, 0: nothing more is there now, -1. */
static int read_some(struct udp *u)
{
	bool in_mark = u->mark_have < RECORD_MARK;
	char *to = in_mark ? u->mark + u->mark_have : u->record + u->have;
	ssize_t n = read(u->stream, to, in_mark ? RECORD_MARK - u->mark_have : u->length - u->have);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return fail(u, "the stream of calls ended");
	if (!in_mark) {
		u->have += (size_t)n;
		return 1;
	}
	u->mark_have += (size_t)n;
	return u->mark_have == RECORD_MARK && begin_record(u) ? -1 : 1;
}

static int read_stream(struct udp *u, uint64_t now)
{
	int rc = 1;

	while (rc > 0 && !calls_full(&u->calls)) {
		rc = read_some(u);
		if (rc > 0 && u->record && u->have == u->length && take_record(u, now))
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

static int send_due(struct udp *u, uint64_t now)
{
	struct call *call;

	while ((call = calls_next(&u->calls, now))) {
		if (lost(u) || send(u->socket, call->datagram, call->length, 0) >= 0)
			continue;
		if (errno == ECONNREFUSED)
			return fail(u, UDP_REFUSED);
		/* No room: as if the network had lost it. */
		if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
			return fail(u, "cannot send a datagram: %s", strerror(errno));
	}
	return 0;
}

/* ---- from datagrams to the stream ---- */

static int flush(struct udp *u)
{
	while (u->pending_from < u->pending_to) {
		ssize_t n = write(u->stream, u->pending + u->pending_from,
				  u->pending_to - u->pending_from);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR
				       ? 0
				       : fail(u, "the stream of answers: %s", strerror(errno));
		u->pending_from += (size_t)n;
	}
	u->pending_from = u->pending_to = 0;
	return 0;
}

static int make_room(struct udp *u, size_t more)
{
	size_t room = u->pending_room ? u->pending_room : DATAGRAM_MAX + RECORD_MARK;
	char *larger;

	while (room < u->pending_to + more)
		room *= 2;
	if (room == u->pending_room)
		return 0;
	larger = room <= 2 * PENDING_MAX ? realloc(u->pending, room) : NULL;
	if (!larger)
		return fail(u, "no memory for answers");
	u->pending = larger;
	u->pending_room = room;
	return 0;
}

static int give_back(struct udp *u, size_t length)
{
	uint32_t mark = LAST_RECORD | (uint32_t)length;
	char bytes[RECORD_MARK] = {(char)(mark >> 24), (char)(mark >> 16), (char)(mark >> 8),
				   (char)mark};

	if (make_room(u, length + RECORD_MARK))
		return -1;
	memcpy(u->pending + u->pending_to, bytes, RECORD_MARK);
	memcpy(u->pending + u->pending_to + RECORD_MARK, u->answer, length);
	u->pending_to += length + RECORD_MARK;
	return flush(u);
}

static void trace(struct udp *u, const struct call *call, uint64_t now)
{
	fprintf(u->trace, "%.6f,%s,%.4f,%.4f,%u\n", 1e-9 * (double)now, rpc_class_name(call->class),
		1e-6 * (double)(now - call->sent), 1e-6 * (double)call->rto, call->sendings);
}

static int take_answer(struct udp *u, size_t length, uint64_t now)
{
	struct call call;

	if (length < DENIED_AT + 4 ||
	    calls_answered(&u->calls, word(u->answer), now, &call) != ANSWER_FIRST)
		return 0;
	free(call.datagram);
	if (u->trace)
		trace(u, &call, now);
	if (word(u->answer + DENIED_AT) == 1)
		return fail(u, "the server refuses calls over UDP: is UDP among the Transports of "
			       "its EXPORT?");
	return give_back(u, length);
}

static int receive_all(struct udp *u, uint64_t now)
{
	ssize_t n;

	while ((n = recv(u->socket, u->answer, sizeof(u->answer), 0)) >= 0) {
		if (!lost(u) && take_answer(u, (size_t)n, now))
			return -1;
	}
	if (errno == ECONNREFUSED)
		return fail(u, UDP_REFUSED);
	return errno == EAGAIN || errno == EINTR
		       ? 0
		       : fail(u, "cannot receive a datagram: %s", strerror(errno));
}

int udp_service(struct udp *u, uint64_t now)
{
	if (u->problem[0] || receive_all(u, now) || flush(u) || read_stream(u, now) ||
	    send_due(u, now))
		return -1;
	return 0;
}

/* ---- life ---- */

struct udp *udp_open(const struct udp_options *o, double seconds, int *stream)
{
	struct udp *u = calloc(1, sizeof(*u));
	struct calls_policy mine = policy;
	int pair[2];

	if (!u)
		return NULL;
	mine.dynamic = o->dynamic;
	mine.constant = o->constant;
	u->socket = udp_socket(o->server, o->port, o->from, seconds);
	if (u->socket < 0 || calls_init(&u->calls, &mine, CAPACITY) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		if (u->socket >= 0)
			close(u->socket);
		calls_free(&u->calls);
		free(u);
		return NULL;
	}
	u->stream = pair[0];
	*stream = pair[1];
	u->drop = o->drop;
	u->trace = o->trace;
	prng_init(&u->prng, o->seed);
	return u;
}

void udp_close(struct udp *u)
{
	struct calls *c = &u->calls;
	const struct calls_list *lists[] = {&c->waiting, &c->sent, &c->again};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (struct call *call = lists[i]->first; call; call = call->next)
			free(call->datagram);
	}
	calls_free(c);
	close(u->socket);
	close(u->stream);
	free(u->record);
	free(u->pending);
	free(u);
}

void udp_polls(const struct udp *u, struct pollfd *polls)
{
	bool writes = u->pending_from < u->pending_to;

	polls[0] = (struct pollfd){.fd = u->socket, .events = POLLIN};
	polls[1] = (struct pollfd){.fd = u->stream, .events = writes ? POLLOUT : 0};
	if (!calls_full(&u->calls))
		polls[1].events |= POLLIN;
}

uint64_t udp_due(const struct udp *u)
{
	return calls_due(&u->calls);
}

const char *udp_problem(const struct udp *u)
{
	return u->problem;
}

const struct calls *udp_calls(const struct udp *u)
{
	return &u->calls;
}

uint64_t udp_dropped(const struct udp *u)
{
	return u->dropped;
}
