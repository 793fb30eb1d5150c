/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Readers of records that lie the same step apart, of which they want the same part each.
 *
 *   file  |[rec]......|[rec]......|[rec]......|[rec]......|      [rec]: read;  ....: never read
 *          <---------> step
 *
 * Nieuwejaar & Kotz (IEEE TPDS 7(10), 1996) found such simple and nested strides to be most of what
 * parallel programs do to files; Ellard & Seltzer (FREENIX 2003, section 8) leave them as future work.
 *
 * A read that goes on with no cursor begins a run. Where four of a file's last runs have begun the same
 * step apart, whichever others have begun in between, a cursor of its own expects the next one, beside
 * those of the runs: when it was right twice, the records to come are fetched. What it holds is those
 * records' pages. Hence a stride reader who comes back for the rest of each record (the paper's) is seen
 * as before: the runs' own cursors expect him.
 *
 * Records may come from the end of the file too, of which each is read forwards: such a cursor follows the same
 * steps in a mirror (way.h), of the step that was found last.
 *
 * Where what lies between costs less to read than to leave out, the records fetched are whole steps, and
 * what a reader has passed over counts as read.
 *
 * Readers of parts that lie closer than the approximate match, at steps that differ by a request, as those of
 * tiles are: see rules_extended.c.
 *
 * Reads that come up to STRIDE_JITTER records early or late are taken for what they are. All with the
 * file's lock; pure but for the cursors.
 */
#ifndef READAHEAD_STRIDE_H
#define READAHEAD_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

struct cursor;
struct heur_file;
struct readahead;
struct readahead_counters;
struct readahead_read;
struct readahead_tuning;

/* Bytes of a record at most; and at most half of a step, but from the end where what lies between is read too. */
#define STRIDE_RECORD_MAX (UINT64_C(4) << 20)
/* Records. */
#define STRIDE_JITTER 3

/* What lies between two reads takes less to read than to leave out, up to so many bytes. */
uint64_t stride_through(const struct readahead_read *read);

/*
 * READ went on with no cursor exactly. The cursor that follows records of which it is one, or may be, and
 * has followed it; NULL: none does.
 */
struct cursor *stride_follow(struct readahead *ra, const struct readahead_tuning *t,
			     struct readahead_counters *counters, struct heur_file *f,
			     const struct readahead_read *read);

#endif
