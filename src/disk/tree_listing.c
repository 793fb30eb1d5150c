/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inodes ahead of a listing. See tree_listing.h. */
#include "disk/tree_listing.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/room_gate.h"
#include "disk/device.h"
#include "disk/tree_blocks.h"
#include "disk/tree_dir.h"
#include "disk/tree_inodes.h"
#include "disk/tree_tables.h"

/* Bytes of a block of inodes, at most: what one of them counts as. */
#define INODE_BLOCK 4096
/* A turn (ns): as long as a small read waits. */
#define TURN (50 * CLOCK_MS)
/* Of inodes that are asked for at once: runs, each of which may be a seek, and bytes. */
#define RUNS_AT_ONCE  4
#define BYTES_AT_ONCE (UINT64_C(4) << 20)

struct tree_listing {
	struct sched_req req;
	struct export_io *io;
	struct device *device;
	struct tree_dir dir;
	struct dir_list *entries[2]; /* files, subdirectories; NULL: not read yet */
	unsigned int part;	     /* of these */
	struct tree_inodes inodes;   /* ... how far it has come in that */
	bool windows;		     /* inodes come with what lies around them */
	int block_device;	     /* -1: none that can be used */
	bool located;		     /* it is known where inodes lie */
	struct tree_tables tables;   /* ... by these */
	uint32_t asked;		     /* ... for those of so many entries of the part, by inode */
	uint64_t slice;		     /* when the present one began */
	unsigned int place;	     /* in asked_on */
};

/* Which directories are listed (0: none), and when the client last asked for more: ns. */
static struct {
	_Atomic uint64_t id, at;
} asked_on[TREE_LISTINGS_MAX];

static const struct sched_req_ops listing_ops;
static struct room_gate listings = ROOM_GATE_INITIALIZER(TREE_LISTINGS_MAX);

/* ---- life -------------------------------------------------------------------------------- */

/* A place for ID: there is one for each listing under way. */
static unsigned int take_place(uint64_t id, uint64_t now)
{
	for (unsigned int i = 0;; i = (i + 1) % TREE_LISTINGS_MAX) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&asked_on[i].id, &none, id))
			continue;
		atomic_store(&asked_on[i].at, now);
		return i;
	}
}

bool tree_listing_any(void)
{
	return room_gate_is_taken(&listings);
}

void tree_listing_goes_on(uint64_t id, uint64_t now)
{
	for (unsigned int i = 0; i < TREE_LISTINGS_MAX; i++)
		if (atomic_load_explicit(&asked_on[i].id, memory_order_relaxed) == id)
			atomic_store_explicit(&asked_on[i].at, now, memory_order_relaxed);
}

static void leave(struct tree_listing *l)
{
	struct export_io *io = l->io;
	uint64_t client = l->req.flow.client;

	dir_list_free(l->entries[0]);
	dir_list_free(l->entries[1]);
	tree_dir_close(&l->dir);
	if (l->block_device >= 0)
		close(l->block_device);
	atomic_store(&asked_on[l->place].id, 0);
	free(l);
	room_gate_leave(&listings, client);
	export_io_leave(io);
	export_io_put(io);
}

static void queue_turn(struct tree_listing *l)
{
	struct flow_id flow = l->req.flow;

	l->req = (struct sched_req){.ops = &listing_ops,
				    .class = SCHED_PREFETCH,
				    .file = ~l->dir.id, /* no file's, nor that of a walk's job */
				    .len = dispatcher_chunk(&l->device->dispatcher),
				    .counts = true,
				    .owner = l->dir.id,
				    .flow = flow};
	if (dispatcher_submit(&l->device->dispatcher, &l->req) != SCHED_ADDED)
		leave(l);
}

/* The device of DIR where it is worth it: NULL: it is small, or no disk that seeks. */
static struct device *device_of(const struct tree_dir *dir, struct export_io *io, uint64_t now)
{
	struct device *device;
	struct stat st;
	int err;

	if (fstat(dir->fd, &st) || st.st_size < TREE_LISTING_MIN)
		return NULL;
	device = export_io_device(io, dir->fd, now, &err);
	return device != NULL && device_queues_demand(device) ? device : NULL;
}

static struct tree_listing *listing_new(const struct tree_dir *dir, struct device *device,
					struct export_io *io, struct flow_id flow, uint64_t now)
{
	struct tree_listing *l;

	if (!room_gate_enter(&listings, flow.client))
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL || !export_io_enter(io)) {
		room_gate_leave(&listings, flow.client);
		free(l);
		return NULL;
	}
	l->io = export_io_ref(io);
	l->device = device;
	l->block_device = -1;
	l->dir = *dir;
	l->req.flow = flow;
	l->place = take_place(dir->id, now);
	return l;
}

void tree_listing_submit(const struct dir_handle *handle, int mount_fd, struct export_io *io,
			 struct flow_id flow, uint64_t now)
{
	struct tree_listing *l = NULL;
	struct device *device;
	struct tree_dir dir;

	if (!tree_dir_open(&dir, mount_fd, handle))
		return;
	device = device_of(&dir, io, now);
	if (device != NULL)
		l = listing_new(&dir, device, io, flow, now);
	if (l != NULL)
		queue_turn(l);
	else
		tree_dir_close(&dir);
}

/* ---- a turn ------------------------------------------------------------------------------ */

/* Whether anybody can still want the rest. */
static bool goes_on(const struct tree_listing *l)
{
	uint64_t asked = atomic_load_explicit(&asked_on[l->place].at, memory_order_relaxed);

	return !l->req.dropped && !atomic_load(&l->io->closing) &&
	       dispatcher_now(&l->device->dispatcher) < asked + TREE_LISTING_IDLE;
}

/* Whether the disk costs too much for what may be of no use. */
static bool is_dear(struct tree_listing *l)
{
	struct readahead_tuning t;

	export_io_tuning(l->io, &t);
	if (!t.priced || board_readahead_price(&l->device->prices) < 1)
		return false;
	readahead_count(&l->io->counters, READAHEAD_CURBED, 1);
	return true;
}

/* The disk begins to bring the inodes that come next, if all that it was asked for are there. */
static void begin_inodes(struct tree_listing *l)
{
	struct tree_run run;
	uint64_t bytes = 0;

	if (!l->located || l->inodes.place < l->asked)
		return;
	for (int runs = 0; runs < RUNS_AT_ONCE && bytes < BYTES_AT_ONCE; runs++) {
		if (!tree_tables_run(&l->tables, l->entries[l->part], &l->asked, &run))
			break;
		tree_blocks_ask(l->block_device, run.from, run.upto - run.from);
		bytes += run.upto - run.from;
	}
}

/* The next entry to be asked for. NULL: there is none. */
static const char *next_name(struct tree_listing *l)
{
	for (; l->part < 2; l->part++, l->inodes = (struct tree_inodes){0}, l->asked = 0) {
		const char *name;

		begin_inodes(l);
		name = tree_inodes_next(&l->inodes, l->entries[l->part], l->windows);
		if (name != NULL)
			return name;
	}
	return NULL;
}

/* Between two waits for the disk: small reads may have it. Whether anybody can still want the rest. */
static bool pause_for_others(void *arg)
{
	struct tree_listing *l = arg;
	struct dispatcher *d = &l->device->dispatcher;

	dispatcher_progress(d, &l->req, 0);
	(void)dispatcher_gap_since(d, &l->req, &l->slice);
	return goes_on(l);
}

/* The entries, from the directory's own blocks, which *BYTES has. False: they are not to be had. */
static bool read_entries(struct tree_listing *l, uint64_t *bytes)
{
	const struct tree_dir_pause pause = {.pause = pause_for_others, .arg = l};

	if (l->entries[0] != NULL)
		return true;
	l->block_device = tree_blocks_open(&l->dir);
	if (l->block_device >= 0)
		*bytes = tree_blocks_start(&l->dir, l->block_device);
	l->located = l->block_device >= 0 && tree_tables_read(&l->tables, l->block_device);
	l->windows = !l->located && tree_blocks_windows(&l->dir);
	return tree_dir_read(&l->dir, &pause, &l->entries[0], &l->entries[1]);
}

static void execute(struct dispatcher *d, struct sched_req *r)
{
	struct tree_listing *l = CONTAINER_OF(r, struct tree_listing, req);
	uint64_t begun = dispatcher_now(d), bytes = 0;
	const char *name;

	l->slice = begun;
	if (!goes_on(l) || is_dear(l) || !read_entries(l, &bytes))
		l->part = 2;
	while (goes_on(l) && dispatcher_now(d) < begun + TURN && (name = next_name(l)) != NULL) {
		(void)tree_dir_look(&l->dir, name);
		bytes += INODE_BLOCK;
		(void)pause_for_others(l);
	}
	r->io_len = bytes;
	readahead_count(&l->io->counters, READAHEAD_PREFETCHED, bytes);
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	struct tree_listing *l = CONTAINER_OF(r, struct tree_listing, req);

	(void)d;
	if (goes_on(l) && l->part < 2)
		queue_turn(l);
	else
		leave(l);
}

static const struct sched_req_ops listing_ops = {
	.execute = execute,
	.finish = finish,
};
