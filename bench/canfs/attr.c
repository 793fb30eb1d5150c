/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Whose change was it? Answers to WRITE and COMMIT tell the file's times before and after
 * (weak cache consistency). What was there before one call is what another call of ours, or
 * somebody else, has left. Answers come in any order, so a state that is seen before a call and not
 * yet known as made by us is kept until the answer that made it is there; if none is when nothing is
 * under way any more, it was somebody else's. A server that does not tell what was before (Ganesha's
 * WRITE) hides changes between two calls of ours, from this client as from Linux'.
 */
#include <string.h>

#include "internal.h"

static bool same(const struct file_attr *a, const struct file_attr *b)
{
	return a->mtime == b->mtime && a->ctime == b->ctime;
}

static bool made(const struct own_states *o, const struct file_attr *a)
{
	uint32_t n = o->n_made < OWN_STATES ? o->n_made : OWN_STATES;

	for (uint32_t i = 0; i < n; i++)
		if (same(&o->made[i], a))
			return true;
	return false;
}

static void note_made(struct own_states *o, const struct file_attr *a)
{
	if (!made(o, a))
		o->made[o->n_made++ % OWN_STATES] = *a;
	for (uint32_t i = 0; i < o->n_seen; i++)
		if (same(&o->seen[i], a))
			o->seen[i--] = o->seen[--o->n_seen];
}

static void note_seen(struct own_states *o, const struct file_attr *a)
{
	if (made(o, a))
		return;
	for (uint32_t i = 0; i < o->n_seen; i++)
		if (same(&o->seen[i], a))
			return;
	if (o->n_seen == OWN_STATES)
		o->foreign = true;
	else
		o->seen[o->n_seen++] = *a;
}

static bool newer(const struct file_attr *a, const struct file_attr *b)
{
	return a->ctime > b->ctime || (a->ctime == b->ctime && a->mtime >= b->mtime);
}

static void take_size(struct file *f, uint64_t size)
{
	if (!file_unsaved(f) || size > f->size)
		f->size = size;
}

void attr_own_call(struct file *f, const struct answer *a)
{
	if (a->has_before)
		note_seen(&f->own, &a->before);
	if (!a->has_after)
		return;
	note_made(&f->own, &a->after);
	if (newer(&a->after, &f->attr)) {
		f->attr = a->after;
		take_size(f, a->after.size);
	}
}

bool attr_revalidate(struct file *f, const struct file_attr *now)
{
	bool busy = f->cached.count[PAGE_WRITING] || f->cached.count[PAGE_COMMITTING];
	bool keep;

	if (busy) { /* it may be a state that we are just making: the answers will tell */
		note_seen(&f->own, now);
		take_size(f, now->size);
		return true;
	}
	keep = !f->own.foreign && !f->own.n_seen && made(&f->own, now);
	if (!keep) {
		memset(&f->own, 0, sizeof(f->own));
		note_made(&f->own, now);
	}
	f->attr = *now;
	take_size(f, now->size);
	return keep;
}
