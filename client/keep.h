/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Cached data that stays: where programs read again what memory has no room for beside what others write,
 * the kernel's lists give the writer up to half of a small memory, however often the other half is read
 * (include/linux/mm_inline.h: inactive lists as long as active ones below 1 GB). Sending written data
 * earlier does not change that, for clean data lies in the same lists. What does is memory.low of cgroup v2:
 * so much of a control group's memory is not taken while there is other to take. It only holds for a group below
 * ones that have it too, so it is turned in all of them. (CA-NFS, section 3.1: cached data has a price.)
 *
 *      cached data is lost
 *   as found <---------------> kept
 *      memory is not pressed any more, or nothing is read, or prices end
 *
 * Pure: measures are handed in. One thread.
 */
#ifndef CLIENT_KEEP_H
#define CLIENT_KEEP_H

#include <stdbool.h>

#include "knob.h"
#include "weights.h"

/* Groups, with those above them. */
#define KEEP_KNOBS 128

struct keep_input {
	bool priced;	/* some server states prices that count */
	bool lost;	/* cached data is lost: mount_use.h */
	bool used;	/* programs read from some mount of late */
	double pressed; /* how little memory is free, 0..1: machine.h */
};

struct keep_place {
	struct knob knob; /* its memory.low */
	double percent;	  /* of memory: the sum of what the groups below it, or it, may keep */
	uint64_t group;	  /* inode of its directory: which group of that name it is; 0: none */
	bool theirs; /* somebody else has turned it meanwhile: left alone until the next time, or group */
	bool keeps;	    /* it stands at as much, whoever has turned it, when it was looked at */
	bool refused;	    /* it could not be turned last, which was said */
	bool named;	    /* the group itself, not only one above one */
	unsigned int above; /* the place of the group above it, and 1; 0: it is the uppermost */
};

/* All zero: nothing is kept. */
struct keep {
	bool kept;
	unsigned int count;
	struct keep_place at[KEEP_KNOBS]; /* a group stands behind those above it */
	double looked;			  /* s: when knobs were looked at */
};

/* Whether what KEPT says goes on, or begins. */
bool keep_judge(bool kept, const struct keep_input *in);
/* The group NAME, with those above it, may keep so much. False, and K is as it was: it is no name of a group, or there are too
 * many. */
bool keep_add(struct keep *k, const char *root, const char *name, double percent);
/* Holds what may be kept of TOTAL bytes of memory; what others have set higher stays. What cannot be turned is
 * said once, and tried again by the next call. */
void keep_hold(struct keep *k, double total, const struct knob_recorder *recorder);
/* What WAS has turned goes on in K, another list of groups, where that may keep as much; the rest goes back. */
void keep_take_over(struct keep *k, struct keep *was);
/* Some group keeps its cached data: it and all above it stand at as much. */
bool keep_holds(const struct keep *k);
/* The group NAME does. */
bool keep_keeps(const struct keep *k, const char *root, const char *name);
/* All as found. */
void keep_release(struct keep *k);

#endif
