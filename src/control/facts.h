/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What operators may know and turn, as plain numbers: the host (the plugin, or a test) fills these,
 * describe.h gives them their names, commands.h answers requests with them.
 *
 * Sizes are in bytes, times in ns, shares and prices 0..1. Texts are not copied and live as long as
 * the host.
 */
#ifndef CONTROL_FACTS_H
#define CONTROL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "control/parameter.h"
#include "pricing/price.h"
#include "readahead/look.h"
#include "readahead/readahead.h"
#include "sched/dispatcher.h"

#define FACTS_DEVICES_MAX  64
#define FACTS_WAIT_BUCKETS 40 /* bucket b: less than 2^b us */
/* Flows of which an answer tells: a device's lock is held while they are copied, for some 20 us. */
#define FACTS_FLOWS_MAX 256
/* Clients of a device whose prices are told: those that used it most lately. */
#define FACTS_CLIENT_PRICES_MAX 64
#define FACTS_IDENTITY		192 /* bytes: a disk's serial, with its NUL */
#define FACTS_CLIENT_NAME	48  /* bytes: an address with its NUL */

struct device_facts {
	unsigned int major, minor;
	bool rotating;	    /* says the kernel */
	bool demand_queued; /* false: demand reads go to it directly */
	uint32_t
		drive_queue; /* requests the drive takes at once, says the kernel; 0: it does not say */
	uint32_t spindles; /* disks that rotate, says the kernel, of which it is made */
	struct dispatcher_stats queue;
};

struct device_price_facts {
	uint64_t age;	   /* of the snapshot; UINT64_MAX: none yet */
	double length;	   /* requests waiting and running, averaged */
	double saturation; /* so many of them saturate the device */
	struct price_snapshot snapshot;
};

/* How a client stands with a device, and what it is told for that. */
struct client_price_facts {
	uint64_t client;
	bool of_export;	    /* only on this export, which has a share of its own */
	uint16_t export_id; /* ... this */
	uint32_t weight;
	double use, entitled; /* of the time that clients used lately */
	double ratio;	      /* pricing/client_price.h */
	double write, readahead;
};

struct export_facts {
	uint16_t id;
	bool closing;
	bool price_readahead; /* its read-ahead obeys the price */
	bool fsstat_prices;   /* the last FSSTAT carried prices */
	bool priced;	      /* it has a device: the two prices hold */
	uint32_t pending;     /* requests */
	const char *heuristic;
	const char *fsstat; /* why it did or did not, for people */
	double write_price, readahead_price;
	uint64_t counted[READAHEAD_COUNTERS];
};

#define FACTS_READERS_MAX 256
/* A client of which READs came, also such as memory answered. */
struct reader_facts {
	char client[FACTS_CLIENT_NAME];
	uint64_t counted[READER_COUNTERS];
};

struct engine_facts {
	struct readahead_stats readahead;
	uint32_t descriptors;
	uint64_t kept; /* bytes of files of FSALs that keep nothing (remote/use_once.h) */
};

/* What is dirty, and how writing fared. Now: the first block; since the start: the rest. */
struct writing_facts {
	uint32_t dirty_files;
	uint64_t dirty_bytes;
	uint64_t dirty_budget;	     /* 0: not known yet */
	uint64_t disk_rate;	     /* bytes/s that the disk took while plenty waited */
	uint32_t replies_held;	     /* now delayed */
	uint64_t replies_held_bytes; /* of their requests */
	uint64_t unstable;	     /* bytes written to clusters and not made stable */
	uint32_t errors_kept;	     /* of files of which nothing else is known, to be told */

	uint64_t writeback_bytes;
	uint64_t writeback_errors;
	uint64_t errors_told; /* COMMITs that failed for them */
	uint64_t untracked_writes;
	uint64_t part_commits;	   /* that made only their range stable */
	uint64_t commits;	   /* that waited for write-back */
	uint64_t commit_delays;	   /* ... that could not wait: clients were told to come again */
	uint64_t direct_commits;   /* that went straight to fsync */
	uint64_t replies_paced;	   /* that were delayed */
	uint64_t paced, paced_max; /* by how much: in all, at most */
	uint64_t pacing_refused;   /* not delayed, for want of room */
	uint64_t commit_waits[FACTS_WAIT_BUCKETS], commit_waited; /* by 2^b us; in all */
};

#define FACTS_FILES_MAX LOOK_FILES_MAX
#define FACTS_PATH	256
/* A file of which the read-ahead engine knows. */
struct file_facts {
	struct readahead_file_look look;
	char path[FACTS_PATH]; /* empty: it is not open here, or has no name */
	bool has_device, has_export;
	unsigned int major, minor;
	uint16_t export_id; /* one that is on its device */
};

#define FACTS_CLIENTS_TEXT 512
/* A rule of which clients have what share; the first is that of all whom no other names. */
struct rule_facts {
	char clients[FACTS_CLIENTS_TEXT]; /* as they are named */
	bool by_operator;		  /* made by ractl, not by the configuration */
	struct share share;
};

/* Whose value of a parameter: one export's, one device's, or the server's. */
struct parameter_target {
	enum parameter_of of;
	int64_t export_id;
	unsigned int device; /* as of control_host's device() */
};

/* The plugin as commands.h sees it. All are called on the channel's one thread. */
struct control_host {
	const char *ganesha_api;
	const char *(*plugin_file)(void); /* as own_file_state() */
	uint64_t (*now)(void);
	uint64_t started; /* ns: since when everything counts; 0: since the channel starts */
	/* The Nth device, in an order that never changes; false beyond the last. */
	bool (*device)(unsigned int n, struct device_facts *f);
	bool (*device_prices)(unsigned int n, struct device_price_facts *f);
	/*
	 * What the Nth device, which is there, is called by its drive; false: nothing tells it from others.
	 * *RESTORED: it began with what was learnt of it before. May be NULL.
	 */
	bool (*identity)(unsigned int n, char name[FACTS_IDENTITY], bool *restored);
	/* Fills up to MAX, those that used it most lately first; returns how many are known. */
	unsigned int (*client_prices)(unsigned int n, struct client_price_facts *f,
				      unsigned int max);
	/* As dispatcher_flows(), of the Nth device, which is there. */
	unsigned int (*flows)(unsigned int n, struct flow_stats *f, unsigned int max);
	/* As dispatcher_client_totals(), of the Nth device, which is there. */
	void (*client_totals)(unsigned int n, struct client_total *t, size_t count);
	/* The address of the client that has this number (not 0); false: it is not known any more. */
	bool (*client_name)(uint64_t client, char name[FACTS_CLIENT_NAME]);
	/* Fills up to SHARE_RULES_MAX, up to SHARE_EXPORTS_MAX; return how many there are. */
	unsigned int (*rules)(struct rule_facts *f);
	unsigned int (*export_shares)(struct export_share *f);
	/*
	 * The setting KEY, by its name, of the client (an address, or a rule's number) or, where that is
	 * NULL, of the export. False, and WHY of SIZE bytes: it cannot be.
	 */
	bool (*set_share)(const char *client, uint16_t export_id, const char *key, uint64_t value,
			  char *why, size_t size);
	/* Fills up to MAX; returns how many exports there are. */
	unsigned int (*exports)(struct export_facts *f, unsigned int max);
	/* Fills up to MAX, those first that read last; returns how many are known. May be NULL. */
	unsigned int (*readers)(struct reader_facts *f, unsigned int max);
	void (*counters)(uint64_t counted[READAHEAD_COUNTERS]); /* of all exports, past ones too */
	void (*engine)(struct engine_facts *f);
	void (*writing)(struct writing_facts *f);
	/* Fills up to MAX, those read last first; returns how many are known. */
	unsigned int (*files)(struct file_facts *f, unsigned int max);
	/* What the file with this inode number on the device DEV (as stat(2) says) is called here: up to INT64_MAX. */
	uint64_t (*file_name)(uint64_t dev, uint64_t inode);
	/* As readahead_cursors(). */
	int (*cursors)(uint64_t file, struct file_facts *f, struct readahead_cursor_look *c,
		       unsigned int max);
	void (*price_k)(double k[PRICE_RESOURCES]);
	uint64_t (*price_interval)(void); /* ms */
	/* All of them, *N. */
	const struct parameter *(*parameters)(unsigned int *n);
	/* What P is now, and what the file had when it was read last; false: there is no such target. */
	bool (*get_parameter)(const struct parameter *p, const struct parameter_target *t,
			      struct parameter_value *now, struct parameter_value *file);
	/*
	 * Until the configuration is read again; P can change live, V is in its range. False, and WHY of
	 * SIZE bytes: it cannot be, and nothing was changed.
	 */
	bool (*set_parameter)(const struct parameter *p, const struct parameter_target *t,
			      const struct parameter_value *v, char *why, size_t size);
};

/* Since when the host's counters count (ns). */
static inline uint64_t host_started(const struct control_host *host)
{
	return host->started != 0 ? host->started : host->now();
}

#endif
