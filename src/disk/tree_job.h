/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A job: fetching ahead of a walk (readahead/dir_walk.h), on the disk's threads.
 *
 *   submit --> turn: which directories and files? inodes by number, data by block --> turn --> turn ...
 *                                                                                      |
 *                        the walk's own, then the siblings after it               all is there: over
 *
 * Each turn, of the planning too, is a request of class prefetch in the disk's queue: as long as a stream's chunk takes, of the
 * client whose read asked for it, with gaps for small reads. What comes is in the page cache, of files as
 * they are then; an error is nobody's. The client's READs of files that are on their way wait for those, as
 * others do for a chunk, or for the turn's end.
 */
#ifndef DISK_TREE_JOB_H
#define DISK_TREE_JOB_H

#include "disk/backing.h"
#include "disk/export_io.h"
#include "readahead/dir_walk.h"

/*
 * At a time, of one client as many as are left (common/room_gate.h); each has a directory open, five at most as soon as
 * it had its first turn, and a file.
 */
#define TREE_JOBS_MAX 128

/*
 * For what dir_walks_read() asked: the directory of identity ID and HANDLE, on the file system of B, of
 * which the caller has a use. Where its client has as many as it may it may be asked for again. Where B
 * lies is asked as by prefetch_submit().
 */
void tree_job_submit(struct dir_walks *w, uint64_t id, const struct dir_handle *handle,
		     struct backing *b, struct export_io *io, struct flow_id flow);

/* Where a READ that comes with the PIECE-th piece of a job joins that, in a file with the job's number. */
uint64_t tree_job_piece(uint32_t piece);

#endif
