/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * There is one agent: it holds /run/ca-nfs-agent.lock until its process ends.
 *
 * The lock is one of fcntl(2), which belongs to a process and to none of its children: a child that
 * hangs in a call that cannot be killed does not keep it, and the kernel knows who has it. The file
 * stays; a lock left behind by a dead process there is none.
 *
 * One thread, and no other descriptor of the file: closing one would give the lock up.
 */
#ifndef CLIENT_RUN_LOCK_H
#define CLIENT_RUN_LOCK_H

#include <stddef.h>
#include <sys/types.h>

#define RUN_LOCK "/run/ca-nfs-agent.lock"

/*
 * Waits for the lock, SECONDS at most. 0: ours until this process ends. EWOULDBLOCK: *HOLDER still
 * has it. Or another errno.
 */
int run_lock_take(const char *root, double seconds, pid_t *holder);
/* Who holds it: 0 and *HOLDER, which is 0 for nobody and -1 for who cannot be seen from here; or an
 * errno. */
int run_lock_holder(const char *root, pid_t *holder);
/* "process 1234 (ca-nfs-agent)". */
const char *run_lock_name(pid_t holder, char *text, size_t size);

#endif
