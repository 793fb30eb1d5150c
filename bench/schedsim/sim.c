/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The simulation as a whole, and its parameters. See sim.h. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk/drive_queue.h"

/* Files lie behind one another, from the outer edge on (bytes apart). */
#define FILE_SPACE (4 * MIB)
/* The first one (bytes): the file system is in front. */
#define FIRST_FILE (384 * MIB)
/* The small server's. */
#define DIRTY_BACKGROUND (32 * MIB)
#define DIRTY_LIMIT	 (128 * MIB)

/* clang-format off */
void sim_params_default(struct sim_params *p)
{
	*p = (struct sim_params){
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) .field = def,
#include "fsal_ra/params.def"
	};
}

bool sim_params_set(struct sim_params *p, const char *text)
{
	const char *value = strchr(text, '=');
	size_t len = value ? (size_t)(value - text) : 0;

	if (!len)
		return false;
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help)                                   \
	if (len == strlen(#Name) && !strncmp(text, #Name, len)) {                                  \
		p->field = strtoull(value + 1, NULL, 0);                                           \
		return true;                                                                       \
	}
#include "fsal_ra/params.def"
	return false;
}
/* clang-format on */

/* As src/fsal_ra/settings.c. */
static struct sched_limits limits_of(const struct sim_params *p)
{
	return (struct sched_limits){
		.queue_max = (uint32_t)p->queue_limit,
		.queue_bytes = p->queue_bytes,
		.max_io = p->max_io,
		.prefetch_max_age = p->prefetch_max_age * MS,
		.stall_time = 0, /* nothing hangs here */
		.writeback_turn = p->writeback_turn * MS,
		.writeback_idle = p->writeback_idle * MS,
		.writeback_share = (double)p->writeback_share / 100,
		.cost = {.chunk_min = p->chunk_min,
			 .chunk_max = p->chunk_max,
			 .chunk_default = COST_CHUNK_DEFAULT,
			 .max_wait = p->max_wait * MS,
			 .demand_wait = p->demand_wait * MS,
			 .seek_share = (uint32_t)p->seek_share},
	};
}

static int init_engine(struct sim *s)
{
	const struct sim_params *p = &s->params;
	const struct readahead_limits limits = {
		.table_size = 4096,
		.cursors = 8192,
		.cursors_per_file = 4096,
		.memory = p->readahead_memory,
		.idle_time = p->cursor_idle * MS,
	};

	s->tuning = (struct readahead_tuning){
		.heuristic = heuristic_find("cursor"),
		.rules = &rules_extended,
		.match_window = (uint32_t)p->match_window,
		.match_requests = (uint32_t)p->match_requests,
		.seq_max = (uint32_t)p->seq_max,
		.seq_threshold = (uint32_t)p->seq_threshold,
		.window_init = p->window_init,
		.window_max = p->window_max,
		.chunk_min = p->chunk_min,
	};
	s->engine = readahead_create(&limits);
	return s->engine ? 0 : ENOMEM;
}

static int init_client(struct sim *s, unsigned int n, const struct sim_client_kind *kind,
		       uint64_t base)
{
	struct sim_client *c = &s->clients[n];

	*c = (struct sim_client){
		.sim = s, .kind = *kind, .n = n, .file = n + 1, .base = base, .seed = n + 1};
	c->requests = calloc(kind->outstanding, sizeof(*c->requests));
	c->first = c;
	c->resident = calloc(kind->size / PAGE + 1, 1);
	return c->requests && c->resident ? 0 : ENOMEM;
}

static bool is_shared(enum sim_work work)
{
	return work == SIM_CURSORS || work == SIM_SHARED;
}

/* Clients of works that have an order, and some of them one file. */
static int init_orders(struct sim *s)
{
	struct sim_client *first = NULL;
	unsigned int readers = 0, index = 0;

	for (unsigned int i = 0; i < s->n; i++)
		readers += is_shared(s->clients[i].kind.work);
	for (unsigned int i = 0; i < s->n; i++) {
		struct sim_client *c = &s->clients[i];
		bool shares = is_shared(c->kind.work);

		if (c->kind.work < SIM_BACKWARD)
			continue;
		if (shares && first) {
			free(c->resident);
			c->resident = first->resident;
			c->file = first->file;
			c->base = first->base;
			c->first = first;
		} else if (shares) {
			first = c;
		}
		if (!order_make(c, index, readers))
			return ENOMEM;
		index += shares;
	}
	return 0;
}

static int init_clients(struct sim *s, const struct sim_client_kind *kinds, unsigned int n)
{
	uint64_t base = FIRST_FILE;
	int err = 0;

	s->clients = calloc(n, sizeof(*s->clients));
	if (!s->clients)
		return ENOMEM;
	for (; s->n < n && !err; s->n++) {
		err = init_client(s, s->n, &kinds[s->n], base);
		if (!is_shared(kinds[s->n].work) || s->n + 1 == n ||
		    !is_shared(kinds[s->n + 1].work))
			base += kinds[s->n].size + FILE_SPACE;
	}
	err = err ? err : init_orders(s);
	return err ? err : base > s->disk.size ? ENOSPC : 0;
}

static const struct sim_ops plugin = {
	.read = reader_read,
	.write = writer_write,
	.commit = writer_commit,
	.execute = {[SCHED_DEMAND] = server_execute,
		    [SCHED_PREFETCH] = chunk_execute,
		    [SCHED_WRITEBACK] = turn_execute},
};

static const struct sim_ops kernel = {
	.read = stock_read,
	.write = writer_write,
	.commit = writer_commit,
};

int sim_init(struct sim *s, const struct sim_disk_kind *disk, const struct sim_params *params,
	     bool stock, const struct sim_client_kind *kinds, unsigned int n)
{
	struct sched_limits limits = limits_of(params);
	int err;

	memset(s, 0, sizeof(*s));
	s->params = *params;
	s->stock = stock;
	s->ops = stock ? &kernel : &plugin;
	s->events.now = SEC;
	s->timer = NEVER;
	s->depth = params->queue_depth ? (uint32_t)params->queue_depth : disk->arms ? 1 : 8;
	drive_reads_init(&s->drive);
	drive_reads_set_max(&s->drive, disk->arms ? DRIVE_QUEUE_MAX : 1);
	s->memory.background = DIRTY_BACKGROUND;
	s->memory.limit = DIRTY_LIMIT;
	err = sim_disk_init(&s->disk, &s->events, disk);
	err = err ? err : sched_queue_init(&s->queue, sched_policy_find("turns"), &limits);
	err = err ? err : init_engine(s);
	err = err ? err : init_clients(s, kinds, n);
	return err;
}

/* Those that go on for ever do not count. */
static bool is_over(const struct sim *s)
{
	unsigned int bounded = 0, done = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		bounded += s->clients[i].kind.count != 0;
		done += s->clients[i].got.ended != 0;
	}
	return s->first ? done > 0 : bounded && done == bounded;
}

void sim_run(struct sim *s, uint64_t ns)
{
	uint64_t end = s->events.now + ns;

	writer_start(s);
	for (unsigned int i = 0; i < s->n; i++)
		client_start(&s->clients[i]);
	while (!is_over(s) && events_step(&s->events, end))
		;
}

void sim_fini(struct sim *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		free(s->clients[i].requests);
		free(s->clients[i].order);
		if (s->clients[i].first == &s->clients[i])
			free(s->clients[i].resident);
		free(s->clients[i].got.answer);
	}
	free(s->clients);
	if (s->engine)
		readahead_destroy(s->engine);
	sched_queue_fini(&s->queue);
	sim_disk_fini(&s->disk);
	blocks_fini(&s->blocks);
	events_fini(&s->events);
}
