/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Belief, age and pace of one mount's prices. See fsstat_reader.h, doc/fsstat-prices.md. */
#include "pricing/fsstat_reader.h"

bool fsstat_reader_reply(struct fsstat_reader *r, uint64_t asked, uint64_t total, uint64_t avail)
{
	r->asked = asked;
	return fsstat_detector_feed(&r->detector, total, avail);
}

bool fsstat_reader_prices(const struct fsstat_reader *r, uint64_t now, struct fsstat_prices *p)
{
	/* A clock that went back makes a large number of it. */
	if (!r->detector.believed || now - r->asked >= FSSTAT_AGE_MAX)
		return false;
	*p = r->detector.prices;
	return true;
}

uint64_t fsstat_reader_wait(const struct fsstat_reader *r, uint64_t interval, uint16_t random)
{
	const struct fsstat_detector *d = &r->detector;
	const bool finding = d->turns && !d->disproofs && !d->believed;
	uint64_t wait = finding && interval > FSSTAT_WAIT_FINDING ? FSSTAT_WAIT_FINDING : interval;

	wait -= (wait / FSSTAT_WAIT_EARLY * random) >> 16;
	return wait < FSSTAT_WAIT_MIN ? FSSTAT_WAIT_MIN : wait;
}
