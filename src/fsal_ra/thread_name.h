/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A thread of ours, by name: in the server's log, and for top -H, perf and /proc. */
#ifndef FSAL_RA_THREAD_NAME_H
#define FSAL_RA_THREAD_NAME_H

#include <pthread.h>

#include "ra_methods.h" /* has the server's log.h; src/common has one, too */

/* Up to 15 characters; the calling thread. */
static inline void ra_name_thread(const char *name)
{
	SetNameFunction(name);
	(void)pthread_setname_np(pthread_self(), name);
}

#endif
