/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of struct sched_shares that is of exports: those with a share of their own. Pure. */
#ifndef SHARES_EXPORT_SHARES_H
#define SHARES_EXPORT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/flow.h"

/* The export's share; NULL: none of its own. */
const struct share *export_share_of(const struct sched_shares *s, uint16_t export_id);
/*
 * The export has SHARE, or none of its own if nothing is set in it. There must be room for it. False: it
 * had the same before.
 */
bool export_share_keep(struct sched_shares *s, uint16_t export_id, const struct share *share);

#endif
