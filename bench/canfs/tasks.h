/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The threads of a run: each does its work's steps one after another, at its pace. See run_state.h. */
#ifndef CANFS_TASKS_H
#define CANFS_TASKS_H

#include "run_state.h"

/* Sets, files and threads of all groups; looks up their directories. 1: failed, it is said. */
int tasks_init(struct run *run);
void tasks_start(struct run *run);
/* Lets at most so many steps be made. Whether there are more. */
bool tasks_run(struct run *run, unsigned int steps);
/* ns until a thread's pause ends, `most` at most. */
uint64_t tasks_wait(const struct run *run, uint64_t most);
/* No more steps; what is under way goes on, and no longer counts. */
void tasks_stop(struct run *run, uint64_t now);

#endif
