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

/* The cursor on AXIS that PLACE belongs to, the nearest one; NULL: none. */
static struct dir_cursor *nearest(const struct dir_cursors *cs, enum dir_axis axis, uint32_t place)
{
	struct dir_cursor *on = dir_cursors_on(cs, axis), *best = NULL;

	for (uint32_t i = 0; i < cs->n; i++)
		if (matches(&on[i], place) &&
		    (best == NULL || distance(&on[i], place) < distance(best, place)))
			best = &on[i];
	return best;
}

struct dir_cursor *dir_cursors_oldest(const struct dir_cursors *cs, enum dir_axis axis)
{
	struct dir_cursor *on = dir_cursors_on(cs, axis), *old = &on[0];

	for (uint32_t i = 1; i < cs->n; i++)
		if (on[i].used < old->used)
			old = &on[i];
	return old;
}

struct dir_cursor *dir_cursors_at(const struct dir_cursors *cs, enum dir_axis axis, uint32_t place)
{
	struct dir_cursor *on = dir_cursors_on(cs, axis), *best = NULL;

	for (uint32_t i = 0; i < cs->n; i++)
		if (on[i].at == place && on[i].count > (best != NULL ? best->count : 0))
			best = &on[i];
	return best;
}

static struct dir_cursor *follow(const struct dir_cursors *cs, enum dir_axis axis, uint32_t place,
				 uint64_t now)
{
	struct dir_cursor *c = nearest(cs, axis, place);

	if (c == NULL) {
		c = dir_cursors_oldest(cs, axis);
		*c = (struct dir_cursor){
			.at = place, .tail = place, .count = 1, .span = 1, .used = now};
		return c;
	}
	c->used = now;
	if (place > c->at) { /* what comes back fills a gap, and proves nothing */
		c->count++;
		c->span += place - c->at;
		c->at = place;
	}
	return c;
}

enum dir_axis dir_cursors_read(struct dir_cursors *cs, const struct dir_list *l, uint32_t index,
			       enum dir_axis last, uint64_t now, struct dir_cursor **c)
{
	enum dir_axis best = last;

	*c = NULL;
	for (int i = 0; i < DIR_AXES; i++) {
		enum dir_axis axis = (last + i) % DIR_AXES;
		struct dir_cursor *found = follow(cs, axis, dir_list_place(l, axis, index), now);

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
