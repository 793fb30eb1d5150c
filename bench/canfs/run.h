/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A run: clients, their threads and the loop that turns them, on one thread of this process.
 *
 *    threads that may go on --> step --> client_submit() --> ... op->done --> may go on (after a pause)
 *
 * and between: answers, ticks, and what is noted once a second.
 */
#ifndef CANFS_RUN_H
#define CANFS_RUN_H

#include "run_state.h"

/* 0; or 1 with the reason on stderr. What it leaves ends with the process. */
int run_load(struct run *run, const struct run_options *o);

/* The connection and mount of each client, without a load. */
int run_connect(struct run *run);
/* Handles what has come, at most so many ns later. */
void run_turn(struct run *run, uint64_t wait);

#endif
