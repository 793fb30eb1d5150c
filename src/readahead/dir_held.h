/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Bytes of whole files fetched ahead of a walk, which no cursor holds: against Readahead_Memory as all
 * others, and counted as they are (counters.h).
 *
 *   hold --> unread --> used, wasted, or returned: not fetched after all
 */
#ifndef READAHEAD_DIR_HELD_H
#define READAHEAD_DIR_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "readahead/counters.h"

struct readahead;

/* READER, of readers.h, holds it. False: memory is full, or more than READER may have. Any thread. */
bool dir_held_take(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		   uint64_t len);
void dir_held_used(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		   uint64_t len);
/* COUNTERS NULL: at ACCOUNT (given_up.h). */
void dir_held_wasted(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		     uint16_t account, uint64_t len);
void dir_held_returned(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		       uint64_t len);

#endif
