/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What of a file is left to the fsync of a COMMIT: no turn goes for it, and no other COMMIT waits for it.
 *
 *   dirty -- left --> [ fsync begins: and all else of the file ] -- done --> clean
 *     ^                                  |
 *     +------------- failed -------------+
 *
 * Else turns for what fsync has written would find nothing, and pass for fast ones. On the thread of the COMMIT.
 */
#ifndef WRITEBACK_LEFT_H
#define WRITEBACK_LEFT_H

#include "writeback/dirty_files.h"

/* All zero: nothing is. */
struct left {
	struct dirty_file *file; /* pinned; NULL: nothing is */
	struct dirty_set own;
	uint64_t syncing; /* bytes of it, while fsync goes on */
};

/* With the lock: [offset, offset + len) of F is left to it. */
void left_add(struct left *left, struct dirty_file *f, uint64_t offset, uint64_t len);

/* ---- without the lock ---- */

/* The fsync of the whole file begins. */
void left_fsync_begins(struct left *left, const struct file_key *key);
/* It is over, or another one of the range. Unless it is DONE all of it is dirty as before: the client may not come again. */
void left_fsync_ends(struct left *left, bool done);
/* No fsync follows. */
void left_release(struct left *left);

#endif
