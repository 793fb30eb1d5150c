/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control channel: a unix stream socket on which an operator's program asks and turns.
 *
 * One line of JSON is a request, one line of JSON answers it (doc/control-protocol.md). The
 * commands are handed in as a table, so that this part knows nothing of what they do. One thread
 * serves all peers with poll(); it never blocks on one of them. What a peer can make the server
 * keep is bounded: the number of peers, a request's length and depth, an answer's length, and the
 * time for each.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <json-c/json.h>

/* A request with its newline, bytes. */
#define CONTROL_LINE_MAX 4096
/* An answer with its newline, bytes; a longer one becomes an error. */
#define CONTROL_ANSWER_MAX (1u << 20)
/* Nested objects and arrays in a request. */
#define CONTROL_DEPTH_MAX   8
#define CONTROL_PEERS_MAX   256
#define CONTROL_MEMBERS_MAX 6

enum control_kind {
	CONTROL_TEXT = 1,
	CONTROL_NUMBER, /* an integer, 0..INT64_MAX */
	CONTROL_FLAG,
};

/* A member of a command's request beside "command". */
struct control_member {
	const char *name;
	enum control_kind kind;
	bool required;
};

struct control_call;

struct control_command {
	const char *name;
	const char *help; /* one line */
	/* Adds members to the answer, or calls control_refuse(). On the server's thread; it holds
	 * all other peers up, so it must not take long. */
	void (*handler)(struct control_call *call);
	struct control_member members[CONTROL_MEMBERS_MAX]; /* unused ones are zero */
	bool changes;					    /* not for a peer that may only look */
};

/* One request being answered. Its members were checked against the command's table. */
struct control_call {
	const struct control_command *command;
	struct json_object *request;
	struct json_object *answer; /* an object: add to it */
	char error[512];	    /* empty: not refused */
	bool read_only;		    /* the peer may only look */
	bool held; /* set it: what the command switched on is the peer's, until it goes */
};

/*
 * The member's value, or NULL (-1, false) when the request has none. The text lives with the call.
 */
const char *control_text(struct control_call *call, const char *member);
int64_t control_number(struct control_call *call, const char *member);
bool control_flag(struct control_call *call, const char *member);
/* The member `limit`, MOST without it; 0: it is out of range, and CALL is refused. WHAT is limited, for people. */
unsigned int control_limit(struct control_call *call, unsigned int most, const char *what);
/* Makes the answer an error with this text. Members added so far stay in it. */
void control_refuse(struct control_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define CONTROL_READ_ONLY "only root may change anything: members of Control_Group may look"

/* The version of the answers' shape, their member "schema": another one is a major change. */
#define CONTROL_SCHEMA 1

struct control_settings {
	const char *path;	 /* of the socket: absolute, at most 107 bytes */
	gid_t group;		 /* whose members may look, and change nothing; (gid_t)-1: none */
	unsigned int peers;	 /* at once, 1..CONTROL_PEERS_MAX */
	unsigned int timeout_ms; /* for a request to arrive, and for its answer to be taken */
	/* Up to one without name; lives as long as the server. */
	const struct control_command *commands;
	void (*log)(const char *line); /* what went wrong at start */
	void (*thread_start)(void);    /* on the server's thread; may be NULL */
	void (*tick)(void);	       /* on it, about once a second; may be NULL */
	void (*released)(void); /* on it: the last peer that held anything went; may be NULL */
};

struct control;

/*
 * Starts the server. Returns 0 and *control, or an errno after log() was told why; the path, when
 * another server listens there, is left alone (EADDRINUSE).
 */
int control_start(const struct control_settings *settings, struct control **control);
/*
 * Ends it: the thread is joined, peers are closed, the socket's file is removed. NULL does nothing.
 */
void control_stop(struct control *control);

/* The version of this project. */
const char *control_version(void);

#endif /* CONTROL_CONTROL_H */
