/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server: what a request passes through, its disk's scheduler, write-back, and the meters.
 *
 * Disk: reads go first, in the order of their arrival; after WRITES_STARVED batches of reads, or
 * when no read waits, a batch of writes. Write-back: above the background limit, of data older than
 * 30 s, and as the plugin does while nobody reads. At the limit writers wait.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define BATCH	       16
#define WRITES_STARVED 2
#define WRITEBACK_MAX  32 /* requests at once */
#define WRITEBACK_SIZE (512 * KIB)
#define EXPIRE	       30	  /* s */
#define IDLE	       (100 * MS) /* without a read */
#define IDLE_REQUESTS  4	  /* written then, at once */
#define SAMPLE	       (50 * MS)
#define GHOST_MEMORY   (4 * MIB)

/* ---- disk ---- */

static void disk_next(struct world *w);
static void writeback(struct world *w);
static void accept_write(struct world *w, struct request *r);

static void answer(struct world *w, struct request *r)
{
	double bytes = r->kind == READ ? (double)r->bytes : 128;

	schedule(w, serve(&w->out, w->now, bytes), w->done, r);
}

static void cache_put(struct world *w, uint32_t block);

static void disk_done(struct world *w, void *arg)
{
	struct request *r = arg;

	w->disk_busy = false;
	w->disk_ended++;
	w->disk_time += (double)(w->now - r->queued) / 1e9;
	if (r->kind == READ) {
		w->last_read = w->now;
		cache_put(w, (uint32_t)(r->offset / CACHE_BLOCK));
		answer(w, r);
	} else {
		w->dirty -= (double)r->bytes;
		w->under_writeback -= (double)r->bytes;
		free(r);
		while (w->stalled.n && w->dirty < w->workload->limit)
			accept_write(w, list_take(&w->stalled));
		writeback(w);
	}
	disk_next(w);
}

static bool read_turn(struct world *w)
{
	if (!w->writebacks.n)
		return true;
	if (!w->reads.n)
		return false;
	return w->starved < WRITES_STARVED * BATCH && !w->batch;
}

static void disk_next(struct world *w)
{
	struct disk_service service;
	struct request *r;
	bool read;

	if (w->disk_busy || (!w->reads.n && !w->writebacks.n))
		return;
	read = read_turn(w);
	r = list_take(read ? &w->reads : &w->writebacks);
	if (read) {
		w->starved += w->writebacks.n > 0;
		w->batch = 0;
	} else {
		w->batch = w->batch ? w->batch - 1 : BATCH - 1;
		w->starved = 0;
	}
	w->disk_busy = true;
	disk_model_serve(w->disk, read ? DISK_READ : DISK_WRITE, r->offset, r->bytes, w->now,
			 &service);
	schedule(w, service.end_ns, disk_done, r);
}

static void disk_queue(struct world *w, struct list *l, struct request *r)
{
	r->queued = w->now;
	list_add(l, r);
	disk_next(w);
}

/* ---- write-back ---- */

static double expired(struct world *w)
{
	int64_t second = w->now / SECOND;
	double old = 0, young = 0;

	for (int64_t i = second > EXPIRE ? second - EXPIRE : 0; i <= second; i++)
		young += w->server_age[i % 64];
	old = w->dirty - young;
	return old > 0 ? old : 0;
}

/* No read for a while: a good time to write, as the plugin's write-back does. */
static bool idle(const struct world *w)
{
	return !w->workload->kernel_writeback && !w->reads.n && w->now - w->last_read > IDLE &&
	       w->writebacks.n < IDLE_REQUESTS;
}

static void writeback(struct world *w)
{
	while (w->writebacks.n < WRITEBACK_MAX && w->dirty - w->under_writeback >= WRITEBACK_SIZE &&
	       (w->dirty - w->under_writeback > w->workload->background || expired(w) > 0 ||
		idle(w))) {
		struct request *r = calloc(1, sizeof(*r));

		if (!r)
			abort();
		r->kind = ASYNC;
		r->bytes = WRITEBACK_SIZE;
		/* the writers' files are behind those that are read, in pieces of 4 MiB */
		r->offset = 3072ull * MIB + w->write_at % (512ull * MIB);
		w->write_at += WRITEBACK_SIZE;
		w->under_writeback += WRITEBACK_SIZE;
		disk_queue(w, &w->writebacks, r);
	}
}

static void accept_write(struct world *w, struct request *r)
{
	w->dirty += (double)r->bytes;
	w->server_age[w->now / SECOND % 64] += (double)r->bytes;
	answer(w, r);
	writeback(w);
}

/* ---- cache of read data: an exact LRU of what dirty data leaves ---- */

static uint32_t cache_room(const struct world *w)
{
	double room = (w->workload->memory - w->dirty) / CACHE_BLOCK;

	return room > 0 ? (uint32_t)room : 0;
}

static void lru_take(struct world *w, uint32_t block)
{
	w->lru_next[w->lru_prev[block]] = w->lru_next[block];
	w->lru_prev[w->lru_next[block]] = w->lru_prev[block];
	w->lru_next[block] = UINT32_MAX; /* not in the cache */
	w->lru_n--;
}

static void cache_put(struct world *w, uint32_t block)
{
	if (w->workload->memory <= 0 || block >= CACHE_BLOCKS)
		return;
	if (w->lru_next[block] != UINT32_MAX)
		lru_take(w, block);
	w->lru_prev[block] = CACHE_BLOCKS;
	w->lru_next[block] = w->lru_next[CACHE_BLOCKS];
	w->lru_prev[w->lru_next[block]] = block;
	w->lru_next[CACHE_BLOCKS] = block;
	w->lru_n++;
}

static bool cached(struct world *w, uint64_t offset)
{
	uint32_t block = (uint32_t)(offset / CACHE_BLOCK);

	if (w->workload->memory <= 0 || block >= CACHE_BLOCKS)
		return w->workload->resident;
	while (w->lru_n > cache_room(w))
		lru_take(w, w->lru_prev[CACHE_BLOCKS]);
	if (w->lru_next[block] == UINT32_MAX)
		return false;
	cache_put(w, block);
	return true;
}

/* ---- requests ---- */

static void processed(struct world *w, void *arg)
{
	struct request *r = arg;

	if (r->kind == STABLE || (r->kind == ASYNC && w->workload->diskless)) {
		answer(w, r);
	} else if (r->kind == READ) {
		if (w->ghost)
			ghost_read(w->ghost, 1, r->offset, r->bytes);
		if (cached(w, r->offset))
			answer(w, r);
		else
			disk_queue(w, &w->reads, r);
	} else if (w->dirty < w->workload->limit) {
		accept_write(w, r);
	} else {
		list_add(&w->stalled, r);
	}
}

void server_arrive(struct world *w, void *arg)
{
	struct request *r = arg;
	double cost = w->workload->cpu_op + w->workload->cpu_byte * (double)r->bytes;

	schedule(w, serve(&w->cpu, w->now, cost), processed, r);
}

/* ---- meters ---- */

/* What a station has done by now: the rest waits in front of it. */
static double done(const struct world *w, const struct station *s)
{
	return s->free_at > w->now ? s->work - (double)(s->free_at - w->now) / 1e9 * s->rate
				   : s->work;
}

static ssize_t made_up(struct price_source *s, const char *name, char *buf, size_t size)
{
	struct world *w = (struct world *)((char *)s - offsetof(struct world, source));
	double us = done(w, &w->cpu) * 1e6,
	       read_pages = w->workload->memory / 4096 - w->dirty / 4096;
	int n = -1;

	if (!strcmp(name, "/proc/stat"))
		n = snprintf(buf, size, "cpu  %.0f 0 0 %.0f\n", us, (double)w->now / 1e3 - us);
	else if (!strcmp(name, "/proc/net/dev"))
		n = snprintf(buf, size, "eth0: %.0f 0 0 0 0 0 0 0 %.0f 0\n", done(w, &w->in),
			     done(w, &w->out));
	else if (!strcmp(name, "/sys/class/net/eth0/speed"))
		n = snprintf(buf, size, "%.0f\n", w->workload->link * 8 / 1e6);
	else if (!strcmp(name, "/sys/class/net/eth0/device/uevent"))
		n = 0;
	else if (!strcmp(name, "/sys/dev/block/8:0/stat"))
		n = snprintf(buf, size, "%lu 0 0 0 0 0 0 0 %u 0 %.0f\n",
			     (unsigned long)w->disk_ended,
			     w->reads.n + w->writebacks.n + w->disk_busy, w->disk_time * 1e3);
	else if (!strcmp(name, "/proc/vmstat"))
		n = snprintf(buf, size,
			     "nr_free_pages 0\nnr_active_file %.0f\nnr_inactive_file 0\n"
			     "nr_dirty %.0f\nnr_writeback %.0f\nnr_dirty_threshold %.0f\n"
			     "nr_dirty_background_threshold %.0f\n",
			     read_pages > 0 ? read_pages : 0,
			     (w->dirty - w->under_writeback) / 4096, w->under_writeback / 4096,
			     w->workload->limit / 4096, w->workload->background / 4096);
	return n;
}

static bool only_disk(void *arg, unsigned int n, struct priced_device *d)
{
	struct world *w = arg;

	*d = (struct priced_device){.major = 8, .depth = 1, .board = &w->board};
	return n == 0;
}

static void disk_queue_now(void *arg, unsigned int n, struct disk_sample *now)
{
	const struct world *w = arg;

	(void)n;
	now->running = w->disk_busy;
	now->ended = w->disk_ended;
}

/* Adds up what has been published since, for the averages. */
static void take_prices(struct world *w)
{
	struct price_snapshot s;

	board_read(&w->board, &s);
	if (s.time == w->prices.time)
		return;
	w->prices = s;
	for (int i = 0; i < PRICE_RESOURCES; i++)
		w->price_sum[i] += s.price[i];
	w->write_sum += s.write;
	w->published++;
}

static void turn(struct world *w, void *arg)
{
	uint64_t next = price_loop_turn(&w->loop, (uint64_t)w->now);

	take_prices(w);
	writeback(w); /* what has expired */
	/* a second that comes round again is empty */
	w->server_age[(w->now / SECOND + 1) % 64] = 0;
	schedule(w, (int64_t)next, turn, arg);
}

static void meters_start(struct world *w)
{
	struct price_settings s = {.sample = SAMPLE,
				   .interval = SECOND,
				   .method = w->auction->method,
				   .saturation_delay = 0.1};

	memcpy(s.k, w->auction->k, sizeof(s.k));
	if (w->workload->memory > 0 && !(w->ghost = ghost_new_within(GHOST_MEMORY)))
		abort();
	w->source.read = made_up;
	w->hosts = (struct price_hosts){.device = only_disk, .queue = disk_queue_now, .arg = w};
	price_loop_init(&w->loop, &s, &w->hosts, &w->source, w->ghost);
	schedule(w, SAMPLE, turn, NULL);
}

void server_start(struct world *w)
{
	struct disk_params params;

	disk_params_default(&params);
	w->disk = disk_model_new(&params);
	w->lru_prev = calloc(CACHE_BLOCKS + 1, sizeof(uint32_t));
	w->lru_next = malloc((CACHE_BLOCKS + 1) * sizeof(uint32_t));
	if (!w->disk || !w->lru_prev || !w->lru_next)
		abort();
	memset(w->lru_next, 0xff, CACHE_BLOCKS * sizeof(uint32_t));
	w->lru_prev[CACHE_BLOCKS] = w->lru_next[CACHE_BLOCKS] = CACHE_BLOCKS;
	w->in.rate = w->out.rate = w->workload->link;
	w->cpu.rate = 1;
	meters_start(w);
}

void server_stop(struct world *w)
{
	disk_model_free(w->disk);
	ghost_free(w->ghost);
	free(w->lru_prev);
	free(w->lru_next);
}
