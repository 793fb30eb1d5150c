/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Does the installed Ganesha lay its structures out as the headers that we compile with? What the
 * plugin asks of itself before a server loads it (src/fsal_ra/fit.c), as a program.
 *
 * Exit status: 0 all agree, 1 otherwise, each disagreement named.
 */
#include "fit.h"

int main(void)
{
	return ra_fit(stdout) != 0;
}
