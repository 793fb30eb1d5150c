/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The way to read ahead of a FSAL without descriptors: handles of our own of it (disk/backing_remote.h). */
#ifndef RA_REMOTE_IO_H
#define RA_REMOTE_IO_H

#include "ra_methods.h"

/* A backing_remote_opener for the slot of a struct ra_handle. With op_ctx. */
struct backing *remote_open(struct backing_slot *slot, struct export_io *io, uint64_t now,
			    int *err);
/* With op_ctx: the export's root was looked up, and has no local file system: what that means is logged. */
void remote_export_root(struct ra_export *exp);
/*
 * The export goes, and is closed: our handles of the FSAL below are given back, which waits up to TIMEOUT
 * ns for those in use. What is in use longer is left as it is, and never given back. Comes more than once.
 */
void remote_drain(struct ra_export *exp, uint64_t timeout);

#endif /* RA_REMOTE_IO_H */
