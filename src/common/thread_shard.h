/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which part of a counter that is spread over lines of the cache is the calling thread's.
 *
 *   thread   1   2   3  ...  63  64   65 ...
 *   shard    1   2   3  ...  63   0    1 ...      threads beyond THREAD_SHARDS share one
 *
 * Whoever adds up reads all of them. A shard may have two threads: additions are atomic.
 */
#ifndef COMMON_THREAD_SHARD_H
#define COMMON_THREAD_SHARD_H

/* More than the threads that read at once on most servers; of each counter 64 bytes or more. */
#define THREAD_SHARDS 64

/*
 * Of a thread-local variable: reached without a call. Only for a few words of our own: they go into the
 * room that glibc keeps for modules loaded late, into which the server's own need not fit.
 */
#define THREAD_LOCAL_FAST __attribute__((tls_model("initial-exec")))

/* Below THREAD_SHARDS; the same for all of a thread's life. */
unsigned int thread_shard(void);

#endif
