/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who used the devices between two samples, in rows.
 *
 *   sample ----.
 *              +--> what each flow used --> its fair share --> rows by client, export, device --> sorted
 *   sample ----'
 *
 * The fair share of a flow is what it had got of its device's time by its weight, had all flows that
 * were active in between wanted as much as they could get: its group's weight over the weights of all
 * active groups, times its own over those of the active flows of the group. Shares of rows are parts of
 * all the time that the devices gave, so that a client on one of two busy disks has at most half.
 *
 * Rows by file are made of what the read-ahead engine knows of each (file_rows.c): their READs, not disk time.
 *
 * No clock, no terminal: also what is shown live is computed here. Not thread-safe.
 */
#ifndef CONTROL_CLIENT_ROWS_H
#define CONTROL_CLIENT_ROWS_H

#include <json-c/json.h>

#include "control/use_sample.h"

enum rows_by { ROWS_CLIENT, ROWS_EXPORT, ROWS_DEVICE, ROWS_FLOW, ROWS_FILE, ROWS_BY };
/* What the rows are sorted by, the largest first. */
enum rows_order { ORDER_SHARE, ORDER_BANDWIDTH, ORDER_IOPS, ORDER_LATENCY, ORDERS };

/* "client", "export", "device", "flow", "file"; "share", "bandwidth", "iops", "latency". */
extern const char *const rows_by_names[ROWS_BY];
extern const char *const rows_order_names[ORDERS];

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
	/* Of an export: READs found in memory; of what was fetched ahead and is over, what was never read. Below
	 * 0: not known. */
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

/*
 * BEFORE NULL, or of a server that was started again since: what was used since its start. Counters
 * that went down count from 0.
 */
void client_rows_between(struct client_rows *rows, const struct use_sample *before,
			 const struct use_sample *after, enum rows_by by);
/* Of client_rows_between(), once ROWS has its seconds: the rows by file, and what all exports did. */
void file_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after);
void read_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after);
void client_rows_sort(struct client_rows *rows, enum rows_order order);

/* The same for programs: doc/control-protocol.md says what the members mean. To be put. */
struct json_object *client_rows_json(const struct client_rows *rows, const struct use_sample *now);

#endif
