/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the two halves of running a load share: engine.c decides when a flow issues a request,
 * requests.c sends it, checks its answer and says so by a function handed in. One thread.
 */
#ifndef NFSBENCH_ENGINE_H
#define NFSBENCH_ENGINE_H

#include <stdio.h>

#include "connection.h"
#include "load.h"
#include "progress.h"

struct engine;
struct pollfd;
struct rpc_context;

/* A request in flight: who, where, when. */
struct slot {
	struct engine *engine;
	struct flow *flow;
	struct slot *next_free;
	uint64_t offset;
	uint32_t len;
	uint64_t issued; /* ns; of a flow with a rate when it was due (pace.h) */
};

struct engine {
	struct load *load;
	struct connection *connections;
	unsigned int connection_count;
	struct pollfd *polls; /* CONNECTION_POLLS of each */
	struct slot *slots;
	struct slot *free_slots;
	char *write_buffer; /* the RPC layer copies out of it when a call is queued */
	struct handle dir;  /* of the files; FSSTAT asks about it */
	uint64_t began;	    /* ns */
	uint64_t last_answer;
	uint64_t foreground_bytes;
	unsigned int flows_left;      /* flows not done */
	unsigned int foreground_left; /* of them those not in the background */
	unsigned int main_left;	      /* flows of the main group not done */
	bool stop;		      /* issue nothing more */
	bool turn_ending;	      /* of those whose turn it is; they are to be told */
	bool stopped;		      /* and flows that wait for their turn were told */
	FILE *prices;		      /* of --prices, or NULL */
	FILE *trace;		      /* of --udp-trace, or NULL */
	struct progress progress;
	/* requests.c calls these: S was answered, rightly or not, and its flow goes on; */
	void (*answered)(struct engine *e, struct slot *s);
	/* it was the COMMIT that ends its flow. */
	void (*committed)(struct engine *e, struct slot *s);
};

/* engine_parts.c */
uint64_t engine_now(void); /* ns */
double engine_seconds(const struct engine *e, uint64_t ns);
__attribute__((format(printf, 2, 3))) void engine_problem(struct engine *e, const char *format,
							  ...);
struct rpc_context *engine_connection(struct engine *e, const struct flow *f);
/* engine_prepare.c: slots, connections, handles. 0, or -1 after a message. */
int engine_prepare(struct engine *e);
/* requests.c: queue the call of a slot, whose answer calls answered() or, of COMMIT, committed().
 * 0, or negative when it cannot be queued. */
int request_send(struct slot *s);
int request_commit(struct slot *s);

#endif
