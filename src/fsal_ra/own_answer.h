/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Answering a READ from our own descriptor: its bytes are copied once, and the sub-FSAL is not asked.
 *
 * Both read the same page cache of the same file, so a client cannot tell, as long as
 *   - the sub-FSAL is VFS or XFS, and the file system still its own, or one of a cluster, of whose files we
 *     keep what was fetched ahead (disk/backing_remote.h);
 *   - the READ is NFSv3's: no state, and past any open's denial (those the sub-FSAL counts);
 *   - the sub-FSAL has answered one since the file was last closed: it has the file open, and goes on
 *     serving it after its last name is gone, with its attributes;
 *   - there are bytes: an error and the end of the file are the sub-FSAL's to tell.
 * All else takes the way through the sub-FSAL, as every READ of any other FSAL does.
 *
 * One thing differs: a sub-FSAL of 6.5 and later counts a READ as a share for as long as it lasts, so
 * that an open with a denial of reading is refused in that moment.
 */
#ifndef RA_OWN_ANSWER_H
#define RA_OWN_ANSWER_H

#include "subcall.h"

/* Whether the READ may be answered so. BYPASS: of denials, as the sub-FSAL is told. */
bool own_answer_allowed(const struct ra_handle *hdl, bool bypass, const struct fsal_io_arg *arg);
/* The sub-FSAL has answered a READ without state; it closes the file. */
void own_answer_read_below(struct ra_handle *hdl);
void own_answer_closed(struct ra_handle *hdl);

#endif /* RA_OWN_ANSWER_H */
