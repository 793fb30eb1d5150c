/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the local kind of backing share among themselves. */
#ifndef DISK_BACKING_LOCAL_H
#define DISK_BACKING_LOCAL_H

#include "disk/backing.h"

/* Of a reply_fd: not asked for yet; there is none to be had. */
#define FD_UNKNOWN (-1)
#define FD_NEVER   (-2)

/* fetch_local.c: as backing_ops' fetch(). */
ssize_t fetch_local(struct dispatcher *d, struct backing *b, struct kernel_windows *w,
		    uint64_t offset, uint64_t len);
/* ... begin(). */
void begin_local(struct backing *b, uint64_t offset, uint64_t len);

#endif
