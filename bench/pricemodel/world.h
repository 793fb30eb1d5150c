/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server with one processor, one link, one modelled disk and a page cache; clients that read and
 * write; and the auction between them (CA-NFS, sections 2 and 3). All in virtual time: one run of
 * some minutes takes a fraction of a second and always ends the same.
 *
 *   client  --requests-->  link in -> processor -> cache or disk -> link out  --answers--> client
 *     |                                  |
 *     own price  >= ?  server's price <- the meters and P(u) of src/pricing, every second
 *
 * The meters and the loop around them are the server's own (pricing/price_loop.h): they parse texts
 * of /proc that server.c makes up.
 */
#ifndef PRICEMODEL_WORLD_H
#define PRICEMODEL_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "disk_model.h"
#include "pricing/price_loop.h"

#define KIB	      1024
#define MIB	      1048576
#define MS	      1000000ll
#define SECOND	      1000000000ll
#define CLIENTS_MAX   8
#define WRITE_SIZE    (256 * KIB)
#define CACHE_BLOCK   (64 * KIB)
#define CACHE_BLOCKS  8192
#define LEVEL_SECONDS 10

/* What is not swept. Rates are bytes a second, sizes bytes. */
struct workload {
	const char *name, *about;
	double seconds;
	/* the server */
	double link, background, limit; /* of the kernel's dirty data */
	double memory;		 /* that reads and dirty data share; 0: reads always hit or miss */
	double cpu_op, cpu_byte; /* seconds */
	bool diskless;		 /* writes never reach a disk */
	bool kernel_writeback;	 /* above the background limit only, not while the disk is idle */
	bool resident;		 /* reads always hit */
	/* foreground: readers, or writers of stable data into a battery-backed memory */
	unsigned int readers; /* with one request outstanding each, at the highest level */
	bool stable;
	bool grows; /* all readers are always at work; levels are the share of the span they read */
	double read_size, span, think; /* think: seconds, on average */
	/* background: writers of asynchronous data */
	unsigned int writers;
	double client_link, client_memory, burst, burst_rate, period;
};

extern const struct workload workloads[];

struct auction {
	bool off; /* clients send at once, as without prices */
	double k[PRICE_RESOURCES], k_client, p_min;
	enum disk_method method;
};

struct result {
	double foreground;		      /* requests a second */
	double written;			      /* of what the writing applications wanted, 0..1 */
	double mean, p50, p99;		      /* seconds, of foreground requests */
	double price[PRICE_RESOURCES], write; /* averages */
};

struct world;

/* Something that serves one at a time in order of arrival: a link's direction, the processor. */
struct station {
	int64_t free_at; /* ns */
	double work;	 /* bytes or seconds given to it so far */
	double rate;	 /* of them a second */
};

struct request {
	enum { READ, STABLE, ASYNC } kind;
	unsigned int client;
	int64_t issued, queued; /* ns */
	uint64_t offset, bytes;
	struct request *next;
	struct world *world;
};

/* An event queue: WHAT(world, arg) at a time. */
typedef void event_fn(struct world *w, void *arg);

struct event {
	int64_t at;
	uint64_t order;
	event_fn *what;
	void *arg;
};

struct list {
	struct request *first, *last;
	unsigned int n;
};

struct writer {
	struct station link;
	double dirty, in_flight, wanted, written; /* bytes */
	double age[64];	     /* dirty bytes by the second in which they were written */
	double server_price; /* as last asked for */
	int64_t burst_from, ask_at;
};

struct world {
	const struct workload *workload;
	const struct auction *auction;
	int64_t now, end;
	struct event *events;
	unsigned int n_events, events_max;
	uint64_t order, random;

	/* the server */
	struct station in, out, cpu;
	struct disk_model *disk;
	struct list reads, writebacks, stalled;
	bool disk_busy;
	unsigned int batch, starved;   /* of the disk's scheduler */
	double dirty, under_writeback; /* bytes; dirty includes those under write-back */
	double server_age[64];
	int64_t last_read;
	uint64_t disk_ended;
	double disk_time; /* seconds in queue of ended requests */
	uint64_t write_at;
	uint32_t *lru_prev, *lru_next, lru_n; /* blocks of the cache; [CACHE_BLOCKS] is the head */

	struct price_source source;
	struct price_hosts hosts;
	struct price_loop loop;
	struct ghost_cache *ghost;
	struct price_board board;
	struct price_snapshot prices; /* the last ones on the board */
	double price_sum[PRICE_RESOURCES], write_sum;
	unsigned int published;

	/* the clients */
	struct writer writers[CLIENTS_MAX];
	double *latencies;
	unsigned int n_latencies, latencies_max;

	/* A request comes to the server, behind the link; its answer to its client. */
	event_fn *arrive, *done;
};

/* world.c */
void schedule(struct world *w, int64_t at, event_fn *what, void *arg);
int64_t serve(struct station *s, int64_t now, double work);
uint32_t random_below(struct world *w, uint32_t n);
double random_around(struct world *w, double mean);
void list_add(struct list *l, struct request *r);
struct request *list_take(struct list *l);
/* Takes the earliest one. */
struct event next_event(struct world *w);
static inline int64_t ns(double seconds)
{
	return (int64_t)(seconds * 1e9);
}

/* run.c */
struct result world_run(const struct workload *workload, const struct auction *auction,
			bool writers);

/* server.c */
void server_start(struct world *w);
void server_stop(struct world *w);
void server_arrive(struct world *w, void *request); /* behind the link */

/* clients.c */
void clients_start(struct world *w);
void client_done(struct world *w, void *request);

#endif
