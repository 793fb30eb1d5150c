/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Memory limits of control groups: where programs run in a group with a limit, as in a container, that is
 * all the memory in which their written data can wait.
 *
 *   v2  memory.max, memory.current, memory.stat: file, file_dirty, file_writeback
 *   v1  memory.limit_in_bytes, memory.usage_in_bytes, memory.stat: total_cache, total_dirty, total_writeback
 *
 *   dirty     = (dirty + under write-back) / (limit * share)     share: of memory that may be dirty
 *   available = limit - usage + cached and clean
 *
 * The groups: those above the agent's own, to the root that it sees; its own too where that is the root, as
 * in a container. (Its own is otherwise that of its service, which holds no data of others.) And those that
 * it halts (halt.h). A group without a limit does not count, nor one without these files; what makes no
 * sense neither. Pure: texts are handed in (pricing/source.h). One thread.
 */
#ifndef CLIENT_GROUP_MEMORY_H
#define CLIENT_GROUP_MEMORY_H

#include <stdbool.h>

#include "pricing/source.h"

/* Groups above one another that are looked at; the nearest. */
#define GROUP_DEPTH 8

struct group_memory {
	double dirty;	  /* 0.., the fullest group's; 0: there is none with a limit */
	double available; /* 0..1 of its limit, in the group with the least; 1: there is none */
};

/* Nothing known. */
#define GROUP_MEMORY_NONE ((struct group_memory){0, 1})

/* The group at PATH, "/..." below the hierarchy; G gets worse, never better. SHARE: 0..1. */
void group_memory_add(struct group_memory *g, struct price_source *s, const char *path,
		      double share);
/* The agent's own and those above, as said. */
void group_memory_above(struct group_memory *g, struct price_source *s, double share);
/* Whether PATH may be one: absolute, spelled as /proc/PID/cgroup does (no "..", no empty part, none that is "."),
 * and no blank of any kind, which would end its line in the record. */
bool group_is_name(const char *path);
/* Whether PATH is the agent's own group or above it, in any hierarchy; whether process 1 is in it or below: where that
 * cannot be told, *KNOWN is false. */
bool group_holds_us(struct price_source *s, const char *path);
bool group_holds_init(struct price_source *s, const char *path, bool *known);

#endif
