/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Errors of write-out that no COMMIT has told yet, by file.
 *
 *   turn fails -> record -> [ the entry of the file's record ] -- all is out --> [ kept ] -> COMMIT
 *                                                                     removed -> [ may go ]
 *
 * The kernel tells of a failed write-out once, to the first who asks on an open file, and where that
 * is a turn of ours, the file's next COMMIT has to fail with it. So the error is kept by the key of
 * the sub-FSAL's handle, which holds the file's generation: it needs no descriptor, pins no file
 * system, and a file that gets the inode number of another does not get its error.
 *
 * None is lost for want of room: the entry is allocated with the file's record in the table, and
 * both count against Writeback_Files, beyond which files are the kernel's to write out. Only those of
 * files that are known to be removed make room, the oldest first.
 *
 * All but the log: with the table's lock (dirty_files.h).
 */
#ifndef WRITEBACK_ERRORS_H
#define WRITEBACK_ERRORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "disk/backing_slot.h"

struct file_key {
	uint64_t hash;
	uint8_t len;
	uint8_t bytes[BACKING_KEY_MAX];
};

void file_key_of(struct file_key *key, const struct backing_slot *slot);
bool file_key_same(const struct file_key *a, const struct file_key *b);

struct kept_error {
	TAILQ_ENTRY(kept_error) hash;
	TAILQ_ENTRY(kept_error) age; /* of removed files only */
	struct file_key key;
	int err; /* errno; 0: none */
	bool removed;
};

/* Empty. */
void errors_start(void);
/* Those still kept are given up: returns how many. */
uint32_t errors_stop(void);
/* How many are kept. */
uint32_t errors_count(void);

/* An entry without an error; NULL: no memory. */
struct kept_error *errors_new(const struct file_key *key);
/* The file's record goes: its entry is kept if it has an error, and freed else. */
void errors_keep(struct kept_error *e);
/* The entry kept for the file, now the caller's; NULL: none. */
struct kept_error *errors_take(const struct file_key *key);
/* Whether one is kept for the file. */
bool errors_has(const struct file_key *key);
/* The file was removed: its entry, if one is kept, may make room. Returns its error. */
int errors_removed(const struct file_key *key);
/* Frees the oldest entry of a removed file; false: there is none. */
bool errors_evict(void);

/* One line in the log that FILE of DEV failed with ERR, unless there were many lately. Any thread. */
void errors_log(dev_t dev, uint64_t file, int err, const char *consequence, uint64_t now);

#endif
