/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The way to read ahead of a FSAL without descriptors: handles of our own of it (disk/backing_remote.h). */
#ifndef RA_REMOTE_IO_H
#define RA_REMOTE_IO_H

#include "common/clock.h"
#include "ra_methods.h"

/* A backing_remote_opener for the slot of a struct ra_handle. With op_ctx. */
struct backing *remote_open(struct backing_slot *slot, struct export_io *io, uint64_t now,
			    int *err);
/* SUB is of a FSAL that reaches a cluster by itself, and that we know. */
bool remote_is_cluster(const struct fsal_obj_handle *sub);
/* Whether SUB is of a FSAL that cannot release it at the end by itself. */
bool remote_is_far(const struct fsal_obj_handle *sub);
/* What is fetched ahead of HDL's file is kept here, if it is one. */
static inline bool remote_keeps(const struct ra_handle *hdl)
{
	return hdl->cluster && !hdl->far;
}
/* The time (ns) before HDL's FSAL is asked for attributes, for remote_shown(); 0: what it is told is of no use. */
static inline uint64_t remote_asked(const struct ra_handle *hdl)
{
	return remote_keeps(hdl) ? clock_now() : 0;
}
/*
 * HDL's file was asked for ATTRS at ASKED (as of its FSAL; NULL: not at all), which a client is shown, or sees in the core's
 * cache: what is kept of it is to be no older.
 */
void remote_shown(struct ra_handle *hdl, const struct fsal_attrlist *attrs, uint64_t asked);
/* At the end: the walk of SUB's module through its handles will not meet SUB. */
void remote_hide(struct fsal_obj_handle *sub);
/* The export is released. */
void remote_export_gone(const struct ra_export *exp);
/*
 * At the end of the module: exports that were never released, for a request of theirs never ended, let the
 * FSAL's go: what its client has not written yet is written, and no handle is left to its module.
 */
void remote_exports_end(void);
/*
 * With op_ctx: the export's root was looked up, and has no local file system: what that means is logged. True:
 * remote_memory() says something else from now on.
 */
bool remote_export_root(struct ra_export *exp);
/* What of MEMORY bytes may be fetched ahead: no more than a client's cache keeps until it is read. */
uint64_t remote_memory(uint64_t memory);
/* What is fetched ahead and kept here takes MEMORY bytes at most. */
void remote_set_memory(uint64_t memory);
/* What is kept now (bytes). */
uint64_t remote_kept(void);
/* Every now and then: what nobody came for goes. */
void remote_sweep(uint64_t now);
/* When nobody reads any more, and before what a backing stands on goes: nobody looks after readers. */
void remote_watch_stop(void);
/* When no export is left. */
void remote_stop(void);
/*
 * The export goes, and is closed: our handles of the FSAL below are given back, which waits for those in use
 * until UNTIL (ns), and a moment at least; 0: not at all. What is in use longer is left as it is, and never given
 * back. Comes more than once.
 */
void remote_drain(struct ra_export *exp, uint64_t until);

#endif /* RA_REMOTE_IO_H */
