/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records pushed one by one, taken all at once: so none is pushed twice unseen. See home_list.h. */
#include "common/home_list.h"

#include <stdlib.h>

/* ---- lists ------------------------------------------------------------------------------- */

struct home_list *home_list_adopt(struct home_lists *all)
{
	struct home_list *list;

	lock_take(&all->lock);
	for (list = all->first; list != NULL && list->taken;)
		list = list->next;
	if (list != NULL)
		list->taken = true;
	lock_drop(&all->lock);
	return list;
}

void home_list_enter(struct home_lists *all, struct home_list *list)
{
	list->taken = true;
	lock_take(&all->lock);
	list->next = all->first;
	all->first = list;
	lock_drop(&all->lock);
}

void home_list_leave(struct home_lists *all, struct home_list *list)
{
	lock_take(&all->lock);
	list->taken = false;
	lock_drop(&all->lock);
}

static void free_records(struct home_record *r)
{
	while (r != NULL) {
		struct home_record *next = r->next;

		free(r);
		r = next;
	}
}

void home_lists_free(struct home_lists *all)
{
	while (all->first != NULL) {
		struct home_list *list = all->first;

		all->first = list->next;
		free_records(list->head);
		free_records(atomic_load(&list->returned));
		free(list);
	}
}

/* ---- records ----------------------------------------------------------------------------- */

void home_collect(struct home_list *mine)
{
	struct home_record *r;

	if (atomic_load_explicit(&mine->returned, memory_order_relaxed) == NULL)
		return;
	r = atomic_exchange_explicit(&mine->returned, NULL, memory_order_acquire);
	while (r != NULL) {
		struct home_record *next = r->next;

		home_put(mine, r);
		r = next;
	}
}

void home_put_away(struct home_list *mine, struct home_record *r)
{
	struct home_list *home = r->home;

	if (home == mine) { /* which has enough */
		free(r);
		return;
	}
	r->next = atomic_load_explicit(&home->returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&home->returned, &r->next, r,
						      memory_order_release, memory_order_relaxed))
		;
}
