/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Following walks over a directory's entries on three axes. See dir_cursor.h. */
#include "readahead/dir_cursor.h"

static bool matches(const struct dir_cursor *c, uint32_t place)
{
	if (c->count == 0)
		return false;
	return place > c->at ? place - c->at <= DIR_AHEAD : c->at - place <= DIR_BACK;
}

static uint32_t distance(const struct dir_cursor *c, uint32_t place)
{
	return place > c->at ? place - c->at : c->at - place;
}

/* The cursor of this axis that PLACE belongs to, the nearest one; NULL: none. */
static struct dir_cursor *nearest(struct dir_cursor *cs, uint32_t place)
{
	struct dir_cursor *best = NULL;

	for (int i = 0; i < DIR_CURSORS; i++)
		if (matches(&cs[i], place) &&
		    (best == NULL || distance(&cs[i], place) < distance(best, place)))
			best = &cs[i];
	return best;
}

/* A new one at PLACE, instead of that which was used least lately. */
static struct dir_cursor *replace(struct dir_cursor *cs, uint32_t place, uint64_t now)
{
	struct dir_cursor *old = &cs[0];

	for (int i = 1; i < DIR_CURSORS; i++)
		if (cs[i].used < old->used)
			old = &cs[i];
	*old = (struct dir_cursor){.at = place, .tail = place, .count = 1, .span = 1, .used = now};
	return old;
}

static struct dir_cursor *follow(struct dir_cursor *cs, uint32_t place, uint64_t now)
{
	struct dir_cursor *c = nearest(cs, place);

	if (c == NULL)
		return replace(cs, place, now);
	c->used = now;
	if (place > c->at) { /* what comes back fills a gap, and proves nothing */
		c->count++;
		c->span += place - c->at;
		c->at = place;
	}
	return c;
}

enum dir_axis dir_cursors_read(struct dir_cursors *cs, const struct dir_list *l, uint32_t index,
			       uint64_t now, struct dir_cursor **c)
{
	enum dir_axis best = DIR_LISTED;

	*c = NULL;
	for (enum dir_axis axis = 0; axis < DIR_AXES; axis++) {
		struct dir_cursor *found =
			follow(cs->of[axis], dir_list_place(l, axis, index), now);

		if (*c == NULL || (dir_cursor_streams(found, 1) && found->count > (*c)->count) ||
		    (!dir_cursor_streams(*c, 1) && dir_cursor_streams(found, 1))) {
			*c = found;
			best = axis;
		}
	}
	return best;
}

bool dir_cursor_streams(const struct dir_cursor *c, uint32_t count)
{
	return c->count >= count && c->span <= 2 * c->count;
}
