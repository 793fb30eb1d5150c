/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What walks hold of Readahead_Memory. See dir_held.h. */
#include "readahead/dir_held.h"

#include "readahead/engine.h"

bool dir_held_take(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		   uint64_t len)
{
	if (!budget_hold(&ra->budget, reader, len)) {
		readahead_count(counters, READAHEAD_REFUSED, 1);
		return false;
	}
	readahead_count(counters, READAHEAD_PLANNED, len);
	return true;
}

void dir_held_used(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		   uint64_t len)
{
	budget_give(&ra->budget, reader, len);
	readahead_count(counters, READAHEAD_USED, len);
}

void dir_held_wasted(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		     uint16_t account, uint64_t len)
{
	budget_give(&ra->budget, reader, len);
	given_up_add(ra->given_up, counters, account, len, 0);
}

void dir_held_returned(struct readahead *ra, struct readahead_counters *counters, uint32_t reader,
		       uint64_t len)
{
	budget_give(&ra->budget, reader, len);
	readahead_count(counters, READAHEAD_UNFETCHED, len);
}
