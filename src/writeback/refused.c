/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* COMMITs that were told to come again. See refused.h. */
#include "writeback/refused.h"

#include <stdbool.h>

/* Two that have the same one share their time, which is no harm. */
static uint64_t id_of(uint64_t file, uint64_t client)
{
	return file ^ client * UINT64_C(0x9e3779b97f4a7c15);
}

static int find(const struct refused *r, uint64_t id)
{
	for (int i = 0; r->n && i < REFUSED_MAX; i++)
		if (r->of[i].until && r->of[i].id == id)
			return i;
	return -1;
}

/* Whether nobody comes for that entry any more. */
static bool is_gone(const struct refused *r, int at, uint64_t now)
{
	return !r->of[at].until || r->of[at].until + REFUSED_GONE < now;
}

uint64_t refused_until(const struct refused *r, uint64_t file, uint64_t client, uint64_t until,
		       uint64_t now)
{
	int at = find(r, id_of(file, client));

	return at >= 0 && !is_gone(r, at, now) && r->of[at].until < until ? r->of[at].until : until;
}

/* A place for one that may wait until UNTIL: none other's, or of who may for longer; -1: none. */
static int place_for(const struct refused *r, uint64_t until, uint64_t now)
{
	int last = 0;

	for (int i = 0; i < REFUSED_MAX; i++) {
		if (is_gone(r, i, now))
			return i;
		if (r->of[i].until > r->of[last].until)
			last = i;
	}
	return r->of[last].until > until ? last : -1;
}

void refused_note(struct refused *r, uint64_t file, uint64_t client, uint64_t until, uint64_t now)
{
	uint64_t id = id_of(file, client);
	int at = find(r, id);

	if (at >= 0 && !is_gone(r, at, now))
		return;
	at = at >= 0 ? at : place_for(r, until, now);
	if (at < 0)
		return;
	r->n += !r->of[at].until;
	r->of[at].id = id;
	r->of[at].until = until;
}

void refused_forget(struct refused *r, uint64_t file, uint64_t client)
{
	int at = find(r, id_of(file, client));

	if (at < 0)
		return;
	r->of[at].until = 0;
	r->n--;
}
