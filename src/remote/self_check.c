/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When prefetching of a file is stopped for a while. See self_check.h. */
#include "remote/self_check.h"

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

void self_check_failed(struct self_check *c, uint64_t now)
{
	uint64_t pause = get(&c->pause) * 2;

	if (self_check_stopped(c, now))
		return;
	if (pause < CHECK_PAUSE_MIN)
		pause = CHECK_PAUSE_MIN;
	if (pause > CHECK_PAUSE_MAX)
		pause = CHECK_PAUSE_MAX;
	atomic_store(&c->pause, pause);
	atomic_store(&c->until, now + pause);
	atomic_store(&c->reads, 0);
	atomic_store(&c->slow, 0);
}

void self_check_went_well(struct self_check *c)
{
	atomic_store(&c->pause, 0);
}

/* READS were judged. */
static bool judge(struct self_check *c, uint32_t reads, uint64_t now)
{
	uint32_t slow = atomic_exchange(&c->slow, 0);

	if (slow * CHECK_READS < CHECK_SLOW * reads) {
		self_check_went_well(c);
		return false;
	}
	self_check_failed(c, now);
	return true;
}

bool self_check_read(struct self_check *c, uint64_t took, uint64_t expected, uint64_t now)
{
	uint32_t enough = get(&c->pause) == 0 ? CHECK_READS : CHECK_TRIAL, reads;

	if (expected == 0 || self_check_stopped(c, now))
		return false;
	if (took > CHECK_QUICK && took > expected / 2)
		atomic_fetch_add_explicit(&c->slow, 1, memory_order_relaxed);
	reads = atomic_fetch_add_explicit(&c->reads, 1, memory_order_relaxed) + 1;
	/* one thread judges: the last that counted */
	if (reads < enough || !atomic_compare_exchange_strong(&c->reads, &reads, 0))
		return false;
	return judge(c, enough, now);
}

/* What it is once VALUE is in it. */
static void average(_Atomic uint64_t *of, uint64_t value)
{
	uint64_t was = get(of);

	if (was != 0)
		value = was - was / CHECK_AVERAGED + value / CHECK_AVERAGED;
	atomic_store_explicit(of, value, memory_order_relaxed);
}

void self_check_came(struct self_check *c, uint64_t len, uint64_t took)
{
	if (len < CHECK_CHUNK || took < len * CHECK_COPIED)
		return;
	average(&c->came, (took << CHECK_SHIFT) / len);
	average(&c->length, len);
}

uint64_t self_check_expected(const struct self_check *c, uint64_t len)
{
	uint64_t share = get(&c->came) * len >> CHECK_SHIFT;

	return len < get(&c->length) ? 2 * share : share;
}
