/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What became of the bytes read ahead, and what that says of their file.
 *
 *   read by a client          used: evidence for the file, its memory is free, its penalty falls
 *   reader went elsewhere     wasted: evidence against it, its next windows are half as large
 *   reader silent for 1 s     doubted: evidence against it, taken back as soon as he reads on; none on others before it is waste
 *   ... and memory is short   wasted, and evidence on others too, all of it taken back if he reads on
 *   silent for Cursor_Idle    the same, and smaller windows for its file
 *   gone from memory unread   wasted, but no evidence: it was wanted
 *   others want its memory    wasted, but no evidence: it may be read yet
 *
 * All with the file's lock. The counts go to the export that asked, or where there are no counters (NULL) to the
 * account of the cursor (given_up.h).
 */
#ifndef READAHEAD_EVIDENCE_H
#define READAHEAD_EVIDENCE_H

#include <stdint.h>

/* A reader who has not read what is there for him for so long (ns) is silent. */
#define READER_SILENT 1000000000u

struct cursor;
struct heur_file;
struct readahead;
struct readahead_counters;
struct readahead_read;

/* USED bytes that were not fetched ahead of their reader would have been worth it. */
void evidence_missed(struct readahead *ra, struct heur_file *f, uint64_t used);
/* A client has read up to END. */
void evidence_used(struct readahead *ra, struct readahead_counters *counters, struct cursor *c,
		   uint64_t end);
/* READ, which C follows, lies in what another cursor of its file asked for: that was of use. */
void evidence_used_beside(struct readahead *ra, struct readahead_counters *counters,
			  const struct cursor *c, const struct readahead_read *read);
/* The reader of C went elsewhere, for good: what C holds unread is given up. */
void evidence_wasted(struct readahead *ra, struct readahead_counters *counters, struct cursor *c);
/* Up to MOST bytes of what has come for C are given up: others want the memory, and its reader is slow. No evidence. */
void evidence_surplus(struct readahead *ra, struct cursor *c, uint64_t most);
/* What C is doubted for is given up, for memory is short: its reader may come to it yet, and finds it. With the sweep only. */
void evidence_unwanted(struct readahead *ra, struct cursor *c);
/* The reader of C, for whom all has come, is silent for so long that what he holds is given up. With the sweep only. */
void evidence_idle(struct readahead *ra, struct cursor *c);
/* What C holds was in memory and is gone. */
void evidence_lost(struct readahead *ra, struct readahead_counters *counters, struct cursor *c);
/* What has arrived for a reader who is silent by now is, until he reads on, taken for wasted. */
void evidence_doubted(struct cursor *c, uint64_t now);
/* C leaves its file; the pool's callback, with the engine as ARG. Counted at the next sweep. */
void evidence_retired(void *arg, struct cursor *c);

/* The effectiveness of F's read-ahead, 0..1: its own, or for want of evidence that of others. */
double evidence_effectiveness(struct readahead *ra, const struct heur_file *f);

#endif
