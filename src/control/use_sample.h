/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One answer to "clients", and one to "files", as plain numbers: counters of each device's flows, of exports
 * and of files at one moment. What is missing in the answer is 0, for the server may be of another version; texts are made printable.
 */
#ifndef CONTROL_USE_SAMPLE_H
#define CONTROL_USE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#define SAMPLE_DEVICES_MAX 64
#define SAMPLE_FLOWS_MAX   256
#define SAMPLE_EXPORTS_MAX 256
#define SAMPLE_READERS_MAX 256
#define SAMPLE_FILES_MAX   256
#define SAMPLE_NAME	   48 /* bytes of a text with its NUL: an address, a device */
#define SAMPLE_WORD	   16
#define SAMPLE_BUCKETS	   40 /* bucket b: waits below 2^b us */

enum sample_class { SAMPLE_DEMAND, SAMPLE_PREFETCH, SAMPLE_WRITEBACK, SAMPLE_CLASSES };

struct sample_who {
	char client[SAMPLE_NAME]; /* "server": nobody; "client 17": its address was forgotten */
	uint64_t number;
	uint32_t export_id;
};

struct sample_flow {
	struct sample_who who;
	unsigned int device; /* which of the sample's */
	uint32_t weight, group_weight;
	bool of_export, backlogged, throttled;
	uint64_t queued, running, held; /* now: requests, bytes */
	/* Since the server knows it. */
	uint64_t served[SAMPLE_CLASSES], bytes[SAMPLE_CLASSES], refused;
	uint64_t disk_us, wait_max_us, waits[SAMPLE_BUCKETS];
	struct sample_who waited_for;
	uint64_t waited_for_us; /* 0: for nobody */
};

struct sample_device {
	char number[SAMPLE_NAME], name[SAMPLE_NAME]; /* "8:16", "sdb" or empty */
	bool demand_queued; /* else reads go to it directly, and their clients are not known */
	uint32_t queued[SAMPLE_CLASSES], running;
	bool timed; /* busy_ms holds */
	uint64_t busy_ms;
	bool priced; /* these hold: */
	double write_price, readahead_price;
	char write_by[SAMPLE_WORD], readahead_by[SAMPLE_WORD];
	uint32_t flows_total, flows; /* that there are; that are in the sample */
};

/* READs, and what was fetched for them: of an export, of a client, or of all. */
struct sample_reads {
	uint64_t reads, resident;	/* resident: in memory when they came */
	uint64_t fetched, read, wasted; /* bytes: fetched ahead; of these read; given up unread */
};

struct sample_export {
	uint32_t id;
	struct sample_reads reads;
};

struct sample_reader {
	char client[SAMPLE_NAME];
	struct sample_reads reads; /* but what was fetched: 0 */
};

struct sample_file {
	uint64_t file;
	char path[SAMPLE_NAME]; /* its end, where it is long; empty: not known */
	char device[SAMPLE_NAME];
	uint64_t reads, bytes, idle_ms, unread, window;
	uint32_t streams, count;
	double effective; /* of what was fetched lately, read; below 0: nothing was */
};

struct use_sample {
	uint64_t uptime_s, time_us;
	bool counted; /* ALL holds */
	struct sample_reads all;
	unsigned int exports, readers, readers_total, files, files_total;
	struct sample_reader reader[SAMPLE_READERS_MAX];
	struct sample_export export[SAMPLE_EXPORTS_MAX];
	struct sample_file file[SAMPLE_FILES_MAX];
	unsigned int devices, flows;
	struct sample_device device[SAMPLE_DEVICES_MAX];
	struct sample_flow flow[SAMPLE_FLOWS_MAX];
};

/* Fills S; false: ANSWER is none to "clients". What is beyond the arrays is left out. */
bool use_sample_read(struct use_sample *s, struct json_object *answer);
/* Adds to S what ANSWER, one to "files", says; false: it is none. */
bool use_sample_read_files(struct use_sample *s, struct json_object *answer);

#endif
