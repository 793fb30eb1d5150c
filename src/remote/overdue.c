/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads that take too long. See overdue.h. */
#include "remote/overdue.h"

#include <stddef.h>

void overdue_begin(struct overdue *o, struct overdue_read *r, void *file, uint64_t now)
{
	r->file = file;
	r->due = now + OVERDUE_AFTER;
	lock_take(&o->lock);
	TAILQ_INSERT_TAIL(&o->reads, r, link);
	lock_drop(&o->lock);
}

void overdue_end(struct overdue *o, struct overdue_read *r)
{
	lock_take(&o->lock);
	TAILQ_REMOVE(&o->reads, r, link);
	lock_drop(&o->lock);
}

/* The first file with a read that is due; with the lock. */
static void *first_due(const struct overdue *o, uint64_t now)
{
	const struct overdue_read *r;

	TAILQ_FOREACH(r, &o->reads, link)
		if (r->due <= now)
			return r->file;
	return NULL;
}

/* Its reads that are due are so again later; with the lock. */
static void put_off(struct overdue *o, const void *file, uint64_t now)
{
	struct overdue_read *r;

	TAILQ_FOREACH(r, &o->reads, link)
		if (r->file == file && r->due <= now)
			r->due = now + OVERDUE_AGAIN;
}

void *overdue_next(struct overdue *o, uint64_t now, bool (*hold)(void *file))
{
	void *file;
	bool held = false;

	lock_take(&o->lock);
	while (!held && (file = first_due(o, now)) != NULL) {
		put_off(o, file, now);
		held = hold(file);
	}
	lock_drop(&o->lock);
	return file;
}
