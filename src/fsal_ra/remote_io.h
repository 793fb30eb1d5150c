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
/* What is fetched ahead and kept here takes MEMORY bytes at most. */
void remote_set_memory(uint64_t memory);
/* Every now and then: what nobody came for goes. */
void remote_sweep(uint64_t now);
/* When no export is left. */
void remote_stop(void);
/*
 * The export goes, and is closed: our handles of the FSAL below are given back, which waits up to TIMEOUT
 * ns for those in use. What is in use longer is left as it is, and never given back. Comes more than once.
 */
void remote_drain(struct ra_export *exp, uint64_t timeout);

#endif /* RA_REMOTE_IO_H */
