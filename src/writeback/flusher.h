/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The ticking thread. While any file has dirty data, and a while after, it looks, every FLUSHER_TICK, at how much is
 * dirty, buys each disk's time with that (share.h), queues what has grown old, and, a few files at a
 * time, looks for files that have lost their name or that the kernel has written by now.
 */
#ifndef WRITEBACK_FLUSHER_H
#define WRITEBACK_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

#define FLUSHER_TICK (50 * CLOCK_MS) /* ns */
/*
 * Ticks go on for so long after the last record (ns): those of COMMITs of little come and go between two, and
 * what their fsyncs write is to be seen, by device_watch_writes(), all the same.
 */
#define FLUSHER_LINGER CLOCK_SECOND

/* NAME_THREAD: as in struct writeback_limits. 0 or an errno. */
int flusher_start(void (*name_thread)(const char *name));
void flusher_stop(void);
/* A file may have been replaced: look for it soon. Any thread. */
void flusher_sweep_soon(void);
/* One tick, for tests; the thread does it else. */
void flusher_tick(uint64_t now);
/* The same: whether there are ticks at NOW, not before the last look; with the table's lock. */
bool flusher_watches(uint64_t now);

#endif
