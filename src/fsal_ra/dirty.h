/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much written data waits in memory, on the whole machine, and how fast the disk takes it.
 *
 * The kernel counts it (/proc/vmstat); between two looks we add what our own clients wrote. The
 * level is against a budget that stays below the kernel's own background threshold: as long as the
 * level is below 1, what is written out, and when, is ours to choose.
 */
#ifndef RA_DIRTY_H
#define RA_DIRTY_H

#include <stdint.h>

/* Opens the counters; without them the level is 0 for ever, said once in the log. */
void dirty_start(void);
void dirty_stop(void);
/* Looks at the counters. One thread. */
void dirty_sample(uint64_t now);
/* A client wrote BYTES. Any thread, as all below. */
void dirty_wrote(uint64_t bytes);
/* Dirty and write-back bytes over the budget; may exceed 1. */
double dirty_level(void);
/* Bytes: Dirty_Budget, or three quarters of the kernel's background threshold; 0: unknown. */
uint64_t dirty_budget(void);
/* Bytes a second that reach the disk while plenty waits. */
double dirty_rate(void);

#endif /* RA_DIRTY_H */
