/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A token bucket of the time that chunks have had. See gap_credit.h. */
#include "sched/gap_credit.h"

#include "common/clock.h"

uint64_t gap_credit_left(const struct gap_credit *c, uint64_t slice, uint64_t now)
{
	uint64_t left = elapsed(c->since, now);

	return left < GAP_CREDIT_MOST * slice ? left : GAP_CREDIT_MOST * slice;
}

void gap_credit_take(struct gap_credit *c, uint64_t slice, uint64_t now)
{
	uint64_t left = gap_credit_left(c, slice, now);

	c->since = now - (left > slice ? left - slice : 0);
	c->chunk = false;
}

void gap_credit_chunk(struct gap_credit *c)
{
	c->chunk = true;
}

void gap_credit_other(struct gap_credit *c, uint64_t ns, uint64_t slice, uint64_t now)
{
	c->since += ns;
	if (c->since > now)
		c->since = now;
	if (c->chunk)
		gap_credit_take(c, slice, now);
}
