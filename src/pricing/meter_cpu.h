/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How busy the processors are (CA-NFS, section 3.3, "Server CPU").
 *
 *   host  = 1 - (idle + iowait) / all time, of all processors, from /proc/stat. Stolen time counts
 *           as busy: it is not ours.
 *   group = time used / time allowed, of each control group from the server's own up to the root
 *           that has a limit: cpu.max and cpu.stat (v2), or cpu.cfs_quota_us, cpu.cfs_period_us and
 *           cpuacct.usage (v1). The tightest counts.
 *   utilization = the higher of the two.
 *
 * Both are averaged over the window. Not thread-safe.
 */
#ifndef PRICING_METER_CPU_H
#define PRICING_METER_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "pricing/rate.h"
#include "pricing/source.h"

/* Control groups above one another; those nearest to the server are looked at. */
#define CPU_GROUPS_MAX 8

struct cpu_group {
	struct rate used; /* seconds */
	double allowed;	  /* processors; 0: no limit */
};

struct meter_cpu {
	uint64_t window; /* ns */
	struct rate busy, total;
	bool group_v1;
	char group_path[SOURCE_NAME]; /* the server's own control group */
	struct cpu_group groups[CPU_GROUPS_MAX];

	double host, group, utilization; /* 0..1 */
	char unknown[SOURCE_NAME];	 /* the file that told nothing; "": all is known */
};

void meter_cpu_init(struct meter_cpu *m, uint64_t window);
/* Reads the files, each once, and brings the results up to date. */
void meter_cpu_sample(struct meter_cpu *m, struct price_source *s, uint64_t now);

#endif
