/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * When which operation of a trace is sent. Each client sends its operations in the trace's order; one
 * is due
 *
 *   recorded   at its time, divided by the speed, whatever was answered (open loop)
 *   think      so long after the answers that the client had when it was recorded, as it let pass
 *              then, divided by the speed (closed loop with the client's think time)
 *   fast       at once after those answers
 *
 * and is sent when it is due, when its client has fewer than `outstanding` under way, and when the names
 * that it is about are in the generation that the trace has them in (trace.h). No two operations can
 * wait for each other, for each only waits for ones above it in the trace.
 *
 * Times are ns since the replay began, handed in. One thread.
 */
#ifndef NFSREPLAY_SCHEDULE_H
#define NFSREPLAY_SCHEDULE_H

#include "trace.h"

#define SCHEDULE_NEVER UINT64_MAX

enum schedule_pace { PACE_RECORDED, PACE_THINK, PACE_FAST };

struct schedule_client {
	uint32_t next;	   /* operation to send, TRACE_NONE: none left */
	uint32_t answered; /* so many of by_end, from the first, are answered */
	uint32_t in_flight;
};

struct schedule_name {
	uint32_t generation, uses; /* that are over, see struct trace_ref */
};

struct schedule {
	const struct trace *trace;
	enum schedule_pace pace;
	double speed;
	uint32_t outstanding;
	struct schedule_client clients[TRACE_CLIENTS_MAX];
	struct schedule_name *names;
	uint64_t *answers; /* by operation: when, + 1; 0: not yet. Then, by the order of ends: */
	uint64_t *passed;  /* when it and all before it were answered */
	uint32_t left;	   /* operations not answered */
};

/* OUTSTANDING: requests of a client under way at once, 1 …; SPEED above 0. 0, or -1: no memory. */
int schedule_init(struct schedule *s, const struct trace *t, enum schedule_pace pace, double speed,
		  uint32_t outstanding);
void schedule_free(struct schedule *s);

/*
 * The operation that the client is to send at NOW, or TRACE_NONE. *DUE is then when it was due or, of
 * one that only waits for its time, will be; SCHEDULE_NEVER while it waits for an answer.
 */
uint32_t schedule_next(const struct schedule *s, uint32_t client, uint64_t now, uint64_t *due);
/* It was sent, and later answered (or given up). */
void schedule_sent(struct schedule *s, uint32_t op);
void schedule_answered(struct schedule *s, uint32_t op, uint64_t now);

#endif
