/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where a file's last runs began, for whoever looks for a step between them (stride.h).
 *
 *   runs begun    1    2                    66                      1026
 *   history       -    |--- none found in 64 of them ---|           |---...
 *
 * Most files are read in one run, and have none. It is given up where it finds nothing, and tried again a
 * good while later; and one in STRIDE_FILES_SHARE of a table's files may have one. So a file costs what it
 * did, and a table a few per cent more. All with the file's lock, but for stride_forget().
 */
#ifndef READAHEAD_STRIDE_HISTORY_H
#define READAHEAD_STRIDE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

struct heur_file;

/* So many beginnings of runs are remembered: four of each of as many as four strides in turn. */
#define STRIDE_HISTORY 16
/* Steps (bytes) that are looked for. */
#define STRIDE_STEP_MAX (UINT64_C(32) << 20)
/* Of a table's files one in so many has a history at most. */
#define STRIDE_FILES_SHARE 8
/* Runs in a row that begin at no step before a history is given up; so many runs later it is tried again. */
#define STRIDE_VAIN_MAX	   64
#define STRIDE_TRIED_AGAIN 1024

/* All zero: nothing was read. */
struct stride_history {
	uint64_t begun[STRIDE_HISTORY]; /* offsets, a ring */
	uint64_t end;  /* where the last read that was no cursor's next one ended */
	uint64_t step; /* that was found last */
	uint32_t n;    /* runs noted so far */
	uint32_t vain; /* of them, since a step was found */
};

/* A run of F begins: its history, NULL: it has none. */
struct stride_history *stride_history_of(struct heur_file *f);
/* F has no history any more. With its lock, or when nobody else knows it. */
void stride_forget(struct heur_file *f);

/* Remembers that a run has begun at OFFSET. */
void stride_note(struct stride_history *h, uint64_t offset);
/* The step at which the run noted last has begun, and three others below it, or BACK: above it; 0: there is none. */
uint64_t stride_find(const struct stride_history *h, bool back);

#endif
