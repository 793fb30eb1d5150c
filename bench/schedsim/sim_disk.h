/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disks of the simulation: arms as bench/mechdisk models them, one or several side by side, or
 * flash, behind a kernel that splits what it is handed into commands.
 *
 *   io [ offset, len ) --split--> commands --by address--> arm 0 [ drive's queue ] --> the last one
 *                                                     '--> arm 1 [ drive's queue ]     is done:
 *                                                                                      io is done
 */
#ifndef SCHEDSIM_DISK_H
#define SCHEDSIM_DISK_H

#include <sys/queue.h>

#include "blocks.h"
#include "disk_queue.h"
#include "events.h"

#define SIM_ARMS_MAX 8

struct sim_disk_kind {
	const char *name, *about;
	/* "option", "value" of mechdisk, NULL at the end */
	const char *options[16];
	uint32_t arms;	      /* 0: flash */
	uint64_t command_max; /* bytes; 0: 1 MiB */
	uint64_t cache; /* bytes of writes that a drive acknowledges before it has written them */
	uint64_t host;	/* ns more until a thread that waits goes on */
	uint64_t pause; /* ns from a command's end to the next one's begin: a slow host */
};

struct sim_io;
struct sim_command {
	struct disk_command command; /* first */
	struct sim_io *io;	     /* NULL: acknowledged */
	unsigned int client;
	bool stable;
	TAILQ_ENTRY(sim_command) link; /* of those that wait for a place in the drive's cache */
};
TAILQ_HEAD(sim_commands, sim_command);

struct sim_io {
	enum disk_op op;
	bool stable;	      /* a write that is acknowledged when it, and all before, is written */
	uint64_t offset, len; /* bytes on the device */
	unsigned int client;  /* whose the time is */
	void (*done)(struct sim_io *io);
	void *arg;
	/* The disk's. */
	uint64_t begun; /* ns */
	uint32_t left;
};

struct sim_disk;
struct sim_arm {
	struct sim_disk *disk;
	struct disk_model *model;
	struct disk_queue queue;
	struct sim_command *serving;
	uint64_t resume; /* ns: no command before */
	uint64_t cached; /* bytes acknowledged and not written */
	struct sim_commands uncached;
};

#define SIM_CLIENTS_MAX 1100
struct sim_disk {
	struct events *events;
	struct blocks blocks; /* commands */
	const struct sim_disk_kind *kind;
	struct sim_arm arm[SIM_ARMS_MAX];
	uint32_t arms, depth;
	uint64_t size;			/* bytes */
	uint64_t time[SIM_CLIENTS_MAX]; /* ns of arms, by client */
	uint64_t commands[2];		/* by op */
};

extern const struct sim_disk_kind sim_disk_kinds[];

/* NULL: no kind of that NAME. */
const struct sim_disk_kind *sim_disk_find(const char *name);
/* 0, or an errno. */
int sim_disk_init(struct sim_disk *d, struct events *events, const struct sim_disk_kind *kind);
void sim_disk_fini(struct sim_disk *d);
/* IO's first fields are set; it stays until it is done. */
void sim_disk_submit(struct sim_disk *d, struct sim_io *io);

#endif
