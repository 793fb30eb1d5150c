/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A trace of NFSv3 operations in memory (the text format is doc/traces.md's), with what replaying it
 * in the right order needs:
 *
 *   of each client, its operations in order, and of each how many of the client's others had been
 *   answered when it was recorded (`needs`): that is what a client that thinks has waited for;
 *
 *   of each name, its life: create, mkdir, remove, rmdir, rename and setattr (which cuts a file) each
 *   begin a new generation of it. An operation belongs to one generation (struct trace_ref), whatever
 *   the clients do meanwhile.
 *
 * Reading simulates the name space, so that a trace which uses what is not there is refused with its
 * line. No clock, no network; one thread. trace_free() frees all.
 */
#ifndef NFSREPLAY_TRACE_H
#define NFSREPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_VERSION	  1
#define TRACE_OPS_MAX	  (4u << 20) /* operations: about 130 bytes each, with the schedule's */
#define TRACE_OBJECTS_MAX (1u << 20) /* names of files and directories: about 200 bytes each */
#define TRACE_CLIENTS_MAX 512	     /* each has a connection */
#define TRACE_LINE_MAX	  4096	     /* bytes of a line */
#define TRACE_PATH_MAX	  1023	     /* bytes of a path */
#define TRACE_NAME_MAX	  255	     /* bytes of one component, RFC 1813's usual limit */
#define TRACE_CLIENT_MAX  63	     /* bytes of a client's name */
#define TRACE_LENGTH_MAX  (1u << 20) /* bytes of one READ or WRITE */
#define TRACE_SIZE_MAX	  (UINT64_C(1) << 40) /* bytes of a file */
#define TRACE_TIME_MAX	  31622400	      /* seconds: a year */
#define TRACE_STATUS_MAX  10008		      /* NFS3ERR_JUKEBOX */
#define TRACE_NONE	  UINT32_MAX

enum trace_kind {
	TRACE_GETATTR,
	TRACE_SETATTR,
	TRACE_LOOKUP,
	TRACE_ACCESS,
	TRACE_READ,
	TRACE_WRITE,
	TRACE_CREATE,
	TRACE_MKDIR,
	TRACE_REMOVE,
	TRACE_RMDIR,
	TRACE_RENAME,
	TRACE_READDIR,
	TRACE_READDIRPLUS,
	TRACE_FSSTAT,
	TRACE_COMMIT,
	TRACE_KINDS,
};

/* ---- one line (trace_line.c) ---- */

enum trace_line_kind { TRACE_LINE_EMPTY, TRACE_LINE_FILE, TRACE_LINE_DIR, TRACE_LINE_OP };

/* Texts are the line's own, ended by a 0 that the parser wrote into it. */
struct trace_line {
	enum trace_line_kind what;
	uint64_t at; /* µs since the trace began */
	const char *client, *path, *to;
	enum trace_kind kind;
	uint64_t offset; /* bytes; of setattr and file the size */
	uint32_t length; /* bytes */
	uint32_t took;	 /* µs from call to answer, 0: not known */
	uint16_t status; /* of the answer, nfsstat3 */
	uint8_t stable;	 /* of write: 0 unstable, 1 data, 2 file (stable_how) */
};

const char *trace_kind_name(enum trace_kind kind);

/* Whether LINE is the first line of a trace of this version; WHY (of WHY_SIZE bytes) says why not. */
int trace_header_parse(char *line, char *why, size_t why_size);

/* One line without its newline; it is changed. 0, or -1 and WHY: what is wrong, and what would do. */
int trace_line_parse(char *line, struct trace_line *parsed, char *why, size_t why_size);

/* ---- a whole trace ---- */

/* Which life of a name an operation belongs to, and, of one that ends it, after how many uses. */
struct trace_ref {
	uint32_t object;
	uint32_t generation;
	uint32_t uses; /* TRACE_USE: it only uses the name */
};

#define TRACE_USE  UINT32_MAX
#define TRACE_REFS 4

struct trace_op {
	uint64_t at, offset;
	uint64_t size; /* of read and write: bytes of the file before it, in the trace's order */
	uint32_t line; /* of the text */
	uint32_t length, took;
	uint32_t object;  /* index; TRACE_NONE: the root */
	uint32_t to;	  /* of rename */
	uint32_t content; /* which file's bytes, see struct trace_object */
	uint32_t next;	  /* the client's next operation, or TRACE_NONE */
	uint32_t rank;	  /* its place among its client's by the time of the answer */
	uint32_t needs;	  /* how many of those, from the first, were answered before it was sent */
	uint16_t client, status;
	uint8_t kind, stable, refs;
	struct trace_ref ref[TRACE_REFS];
};

enum trace_object_kind { TRACE_ABSENT, TRACE_FILE, TRACE_DIR };

/*
 * A path, whatever is there in the course of time. What a file's bytes are follows from its content's
 * number and the place in it: a new number with each create, and a rename takes it along.
 */
struct trace_object {
	const char *name;	/* last component; in the trace's memory */
	uint32_t parent;	/* index, TRACE_NONE: the root */
	uint8_t prepared;	/* enum trace_object_kind at the beginning */
	uint64_t prepared_size; /* bytes */
	uint32_t prepared_content;
	/* While reading the trace; afterwards what is there at its end: */
	uint8_t kind; /* enum trace_object_kind */
	uint64_t size;
	uint32_t content;
	uint32_t generation, uses, children;
};

struct trace_client {
	const char *name;
	uint32_t first, last; /* operations */
	uint32_t count;
	uint32_t *by_end; /* its operations by the time of their answers; in trace->ends */
};

struct trace_names;

struct trace {
	struct trace_op *ops;
	uint32_t op_count, op_room;
	struct trace_object *objects;
	uint32_t object_count, object_room;
	struct trace_client clients[TRACE_CLIENTS_MAX];
	uint32_t client_count;
	uint32_t contents; /* numbers given */
	uint32_t *ends;
	struct trace_names *names;
	bool *sparse; /* by content: it may have holes, which read as zeros */
	uint32_t sparse_room;
	char problem[512]; /* why it was refused: its line, what, and what would do */
};

/* Reads all of FILE. 0, or -1 and trace->problem; trace_free() either way. */
int trace_read(struct trace *t, FILE *file);
void trace_free(struct trace *t);

/* The path of an object, "." for TRACE_NONE; in a buffer of TRACE_PATH_MAX + 1 bytes. */
const char *trace_path(const struct trace *t, uint32_t object, char *buffer);

/* ---- its parts, for each other ---- */

/* trace_names.c. The object of a path, made as absent (and its parents too) if it is new. 0, or -1 and WHY. */
int trace_names_object(struct trace *t, const char *path, uint32_t *object, char *why,
		       size_t why_size);
int trace_names_client(struct trace *t, const char *name, uint16_t *client, char *why,
		       size_t why_size);
void trace_names_free(struct trace *t);
/* Room for one element more of an array that may have MAX of them. 0, or -1: no memory or MAX reached. */
int trace_room(void **array, uint32_t count, uint32_t *room, uint32_t max, size_t element);

/* trace_space.c. What a line does to the name space, and the order that follows. 0, or -1 and WHY. */
int trace_space_declare(struct trace *t, const struct trace_line *l, char *why, size_t why_size);
int trace_space_apply(struct trace *t, struct trace_op *op, char *why, size_t why_size);

/* trace_order.c: by_end, rank and needs of all. 0, or -1: no memory. */
int trace_order(struct trace *t);

#endif
