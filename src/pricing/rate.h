/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How fast a counter has grown of late: its growth over a sliding window.
 *
 *        |<------- window ------->|
 *   x    x    x    x    x    x    x        points, kept at least window / 14 apart
 *        ^ base                   ^ newest
 *
 * The window is what averages (CA-NFS, section 3.3: "a few hundred milliseconds"). Something that
 * begins or ends is fully seen one window later, and forgotten one window after that. Points that
 * come less often than the window make the window longer. Times are ns of any one clock. Not
 * thread-safe.
 */
#ifndef PRICING_RATE_H
#define PRICING_RATE_H

#include <stdint.h>

#define RATE_POINTS 16

struct rate {
	unsigned int n;
	struct {
		uint64_t time;
		double count;
	} at[RATE_POINTS];
};

/* The counter stands at COUNT. One that went back (a device was exchanged) starts anew. */
void rate_add(struct rate *r, uint64_t window, uint64_t now, double count);
/*
 * Growth over the window, and in *SECONDS how long that took; 0 and 0 until two points are known.
 */
double rate_growth(const struct rate *r, uint64_t window, double *seconds);
/* Growth per second; 0 until two points are known. */
double rate_per_second(const struct rate *r, uint64_t window);

#endif
