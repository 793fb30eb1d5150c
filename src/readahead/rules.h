/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a read means for the cursors of its file, and what they have earned by it: two sets of rules
 * around the same counts (heuristic.h), each behind one ops table.
 *
 *   extended  what servers with many threads and clients with many requests under way need besides
 *             the count: the first requests of a run come in any order, a retransmission changes
 *             nothing, a streak of a file's reads proves its young cursors, random readers must
 *             prove more; and windows that are learnt from what came late and what was wasted
 *   ordered   extended, but a run must begin in order, so that none is found to go backward
 *   streakless  extended, but a streak proves nothing
 *   apart     extended, but each cursor asks for what it expects, whatever others of its file did
 *   endless   extended, but how far readers went says nothing
 *   forward   extended, but no run goes backward, and records a step apart are runs like others; apart
 *   paper     Ellard & Seltzer 2003, sections 6.2 and 7, and nothing else, so that their figures 6
 *             to 8 compare what they compared: the expected offset is where the last read ended,
 *             whichever that was; the count alone decides, as FreeBSD's cluster_read has it: so
 *             many blocks ahead, of the size of the run's first read; of a file's cursors the least
 *             recently used is recycled
 *
 *                          extended                            paper
 *   follow      an overlap of the last read repeats it      ... is as far away as it is
 *               behind the expected offset: a laggard       the next read is expected behind it
 *   sequential  count, streak, any order, chance            count >= Seq_Threshold
 *   window      Window_Init, doubled when late, halved      count x block
 *   lengths     no more of a run than its reader's others   -
 *               make worth while
 *
 * Bounds on memory, prices, chunks and the order of the disk are the same under both.
 */
#ifndef READAHEAD_RULES_H
#define READAHEAD_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct cursor;
struct heur_file;
struct readahead;
struct readahead_counters;
struct readahead_read;
struct readahead_tuning;
struct window_limits;

/* All with the file's lock. */
struct readahead_rules {
	const char *name;
	bool any_order; /* a run may begin in any order, where the heuristic bears jitter */
	bool streaks;	/* a streak of the file's reads proves its young cursors */
	/* Where the heuristic has cursors: */
	bool backward; /* a run may go backward (backward.h) */
	bool strides;  /* records a step apart are followed (stride.h) */
	bool lengths;  /* how far a reader went says how much is fetched at first (run_lengths.h) */
	bool beside;   /* what one of a file's cursors asked for no other does (beside.h) */
	/* The cursor of F that READ belongs to, updated by it; NULL where none can be had. */
	struct cursor *(*follow)(struct readahead *ra, const struct readahead_tuning *t,
				 struct readahead_counters *counters, struct heur_file *f,
				 const struct readahead_read *read);
	/* Whether C, of F, has earned read-ahead. */
	bool (*sequential)(const struct readahead_tuning *t, const struct heur_file *f,
			   const struct cursor *c);
	/* Bytes to keep asked for ahead of C's next read, l->max at most. NULL: what was learnt. */
	uint64_t (*window)(const struct window_limits *l, const struct cursor *c);
};

/* What the plugin does when nobody asks for anything else. */
extern const struct readahead_rules rules_extended;
/* The same without one of them, so that it can be measured what each is worth. */
extern const struct readahead_rules rules_ordered, rules_streakless, rules_forward, rules_apart,
	rules_endless;
extern const struct readahead_rules rules_paper;

/* The rules of NAME, in which capitals do not matter, or NULL. */
const struct readahead_rules *rules_find(const char *name);
/* The Nth rules, NULL beyond the last: for lists of the right names. */
const struct readahead_rules *rules_nth(unsigned int n);

#endif
