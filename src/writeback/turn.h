/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A turn: one write-back of a file, as long as the disk's queue grants it.
 *
 *   claim -> submit -> [ the disk's queue ] -> step, step, ... until the slice is over -> again?
 *
 *   step 1  [ begin ........ wait ]                  the next step is begun before the last one is
 *   step 2         [ begin ......... wait ]          waited for: the disk, and a drive's write
 *   step 3                  [ begin ......... wait ] cache, always have some
 *
 * Ranges that COMMITs wait for go first, those of the COMMIT served longest ago; a turn stays with
 * one as long as it has any, since they are contiguous.
 */
#ifndef WRITEBACK_TURN_H
#define WRITEBACK_TURN_H

#include "writeback/dirty_files.h"

/* With the lock: whether a COMMIT has something to write out. */
bool turn_wanted(const struct dirty_file *f);
/*
 * With the lock: whether F should have a turn, at a LEVEL of dirty memory (dirty_memory.h); then it
 * is claimed: turn_submit() it, without the lock.
 */
bool turn_claim(struct dirty_file *f, double level, uint64_t now);
/* Queues a claimed file. The turn may be over, and F gone unless it is pinned, when this returns. */
void turn_submit(struct dirty_file *f);
/* With the lock: whether [offset, offset + len) and the range R have a byte in common. */
bool turn_overlaps(const struct dirty_range *r, uint64_t offset, uint64_t len);

#endif
