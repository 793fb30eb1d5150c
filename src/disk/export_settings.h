/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a reload can change of an export: one object that is never changed, only replaced.
 *
 *   reader:  begin --> the settings in force, whole --> end          no lock, no waiting
 *   reload:  copy, publish --> the old ones --> reclaim (waits until no reader has them)
 *
 * Where they are published is a pointer of the export's, under RCU (common/rcu.h).
 */
#ifndef DISK_EXPORT_SETTINGS_H
#define DISK_EXPORT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/device.h"
#include "readahead/readahead.h"
#include "sched/flow.h"

/* Whether FSSTAT carries prices: the parameter Fsstat_Prices. */
enum fsstat_rule { FSSTAT_AUTO, FSSTAT_ALWAYS, FSSTAT_NEVER };

/* How an export's dirty data is written out, and its writers paced. */
struct writeback_settings {
	bool on;
	uint64_t chunk;		  /* bytes that are worth a turn at once */
	uint64_t delay;		  /* ns; less than that is after this time */
	uint64_t age_max;	  /* ns */
	uint64_t commit_wait;	  /* ns */
	bool commit_part;	  /* a part of a file may be made stable by itself */
	uint64_t reply_delay_max; /* ns */
};

/* All that a reload can change of an export. */
struct export_settings {
	struct readahead_tuning tuning;
	uint64_t prefetch_step; /* bytes, at most SCRATCH_MAX */
	uint64_t full_wait;	/* ns that a read waits for room in the queue */
	struct device_settings device;
	struct writeback_settings writeback;
	enum fsstat_rule fsstat_rule;
	struct share share; /* of the disks' time; nothing set: none of its own */
};

/* A copy to be published, or freed; NULL: no memory. */
struct export_settings *export_settings_copy(const struct export_settings *s);
/* The settings published at AT, until export_settings_end() on the same thread; may be nested. */
const struct export_settings *export_settings_begin(struct export_settings *const *at);
void export_settings_end(void);
/* Publishes S, which it takes: returns the old ones, for reclaim. One thread at a time for each AT. */
struct export_settings *export_settings_publish(struct export_settings **at,
						struct export_settings *s);
/* Frees what was published once no reader has it: not with a lock that a reader may want. */
void export_settings_reclaim(struct export_settings *old);

#endif
