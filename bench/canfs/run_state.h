/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a run is made of: that which the loop (run.h) and its threads (tasks.h) both see. One thread. */
#ifndef CANFS_RUN_STATE_H
#define CANFS_RUN_STATE_H

#include "client.h"
#include "nfs.h"
#include "tally.h"
#include "work.h"

#define RUN_CLIENTS 64
#define RUN_GROUPS  16
#define RUN_SECONDS 3600 /* samples of one a second, at most */

struct run_options {
	const char *server, *path;
	int port, mount_port;
	char from[32]; /* the first client's address; the others' are the next ones. "": any */
	uint64_t clients;
	struct client_settings settings;
	struct group_spec groups[RUN_GROUPS];
	unsigned int n_groups;
	uint64_t seed;
	double seconds, warmup; /* of the load: at most (0: to its end); not counted before */
	bool verify;
	bool tell; /* a line on standard output when nothing counts any more */
};

struct task; /* a thread of a group on a client */

/* What a group did, while counted. */
struct group_result {
	struct tally did;
	double first_end, last_end; /* seconds; of threads that came to their end */
	double held_at;		    /* the last began to hold its file open */
	unsigned int ended;
};

struct sample {
	float price, price_ahead, bid, worth, unsaved_mb, limit_mb;
	float read_mb, written_mb, saved_mb, blocked_s; /* in this second */
	uint32_t ops, blocked;
	uint8_t way;
};

struct member {
	struct edge edge;
	struct client client;
	struct client_counts counted_from, counted_until; /* at the edges of the window */
	struct sample *samples;
	uint32_t ops; /* of the second that goes on */
};

struct run {
	const struct run_options *o;
	struct member *members;
	struct work_set *sets; /* [group][client] */
	struct file **files[RUN_GROUPS][RUN_CLIENTS];
	struct task *tasks;
	unsigned int n_tasks, foreground,
		held; /* foreground: that still run; of these, that hold */
	TAILQ_HEAD(task_list, task) ready, holding;
	struct task **timers; /* a heap by time */
	unsigned int n_timers;
	uint64_t began; /* ns */
	struct span counted;
	bool stopping;
	unsigned int busy; /* operations under way */
	uint32_t seconds;
	struct group_result groups[RUN_GROUPS];
};

#endif
