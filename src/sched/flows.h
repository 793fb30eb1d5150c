/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The flows of one dispatch queue: groups, flows in them, and who of them has the disk. What they are
 * is told in flow.h; how the next one is chosen in flow_visit.c. Their fields are src/sched's own.
 */
#ifndef SCHED_FLOWS_H
#define SCHED_FLOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sched/flow.h"
#include "sched/order.h"
#include "sched/rate_limit.h"

struct sched_req;
TAILQ_HEAD(sched_list, sched_req);

/* What can be queued, as far as it matters to who goes next. */
enum flow_kind {
	FLOW_SMALL,  /* demand reads that the policy serves in gaps */
	FLOW_CHUNK,  /* all other reads */
	FLOW_COMMIT, /* write-backs that a COMMIT waits for */
	FLOW_WRITE,  /* all other write-backs */
	FLOW_KINDS
};
#define FLOW_READ_KINDS 2 /* the first so many are reads */

/* Why somebody goes before others (flow_limit.c). */
enum flow_first {
	FLOW_DUE,    /* is behind its floor */
	FLOW_OPENED, /* was over its ceiling, and is not */
	FLOW_FIRSTS
};

/* Groups of a queue, or flows of a group: those with something queued that are not over their ceiling, by
 * how much they have had. */
struct flow_set {
	struct order backlogged[FLOW_KINDS]; /* by virtual time */
	uint64_t level;	 /* virtual time of who was served last: where newcomers begin */
	uint32_t weight; /* of a group's flows backlogged, in sum */
};

/* What a group and a flow have in common. */
struct flow_node {
	struct order_node place[FLOW_KINDS]; /* in its set's orders */
	/* Requests queued beneath it, not parked; of a group, not of flows that are held. */
	uint32_t n[FLOW_KINDS];
	uint64_t vtime;	 /* ns of disk time had, as if its weight were SHARE_WEIGHT_DEFAULT */
	uint32_t weight; /* of a group also 0: its backlogged flows' */
	/* flow_limit.c's. */
	bool limited;  /* has a floor or a ceiling */
	bool released; /* it was over its ceiling, and was not served since */
	struct rate_limit limit;
	struct rate_limit most;		      /* as floors: nearly its ceiling; flow_chunk.c */
	struct order_node held;		      /* over its ceiling: in `held`, by when it may go */
	struct order_node first[FLOW_FIRSTS]; /* with reads: by since when it may go first */
	struct sched_flow *flow;	      /* that it is of; NULL: a group's */
};

struct sched_group {
	struct flow_node node;
	struct flow_set flows;
	uint64_t key;		   /* flow_table.c */
	uint16_t rule;		   /* of a client: of sched_shares.rules, as it was told last */
	uint32_t n_flows, reading; /* those with reads queued that are not held */
	uint32_t requests;	   /* of its flows, in sum */
	uint64_t held;
	struct order_node round[FLOW_READ_KINDS]; /* its place in a round, by disk address */
	LIST_ENTRY(sched_group) hash;
};

/* overdue.c's. */
struct sched_overdue {
	struct order batch; /* by device address, or by arrival where it is a handful */
	bool open;	    /* a batch is being served, or its last one is */
	uint64_t at;	    /* where its scan goes on */
	uint64_t begun;	    /* ns: the present or last batch */
	uint64_t taken;	    /* ns: the last one of it, or of the one before */
	uint64_t resume;    /* ns: no batch before */
	bool few;	    /* it is one */
};

/* How long a client takes to ask for the next read, as far as it asks for one after the other. */
struct flow_think {
	uint64_t since; /* ns: its last read was over; 0: one is under way */
	uint64_t mean;	/* ns */
	uint32_t n;	/* samples in it, up to a few */
};

struct sched_flow {
	struct flow_node node;
	struct sched_group *group;
	struct flow_id id;
	void *policy_state;	   /* of its reads in the policy's order */
	void *next_state;	   /* policy_switch.c's */
	struct sched_list reads;   /* queued, not parked, by submission */
	struct sched_list waiting; /* those that somebody waits for, by arrival */
	struct sched_overdue overdue;
	struct order_batches writebacks; /* queued, not wanted, by device address */
	struct sched_list wanted; /* queued write-backs that a COMMIT waits for, by its arrival */
	uint32_t requests;	  /* reads queued, joined, being answered */
	uint32_t refs;		  /* requests of any state */
	uint32_t demands;	  /* demand reads running */
	uint64_t held;		  /* bytes of demands queued, joined, running, being answered */
	struct flow_think think;
	uint32_t rare; /* reads queued that come once in a while */
	struct order_node
		promise;       /* has small reads queued: by when the next one goes to the disk */
	uint64_t along_resume; /* ns: neighbours taken along are paid for till then */
	uint64_t small_served; /* ns: the last one did */
	struct order_node
		late; /* somebody waits: since when nothing of it has gone to the disk, or later */
	uint64_t started;    /* ns: its last read went there */
	uint64_t owed;	     /* ns of the disk that its reads have before its next write-back */
	uint64_t written;    /* ns: the end of its last write-back */
	uint64_t committed;  /* ... that a COMMIT waited for */
	uint32_t committing; /* turns running that a COMMIT waits for */
	bool beside;	     /* it reads while its COMMITs wait */
	struct flow_stats stats;
	LIST_ENTRY(sched_flow) hash;
	TAILQ_ENTRY(sched_flow) recent;
};

/* The time for which one flow has the disk, while others wait. */
struct flow_visit {
	struct sched_flow *flow; /* NULL: nobody */
	enum flow_kind kind;
	bool promised;		  /* its group is ahead of the others: one read */
	bool late;		  /* ... and it was kept waiting for too long */
	bool joined;		  /* for one chunk that small reads have joined */
	struct sched_req *guest;  /* ... for this one, that another client's read has joined */
	uint32_t started, served; /* requests: handed out; over */
	uint64_t used, budget;	  /* ns of the disk */
	uint64_t wait_until;	  /* ns: the disk waits for its next read; 0: it does not */
	bool reserved;		  /* it was behind its floor */
	uint32_t along;		  /* requests handed out after its time was over: neighbours */
	bool free;		  /* ... and are not charged */
	uint64_t used_before;	  /* ns of `used`: without them */
	double way;		  /* ns: what it takes to read on to them */
};

/*
 * Disk time where several requests are under way: each of N has a Nth of it. `sum` is what one that
 * was under way all the time would have had.
 */
struct flow_clock {
	uint64_t sum, last; /* ns */
	uint32_t n;
};

LIST_HEAD(sched_group_list, sched_group);
LIST_HEAD(sched_flow_list, sched_flow);
TAILQ_HEAD(sched_flow_tail, sched_flow);

#define FLOW_HASH 16384
/* Flows that are remembered though they have nothing to do. */
#define FLOWS_IDLE_MAX 4096

struct sched_flows {
	struct flow_set groups;
	uint32_t n, reading;		     /* flows; those with reads queued that are not held */
	uint32_t ready[FLOW_KINDS];	     /* requests queued, neither parked nor held */
	struct order held;		     /* flow_limit.c: nodes over their ceiling */
	struct order first[FLOW_FIRSTS];     /* ... and who may go before others */
	struct rate_limit floors;	     /* what these may take of the disk, in sum */
	uint64_t now;			     /* ns: of the last call that told */
	struct sched_flow *common;	     /* of client 0: always there */
	struct sched_flow_tail recent;	     /* all, by their last submission, the latest first */
	struct sched_shares *shares;	     /* NULL: all alike */
	struct order round[FLOW_READ_KINDS]; /* groups still to be visited, by disk address */
	bool after_gap;			     /* small reads were served since the last chunk */
	uint64_t gap_ends;	      /* ns: none follow those at the drive together after that */
	struct order promises;	      /* flows with small reads queued */
	struct order late;	      /* flows with reads that somebody waits for: flow_late.c */
	uint64_t late_resume;	      /* ns: none of these before */
	uint64_t along_resume;	      /* ns: no neighbours that are not charged before */
	struct order joined;	      /* chunks that small reads have joined: flow_joined.c */
	uint64_t joined_resume;	      /* ns: none of these before */
	struct order guests;	      /* chunks that others' reads have joined: flow_guest.c */
	uint64_t guests_resume;	      /* ns: none of these before */
	struct flow_visit visit, gap; /* who has the disk; and within that one's chunk */
	struct flow_clock clock;
	struct sched_flow_list hash[FLOW_HASH];
	struct sched_group_list group_hash[FLOW_HASH];
};

#endif
