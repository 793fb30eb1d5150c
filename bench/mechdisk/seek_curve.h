/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How long the arm takes over a part of its stroke. */
#ifndef MECHDISK_SEEK_CURVE_H
#define MECHDISK_SEEK_CURVE_H

struct seek_curve {
	double min, max; /* to the next track, across the whole stroke; any unit */
	double knee;	 /* part of the stroke, above 0, at most 1 */
};

/* PART of the stroke, 0 … 1; in the unit of min and max. */
double seek_curve(const struct seek_curve *curve, double part);

#endif
