/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A thread that looks after readers of clusters every now and then, and is away in a cluster for as long as that
 * pleases. At the end it is waited for. Where it is away for too long it is left behind, and then whatever it would
 * come back to may be gone: it never comes back.
 *
 *   look()  ---- away ----> cluster        stop: waits for it until the time is over
 *           <- returned --'
 *   left:   ---- away ----> cluster ... returned: stands still for good, and touches nothing
 */
#ifndef DISK_WATCHER_H
#define DISK_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

/* Calls LOOK every INTERVAL ns, on a thread that NAME names (NULL: nobody does). 0 or an errno; running: 0. */
int watcher_start(void (*look)(void), uint64_t interval, void (*name)(const char *name));
/*
 * Its thread is over when this returns, or left behind: false. For one that is away it waits TIMEOUT ns, for one
 * that is not as long as it takes.
 */
bool watcher_stop(uint64_t timeout);
/* Around a call that may take any time. On another thread than the watcher's: nothing. */
void watcher_leaves(void);
void watcher_returns(void);

#endif
