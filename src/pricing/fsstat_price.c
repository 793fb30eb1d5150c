/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Prices in the low bits of FSSTAT's file counts. See fsstat_price.h, doc/fsstat-prices.md. */
#include <math.h>
#include <string.h>

#include "pricing/fsstat_price.h"

#define VERSION	   UINT64_C(1) /* of the format; part of the check */
#define STEPS	   20	       /* of a price, an octave */
#define LOW	   (FSSTAT_QUANTUM - 1)
#define PRICE_BIT  4	       /* where the 8 bits of a price begin, in both counters */
#define TURN_BITS  UINT64_C(3) /* tfiles */
#define TURNS	   3
#define ALL_TURNS  (1u << 1 | 1u << 2 | 1u << 3)
#define CHECK_HIGH UINT64_C(0xc) /* tfiles: the upper 2 bits of the check */
#define CHECK_LOW  UINT64_C(0xf) /* afiles: its lower 4 */

uint8_t fsstat_price_code(double price)
{
	double code;

	if (!(price > 0))
		return 0;
	if (price >= 1)
		return 255;
	code = round(255 + STEPS * log2(price));
	return code > 0 ? (uint8_t)code : 0;
}

double fsstat_price_value(uint8_t code)
{
	return code ? exp2((code - 255) / (double)STEPS) : 0;
}

/* Each bit of X moves the upper bits of the result. */
static uint64_t mix(uint64_t x)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

	for (int i = 0; i < 2; i++)
		x = (x ^ x >> 32) * odd;
	return x;
}

/* 6 bits over all bits of both counters but its own. */
static uint64_t check_of(uint64_t total, uint64_t avail)
{
	return mix(mix((total & ~CHECK_HIGH) ^ VERSION << 56) ^ (avail & ~CHECK_LOW)) >> 58;
}

static bool can_encode(const struct fsstat_files *f)
{
	return f->avail >= FSSTAT_AVAIL_MIN && f->total >= FSSTAT_TOTAL_MIN &&
	       f->avail <= f->free && f->free <= f->total &&
	       f->total <= UINT64_MAX - FSSTAT_TOTAL_MORE_MAX;
}

bool fsstat_price_bound(struct fsstat_files *f)
{
	uint64_t used = f->total;

	if (f->free != UINT64_MAX || f->avail != UINT64_MAX || used > UINT64_MAX / 4)
		return false;
	f->free = f->avail = used > FSSTAT_NO_LIMIT ? used : FSSTAT_NO_LIMIT;
	f->total = used + f->free;
	return true;
}

bool fsstat_price_encode(struct fsstat_files *f, const struct fsstat_prices *p)
{
	uint64_t total, avail, check;

	if (!can_encode(f))
		return false;
	total = (f->total + LOW) & ~LOW;
	total |= (uint64_t)fsstat_price_code(p->write) << PRICE_BIT;
	total |= 1 + (mix(p->turn) >> 32) % TURNS;
	avail = (f->avail & ~LOW) - FSSTAT_QUANTUM;
	avail |= (uint64_t)fsstat_price_code(p->readahead) << PRICE_BIT;
	check = check_of(total, avail);
	f->total = total | (check >> 2 & CHECK_HIGH);
	avail |= check & CHECK_LOW;
	f->free -= f->avail - avail;
	f->avail = avail;
	return true;
}

bool fsstat_price_decode_statvfs(uint64_t total, uint64_t avail, struct fsstat_prices *p)
{
	uint64_t check = (total & CHECK_HIGH) << 2 | (avail & CHECK_LOW);

	if (total < FSSTAT_TOTAL_MIN || avail < FSSTAT_AVAIL_MIN - FSSTAT_QUANTUM || avail > total)
		return false;
	if ((total & TURN_BITS) == 0 || check_of(total, avail) != check)
		return false;
	p->write = fsstat_price_value((uint8_t)(total >> PRICE_BIT));
	p->readahead = fsstat_price_value((uint8_t)(avail >> PRICE_BIT));
	p->turn = (uint32_t)(total & TURN_BITS);
	return true;
}

bool fsstat_price_decode(const struct fsstat_files *f, struct fsstat_prices *p)
{
	return f->avail <= f->free && f->free <= f->total &&
	       fsstat_price_decode_statvfs(f->total, f->avail, p);
}

/* Begin again, and ask for more than the last time. */
static bool disprove(struct fsstat_detector *d)
{
	d->believed = false;
	if (d->disproofs < FSSTAT_ROUNDS_MAX - 1)
		d->disproofs++;
	d->rounds = d->turns = d->same = 0;
	return false;
}

bool fsstat_detector_feed(struct fsstat_detector *d, uint64_t total, uint64_t avail)
{
	uint32_t last = d->prices.turn;

	if (!fsstat_price_decode_statvfs(total, avail, &d->prices))
		return disprove(d);
	d->same = d->prices.turn == last ? d->same + 1 : 1;
	if (d->same == FSSTAT_SAME_TURN)
		return disprove(d);
	d->turns |= (uint8_t)(1u << d->prices.turn);
	if (d->turns == ALL_TURNS) {
		d->turns = 0;
		if (d->rounds <= d->disproofs)
			d->rounds++;
	}
	d->believed = d->rounds > d->disproofs;
	return d->believed;
}
