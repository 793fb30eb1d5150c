/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What callers hand to the engine, and get back: the rules, a read, a plan. */
#ifndef READAHEAD_TYPES_H
#define READAHEAD_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readahead/cursor.h"

struct heuristic_ops;
struct readahead_rules;

/* The rules of one export. Plain numbers: copy, change, hand in again at any time. */
struct readahead_tuning {
	const struct heuristic_ops *heuristic;
	const struct readahead_rules *rules; /* rules.h */
	uint32_t match_window;	 /* bytes of the approximate match (the paper: 64 KiB) */
	uint32_t match_requests; /* ... or this many requests, if more (the paper: 8) */
	uint32_t seq_max;	 /* highest count (the paper: 127) */
	uint32_t seq_threshold;	 /* count at which read-ahead begins */
	uint64_t window_init;	 /* bytes */
	uint64_t window_max;	 /* bytes */
	uint64_t chunk_min;	 /* bytes; where the price leaves less, nothing is fetched */
	bool priced;		 /* obey the price of read-ahead (effectiveness.h) */
};

/* One read as it arrives. */
struct readahead_read {
	const void *key;       /* file handle */
	size_t key_len;	       /* bytes, 1..65535 */
	uint64_t offset, size; /* size: of the file, as well as the caller knows */
	uint32_t len;
	uint64_t now;
	uint64_t chunk;	  /* bytes the disk wants in one piece at present */
	uint32_t streams; /* streams competing for it */
	uint64_t seek;	  /* bytes that it reads in the time of a seek; 0: not known */
	uint64_t tail;	  /* bytes of a file's end that the first READ there brings; 0: none more */
	bool brings;	  /* FIRST_READS of a file come by its first READs alone (first_read.h) */
	bool direct;	  /* READs go past its queue, and beside each other */
	double price;	  /* of read-ahead there, 0..1 */
	uint64_t
		kept; /* ns that what is fetched stays there to be read; 0: as long as memory has room */
	uint64_t file;	  /* its name in traces: as the disk's queue calls it */
	uint64_t client;  /* in traces; 0: not known */
	uint32_t reader;  /* whose it is: a number of readers.h */
	uint16_t account; /* the host's, of what is given up (given_up.h) */
	bool has_floor; /* its client has a floor in bytes: he is served little at a time, and often */
};

struct readahead_plan {
	struct cursor_ref cursor;
	uint32_t run;	     /* of the cursor: for the engine only */
	uint32_t count;	     /* the sequentiality count used */
	bool known_resident; /* the range arrived by a prefetch a moment ago */
	uint8_t way;	     /* of its reader, an enum way */
	uint32_t record;     /* not 0: of every STEP bytes only so many, from its beginning on */
	uint64_t step;
	bool begins; /* nothing was asked for before in this run of its reader */
	bool whole;  /* ... but it is the rest of a file that fits in a chunk */
	bool young;  /* ... and he may have read all that he wants already: readahead_reads_on() */
	bool followed; /* something was asked for ahead of this reader, or of those beside it */
	bool asked;    /* the READ lies in what had been asked for ahead of its own reader */
	bool ends;     /* the first READ of its file, at the end, of which all is worth bringing */
	bool second;   /* the second of a run, right behind the first */
	uint64_t
		comes_to; /* up to where its reader will want its file (file_begin.h); 0: not known */
	bool unread; /* something of the file was asked for ahead of a reader who may be about to read it */
	uint64_t offset, len; /* fetch this; len 0: nothing */
	uint64_t ahead;	      /* ... of which the last so many bytes lie ahead of the reader */
};

#endif
