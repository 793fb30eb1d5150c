/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The thread that looks at what is learnt of devices (learnt_table.h), so that a file system that hangs below
 * Learnt_Directory holds up nobody else for long.
 *
 *   who asks     ask --- waits a while at most ---> goes on, done or not
 *   the thread        look . . . . . . . . . . . . . . . . . . . look
 */
#ifndef DISK_LEARNT_THREAD_H
#define DISK_LEARNT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* So long (ns) a look is waited for by who needs it: an export that starts, a server that ends. */
#define LEARNT_WAIT UINT64_C(2000000000)

/* After learnt_start(). 0 or an errno: then nothing is read, and nothing kept. */
int learnt_thread_start(void (*name_thread)(const char *name));
/* Asks for a look, and does not wait. */
void learnt_thread_ask(void);
/*
 * The same, and waits for it, but not longer than until the one that is under way has taken TIMEOUT ns. False: it
 * takes longer.
 */
bool learnt_thread_wait(uint64_t timeout);
/*
 * The last look, waited for as above, while the devices are still there. False: it takes longer; the thread is left
 * to it, and touches no device after this.
 */
bool learnt_thread_stop(uint64_t timeout);

#endif
