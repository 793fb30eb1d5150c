/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * COMMIT, as one call that is handed the fsync of the FSAL below. See commit.c for what it promises
 * about errors.
 */
#ifndef WRITEBACK_COMMIT_H
#define WRITEBACK_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/backing_slot.h"

/*
 * So little (bytes) is a seek, whoever writes it: 256 KiB are 2 ms of a disk's time, a seek is 8. Of several
 * the file system sorts the data and makes one transaction, and two seeks to its journal. By turns each
 * of them has one of its own, and reads come between what it writes: twice as many of these seeks.
 */
#define COMMIT_LITTLE (UINT64_C(256) << 10)

/* A COMMIT. */
struct commit {
	struct backing_slot *slot;
	struct device *device; /* the file's, as far as known without a backing, or NULL */
	uint64_t inode;	       /* in traces */
	uint64_t offset, len;  /* bytes; len 0: to the end of the file */
	uint64_t wait;	       /* ns: longest time that its range goes by turns */
	struct flow_id flow;   /* who asks: turns for it are charged to them */
	/*
	 * Where much else of the file is dirty, only the range is made stable, by an fdatasync of it:
	 * less than the FSAL below would do.
	 */
	bool part;
	/*
	 * Bytes, 0: none: a file that has no more dirty than this has no turn for a COMMIT; the fsync
	 * writes it.
	 */
	uint64_t little;
	/*
	 * Makes the file stable, by the FSAL below: 0 or an errno; EAGAIN: it has not tried, and the client is to ask again.
	 * After an error of ours it is called again.
	 */
	int (*fsync_below)(void *arg);
	void *arg;
};
/*
 * Waits until the range is written out, as far as it was known to be dirty, and no longer than wait;
 * then makes it stable. Returns 0, or the errno that the client must be told: fsync_below's, or one
 * that a write-back of the file met since the last COMMIT. EAGAIN: a write-back hangs, so it is not
 * known yet, or no thread may be spared to wait for it; the client should ask again.
 */
int writeback_commit(const struct commit *c);
/*
 * So many of the server's threads may wait for turns of COMMITs, ROOM_GATE_MAX (common/room_gate.h) at most, and until it is
 * called; for COMMITs of one client as many as are left. Beyond them a COMMIT that would have to wait is to come again.
 */
void writeback_set_commit_threads(uint32_t max);

/* How many COMMITs took less than 2^b us, for each b, since the start; *SUM: ns, all together. */
#define COMMIT_WAIT_BUCKETS 40
void writeback_commit_waits(uint64_t waits[COMMIT_WAIT_BUCKETS], uint64_t *sum);

#endif
