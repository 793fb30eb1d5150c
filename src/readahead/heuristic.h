/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How sequential is this? The heuristics behind one ops table.
 *
 *   off      no read-ahead of ours at all: exactly stock
 *   default  4.4BSD/FreeBSD 4.x: +1 when a read starts where the last one ended, else back to 1
 *   always   the highest count for every read (the paper's "Always Read-ahead")
 *   slowdown Ellard & Seltzer 2003, section 6.2: +1 on a match, unchanged within 64 KiB, halved
 *            beyond it
 *   strict   several cursors a file, each by default: what SlowDown adds to cursors
 *   cursor   section 7: several cursors a file, found by the same approximate match, each with its
 *            own count by the rules of slowdown
 *
 * With the extended rules (rules.h) the last three also believe a young run whose first Seq_Threshold
 * requests have all come, in whatever order: a server's own threads reorder what a client sends at
 * once, and its count is then what it would have been in order.
 *
 * The paper's 64 KiB are "eight 8k NFS blocks": with larger requests the window of the approximate
 * match is eight requests. With the extended rules a request that repeats or overlaps what was just
 * read (a retransmission) changes nothing, but where one after the other overlaps and goes on: then they are
 * a run (rules_extended.c).
 */
#ifndef READAHEAD_HEURISTIC_H
#define READAHEAD_HEURISTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "readahead/cursor.h"

struct readahead_tuning;

enum heuristic_match {
	HEURISTIC_EXACT,  /* the read continues the cursor */
	HEURISTIC_REPEAT, /* it repeats or overlaps the last one: a retransmission */
	HEURISTIC_NEAR,	  /* jitter: within the approximate match, or already asked for */
	HEURISTIC_JUMP,	  /* elsewhere: the cursor starts anew at this read */
};

struct heuristic_ops {
	const char *name;
	bool off;     /* reads are not looked at */
	bool cursors; /* several cursors a file */
	bool jitter;  /* extended rules: the first requests of a run may come in any order */
	/* The cursor's new count after a read that stands to it as MATCH says. */
	uint32_t (*count)(const struct readahead_tuning *t, uint32_t count,
			  enum heuristic_match match);
};

/* The ops of NAME, in which capitals do not matter, or NULL. */
const struct heuristic_ops *heuristic_find(const char *name);
/* The Nth ops, NULL beyond the last: for lists of the right names. */
const struct heuristic_ops *heuristic_nth(unsigned int n);

/* How a read of LEN at OFFSET stands to C by the extended rules. */
enum heuristic_match heuristic_classify(const struct readahead_tuning *t, const struct cursor *c,
					uint64_t offset, uint32_t len);
/* The bytes either side of the expected offset that still match approximately. */
uint64_t heuristic_near(const struct readahead_tuning *t, uint32_t len);

#endif
