/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The number of a local file system, as st_dev has it. */
#ifndef FSAL_RA_FS_DEV_H
#define FSAL_RA_FS_DEV_H

#include <sys/sysmacros.h>

#include "FSAL/fsal_localfs.h"

static inline dev_t fs_dev(const struct fsal_filesystem *fs)
{
	return makedev(fs->dev.major, fs->dev.minor);
}

#endif
