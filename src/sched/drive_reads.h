/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scattered reads at a drive: how many may be there together, whose they are, and what that says of the
 * drive.
 *
 *   evidence    together is faster: up to 8        a  b  c  d  e  f  g  h     one of each flow
 *   crowded     what the others may wait is        a  a  a | b  c  d  e  f    more than one of a flow:
 *               3 reads' worth                                                among the first 3 only
 *
 * What is there the drive serves as it likes: a client's read may come last. So that one client's many
 * do not keep another's few waiting for long, while a flow with few is about one that has a read there
 * gets another only while fewer are there than are served in the time that those few may wait: three or
 * four put most of a long queue into the drive's order already. And a drive that always has near ones to
 * serve leaves a far one for long: once one of the few has been there for that time, those who have one
 * there get no other. That time is a part of Demand_Wait; or less, half of what a read of one of n flows
 * would take if each had an nth of a drive that serves one at a time: who asks for one after the other
 * has his share by that. A flow's first is as long on its way as in a round. Where all have many it is
 * the throughput that counts, and as many go as are of use. Of long ones fewer: what is there nobody can interrupt.
 *
 * Chunks may be among them: short ones; beginnings of others (place.h); and a few that lie in pieces, each of which costs a seek (PIECES_MAX). Of one such
 * chunk there is ever less to choose from while it comes, and the seeks become longer; with the next ones beside it the
 * drive goes on choosing. But not where small reads come again and again: one that is far from all others would be left for
 * long, and there is always another near one. In a gap of a chunk that has the drive for itself it has its turn.
 *
 * Pure: the clock is handed in, no lock.
 */
#ifndef SCHED_DRIVE_READS_H
#define SCHED_DRIVE_READS_H

#include "sched/depth_evidence.h"
#include "sched/queue.h"

struct drive_reads {
	struct depth_evidence evidence;
	uint32_t max;		/* together at most; 1: never several */
	uint32_t there;		/* also in gaps */
	uint64_t bytes;		/* of them, with what was merged into them */
	uint32_t chunks;	/* short ones, beginnings and such in pieces, beside them */
	uint64_t came;		/* ns: when one of them last came */
	struct flow_id last;	/* whose the last of them was */
	uint64_t crowded_until; /* ns: lately there was one of a flow with few, and of another */
};

/* Never several, until drive_reads_set_max(). */
void drive_reads_init(struct drive_reads *d);
/* MAX at most, 0 is 1; what was found out is kept until there is another MAX above 1. */
void drive_reads_set_max(struct drive_reads *d, uint32_t max);
/* The drive is another one. */
void drive_reads_forget(struct drive_reads *d);
/* So many may be there together: 1..max. */
uint32_t drive_reads_level(const struct drive_reads *d);
/* ... now: that, or as many as one of which nothing is known is asked with. */
uint32_t drive_reads_together(const struct drive_reads *d, const struct sched_queue *q);
/* Whether one at a time goes, and a second one is at hand at most. */
bool drive_reads_one_at_hand(const struct drive_reads *d, const struct sched_queue *q);
/* Whether short chunks may be among them: where it is settled that several are faster, or is asked. */
bool drive_reads_takes_chunks(const struct drive_reads *d, const struct sched_queue *q);
/*
 * ... or one that lies in pieces, too. Of these no more than a few go together, for each takes long, and none more while a
 * demand read or a write-back is there or waits; nor while it is asked, for when one ends says nothing of the drive's order.
 */
bool drive_reads_takes_pieces(const struct drive_reads *d, const struct sched_queue *q);
/* ... or the beginning of a young one: where that is settled, for it costs a turn more of who reads on. */
bool drive_reads_takes_young(const struct drive_reads *d, const struct sched_queue *q);
/* So many may be there now: those; or one, and mostly the next one at hand (place.h). */
uint32_t drive_reads_there(const struct drive_reads *d, const struct sched_queue *q);
/* So many bytes are there that no other should come. */
bool drive_reads_is_full(const struct drive_reads *d);
/* ... while fewer are there a flow that has one may have another: 1..level. Q: whose reads they are. */
uint32_t drive_reads_of_one(const struct drive_reads *d, const struct sched_queue *q, uint64_t now);
/* R, which was handed out, goes there; has left it. Others than scattered reads are none of its. */
void drive_reads_to(struct drive_reads *d, const struct sched_req *r, uint64_t now);
void drive_reads_from(struct drive_reads *d, const struct sched_req *r, uint64_t now);
/* R, which is about to leave it, has been served: before others of Q that went there earlier, or not. */
void drive_reads_order(struct drive_reads *d, const struct sched_queue *q,
		       const struct sched_req *r, uint64_t now);
/*
 * LEN bytes came in SERVICE ns, while QUEUED demand reads waited; returns how long the drive was at it, as
 * one among others.
 */
uint64_t drive_reads_came(struct drive_reads *d, uint32_t queued, uint64_t len, uint64_t service,
			  uint64_t now);

#endif
