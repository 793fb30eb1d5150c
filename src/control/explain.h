/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * In words: why a file's reads are fetched ahead or not, why a client waits; each line with the parameter that
 * would change it. Pure: facts in, lines out.
 */
#ifndef CONTROL_EXPLAIN_H
#define CONTROL_EXPLAIN_H

#include "control/facts.h"

struct explain {
	void (*line)(void *arg, const char *text,
		     const char *parameter); /* parameter: NULL: none */
	void *arg;
};

/* What a file's explanation is made of, beside the file itself. */
struct explain_file {
	const struct file_facts *file;
	const struct device_facts *device; /* NULL: none is known */
	double price;			   /* of read-ahead there, 0..1 */
	uint64_t memory, unread;	   /* Readahead_Memory, and what is taken of it; bytes */
	uint64_t now;			   /* ns */
	/* Of the export with this id, which is one on that device; -1: there is none. */
	int64_t export_id;
	const char *heuristic;
	uint64_t seq_threshold;
	bool priced; /* Price_Readahead */
};
void explain_file(const struct explain *e, const struct explain_file *f);

/* The client's flow on a device, beside those of all others there. */
struct explain_flow {
	const struct flow_stats *flow;
	const char *device;
	bool demand_queued;
	double share,
		fair; /* of the disk's time, since the server knows it; by weights of those active */
	const char *behind; /* whom it waited for longest; NULL: nobody */
};
void explain_flow(const struct explain *e, const struct explain_flow *f);
/* What holds for writes of all. */
void explain_writing(const struct explain *e, const struct writing_facts *w);

#endif
