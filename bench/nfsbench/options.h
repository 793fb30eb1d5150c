/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line of nfsbench. */
#ifndef NFSBENCH_OPTIONS_H
#define NFSBENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "client_spec.h"
#include "number.h"
#include "pieces.h"

#define MAX_CONNECTIONS 512
#define MAX_BLOCKS	(1u << 24) /* requests of one reader, which bounds its pattern's memory */

enum work {
	WORK_NONE,
	WORK_SEQ,
	WORK_STRIDE,
	WORK_SHARED,
	WORK_RANDOM,
	WORK_REORDER,
	WORK_BACKWARD,
	WORK_RECORDS,
	WORK_TILES,
	WORK_CURSORS,
	WORK_ENDS,
	WORK_MIXED,
	WORK_WRITE,
	WORK_OLTP,
	WORK_FSSTAT,
	WORK_CLIENTS,
	WORK_MIX,
};

enum transport { TRANSPORT_TCP, TRANSPORT_UDP_FIXED, TRANSPORT_UDP_DYNAMIC };

struct options {
	/* The server: numeric or resolvable host, ports, exported path, directory below it. */
	const char *server;
	uint64_t port, mount_port;
	const char *export_path;
	const char *dir;

	enum transport transport;
	const char *transport_name;
	uint64_t timeo, drop; /* ms; percent: of UDP */
	bool adapt_request;
	const char *udp_trace;

	enum work work;
	const char *work_name;
	uint64_t readers, stride, passes, size, request, outstanding, connections;
	uint64_t first_file;	       /* number of the first file used */
	uint64_t seed, order_seed;     /* of the files' content; of the patterns drawn */
	uint64_t percent, distance;    /* reorder */
	uint64_t record, every, tiles; /* records, tiles */
	bool from_end;		       /* records */
	struct pieces pieces;	       /* ends */
	uint64_t count; /* random reads, FSSTATs, transactions of each; 0: see options.c */
	uint64_t random_readers, random_request, random_outstanding; /* mixed, write */
	uint64_t random_size;	 /* bytes of each file they read; 0: as the others' */
	const char *random_from; /* the address they come from, NULL: as the others */
	bool random_finish;	 /* they do all their reads, however long the others take */
	uint64_t writers, write_size, write_request,
		write_outstanding; /* mixed: beside the streams */
	bool commit;		   /* writers end with COMMIT */
	uint64_t txn_reads, txn_writes, log_request, log_size, generation; /* oltp */
	uint64_t rate; /* requests a second of each reader; 0: as fast as they are answered */
	bool repeat, spread, verify, quiet;
	double duration, max_time, stall;	 /* seconds; duration 0: until done */
	struct client_spec clients[MAX_CLIENTS]; /* work clients */
	unsigned int client_count;
	const char *mix;  /* work mix: see offered.h */
	uint64_t offered; /* calls a second */
	bool poisson;
	double warm_up, alone; /* seconds; alone 0: all at once */
	const char *json, *prices;

	/* Laying out files instead of a work. */
	const char *layout;
	const char *check; /* or comparing the files that writers left there */
	uint64_t files;

	char *command; /* the whole command line, for the report; owned */
};

/*
 * Fills *o from the command line. Returns 0; 1 when there is nothing more to do (--help); -1 after
 * a message on stderr that names the option and its range.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
