/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Units of a block, a bit each. See use_once_block.h. */
#include "remote/use_once_block.h"

#include <string.h>

#define UNITS (USE_ONCE_BLOCK / USE_ONCE_UNIT)
/* Of the age that bytes may have, as old may units be for others to join them: these have the rest of it. */
#define JOIN_PART 2

_Static_assert(UNITS == 16, "a unit's bit must have a place in the block");

struct use_once_part use_once_part(uint64_t offset, uint64_t end)
{
	uint64_t index = offset / USE_ONCE_BLOCK, begin = index * USE_ONCE_BLOCK;
	uint64_t upto = end - begin < USE_ONCE_BLOCK ? end - begin : USE_ONCE_BLOCK;

	return (struct use_once_part){
		.index = index, .from = (uint32_t)(offset - begin), .upto = (uint32_t)upto};
}

/* Bits of the units FIRST to LAST - 1. */
static uint16_t bits(uint32_t first, uint32_t last)
{
	return first < last ? (uint16_t)((1u << last) - (1u << first)) : 0;
}

static uint32_t units_up(uint32_t bytes)
{
	return (bytes + USE_ONCE_UNIT - 1) / USE_ONCE_UNIT;
}

uint32_t use_once_part_units(const struct use_once_part *p)
{
	return units_up(p->upto) - p->from / USE_ONCE_UNIT;
}

/* Where the unit U lies among those of THERE. */
static size_t place(uint16_t there, uint32_t u)
{
	return (size_t)__builtin_popcount(there & bits(0, u)) * USE_ONCE_UNIT;
}

void use_once_block_init(struct use_once_block *b, uint64_t file, uint64_t index, uint32_t room,
			 uint64_t now)
{
	b->file = file;
	b->index = index;
	b->since = now;
	b->there = b->read = 0;
	b->end = USE_ONCE_BLOCK;
	b->room = room;
	memset(b->asked, 0, sizeof(b->asked));
	atomic_init(&b->holds, 1);
}

void use_once_block_fill(struct use_once_block *b, const struct use_once_part *p,
			 const unsigned char *data, uint32_t asked)
{
	uint32_t first = units_up(p->from), begin = first * USE_ONCE_UNIT;

	if (p->upto <= begin)
		return;
	b->there = bits(first, units_up(p->upto));
	if (p->upto % USE_ONCE_UNIT)
		b->end = p->upto;
	b->asked[units_up(p->upto) - 1] = (uint16_t)asked;
	memcpy(b->data, data + (begin - p->from), p->upto - begin);
}

/* The units of OLD that B is to have beside its own. */
static uint16_t joins(const struct use_once_block *b, const struct use_once_block *old,
		      uint64_t age)
{
	uint16_t more = old->there & bits(0, old->end / USE_ONCE_UNIT) & (uint16_t)~b->there;

	if (b->since >= old->since + age / JOIN_PART)
		return 0;
	return more & bits(0, b->end / USE_ONCE_UNIT);
}

/* Beginning with the last, for none moves towards the beginning. */
static void bring_in(struct use_once_block *b, const struct use_once_block *old, uint16_t more)
{
	uint16_t there = b->there | more;

	for (uint32_t u = UNITS; u-- > 0;)
		if (more >> u & 1) {
			memcpy(b->data + place(there, u), old->data + place(old->there, u),
			       USE_ONCE_UNIT);
			b->asked[u] = old->asked[u];
		} else if (b->there >> u & 1) {
			memmove(b->data + place(there, u), b->data + place(b->there, u),
				USE_ONCE_UNIT);
		}
	b->there = there;
	b->read |= more & old->read;
}

uint32_t use_once_block_join(struct use_once_block *b, const struct use_once_block *old,
			     uint64_t age)
{
	uint16_t more = joins(b, old, age);
	uint32_t units = (uint32_t)__builtin_popcount(b->there | more);

	if (more == 0 || units > b->room)
		return units;
	bring_in(b, old, more);
	if (old->since < b->since)
		b->since = old->since;
	return units;
}

const unsigned char *use_once_block_data(const struct use_once_block *b,
					 const struct use_once_part *p)
{
	return b->data + place(b->there, p->from / USE_ONCE_UNIT) + p->from % USE_ONCE_UNIT;
}

bool use_once_block_has(const struct use_once_block *b, const struct use_once_part *p)
{
	uint16_t wanted = bits(p->from / USE_ONCE_UNIT, units_up(p->upto));

	return p->upto <= b->end && (b->there & wanted) == wanted;
}

/* Whether who reads up to UPTO leaves nothing of the unit in which that lies. */
static bool is_end(const struct use_once_block *b, uint32_t upto)
{
	uint32_t part = upto % USE_ONCE_UNIT;

	return upto == b->end || (part != 0 && b->asked[upto / USE_ONCE_UNIT] == part);
}

bool use_once_block_read(struct use_once_block *b, const struct use_once_part *p)
{
	uint32_t last = is_end(b, p->upto) ? units_up(p->upto) : p->upto / USE_ONCE_UNIT;

	b->read |= bits(p->from / USE_ONCE_UNIT, last);
	return (b->there & (uint16_t)~b->read) == 0;
}

void use_once_copy(struct use_once_reply *r, const unsigned char *data, size_t len)
{
	while (len > 0) {
		size_t n = r->iov->iov_len - r->done;

		if (n > len)
			n = len;
		memcpy((char *)r->iov->iov_base + r->done, data, n);
		data += n;
		len -= n;
		r->done += n;
		if (r->done == r->iov->iov_len) {
			r->iov++;
			r->done = 0;
		}
	}
}
