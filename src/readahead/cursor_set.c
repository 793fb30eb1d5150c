/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The treap and the lists of a file's cursors. See cursor_set.h. */
#include "readahead/cursor_set.h"

#include <stddef.h>

void cursor_set_init(struct cursor_set *set)
{
	*set = (struct cursor_set){.root = NULL};
	TAILQ_INIT(&set->order);
	TAILQ_INIT(&set->unproven);
	TAILQ_INIT(&set->proven);
}

/* Whether A comes before a cursor C that expects NEXT. Several may expect the same offset. */
static bool before(const struct cursor *a, uint64_t next, const struct cursor *c)
{
	return a->next != next ? a->next < next : (uintptr_t)a < (uintptr_t)c;
}

struct cursor *cursor_set_match(const struct cursor_set *set, uint64_t offset, uint64_t near)
{
	struct cursor *below = NULL, *above = NULL;  /* the neighbours; above: OFFSET or beyond */
	uint64_t down = UINT64_MAX, up = UINT64_MAX; /* their distances */

	for (struct cursor *c = set->root; c;) {
		if (c->next < offset) {
			below = c;
			c = c->right;
		} else {
			above = c;
			c = c->left;
		}
	}
	if (above)
		up = above->next - offset;
	if (below)
		down = offset - below->next;
	if (above && up <= near && up <= down)
		return above;
	if (below && (down <= near || offset < below->ra_end))
		return below;
	return NULL;
}

/* Divides the tree T into what comes before C, *LEFT, and what behind it, *RIGHT. */
static void split(struct cursor *t, const struct cursor *c, struct cursor **left,
		  struct cursor **right)
{
	while (t) {
		if (before(t, c->next, c)) {
			*left = t;
			left = &t->right;
			t = t->right;
		} else {
			*right = t;
			right = &t->left;
			t = t->left;
		}
	}
	*left = *right = NULL;
}

/* One tree of two, all of LEFT before all of RIGHT. */
static struct cursor *join(struct cursor *left, struct cursor *right)
{
	struct cursor *root, **at = &root;

	while (left && right) {
		if (left->priority > right->priority) {
			*at = left;
			at = &left->right;
			left = left->right;
		} else {
			*at = right;
			at = &right->left;
			right = right->left;
		}
	}
	*at = left ? left : right;
	return root;
}

static void tree_insert(struct cursor_set *set, struct cursor *c)
{
	struct cursor **at = &set->root, *below = NULL;

	while (*at && (*at)->priority > c->priority) {
		bool right = before(*at, c->next, c);

		below = right ? *at : below;
		at = right ? &(*at)->right : &(*at)->left;
	}
	split(*at, c, &c->left, &c->right);
	*at = c;
	for (struct cursor *l = c->left; l; l = l->right)
		below = l;
	if (below)
		TAILQ_INSERT_AFTER(&set->order, below, c, order);
	else
		TAILQ_INSERT_HEAD(&set->order, c, order);
}

static void tree_remove(struct cursor_set *set, struct cursor *c)
{
	struct cursor **at = &set->root;

	while (*at != c)
		at = before(*at, c->next, c) ? &(*at)->right : &(*at)->left;
	*at = join(c->left, c->right);
	TAILQ_REMOVE(&set->order, c, order);
}

void cursor_set_move(struct cursor_set *set, struct cursor *c, uint64_t next)
{
	const struct cursor *below = TAILQ_PREV(c, cursor_list, order);
	const struct cursor *above = TAILQ_NEXT(c, order);

	if ((!below || before(below, next, c)) && (!above || !before(above, next, c))) {
		c->next = next;
		return;
	}
	tree_remove(set, c);
	c->next = next;
	tree_insert(set, c);
}

static void count_way(struct cursor_set *set, const struct cursor *c, uint32_t n)
{
	if (c->way == WAY_BACKWARD)
		set->n_backward += n;
	else if (way_is_stride(c->way))
		set->n_strided += n;
}

void cursor_set_turn(struct cursor_set *set, struct cursor *c, enum way way, uint64_t next)
{
	c->way = way;
	count_way(set, c, 1);
	cursor_set_move(set, c, next);
}

void cursor_set_straighten(struct cursor_set *set, struct cursor *c)
{
	count_way(set, c, -1u);
	c->way = WAY_FORWARD;
}

static struct cursor_list *age_list(struct cursor_set *set, const struct cursor *c)
{
	return c->count < CURSOR_PROVEN ? &set->unproven : &set->proven;
}

void cursor_set_insert(struct cursor_set *set, struct cursor *c)
{
	tree_insert(set, c);
	TAILQ_INSERT_TAIL(age_list(set, c), c, age);
	if (c->used > set->used)
		set->used = c->used;
	set->n++;
	set->n_unproven += c->count < CURSOR_PROVEN;
}

void cursor_set_remove(struct cursor_set *set, struct cursor *c)
{
	tree_remove(set, c);
	TAILQ_REMOVE(age_list(set, c), c, age);
	set->n--;
	count_way(set, c, -1u);
	set->n_unproven -= c->count < CURSOR_PROVEN;
}

void cursor_set_use(struct cursor_set *set, struct cursor *c, uint32_t count, uint64_t now)
{
	struct cursor_list *from = age_list(set, c), *to;

	set->n_unproven -= c->count < CURSOR_PROVEN;
	c->count = count;
	c->used = set->used = now;
	c->repeats = false;
	set->n_unproven += c->count < CURSOR_PROVEN;
	to = age_list(set, c);
	if (from == to && !TAILQ_NEXT(c, age))
		return;
	TAILQ_REMOVE(from, c, age);
	TAILQ_INSERT_TAIL(to, c, age);
}

struct cursor *cursor_set_oldest(const struct cursor_set *set)
{
	struct cursor *c = TAILQ_FIRST(&set->unproven);

	return c ? c : TAILQ_FIRST(&set->proven);
}

struct cursor *cursor_set_least_recent(const struct cursor_set *set)
{
	struct cursor *unproven = TAILQ_FIRST(&set->unproven), *proven = TAILQ_FIRST(&set->proven);

	if (!unproven || !proven)
		return unproven ? unproven : proven;
	return unproven->used <= proven->used ? unproven : proven;
}
