/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much written data waits in memory, on the whole machine, and how fast the disk takes it.
 *
 * The kernel counts it (/proc/vmstat); between two looks we add what our own clients wrote. The
 * level is against a budget that stays below the kernel's own background threshold: as long as the
 * level is below 1, what is written out, and when, is ours to choose.
 */
#ifndef WRITEBACK_DIRTY_MEMORY_H
#define WRITEBACK_DIRTY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Opens the counters; without them the level is 0 for ever, said once in the log. BUDGET: bytes, as
 * configured (Dirty_Budget); 0: three quarters of the kernel's background threshold.
 */
void dirty_memory_start(uint64_t budget);
/* Another one, from the next look at the counters on. Any thread. */
void dirty_memory_set_budget(uint64_t budget);
void dirty_memory_stop(void);
/* Looks at the counters, unless another thread does just now. Any thread. */
void dirty_memory_sample(uint64_t now);
/*
 * The same if nobody has for a while, a short one where writers are HELD back, or will be: what was written out meanwhile
 * counts no more.
 */
void dirty_memory_refresh(uint64_t now, bool held);
/* One thread. The same with a TEXT of /proc/vmstat that somebody has read. */
void dirty_memory_feed(const char *text, uint64_t now);
/* A client wrote BYTES. Any thread, as all below. */
void dirty_memory_wrote(uint64_t bytes);
/* Dirty and write-back bytes over the budget; may exceed 1. */
double dirty_memory_level(void);
/* Bytes; 0: unknown. */
uint64_t dirty_memory_budget(void);
/* Bytes a second that reach the disk while plenty waits. */
double dirty_memory_rate(void);

#endif
