/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The plugin's default numbers, for an engine under test or under the fuzzer. */
#ifndef UNIT_TUNING_H
#define UNIT_TUNING_H

#include "readahead/heuristic.h"
#include "readahead/rules.h"
#include "readahead/types.h"

static inline struct readahead_tuning tuning_default(const char *heuristic)
{
	return (struct readahead_tuning){
		.heuristic = heuristic_find(heuristic),
		.rules = &rules_extended,
		.match_window = 64u << 10,
		.match_requests = 8,
		.seq_max = 127,
		.seq_threshold = 4,
		.window_init = UINT64_C(8) << 20,
		.window_max = UINT64_C(32) << 20,
		.chunk_min = UINT64_C(512) << 10,
		.priced = true,
	};
}

#endif
