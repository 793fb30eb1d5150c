/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The bound on unread bytes, kept by compare and exchange. See budget.h. */
#include "readahead/budget.h"

#include <assert.h>

#include "readahead/cursor.h"

void budget_init(struct budget *b, uint64_t memory)
{
	atomic_init(&b->memory, memory);
	atomic_init(&b->unread, 0);
	atomic_init(&b->unread_max, 0);
	atomic_init(&b->streams, 0);
}

/*
 * Adds LEN to the sum, which is never above the bound, not even for a moment: another would be
 * refused for it.
 */
static bool add(struct budget *b, uint64_t len)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint64_t held = atomic_load(&b->unread), sum, max;

	do {
		if (held > memory || len > memory - held)
			return false;
		sum = held + len;
	} while (!atomic_compare_exchange_weak(&b->unread, &held, sum));
	max = atomic_load_explicit(&b->unread_max, memory_order_relaxed);
	while (sum > max && !atomic_compare_exchange_weak(&b->unread_max, &max, sum))
		;
	return true;
}

bool budget_charge(struct budget *b, struct cursor *c, uint64_t len)
{
	if (!len)
		return true;
	if (!add(b, len))
		return false;
	if (!c->charged)
		atomic_fetch_add_explicit(&b->streams, 1, memory_order_relaxed);
	c->charged += len;
	return true;
}

uint64_t budget_discharge(struct budget *b, struct cursor *c, uint64_t len)
{
	uint64_t held;

	if (len > c->charged)
		len = c->charged;
	if (!len)
		return 0;
	c->charged -= len;
	if (!c->charged)
		atomic_fetch_sub_explicit(&b->streams, 1, memory_order_relaxed);
	held = atomic_fetch_sub(&b->unread, len);
	assert(held >= len);
	(void)held;
	return len;
}

uint64_t budget_share(const struct budget *b)
{
	uint64_t memory = atomic_load_explicit(&b->memory, memory_order_relaxed);
	uint32_t streams = atomic_load_explicit(&b->streams, memory_order_relaxed);

	return memory / ((uint64_t)streams + 1);
}

bool budget_is_short(const struct budget *b)
{
	return atomic_load(&b->unread) > atomic_load(&b->memory) / 4 * 3;
}
