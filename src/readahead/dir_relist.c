/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory has changed while it is walked: the walk goes on in its new list. See dir_follow.h. */
#include "readahead/dir_follow.h"

#include <stdlib.h>

/* Where each entry of OLD is in NEW, or DIR_NOWHERE: both by inode, side by side. NULL: no memory. */
static uint32_t *match(const struct dir_list *old, const struct dir_list *new)
{
	uint32_t n = dir_list_count(old), m = dir_list_count(new), j = 0;
	uint32_t *to = malloc((n + 1u) * sizeof(*to));

	for (uint32_t i = 0; to != NULL && i < n; i++) {
		uint32_t index = dir_list_at(old, DIR_BY_INODE, i);
		uint64_t inode = dir_list_inode(old, index);

		while (j < m && dir_list_inode(new, dir_list_at(new, DIR_BY_INODE, j)) < inode)
			j++;
		to[index] = j < m && dir_list_inode(new, dir_list_at(new, DIR_BY_INODE, j)) == inode
				    ? dir_list_at(new, DIR_BY_INODE, j)
				    : DIR_NOWHERE;
	}
	return to;
}

/* The place in NEW of what is at PLACE of OLD on AXIS, or of the nearest one before that which is in NEW; 0: none is. */
static uint32_t place_in(const struct dir_list *old, const struct dir_list *new, const uint32_t *to,
			 enum dir_axis axis, uint32_t place)
{
	uint32_t count = dir_list_count(old);

	for (uint32_t at = place < count ? place + 1 : count; at-- != 0;) {
		uint32_t index = to[dir_list_at(old, axis, at)];

		if (index != DIR_NOWHERE)
			return dir_list_place(new, axis, index);
	}
	return 0;
}

/* The cursors of OLD, where they are in NEW: those used last, if that has fewer. */
static void move_cursors(const struct dir_part *old, struct dir_part *new, const uint32_t *to)
{
	for (enum dir_axis axis = 0; axis < DIR_AXES; axis++)
		for (uint32_t i = 0; i < old->cursors.n; i++) {
			const struct dir_cursor *was = &dir_cursors_on(&old->cursors, axis)[i];
			struct dir_cursor *c = dir_cursors_oldest(&new->cursors, axis);

			if (was->count == 0 || was->used < c->used)
				continue;
			*c = *was;
			c->at = place_in(old->list, new->list, to, axis, c->at);
			c->tail = c->tail < c->at ? c->tail : c->at;
		}
	new->axis = old->axis;
	new->at = place_in(old->list, new->list, to, new->axis, old->at);
}

static void move_held(struct dir_part *old, uint32_t from, struct dir_part *new, uint32_t to)
{
	new->held[to] = old->held[from];
	new->due[to] = old->due[from];
	new->bytes += new->held[to];
	old->bytes -= old->held[from];
	old->held[from] = old->due[from] = 0;
}

/* Whether of the entry I of P anything is known. */
static bool is_known(const struct dir_part *p, uint32_t i)
{
	return p->state[i] != 0 || (p->held != NULL && p->held[i] != 0);
}

/* What is known of the entry FROM of OLD is known of TO of NEW. */
static void move_entry(struct dir_part *old, uint32_t from, struct dir_part *new, uint32_t to)
{
	new->state[to] = old->state[from];
	old->state[from] = 0;
	if (old->held != NULL)
		move_held(old, from, new, to);
	if (new->state[to] != 0)
		new->n_left--;
	new->n_there += (new->state[to] & DIR_READ) != 0;
	if (new->state[to] == DIR_ASKED)
		new->n_ahead++;
}

static void carry(void *arg, struct dir *d, struct dir_part *old, struct dir_part *new)
{
	struct dir_walks *w = arg;
	uint32_t *map = match(old->list, new->list);

	if (map == NULL)
		return;
	for (uint32_t i = 0; i < dir_list_count(old->list); i++) {
		uint32_t to = is_known(old, i) ? map[i] : DIR_NOWHERE;

		if (to != DIR_NOWHERE && new->state[to] == 0)
			move_entry(old, i, new, to);
		else if (old->held != NULL && old->held[i] != 0)
			(void)dir_follow_lose(w, w->lost, d, old, i);
	}
	move_cursors(old, new, map);
	free(map);
	new->payer = old->payer;
	new->whole = old->whole;
	new->n_read = old->n_read;
	new->n_hits = old->n_hits;
	new->window = old->window;
	new->again = old->again;
	new->late = old->late;
	new->gone = old->gone;
}

const struct dir_owner dir_owner = {
	.is_walked = dir_follow_is_walked,
	.drop = dir_follow_drop,
	.carry = carry,
};
