/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server over one disk in virtual time, and its clients: the real dispatch queue, read-ahead engine
 * and rules of write-back, over modelled disks; or, for comparison, a kernel without them.
 *
 *   clients.c      random readers, streams, writers: closed loops with a time to think
 *     | reads, writes, COMMIT                                            ^ answers
 *     v                                                                  |
 *   reader.c, writer.c -> server.c: [ src/sched's queue ] -> chunk.c, turn.c: steps and gaps
 *   stock.c        the kernel's read-ahead of 128 KiB, its flusher and its throttling
 *     | sim_io
 *     v
 *   sim_disk.c     arms
 *
 * No thread, no clock, no file: the same settings give the same figures. What a CPU and a network
 * take is a constant (THINK_NS). What the simulation leaves out: the journal but for the end of a
 * COMMIT, memory other than dirty data, the kernel's io scheduler (a loop device's tags let all
 * through to the drive).
 */
#ifndef SCHEDSIM_SIM_H
#define SCHEDSIM_SIM_H

#include <stdbool.h>

#include "events.h"
#include "readahead/readahead.h"
#include "sched/drive_reads.h"
#include "sched/policy.h"
#include "sim_disk.h"
#include "writeback/dirty_set.h"
#include "writeback/pacing.h"

#ifndef KIB /* as test/unit/support.h */
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define SEC UINT64_C(1000000000)
#endif
#define MS    UINT64_C(1000000)
#define NEVER UINT64_MAX

/* From an answer to the next request: network and processors of both sides (ns). */
#define THINK_NS 450000
/* What a WRITE of 256 KiB takes of them. */
#define WRITE_NS 400000
/* A file's pages, as far as residency is known here. */
#define PAGE (8 * KIB)

/* Defaults of src/fsal_ra/params.def, changed by --set. */
struct sim_params {
/* clang-format off */
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) uint64_t field;
#include "fsal_ra/params.def"
	/* clang-format on */
};

/* From SIM_BACKWARD on: each block of a file once, in an order of its own (order.c). */
enum sim_work {
	SIM_RANDOM,
	SIM_STREAM,
	SIM_WRITE,
	SIM_BACKWARD,
	SIM_TILES,
	SIM_CURSORS,
	SIM_SHARED
};

struct sim_client_kind {
	enum sim_work work;
	uint64_t request, size; /* bytes; size: of its file */
	uint32_t outstanding;
	uint64_t count;	      /* requests; 0: for ever (of a stream: to the end, again and again) */
	uint64_t think;	      /* ns more */
	unsigned int address; /* clients of one address are one client of the server */
	/*
	 * Of SIM_TILES: tiles beside and below each other; of SIM_CURSORS: sequential parts of the one file
	 * that all such clients read, a part of them each. Those of SIM_SHARED read one file, all of it, from
	 * another place each.
	 */
	uint32_t parts;
	bool again; /* of SIM_WRITE: when it has COMMITted its file it begins another, at the same place */
};

struct sim;
struct sim_client;

struct sim_request {
	struct sched_req req; /* first */
	struct sim_client *client;
	uint64_t issued; /* ns */
	struct sim_io io;
};

/* What a client had. */
struct sim_figures {
	uint64_t answers, bytes;
	struct sim_answer {
		uint64_t at, latency; /* ns */
	} * answer;
	uint64_t room;
	uint64_t ended;		/* ns: all its requests were answered */
	uint64_t acked, stable; /* ns: of a writer: the last WRITE, the COMMIT */
};

struct sim_client {
	struct sim *sim;
	struct sim_client_kind kind;
	unsigned int n;
	uint64_t file, base; /* base: of its file on the device */
	uint64_t seed, next, sent, running;
	struct sim_request *requests;
	uint32_t *order;	  /* blocks, as they are read; NULL: as the work has it */
	uint8_t *resident;	  /* by PAGE */
	struct sim_client *first; /* whose file it is, and who is to free that */
	struct sim_figures got;
	/* A writer's file. */
	struct dirty_set dirty, own; /* own: what its COMMIT waits for */
	bool busy, committing;
	struct sched_req req;
	struct sim_turn *turn;
	uint64_t written; /* bytes the kernel's flusher took, in order */
	/* A stream's read-ahead in the kernel. */
	uint64_t ahead, mark;
};

/* The kernel's memory and its flusher. */
struct sim_memory {
	uint64_t background, limit; /* bytes of vm.dirty_* */
	uint64_t dirty, flying;	    /* bytes: dirty, and under write-back */
	double rate;		    /* bytes/s to the disk, averaged */
	uint64_t out, measured;	    /* bytes written out in the present span; ns: its begin */
	int32_t scale;		    /* of wbt */
	uint64_t read_least;	    /* ns: the least latency of a read in wbt's window */
	uint32_t commands;	    /* write commands the flusher has on the way */
};

/* Who does what: of the plugin, or of the kernel alone. */
struct sim_ops {
	void (*read)(struct sim *s, struct sim_request *r);
	void (*write)(struct sim *s, struct sim_request *r);
	void (*commit)(struct sim_client *c);
	/* Carries out what the queue handed out. */
	void (*execute[SCHED_CLASSES])(struct sim *s, struct sched_req *r);
};

struct sim {
	struct events events;
	struct sim_disk disk;
	struct blocks blocks; /* what is under way */
	struct sim_params params;
	const struct sim_ops *ops;
	bool stock;
	bool first; /* the first client that is done ends the run */
	/* The plugin's. */
	struct sched_queue queue;
	struct readahead *engine;
	struct readahead_tuning tuning;
	struct readahead_counters counters;
	struct pacing pacing;
	struct sim_memory memory;
	uint32_t busy, depth;
	struct drive_reads drive;
	uint32_t scattered; /* of those busy: on scattered reads */
	double reads;	    /* queued and running, averaged: the disk's price */
	uint64_t timer;
	/* The clients. */
	struct sim_client *clients;
	unsigned int n;
};

/* sim.c: all of it, with N clients of KINDS. 0, or an errno. */
int sim_init(struct sim *s, const struct sim_disk_kind *disk, const struct sim_params *params,
	     bool stock, const struct sim_client_kind *kinds, unsigned int n);
/* Until NS have passed, or every client with a count is done. */
void sim_run(struct sim *s, uint64_t ns);
void sim_fini(struct sim *s);
void sim_params_default(struct sim_params *p);
/* "Name=number"; false: no such parameter. */
bool sim_params_set(struct sim_params *p, const char *text);

/* clients.c */
void client_start(struct sim_client *c);
/* A read's data, or the leave to send the next write, has come. */
void client_answer(struct sim_request *r);
void client_stable(struct sim_client *c);
bool client_resident(const struct sim_client *c, uint64_t offset, uint64_t len);
void client_arrived(struct sim_client *c, uint64_t offset, uint64_t len);

/* order.c: the INDEX-th of N readers of C's file; false: out of memory. */
bool order_make(struct sim_client *c, unsigned int index, unsigned int n);

/* server.c */
void server_dispatch(struct sim *s);
void server_wake(struct sim *s, struct sched_list *woken);
/* R, handed out, has left the disk. */
void server_end(struct sim *s, struct sched_req *r);
/* THERE scattered reads are at the drive: what the queue may hand out beside them. */
void server_beside(struct sim *s, uint32_t there, bool scattered_only);
/* The small read R has come: it leaves the disk, and is answered. */
void server_end_demand(struct sim *s, struct sim_request *r);
/* IO has read from the disk: what that says of it. */
void server_observe(struct sim *s, const struct sim_io *io);
/* R, a read, leaves the disk and is over; its place is given to another. */
void server_leave(struct sim *s, struct sched_req *r);
void server_give_place(struct sim *s, bool scattered);
/* R's own I/O; DONE: when it is over. */
void server_demand(struct sim *s, struct sim_request *r, void (*done)(struct sim_io *io));
void server_execute(struct sim *s, struct sched_req *r);

/* reader.c */
void reader_read(struct sim *s, struct sim_request *r);

/* chunk.c */
void chunk_submit(struct sim_client *c, const struct readahead_plan *plan);
void chunk_execute(struct sim *s, struct sched_req *r);

/* turn.c */
void turn_execute(struct sim *s, struct sched_req *r);
/* Queues C's file if it should be. */
void turn_claim(struct sim_client *c, double level);
/* The range is written out: what fsync adds. */
void turn_settle(struct sim_client *c);

/* memory.c */
double memory_level(const struct sim *s);
void memory_cleaned(struct sim *s, uint64_t bytes);
/* How fast the disk takes it, looked at now. */
void memory_measure(struct sim *s);

/* writer.c */
void writer_start(struct sim *s);
void writer_write(struct sim *s, struct sim_request *r);
void writer_commit(struct sim_client *c);

/* stock.c */
void stock_read(struct sim *s, struct sim_request *r);
void stock_read_took(struct sim *s, uint64_t ns);
void stock_flush(struct sim *s);
void stock_tick(struct sim *s);

#endif
