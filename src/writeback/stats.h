/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What operators see of write-back. */
#ifndef WRITEBACK_STATS_H
#define WRITEBACK_STATS_H

#include <stdint.h>

struct writeback_stats {
	uint32_t files;	    /* with dirty data known */
	uint32_t kept;	    /* errors to tell of files beyond these */
	uint64_t pushed;    /* bytes that write-backs covered */
	uint64_t commits;   /* COMMITs that had turns */
	uint64_t delayed;   /* ... that could not wait for them: the client is to come again */
	uint64_t parts;	    /* ... that made only their range stable */
	uint64_t direct;    /* COMMITs that had no turns: of little, or of a scattered file */
	uint64_t errors;    /* write-backs that failed */
	uint64_t told;	    /* COMMITs that were told so */
	uint64_t untracked; /* writes to files beyond Writeback_Files */
};

#endif
