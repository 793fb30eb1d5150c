/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The cursors of one file: found by the next offset that they expect, given up by age.
 *
 *   by `next`   a treap: a search tree by (next, address), a heap by a random priority that each
 *               cursor keeps for life, so that its depth is O(log n) whatever the clients read;
 *               and a list threaded through it, so that a cursor that only moves on a little, as
 *               they do, finds its neighbours without a search and stays where it is
 *
 *                        64M            order:  0.1M - 64M - 128M - 300M
 *                       /   \
 *                   0.1M     300M
 *                           /
 *                       128M
 *
 *               those that go another way are in it too, by positions that no offset has (way.h)
 *
 *   by age      two lists, the least recently used first: the unproven (never continued: random
 *               reads make these) and the proven
 *
 * No allocation: the links are the cursors' own. All with the file's lock.
 */
#ifndef READAHEAD_CURSOR_SET_H
#define READAHEAD_CURSOR_SET_H

#include "readahead/cursor.h"

/* Embedded in its heur_file. */
struct cursor_set {
	struct cursor *root;
	struct cursor_list order, unproven, proven;
	uint64_t used; /* ns: the last read that a cursor followed, which may have gone since */
	uint32_t n, n_unproven;
	uint32_t n_backward, n_strided;
};

void cursor_set_init(struct cursor_set *set);

/*
 * The cursor that a read at OFFSET continues, or NULL: the one that expects exactly this offset,
 * else the nearest one within NEAR bytes, else one that has already asked for it.
 */
struct cursor *cursor_set_match(const struct cursor_set *set, uint64_t offset, uint64_t near);

/* Puts C in, by its `next` and `count`. */
void cursor_set_insert(struct cursor_set *set, struct cursor *c);
void cursor_set_remove(struct cursor_set *set, struct cursor *c);
/* C expects NEXT from now on. */
void cursor_set_move(struct cursor_set *set, struct cursor *c, uint64_t next);
/* C goes another WAY than forwards from now on, and expects the position NEXT (way.h). */
void cursor_set_turn(struct cursor_set *set, struct cursor *c, enum way way, uint64_t next);
/* C goes forwards again; cursor_set_move() then says where. */
void cursor_set_straighten(struct cursor_set *set, struct cursor *c);
/* C was used at NOW and its count is COUNT. */
void cursor_set_use(struct cursor_set *set, struct cursor *c, uint32_t count, uint64_t now);
/* The one to be given up first, an unproven one if there is any; NULL: the set is empty. */
struct cursor *cursor_set_oldest(const struct cursor_set *set);
/* The one that was not used for longest, proven or not; NULL: the set is empty. */
struct cursor *cursor_set_least_recent(const struct cursor_set *set);

#endif
