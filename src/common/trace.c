/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ring of decisions. A slot is a sequence lock: its number is 0 while somebody fills it, and a
 * reader that finds another number after copying than before throws the copy away. See trace.h.
 */
#include "common/trace.h"

#include "common/clock.h"

const struct trace_kind trace_kinds[TRACE_EVENTS] = {
	[TRACE_OBSERVE] = {"observe", {"offset", "length", "count", "cursor"}},
	[TRACE_PLAN] = {"plan", {"offset", "length", "ahead", "window"}},
	[TRACE_SUBMIT] = {"submit", {"offset", "length", "class", "verdict"}},
	[TRACE_PICK] = {"pick", {"offset", "length", "class", "waited_us"}},
	[TRACE_TURN] = {"turn", {"bytes", "lasted_us", "slice_us", "error"}},
	[TRACE_COMMIT] = {"commit", {"offset", "length", "waited_us", "error"}},
	[TRACE_PRICE] = {"price", {"device", "write_permille", "readahead_permille", "resource"}},
};

/* As struct trace_record, but each word by itself: writers and readers meet here. */
struct slot {
	_Atomic uint64_t number, time, file, client, event, args[TRACE_ARGS];
};

atomic_bool trace_on;
static _Atomic uint64_t last;
static struct slot ring[TRACE_RING];

/*
 * Each word is stored behind those before it, and loaded before those behind it: no fence is needed,
 * which the thread sanitizer would not understand.
 */
static void put(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

void trace_write(enum trace_event event, uint64_t file, uint64_t client, uint64_t a, uint64_t b,
		 uint64_t c, uint64_t d)
{
	uint64_t number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	struct slot *s = &ring[number % TRACE_RING];

	put(&s->number, 0);
	put(&s->time, clock_now());
	put(&s->file, file);
	put(&s->client, client);
	put(&s->event, event);
	put(&s->args[0], a);
	put(&s->args[1], b);
	put(&s->args[2], c);
	put(&s->args[3], d);
	put(&s->number, number);
}

void trace_switch(bool on)
{
	atomic_store(&trace_on, on);
}

uint64_t trace_last(void)
{
	return get(&last);
}

/* False: record NUMBER is being written, or was overwritten. */
static bool copy(uint64_t number, struct trace_record *r)
{
	const struct slot *s = &ring[number % TRACE_RING];

	if (get(&s->number) != number)
		return false;
	*r = (struct trace_record){.number = number,
				   .time = get(&s->time),
				   .file = get(&s->file),
				   .client = get(&s->client),
				   .event = (enum trace_event)get(&s->event)};
	for (int i = 0; i < TRACE_ARGS; i++)
		r->args[i] = get(&s->args[i]);
	return get(&s->number) == number && r->event < TRACE_EVENTS;
}

unsigned int trace_read(uint64_t after, struct trace_record *records, unsigned int max)
{
	uint64_t newest = trace_last(), number = after + 1;
	unsigned int n = 0;

	if (newest > TRACE_RING && number <= newest - TRACE_RING)
		number = newest - TRACE_RING + 1;
	for (; number <= newest && n < max; number++)
		if (copy(number, &records[n]))
			n++;
		else if (get(&ring[number % TRACE_RING].number) <= number)
			break; /* it is being written, or was just now: it comes the next time */
	return n;
}
