/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parts of work mix share: mix.c decides when, mix_calls.c calls, mix_report.c tells. */
#ifndef NFSBENCH_MIX_PARTS_H
#define NFSBENCH_MIX_PARTS_H

#include <stdio.h>

#include "connection.h"
#include "latency.h"
#include "load.h"
#include "offered.h"

#define MIX_SLOTS	1024 /* calls under way; more wait */
#define MIX_CONNECTIONS 64

struct mix_run;

struct mix_slot {
	struct mix_run *run;
	struct mix_slot *next_free;
	enum mix_op op;
	uint64_t due; /* ns since the beginning */
	uint32_t file;
	uint64_t offset;
};

struct mix_run {
	const struct options *options;
	struct load load; /* for its options, problem and transport */
	struct connection connections[MIX_CONNECTIONS];
	unsigned int connection_count;
	struct mix mix;
	struct schedule schedule;
	struct prng prng;
	struct handle dir, link;
	struct handle *files, *written; /* f0000 …, w0000 … */
	struct mix_slot slots[MIX_SLOTS], *free;
	unsigned int under_way, peak;
	uint32_t created, removed; /* names made and taken away by CREATE and REMOVE */
	char *buffer;		   /* of WRITEs */
	FILE *trace;
	void (*answered)(struct mix_slot *s, bool well);
	/* Results; of those that were due in the measured time. */
	uint64_t began, ended; /* ns; ended: the last answer, since the beginning */
	double warm_up, seconds;
	uint64_t issued, errors, mismatches;
	double latest_issue_s; /* how late a call was issued at most */
	struct latency total, latency[MIX_OPS];
};

void mix_problem(struct mix_run *r, const char *what, const char *why);
/* Queues the slot's call; its answer calls run->answered. 0, or negative when it cannot be queued. */
int mix_call(struct mix_slot *s);
/* Table and JSON as the options say. 0, or -1 after a message. */
int mix_report(const struct mix_run *r);

#endif
