/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The seek curve: below the knee the arm accelerates and brakes (square root of the distance), beyond
 * it coasts (linear). Both parts meet with the same slope.
 */
#include "seek_curve.h"

#include <math.h>

double seek_curve(const struct seek_curve *curve, double part)
{
	double slope = 1 / (2 * sqrt(curve->knee));
	double whole = sqrt(curve->knee) + (1 - curve->knee) * slope;
	double grown = sqrt(part);

	if (part > curve->knee)
		grown = sqrt(curve->knee) + (part - curve->knee) * slope;
	return curve->min + (curve->max - curve->min) / whole * grown;
}
