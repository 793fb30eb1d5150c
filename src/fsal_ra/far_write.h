/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What was written to files of a cluster and is not stable (remote/unstable.h), as writes and COMMITs tell of it. All
 * with op_ctx, of a handle of ours.
 */
#ifndef RA_FAR_WRITE_H
#define RA_FAR_WRITE_H

#include "disk/export_settings.h"
#include "subcall.h"

/* Bytes of all files at most, as far as the cluster answers; 0: no bound. */
void far_write_set_max(uint64_t max);
/*
 * Before an UNSTABLE write: makes the file stable if that is due, by a COMMIT of the FSAL below, which may wait for the
 * cluster. Where it fails, that is logged, and the file's next COMMIT fails with it (writeback/errors.h); where there is no
 * place to keep that, or write-back could not be started, nothing is made stable.
 */
void far_write_first(struct fsal_obj_handle *obj_hdl, const struct writeback_settings *s);
/* BYTES were written and are not stable: for how long (ns) to hold the reply back. */
uint64_t far_wrote(struct fsal_obj_handle *obj_hdl, uint64_t bytes,
		   const struct writeback_settings *s);
/* A client's COMMIT, below: it succeeds only when what ours may have been told is recorded; DELAY: that takes too long. */
fsal_status_t far_commit(struct fsal_obj_handle *obj_hdl, off_t offset, size_t len);
/* A client's READ goes to the cluster at NOW (ns): for a while what is not stable is bounded. */
void far_write_reader(uint64_t now);
/* The handle goes. */
void far_write_forget(struct ra_handle *hdl);
/* What is not stable, of what may be, now, as prices have it (unstable_priced()): it may be above 1. Any thread, without op_ctx. */
double far_write_level(void);
/* Bytes that are not stable, now. */
uint64_t far_write_bytes(void);

#endif /* RA_FAR_WRITE_H */
