/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* When a file is taken to be in memory as a whole. See hot.h. */
#include "disk/hot.h"

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

bool hot_is(const struct hot *h, uint64_t now)
{
	return now < get(&h->until);
}

/* Until a moment ago: what it was it will be. */
static bool was_hot(const struct hot *h, uint64_t now)
{
	uint64_t until = get(&h->until);

	return until != 0 && now - until < HOT_TIME;
}

/* HOT_READS of them within HOT_TIME. */
static bool is_read_often(struct hot *h, uint64_t now)
{
	if (now - get(&h->since) > HOT_TIME) {
		set(&h->since, now);
		atomic_store_explicit(&h->reads, 0, memory_order_relaxed);
	}
	return atomic_fetch_add_explicit(&h->reads, 1, memory_order_relaxed) + 1 >= HOT_READS;
}

bool hot_read(struct hot *h, uint64_t now)
{
	uint64_t next = get(&h->next);

	if (now < next || (!was_hot(h, now) && !is_read_often(h, now)))
		return false;
	/* one thread looks */
	return atomic_compare_exchange_strong(&h->next, &next, now + HOT_TIME);
}

void hot_looked(struct hot *h, bool whole, uint64_t took, uint64_t now)
{
	uint64_t while_ns = took * HOT_SHARE > HOT_TIME ? took * HOT_SHARE : HOT_TIME;

	set(&h->since, 0);
	if (whole)
		set(&h->until, now + while_ns);
	if (get(&h->next) != UINT64_MAX) /* hot_never() came meanwhile */
		set(&h->next, now + while_ns);
}

void hot_forget(struct hot *h)
{
	set(&h->until, 0);
}

void hot_never(struct hot *h)
{
	set(&h->next, UINT64_MAX);
	hot_forget(h);
}
