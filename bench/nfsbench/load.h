/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A load: a set of flows (readers or writers), each with its file, its order of requests and what
 * was measured of it. plan.c makes it, engine.c runs it, report.c tells it.
 */
#ifndef NFSBENCH_LOAD_H
#define NFSBENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"
#include "latency.h"
#include "options.h"
#include "read_size.h"
#include "rto.h"
#include "session.h"
#include "steady.h"

#define MAX_GROUPS MAX_CLIENTS

struct group {
	const char *name; /* readers, streams, random, writers */
	struct latency latency;
	struct latency beside; /* of the answers that came while the main group ran */
	/* Of work clients: */
	const struct client_spec *spec; /* else NULL */
	unsigned int turn;		/* the groups of a client have the same */
	struct handle dir;		/* of its files */
	struct steady steady;
};

enum flow_op { FLOW_READ, FLOW_WRITE, FLOW_FSSTAT };

/*
 * A client of work oltp: flows that go on together. A transaction is so many requests of each of
 * them; the next one begins when all are answered. The flows share a connection, and its reader
 * and its writer a file.
 */
struct client {
	unsigned int first, flows; /* those of load->flows */
	uint32_t transactions;	   /* done */
	struct blocks blocks;	   /* of the file */
};

struct flow {
	unsigned int group;
	uint32_t file; /* its number, f%04u or, of those that the load makes, w%04u; of work ends
			* the one that was looked up last */
	enum flow_op op;
	bool creates;	  /* the file is made, else it must be there */
	bool stable;	  /* WRITEs are FILE_SYNC */
	bool commit;	  /* a writer sends COMMIT after its last WRITE */
	bool background;  /* stops when all flows that are not have finished */
	uint64_t size;	  /* bytes of the file that the flow visits */
	uint32_t request; /* bytes */
	uint64_t unit;	  /* bytes that a number of `order` stands for */
	uint32_t outstanding;
	uint32_t commit_every;	     /* WRITEs between COMMITs, 0: no matter */
	uint64_t interval;	     /* ns between requests at least, 0: no matter */
	const struct pieces *pieces; /* work ends: what it reads of each file; else NULL */
	struct client *client;	     /* NULL: on its own */
	uint32_t per_transaction;
	uint32_t *order; /* block numbers; owned */
	uint32_t blocks; /* entries of order */
	struct handle handle;
	uint64_t content; /* first word of the file, see content.h */

	/* Progress. */
	uint32_t next; /* index in order of the request to issue next */
	uint32_t in_flight;
	uint64_t due;	      /* ns: not before, with an interval */
	uint32_t uncommitted; /* WRITEs since its last COMMIT, with commit_every */
	uint32_t part;	      /* bytes of that block that were asked for already, with read_size */
	bool committing;
	bool done;

	/* Results; times are seconds since the load began. */
	uint64_t bytes, requests;
	uint64_t steady_bytes; /* in its group's steady interval */
	uint32_t commits;
	double first, end;
	double acknowledged, committed; /* a writer's last WRITE, its COMMIT; 0: none */
	uint64_t beside, beside_bytes;	/* answered before the last flow of the main group ended */
	uint64_t max_us;
	uint64_t errors, mismatches; /* failed requests; answers with wrong bytes */
};

/* What UDP did, of each class of calls. */
struct transport_class {
	uint64_t answered, retransmitted, rtt_samples;
	double rtt_sum; /* ns */
	uint64_t rto;	/* ns, the last */
};

struct transport_counts {
	struct transport_class class[RPC_CLASSES];
	uint64_t late, unknown, dropped;
	double window; /* of the last connection, calls */
};

struct load {
	const struct options *options;
	struct group groups[MAX_GROUPS];
	unsigned int group_count;
	/* The others are measured while it runs: writers if there are any. */
	unsigned int main_group;
	struct flow *flows;
	unsigned int flow_count;
	struct client *clients;
	unsigned int client_count;
	unsigned int turns; /* clients that take turns, 0: all flows run at once */
	unsigned int turn;  /* whose it is */
	double turn_began;  /* seconds */
	bool turn_ended;    /* nobody of it issues any more */
	bool adapts;	    /* READs may be smaller than the flow's requests, of UDP: */
	struct read_size read_size;
	struct transport_counts transport;
	uint64_t planned_bytes; /* of the flows that are not in the background */

	uint64_t began;	 /* CLOCK_MONOTONIC, ns; the times below count from it */
	double main_end; /* seconds until the last flow of the main group ended */
	double elapsed;	 /* seconds until the last foreground flow ended */
	double total;	 /* seconds until the last request of all was answered */
	bool timed_out;
	char problem[160]; /* the first error, empty if none */
};

/* Flows and orders from the options. 0, or -1 after a message; load_free() either way. */
int load_plan(struct load *load, const struct options *o);
void load_free(struct load *load);

/* clients.c: groups and flows of work clients. 0, or -1 after a message. */
int clients_plan_groups(struct load *load);
int clients_plan_flow(struct load *load, struct flow *f, unsigned int index);
unsigned int clients_flows(const struct options *o);
/* order.c: room for the order of a flow that makes so many requests. 0, or -1 after a message. */
int order_allocate(struct flow *f, uint64_t requests);

/* Connects, looks the files up and runs. 0 when it ran (see errors), -1 when it could not start. */
int load_run(struct load *load);

uint64_t load_errors(const struct load *load);
uint64_t load_mismatches(const struct load *load);

/* The table on stdout, and JSON. */
void report_table(const struct load *load);
int report_json(const struct load *load, const char *path);

#endif
