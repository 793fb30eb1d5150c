/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Readers that a cluster's client has forgotten are woken (remote/overdue.h), on a thread of its own. */
#ifndef RA_REMOTE_WATCH_H
#define RA_REMOTE_WATCH_H

#include <stdint.h>

/* With the first export that has such a client; again: nothing. */
void remote_watch_start(void);
/* Waits up to TIMEOUT ns for a call into the cluster that is under way; longer: the thread is left to it. */
void remote_watch_stop(uint64_t timeout);

#endif /* RA_REMOTE_WATCH_H */
