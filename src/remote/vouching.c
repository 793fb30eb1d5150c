/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Answers that come in time, or do not. See vouching.h. */
#include "remote/vouching.h"

#include "common/clock.h"

static uint64_t awaited_since(const struct vouching *v)
{
	return atomic_load_explicit(&v->asked, memory_order_relaxed);
}

bool vouching_may_ask(const struct vouching *v, uint64_t now)
{
	return awaited_since(v) == 0 && !self_check_stopped(&v->check, now);
}

void vouching_asks(struct vouching *v, uint64_t now)
{
	atomic_store(&v->asked, now);
}

bool vouching_told(struct vouching *v, uint64_t asked, bool good, uint64_t now)
{
	uint64_t awaited = asked;

	atomic_compare_exchange_strong(&v->asked, &awaited, 0);
	if (good && now - asked <= VOUCHING_TIME) {
		if (atomic_fetch_add(&v->good, 1) + 1 == VOUCHING_GOOD)
			self_check_went_well(&v->check);
		return false;
	}
	atomic_store(&v->good, 0);
	if (self_check_stopped(&v->check, now))
		return false;
	self_check_failed(&v->check, now);
	return true;
}

bool vouching_works(const struct vouching *v, uint64_t now)
{
	uint64_t since = awaited_since(v);

	return !self_check_stopped(&v->check, now) &&
	       (since == 0 || elapsed(since, now) <= VOUCHING_TIME);
}
