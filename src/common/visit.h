/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Going through things one by one, which may take long with each, without a lock, while any of them may go.
 *
 *   add --> [ wait ] --next--> [ visited ] --next, end--> nobody's
 *              | leave: at once     | leave: waits for the end of this one's visit
 *
 * Who adds sees to it that none is gone by then, by the lock of the list that he finds them in. A thing that has been taken out of
 * that list and has left is in no visit, nor comes into one. It is in one visit at a time.
 *
 * Any thread; one thread goes through a visit. A lock of its own for all visits, a leaf, held for a few steps.
 */
#ifndef COMMON_VISIT_H
#define COMMON_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct visit;

/* Within a thing; zero: nobody visits it. */
struct visited {
	TAILQ_ENTRY(visited) link;   /* of those who wait */
	struct visit *_Atomic visit; /* whose it is, or NULL; written with the lock */
};
TAILQ_HEAD(visited_list, visited);

/* One round, its caller's. */
struct visit {
	struct visited_list waiting;
	struct visited *now; /* is visited */
};

void visit_begin(struct visit *v);
/* X is to be visited in V; false: another one has it. */
bool visit_add(struct visit *v, struct visited *x);
/* The next one, in the order in which they were added, which stays until the next call or visit_end(); NULL: none is left. */
struct visited *visit_next(struct visit *v);
/* No more are visited. Returns how many were left. */
size_t visit_end(struct visit *v);
/* X goes, which nobody can add any more. It waits as long as X itself is being visited. */
void visit_leave(struct visited *x);

#endif
