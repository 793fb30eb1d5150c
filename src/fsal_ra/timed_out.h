/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Errors of a write-out that would be taken for "come again". The core makes ERR_FSAL_DELAY, and NFS "come again", of what the
 * kernel says of data that a disk did not take in time. Who comes again finds no error any more, for it was told, and takes what
 * is lost for stable.
 */
#ifndef FSAL_RA_TIMED_OUT_H
#define FSAL_RA_TIMED_OUT_H

#include <errno.h>
#include <stdbool.h>

#include "fsal_types.h"

/* Whether STATUS, an error, says so of a disk or a cluster, and not that nobody has tried. */
static inline bool status_timed_out(fsal_status_t status)
{
	return status.major == ERR_FSAL_DELAY &&
	       (status.minor == ETIMEDOUT || status.minor == ETIME);
}

/* STATUS, which tells what became of data, as the client is told it. */
static inline fsal_status_t status_told(fsal_status_t status)
{
	if (status.major == ERR_FSAL_DELAY)
		status.major = ERR_FSAL_IO;
	return status;
}

#endif
