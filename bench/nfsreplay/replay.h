/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Replaying a trace against a server: replay.c sends what the schedule says, calls.c makes the calls and
 * checks the answers, report.c tells what came of it. One connection for each client; one thread.
 */
#ifndef NFSREPLAY_REPLAY_H
#define NFSREPLAY_REPLAY_H

#include <stdio.h>

#include "nfsbench/session.h"
#include "options.h"
#include "schedule.h"
#include "times.h"
#include "trace.h"

struct pollfd;
struct replay;
struct rpc_context;

/* What the server has under a name of the trace, as far as its answers say. */
struct replay_object {
	struct handle handle; /* len 0: none */
	uint64_t size;	      /* bytes */
	uint32_t writing;     /* WRITEs under way */
	uint32_t writes;      /* sent */
};

/* A request under way. */
struct replay_slot {
	struct replay *replay;
	struct replay_slot *next_free;
	uint32_t op;
	uint64_t due, sent; /* ns since the beginning */
	uint32_t writes;    /* of the object when it was sent */
	bool calm;	    /* nobody wrote to it then */
};

/* Of one kind of operation, or of one client. */
struct replay_figures {
	uint64_t count;	     /* answered */
	uint64_t errors;     /* another status than the trace's, or an answer that is not whole */
	uint64_t mismatches; /* READs with wrong bytes */
	uint64_t unplayed;   /* not sent: an error before left no handle to send it with */
	uint64_t bytes;
};

struct replay {
	const struct replay_options *options;
	const struct trace *trace;
	struct schedule schedule;
	struct replay_object *objects;
	struct handle root;
	struct rpc_context *connections[TRACE_CLIENTS_MAX];
	struct pollfd *polls;
	struct replay_slot *free_slots;
	struct replay_slot *slots;
	char *write_buffer, *expected; /* TRACE_LENGTH_MAX bytes and some */
	FILE *log;
	/* calls.c calls it: the slot's operation was answered, with this status (-1: by nobody). */
	void (*answered)(struct replay_slot *slot, int status);

	struct replay_figures kinds[TRACE_KINDS];
	struct replay_times times[TRACE_KINDS];
	struct replay_figures clients[TRACE_CLIENTS_MAX];
	struct replay_times of_client[TRACE_CLIENTS_MAX]; /* of all its operations */
	uint64_t began;					  /* CLOCK_MONOTONIC, ns */
	uint64_t last_answer;				  /* ns since then */
	uint32_t under_way;
	bool stop;	   /* send nothing more */
	bool failed;	   /* connection lost or a bound reached: the loop ends */
	char problem[256]; /* the first one, empty if none */
};

/* calls.c. Sends the call of a slot. 0; 1: there is no handle to send it with; -1: it cannot be queued. */
int replay_send(struct replay_slot *slot);
__attribute__((format(printf, 2, 3))) void replay_problem(struct replay *r, const char *format,
							  ...);

/* connect.c: a connection for each client, and the handles of what must be there. 0, or -1 after a
 * message. */
int replay_connect(struct replay *r);

/* replay.c. Connects, looks up what the trace needs and replays it. 0 when it ran (see failed and the
 * figures), -1 after a message when it could not start; replay_free() either way. */
int replay_run(struct replay *r, const struct replay_options *o, const struct trace *t);
void replay_free(struct replay *r);

/* report.c. The table on stdout, and JSON: 0, or -1 after a message. */
void replay_table(const struct replay *r);
int replay_json(const struct replay *r, const char *path);
/* Whether every answer was as the trace has it. */
bool replay_good(const struct replay *r);

/* prepare.c. 0, or -1 after a message. */
int prepare_lay_out(const struct trace *t, const char *directory, uint64_t seed);
int prepare_check(const struct trace *t, const char *directory, uint64_t seed);

/* bytes.c: what a file contains; OFFSET and LENGTH are any. BUFFER has 8 bytes more than LENGTH; the
 * bytes begin where it says. */
const char *bytes_of(uint64_t seed, uint32_t content, uint64_t offset, char *buffer, size_t length);
/* Bytes of DATA that are others; where HOLES are possible, zeros are right too. */
size_t bytes_wrong(const char *data, const char *expected, size_t length, bool holes);

#endif
