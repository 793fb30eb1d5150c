/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Shares of exports, in the order of their numbers. See export_shares.h. */
#include "shares/export_shares.h"

#include <string.h>

#include "shares/share_keys.h"

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
