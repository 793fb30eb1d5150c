/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* COMMITs that were told to come again. See refused.h. */
#include "writeback/refused.h"

/* Two that have the same one share their time, which is no harm. */
static uint64_t id_of(uint64_t file, uint64_t client)
{
	return file ^ client * UINT64_C(0x9e3779b97f4a7c15);
}

static bool is_gone(const struct refused *r, uint32_t at, uint64_t now)
{
	return now > r->of[at].last + REFUSED_GONE;
}

/* The place of ID, r->used: it has none. */
static uint32_t find(const struct refused *r, uint64_t id, uint64_t now)
{
	uint32_t at = 0;

	while (at < r->used && (r->of[at].id != id || is_gone(r, at, now)))
		at++;
	return at;
}

uint64_t refused_until(const struct refused *r, uint64_t file, uint64_t client, uint64_t until,
		       uint64_t now)
{
	uint32_t at = find(r, id_of(file, client), now);

	return at < r->used && r->of[at].until < until ? r->of[at].until : until;
}

/* One that nobody needs any more, else the next; REFUSED_MAX: none. */
static uint32_t free_place(const struct refused *r, uint64_t now)
{
	uint32_t at = 0;

	while (at < r->used && !is_gone(r, at, now))
		at++;
	return at;
}

bool refused_note(struct refused *r, uint64_t file, uint64_t client, uint64_t until, uint64_t now)
{
	uint64_t id = id_of(file, client);
	uint32_t at = find(r, id, now);

	if (at == r->used) {
		at = free_place(r, now);
		if (at == REFUSED_MAX)
			return false;
		r->used += at == r->used;
		r->of[at].id = id;
		r->of[at].until = until;
	}
	r->of[at].last = now;
	return true;
}
