/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the parts of the engine share. Only src/readahead includes this; others see readahead.h.
 *
 *   readahead_observe --> rules_*.c   which cursor is it, and how sequential?
 *                           |  evidence.c  what became of what was fetched before?
 *                         plan.c      what to fetch next? --> budget.c  does the memory allow it?
 */
#ifndef READAHEAD_ENGINE_H
#define READAHEAD_ENGINE_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/clock.h"
#include "readahead/budget.h"
#include "readahead/counters.h"
#include "readahead/effectiveness.h"
#include "readahead/file_begin.h"
#include "readahead/file_end.h"
#include "readahead/given_up.h"
#include "readahead/heur_table.h"
#include "readahead/heuristic.h"
#include "readahead/readers.h"
#include "readahead/run_lengths.h"
#include "readahead/types.h"

struct readahead {
	struct heur_table table;
	struct cursor_pool pool;
	struct budget budget;
	struct readers *readers;
	struct run_lengths *lengths;		 /* of each reader */
	struct file_begins begins;		 /* the same */
	struct file_ends ends;			 /* the same */
	struct given_up *given_up;		 /* of each account */
	_Atomic uint64_t idle_time;		 /* ns */
	_Atomic uint64_t swept;			 /* ns: the last sweep */
	_Atomic(struct effectiveness) newcomers; /* of files of which nothing else was known */
};

#endif
