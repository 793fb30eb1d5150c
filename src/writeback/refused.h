/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMITs that were told to come again for want of a place (commit.c), and until when each may be. A client asks again
 * after some seconds, as for the first time; what it had written is stable by then, but it may have written more, and there may
 * be no place again. So that it is not refused for ever the time that it may wait begins with the first try:
 *
 *   COMMIT refused   again, refused   again ...        after Commit_Wait: no place is needed, it is fsync's
 *   |----------------------- Commit_Wait -----------------------|
 *
 * Which try is which nobody says: those of one client for one file have their time together, until none was refused for
 * REFUSED_GONE. Bounded: REFUSED_MAX; one more is not refused. Pure; the caller's lock.
 */
#ifndef WRITEBACK_REFUSED_H
#define WRITEBACK_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

#define REFUSED_MAX 64
/* Who has not come again for so long (ns) does not. */
#define REFUSED_GONE UINT64_C(60000000000)

/* Zeroed: nobody was refused. */
struct refused {
	uint32_t used; /* of the places, the first so many */
	struct {
		uint64_t id;	/* of the file and the client */
		uint64_t until; /* ns */
		uint64_t last;	/* ns: refused last */
	} of[REFUSED_MAX];
};

/* A COMMIT of CLIENT for FILE, a number made of its handle, may wait until so: UNTIL, if none was refused before NOW. */
uint64_t refused_until(const struct refused *r, uint64_t file, uint64_t client, uint64_t until,
		       uint64_t now);
/* It is refused at NOW, having been allowed to wait until UNTIL; false: it must not be, for that could not be remembered. */
bool refused_note(struct refused *r, uint64_t file, uint64_t client, uint64_t until, uint64_t now);

#endif
