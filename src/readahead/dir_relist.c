/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory has changed while it is walked: the walk goes on in its new list. See dir_follow.h. */
#include "readahead/dir_follow.h"

/*
 * The entry at PLACE of OLD on AXIS, or the next one before it that is in NEW too: its place there. False: none is.
 */
static bool place_in(const struct dir_list *old, const struct dir_list *new, enum dir_axis axis,
		     uint32_t *place)
{
	uint32_t count = dir_list_count(old);

	for (uint32_t at = *place < count ? *place + 1 : count; at-- != 0;) {
		uint64_t inode = dir_list_inode(old, dir_list_at(old, axis, at));
		uint32_t index = dir_list_find(new, inode);

		if (index == DIR_NOWHERE)
			continue;
		*place = dir_list_place(new, axis, index);
		return true;
	}
	*place = 0;
	return false;
}

/* The cursors of OLD, where they are in NEW: those that nothing is left behind begin with it. */
static void move_cursors(const struct dir_part *old, struct dir_part *new)
{
	new->cursors = old->cursors;
	for (enum dir_axis axis = 0; axis < DIR_AXES; axis++)
		for (int i = 0; i < DIR_CURSORS; i++) {
			struct dir_cursor *c = &new->cursors.of[axis][i];

			if (c->count == 0)
				continue;
			(void)place_in(old->list, new->list, axis, &c->at);
			c->tail = c->tail < c->at ? c->tail : c->at;
		}
	new->axis = old->axis;
	new->at = old->at;
	(void)place_in(old->list, new->list, new->axis, &new->at);
}

/* What is known of the entry FROM of OLD is known of TO of NEW. */
static void move_entry(struct dir_part *old, uint32_t from, struct dir_part *new, uint32_t to)
{
	new->state[to] = old->state[from];
	new->held[to] = old->held[from];
	new->due[to] = old->due[from];
	new->bytes += new->held[to];
	old->bytes -= old->held[from];
	old->state[from] = 0;
	old->held[from] = old->due[from] = 0;
	if (new->state[to] != 0)
		new->n_left--;
	if (new->state[to] == DIR_ASKED)
		new->n_ahead++;
}

void dir_relist(void *arg, struct dir *d, struct dir_part *old, struct dir_part *new)
{
	struct dir_walks *w = arg;

	for (uint32_t i = 0; i < dir_list_count(old->list); i++) {
		uint32_t to = old->state[i] != 0 || old->held[i] != 0
				      ? dir_list_find(new->list, dir_list_inode(old->list, i))
				      : DIR_NOWHERE;

		if (to != DIR_NOWHERE && new->state[to] == 0)
			move_entry(old, i, new, to);
		else if (old->held[i] != 0)
			dir_follow_vanished(w, d, old, i);
	}
	move_cursors(old, new);
	new->whole = old->whole;
	new->n_read = old->n_read;
	new->window = old->window;
	new->again = old->again;
	new->late = old->late;
	new->gone = old->gone;
}
