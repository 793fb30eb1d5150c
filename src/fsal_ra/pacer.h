/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Holding back replies to UNSTABLE writes while too much is dirty: how long is said by
 * writeback/pacing.h; here is the thread that lets them go. Reads, metadata and stable writes never
 * come here.
 */
#ifndef RA_PACER_H
#define RA_PACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Part of whatever is held back. */
struct paced {
	TAILQ_ENTRY(paced) link;
	uint64_t due; /* ns */
	void (*answer)(struct paced *p);
};

int pacer_start(void); /* 0 or an errno */
/* Answers what is still held. */
void pacer_stop(void);
/* For how long (ns) to hold the reply to CLIENT's write of BYTES; 0: not at all. MAX_MS bounds it.
 */
uint64_t pacer_delay(uint64_t client, uint64_t bytes, uint64_t max_ms);
/* Calls ANSWER on the pacer's thread in DELAY ns. False when Paced_Replies are held already. */
bool pacer_hold(struct paced *p, uint64_t delay, void (*answer)(struct paced *p));

/* For operators. */
struct pacer_view {
	uint32_t held;	    /* now */
	uint64_t replies;   /* ever held */
	uint64_t delay;	    /* ns, of all of them together */
	uint64_t delay_max; /* ns */
	uint64_t refused;   /* found no room */
};
void pacer_view(struct pacer_view *v);

#endif /* RA_PACER_H */
