/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What write-back asks of the world around it. All of it goes through one table, so that a test can
 * have errors, a clock of its own, and pause points wherever the kernel is called.
 */
#ifndef WRITEBACK_OPS_H
#define WRITEBACK_OPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "disk/backing.h"
#include "sched/dispatcher.h"

struct writeback_ops {
	uint64_t (*now)(void);
	/* Waits for COND until the time UNTIL; may return early. 0 or ETIMEDOUT. */
	int (*wait)(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until);
	/* Wakes all who do. */
	void (*wake)(pthread_cond_t *cond);
	/* As sync_file_range(2), but 0 or an errno. */
	int (*sync)(const struct backing *b, uint64_t offset, uint64_t len, unsigned int flags);
	/* The error of the file that B's descriptor has not told yet; 0: none. Starts no I/O. */
	int (*pending)(const struct backing *b);
	/* Whether the file has lost its last link. */
	bool (*nameless)(const struct backing *b);
	/* backing_place_known(): never waits */
	uint64_t (*place)(struct backing *b, uint64_t offset);
	/* backing_place(): asks the file system, which may hold the inode's lock. In a turn only. */
	uint64_t (*find_place)(struct backing *b, uint64_t offset);
	/* dispatcher_submit(), dispatcher_want(), dispatcher_writeback_turn() */
	enum sched_verdict (*submit)(struct dispatcher *d, struct sched_req *r);
	void (*want)(struct dispatcher *d, struct sched_req *r, const struct flow_id *by);
	struct sched_turn (*allowance)(struct dispatcher *d);
};
extern const struct writeback_ops writeback_linux_ops;

#endif
