/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A row of client_rows.h or file_rows.h, and all of them: shapes only. */
#ifndef CONTROL_CLIENT_ROW_H
#define CONTROL_CLIENT_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "control/use_sample.h"

enum rows_by { ROWS_CLIENT, ROWS_EXPORT, ROWS_DEVICE, ROWS_FLOW, ROWS_FILE, ROWS_BY };

struct client_row {
	/* Whose it is: what the rows are not by is empty, or -1. */
	char client[SAMPLE_NAME], device[SAMPLE_NAME];
	int64_t export_id;
	unsigned int flows, clients; /* of how many: clients is 1 where the row is a client's */
	bool active;		     /* something was done, or waits */
	bool throttled;		     /* a ceiling holds some of it back */
	uint32_t weight;	     /* of its group; 0: of several */
	double bytes_per_s[SAMPLE_CLASSES], requests_per_s, refused_per_s;
	double share, fair_share; /* of the devices' time that was given, 0..1 */
	uint64_t disk_us;
	uint64_t queued, running, held; /* at the later sample: requests, bytes */
	/* Of demand reads: by their wait; the waits, us, that so many percent did not exceed. */
	uint64_t waits[SAMPLE_BUCKETS], wait_max_us;
	double p50_us, p99_us;
	/* Who had a device while it waited, or empty: of its flows the one that waited for longest. */
	char waited_for[SAMPLE_NAME + 8];
	uint64_t waited_us;
	/*
	 * Of an export or a client: READs found in memory; of what was fetched ahead and is over, what was never
	 * read. Below 0: not known.
	 */
	double hit, waste;
	/* Of a file. */
	uint64_t file, unread, window, idle_ms;
	char path[SAMPLE_NAME];
	uint32_t streams, count;
};

struct client_rows {
	enum rows_by by;
	double seconds; /* between the samples */
	bool from_start;
	unsigned int n, idle; /* idle: of them those that are not active */
	struct client_row
		row[SAMPLE_FLOWS_MAX > SAMPLE_FILES_MAX ? SAMPLE_FLOWS_MAX : SAMPLE_FILES_MAX];
	double busy[SAMPLE_DEVICES_MAX]; /* 0..1, of each device of the later sample */
	bool counted;			 /* these hold, of all exports: */
	double reads_per_s, fetched_per_s, hit, waste;
};

#endif
