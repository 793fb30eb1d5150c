/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A number in /sys or /proc/sys that we turn for a while and then leave as we found it.
 *
 * Where somebody else has turned it since, it is theirs and stays. The kernel may round what is
 * written, so what counts as ours is what can be read behind the write.
 */
#ifndef CLIENT_KNOB_H
#define CLIENT_KNOB_H

#include <stdbool.h>
#include <stdint.h>

#define KNOB_PATH 256

struct knob {
	char path[KNOB_PATH]; /* "": there is none */
	uint64_t found, ours;
	bool held; /* found is known and has to be put back */
	int error; /* errno of the last thing that failed, 0 after one that worked */
};

void knob_init(struct knob *k, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What it stands at; false, and k->error, where that cannot be read. */
bool knob_read(struct knob *k, uint64_t *value);
/* Remembers what it stands at. Before the first knob_turn. */
bool knob_hold(struct knob *k);
/* Only when held. */
bool knob_turn(struct knob *k, uint64_t value);
/* Back to what was found, and not held any more. False: somebody else's by now, or it failed. */
bool knob_restore(struct knob *k);

#endif
