/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Free records that go back to the thread that took them, whichever thread is done with them.
 *
 *   a request's thread                     a disk's thread
 *   home_get <---- head                    home_put(theirs, record)
 *      | empty: takes all of                  | the record's home is another list
 *      +----------- returned <----------------+        pushed, no lock
 *
 * So a record that is always taken here and given back there needs no malloc and no free once there
 * are enough. A list outlives its thread and is adopted by the next that needs one.
 */
#ifndef COMMON_HOME_LIST_H
#define COMMON_HOME_LIST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "common/lock.h"

/* Free records that a list keeps; more are freed. */
#define HOME_KEPT 64

/* Begins every record; the rest is the user's. */
struct home_record {
	struct home_record *next;
	struct home_list *home;
};

struct home_list {
	struct home_record *head; /* its thread's, as `kept` */
	unsigned int kept;
	bool taken; /* by a thread: the lists' lock */
	struct home_list *next;
	char apart[64]; /* what other threads write is not in the same line */
	_Atomic(struct home_record *) returned;
};

struct home_lists {
	struct lock lock; /* LOCK_LEAF */
	struct home_list *first;
};

#define HOME_LISTS_INITIALIZER                                                                     \
	{                                                                                          \
		.lock = LOCK_INITIALIZER(LOCK_LEAF)                                                \
	}

/* A list that no thread has, now the caller's; NULL: there is none. */
struct home_list *home_list_adopt(struct home_lists *all);
/* Enters LIST, zeroed memory of malloc() and ALL's from now on, as the caller's. */
void home_list_enter(struct home_lists *all, struct home_list *list);
/* Its thread ends. Its records may still be with others. */
void home_list_leave(struct home_lists *all, struct home_list *list);
/* Frees all lists and the records in them, when no thread uses any. */
void home_lists_free(struct home_lists *all);

/* The less usual ways of the two below. */
void home_collect(struct home_list *mine);
void home_put_away(struct home_list *mine, struct home_record *r);

/* R, memory of malloc(), belongs to MINE from now on. */
static inline void home_own(struct home_list *mine, struct home_record *r)
{
	r->home = mine;
}

/* A free record, of the calling thread's list; NULL: none, the caller makes one with home_own(). */
static inline struct home_record *home_get(struct home_list *mine)
{
	struct home_record *r;

	if (mine->head == NULL)
		home_collect(mine);
	r = mine->head;
	if (r != NULL) {
		mine->head = r->next;
		mine->kept--;
	}
	return r;
}

/* R, which any thread got or made, is free. MINE: the calling thread's list. */
static inline void home_put(struct home_list *mine, struct home_record *r)
{
	if (r->home != mine || mine->kept == HOME_KEPT) {
		home_put_away(mine, r);
		return;
	}
	r->next = mine->head;
	mine->head = r;
	mine->kept++;
}

#endif
