/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file that the nfsheur table remembers: its cursors, and what they have come to. The table makes
 * and ejects it; the pool lends it cursors, and takes them from others.
 */
#ifndef READAHEAD_HEUR_FILE_H
#define READAHEAD_HEUR_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/lock.h"
#include "common/rcu.h"
#include "readahead/cursor_set.h"
#include "readahead/effectiveness.h"

struct beside;
struct stride_history;

/* A file of which nothing was read for so long (ns) may have left memory: its next READ is a first one. */
#define FILE_LEFT_ALONE UINT64_C(10000000000)

struct heur_file {
	struct cds_lfht_node node;
	struct rcu_head rcu;
	struct heur_table *table;
	_Atomic uint64_t
		used;	  /* 0: not since the clock's hand passed; with probes its time, in uses */
	uint32_t slot;	  /* its place; insert lock */
	struct lock lock; /* guards all below; held for nanoseconds, never over I/O */
	bool dead;	  /* ejected: look the key up again */
	uint8_t penalty;  /* windows of this file are smaller by 2^penalty: it wasted bytes */
	uint16_t matches; /* share of reads that continued a cursor exactly, in 1/65536 */
	struct effectiveness effectiveness; /* of what was read ahead in it */
	uint32_t streak;  /* reads in a row that continued one or another cursor exactly */
	uint32_t holders; /* its cursors that hold unread bytes: budget.h */
	uint16_t in_runs; /* as `matches`, with reads that others of their run had passed */
	uint16_t skips;	  /* share of far gaps of which something never came, in 1/65536 */
	uint64_t held;	  /* ns: such bytes were asked for, or read, last */
	uint64_t unseen;  /* ns: from then on not all of its reads are told */
	struct cursor_set set;
	uint32_t begun;			/* runs that began where no cursor expected them */
	struct stride_history *history; /* of them, NULL: none is kept (stride.h) */
	struct beside *beside;	       /* what was asked for of it, NULL: none is kept (beside.h) */
	uint64_t name;		       /* readahead_read's `file`: what people call it by */
	uint64_t reads, bytes;	       /* of clients, since it is known here */
	struct {		       /* who began with it (file_begin.h) */
		uint32_t reader, mark; /* ... and the next mark that he comes to */
		uint64_t last;	       /* ns: when one came of who began there */
	} begin;
	struct {		      /* its first read, if that was at its end (file_end.h) */
		uint32_t reader, len; /* bytes; 0: it was not, or is no longer looked at */
		uint64_t offset;
		uint64_t reads; /* before it */
		uint64_t last;	/* ns: when one came */
		bool whole;	/* ... and the end was worth bringing as a whole */
	} end;
	uint16_t key_len;
	uint8_t key[];
};

#endif
