/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the codec whatever comes in: 48 bytes make counters and prices. Driven by
 * test_fsstat_price.c with numbers of its own, and by libFuzzer where the compiler has it.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pricing/fsstat_price.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds too. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static bool may_encode(const struct fsstat_files *f)
{
	return f->avail >= 8192 && f->total >= 65536 && f->avail <= f->free &&
	       f->free <= f->total && f->total <= UINT64_MAX - 8190;
}

static void near(double got, double meant)
{
	double clamped = !(meant > 0) ? 0 : meant > 1 ? 1 : meant;

	MUST(fabs(got - clamped) <= 0.0175 * clamped || fabs(got - clamped) < 0.00015);
}

static void encoded(const struct fsstat_files *was, const struct fsstat_files *is,
		    const struct fsstat_prices *meant)
{
	struct fsstat_prices got;

	MUST(is->avail <= is->free && is->free <= is->total);
	MUST(is->avail < was->avail && was->avail - is->avail <= FSSTAT_AVAIL_LESS_MAX);
	MUST(is->total > was->total && is->total - was->total <= FSSTAT_TOTAL_MORE_MAX);
	MUST(is->free - is->avail == was->free - was->avail);
	/* What df -i shows as used: never less than it is. */
	MUST(is->total - is->free > was->total - was->free);
	MUST(fsstat_price_decode(is, &got));
	MUST(got.turn >= 1 && got.turn <= 3);
	near(got.write, meant->write);
	near(got.readahead, meant->readahead);
}

/* Of those made of IN by the rule for file systems without a limit. */
static void bound(const struct fsstat_files *in)
{
	struct fsstat_files f = *in;

	if (!fsstat_price_bound(&f)) {
		MUST(memcmp(&f, in, sizeof(f)) == 0);
		return;
	}
	MUST(may_encode(&f) && !may_encode(in));
	MUST(f.total - f.free == in->total && f.avail == f.free && f.free >= in->total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct {
		struct fsstat_files files;
		double write, readahead;
		uint64_t turn;
	} in;
	struct fsstat_files files;
	struct fsstat_prices p, untouched = {.turn = 77};
	struct fsstat_detector b = {0};

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	if (!fsstat_price_decode(&in.files, &untouched))
		MUST(untouched.turn == 77);
	fsstat_detector_feed(&b, in.files.total, in.files.avail);
	files = in.files;
	p = (struct fsstat_prices){in.write, in.readahead, (uint32_t)in.turn};
	MUST(fsstat_price_encode(&files, &p) == may_encode(&in.files));
	bound(&in.files);
	if (may_encode(&in.files))
		encoded(&in.files, &files, &p);
	else
		MUST(memcmp(&files, &in.files, sizeof(files)) == 0);
	return 0;
}
