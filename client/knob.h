/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A number in /sys or /proc/sys that we turn for a while and then leave as we found it.
 *
 *   knob_turn:  what it stands at is found --> recorded --> written --> what it stands at is ours
 *
 * No record, no turning: what is turned can be put back by another process, whenever this one dies
 * (state.h). Where somebody else has turned it since, it is theirs and stays; where we turn it again, what
 * they set is what was found, and what it goes back to. The kernel may round what is written, so what counts
 * as ours is what can be read behind the write.
 *
 * One that cannot be put back now (a read-only /sys, no descriptor to be had) is left: it stays known, and
 * in the record, until it can. Whoever turns it meanwhile has found what was found at first.
 *
 * One thread.
 */
#ifndef CLIENT_KNOB_H
#define CLIENT_KNOB_H

#include <stdbool.h>
#include <stdint.h>

#define KNOB_PATH 256
/* So many may wait to be put back: two of each mount, those of the machine and of groups. */
#define KNOB_LEFT_MAX 1280

struct knob {
	char path[KNOB_PATH]; /* "": there is none */
	uint64_t found, ours;
	bool held;    /* found is known and has to be put back */
	bool turning; /* held, and it may stand at anything: the record must say so */
	bool told;    /* that somebody else turns it too */
	int error;    /* errno of the last thing that failed, 0 after one that worked */
};

/* Writes down what is held; false: it could not, and no knob is turned. */
struct knob_recorder {
	bool (*record)(void *arg);
	void *arg;
};

void knob_init(struct knob *k, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What it stands at; false, and k->error, where that cannot be read; EDOM: it is no number. */
bool knob_read(struct knob *k, uint64_t *value);
/* Remembers what it stands at: FOUND stays known until it is put back, or somebody else has turned it. False:
 * k->error, also where it is held. */
bool knob_hold(struct knob *k);
/* Holds it and turns it. False: k->error, ECANCELED where no record could be made. */
bool knob_turn(struct knob *k, uint64_t value, const struct knob_recorder *recorder);
/* After a turn that failed: it stands where one before had turned it. */
bool knob_holds_on(struct knob *k);
/* Back to what was found, not held any more. False: EBUSY, somebody else's by now; EDOM, as
 * much; or it is gone; with any other k->error it is left. */
bool knob_restore(struct knob *k);
/* The same; where it is there and stays as it is that is said. */
bool knob_release(struct knob *k);
/* The last call failed because there is no such knob (any more). */
bool knob_is_gone(const struct knob *k);
/* Why it could not be put back, in words; static. */
const char *knob_why(const struct knob *k);
/* The Nth of those that are left; NULL: there are not so many. */
const struct knob *knob_left(unsigned int n);
/* Tries again to put them back; how many it could. */
unsigned int knob_left_restore(void);

#endif
