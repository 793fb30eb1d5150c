/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exports as they came, and their shares in the order of their numbers. See export_shares.h. */
#include "shares/export_shares.h"

#include <stdio.h>
#include <string.h>

#include "shares/share_keys.h"

const struct shares_export *export_holder(const struct shares_export *first, uint16_t export_id)
{
	while (first != NULL && first->id != export_id)
		first = first->next;
	return first;
}

struct shares_export **export_place(struct shares_export **first, const struct shares_export *e)
{
	while (*first != NULL && *first != e)
		first = &(*first)->next;
	return first;
}

static uint32_t place_of(const struct sched_shares *s, uint16_t export_id)
{
	uint32_t n = 0;

	while (n < s->n_exports && s->exports[n].export_id < export_id)
		n++;
	return n;
}

const struct share *export_share_of(const struct sched_shares *s, uint16_t export_id)
{
	uint32_t n = place_of(s, export_id);
	bool has = n < s->n_exports && s->exports[n].export_id == export_id;

	return has ? &s->exports[n].share : NULL;
}

bool export_share_keep(struct sched_shares *s, uint16_t export_id, const struct share *share)
{
	uint32_t n = place_of(s, export_id);
	struct export_share *at = &s->exports[n];
	bool has = export_share_of(s, export_id) != NULL, wants = share_is_set(share);

	if (wants == has && (!wants || share_equals(&at->share, share)))
		return false;
	if (wants && !has) {
		memmove(at + 1, at, (s->n_exports - n) * sizeof(*at));
		s->n_exports++;
	} else if (!wants && has) {
		s->n_exports--;
		memmove(at, at + 1, (s->n_exports - n) * sizeof(*at));
	}
	if (wants)
		*at = (struct export_share){.export_id = export_id, .share = *share};
	return true;
}

bool export_share_has_room(const struct sched_shares *s, uint16_t export_id,
			   const struct share *share, char *why, size_t size)
{
	if (!share_is_set(share) || export_share_of(s, export_id) != NULL ||
	    s->n_exports < SHARE_EXPORTS_MAX)
		return true;
	snprintf(why, size, "%d exports have shares of their own: no more can", SHARE_EXPORTS_MAX);
	return false;
}

/* Of one that waits for its number that is what it is configured with. */
static struct share in_force_of(const struct sched_shares *s, const struct shares_export *first,
				const struct shares_export *e)
{
	const struct share *now = export_share_of(s, e->id);

	if (export_holder(first, e->id) != e)
		return e->share;
	return now != NULL ? *now : (struct share){0};
}

bool export_take(struct sched_shares *s, struct shares_export **first, struct shares_export *e,
		 const struct share *share)
{
	struct shares_export **at = export_place(first, e);

	e->before.configured = e->share;
	e->before.in_force = in_force_of(s, *first, e);
	if (*at == NULL) {
		e->next = NULL;
		*at = e;
	}
	e->share = *share;
	return export_holder(*first, e->id) == e && export_share_keep(s, e->id, share);
}
