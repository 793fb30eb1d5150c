/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of hosts that a name server gave no address for lately, so that it is not asked for each of them again with each
 * client that comes.
 *
 *   a name's hash --> one of eight places in a row; who comes when all are taken has that which is over first, and who had
 *                     it is asked for again
 *
 * A name is kept for half a minute, or for so many times as long as its answer took that asking for it takes up little of
 * a thread's time. With many that a silent server is waited for that is not enough: beyond half a minute no more than half
 * of the time goes into that; meanwhile nothing is known of other names, and they need not be asked for.
 *
 *   waited   0 --10 s in vain--> 10 s --> 20 s --> 30 s --> 40 s: nobody is asked --10 s later--> 30 s --> ...
 *
 * Pure and not locked; times are handed in.
 */
#ifndef SHARES_NAME_MEMORY_H
#define SHARES_NAME_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define NAME_MEMORY	     1024
#define NAME_MEMORY_PLACES   8			   /* of one name */
#define NAME_MEMORY_LEAST    UINT64_C(30000000000) /* ns */
#define NAME_MEMORY_FACTOR   20
#define NAME_MEMORY_PATIENCE UINT64_C(30000000000) /* ns; waited in vain */

/* Zeros: none. */
struct name_memory {
	struct {
		uint64_t hash, until; /* ns */
		int said;
	} at[NAME_MEMORY];
	uint64_t waited; /* ns: when what was waited in vain is as long ago as it took */
};

/* Whether NAME need not be asked for at NOW (ns), and what was SAID of it. */
bool name_memory_find(const struct name_memory *m, const char *name, uint64_t now, int *said);
/* That was SAID of NAME at NOW, after TOOK ns. */
void name_memory_put(struct name_memory *m, const char *name, int said, uint64_t took,
		     uint64_t now);

#endif
