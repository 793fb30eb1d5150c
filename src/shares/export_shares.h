/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exports that are there, and the part of struct sched_shares that is of those with a share of their own. Pure. */
#ifndef SHARES_EXPORT_SHARES_H
#define SHARES_EXPORT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/flow.h"

/*
 * An export of the host's, which owns it; zero but for its number before it is set. Two may have one number: one that
 * goes while the next is made, or one that the server is about to refuse for its number. The share in force is
 * that of the one that came first, and once that is gone of the next.
 */
struct shares_export {
	uint16_t id;
	/* shares.c's */
	struct share share; /* as configured */
	/* as it was before it was set last, an operator's in force included: to be undone */
	struct {
		struct share configured, in_force;
	} before;
	struct shares_export *next;
};

/* Of the list that begins with FIRST the one whose share is that of the number; NULL: none is there. */
const struct shares_export *export_holder(const struct shares_export *first, uint16_t export_id);
/* Where E is listed, or would be. */
struct shares_export **export_place(struct shares_export **first, const struct shares_export *e);

/* The export's share; NULL: none of its own. */
const struct share *export_share_of(const struct sched_shares *s, uint16_t export_id);
/*
 * The export has SHARE, or none of its own if nothing is set in it. There must be room for it. False: it
 * had the same before.
 */
bool export_share_keep(struct sched_shares *s, uint16_t export_id, const struct share *share);
/* Whether there is room for SHARE; false: WHY, of SIZE bytes, says so. */
bool export_share_has_room(const struct sched_shares *s, uint16_t export_id,
			   const struct share *share, char *why, size_t size);
/* E is configured with SHARE, for which there is room, and listed, if it was not. False: what is in force is the same as before. */
bool export_take(struct sched_shares *s, struct shares_export **first, struct shares_export *e,
		 const struct share *share);

#endif
