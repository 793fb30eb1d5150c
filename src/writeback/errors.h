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
 * records and kept errors are bounded together, at several times Writeback_Files: errors take no
 * record's place until they are very many. Beyond it those of files that are known to be removed make
 * room, the oldest first; then those that nobody has asked for in ERRORS_KEEP, with a line in the
 * log, for their files may have gone unseen; and else files are the kernel's to write out, said once. Who is no turn has
 * a place before he may be told one (writeback_expect()).
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

#define ERRORS_KEEP (UINT64_C(3600) * 1000000000) /* ns */

struct file_key {
	uint64_t hash;
	uint8_t len;
	uint8_t bytes[BACKING_KEY_MAX];
};

void file_key_of(struct file_key *key, const struct backing_slot *slot);
bool file_key_same(const struct file_key *a, const struct file_key *b);

struct kept_error {
	TAILQ_ENTRY(kept_error) hash;
	TAILQ_ENTRY(kept_error) age; /* of removed files, or of the others */
	struct file_key key;
	uint64_t since; /* ns: kept */
	uint64_t file;	/* inode number and device, for the log; with an error */
	dev_t dev;
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
/* FILE of DEV has failed by ERR, an errno, which is E's if it has none yet: whether that was so. */
bool errors_note(struct kept_error *e, dev_t dev, uint64_t file, int err);
/* The file's record goes: its entry is kept if it has an error, and freed else. */
void errors_keep(struct kept_error *e, uint64_t now);
/* The entry kept for the file, now the caller's; NULL: none. */
struct kept_error *errors_take(const struct file_key *key);
/* Whether one is kept for the file. */
bool errors_has(const struct file_key *key);
/* The file was removed: its entry, if one is kept, may make room. Returns its error. */
int errors_removed(const struct file_key *key);
/*
 * The oldest entry of a removed file, or else one older than ERRORS_KEEP, now the caller's; NULL:
 * there is none.
 */
struct kept_error *errors_evict(uint64_t now);
/* Without the lock: frees an evicted entry; what nobody was told of the log is. NULL: nothing. */
void errors_give_up(struct kept_error *e, uint64_t now);

/* One line in the log that FILE of DEV failed with ERR, unless there were many lately. Any thread. */
void errors_log(dev_t dev, uint64_t file, int err, const char *consequence, uint64_t now);

#endif
