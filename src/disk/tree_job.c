/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Fetching ahead of walks, in turns. See tree_job.h. */
#include "disk/tree_job.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/container.h"
#include "common/room_gate.h"
#include "disk/tree_pieces.h"

/* Directories of one job: the walk's own and siblings after it. */
#define DIRS 5
/* Files of one job that more siblings are added for. */
#define FILES_ENOUGH 48
#define FILES_MAX    DIR_WINDOW_MAX
/* A turn (ns) where the device's cost is not known yet, and at least. */
#define TURN_DEFAULT (100 * CLOCK_MS)
#define TURN_MIN     (20 * CLOCK_MS)
/* ... and at most, while nobody else wants the disk: so long a client may wait for the next of its files. */
#define TURN_LONG (400 * CLOCK_MS)
/*
 * What joins a job, as others do a chunk of a file: piece i of it is [i, i + 1) << PIECE_SHIFT of a file with
 * the job's number. No READ is as long.
 */
#define PIECE_SHIFT 32

struct tree_job {
	struct sched_req req;
	struct dir_walks *walks;
	struct export_io *io;
	struct device *device;
	struct tree_dir dirs[DIRS]; /* dirs[0]: the walk's */
	unsigned int n_dirs;
	bool listed, planned;
	struct tree_file *files;
	uint32_t n_files;
	uint32_t placed; /* files of which it is known where they lie */
	struct tree_pieces pieces;
	uint64_t slice; /* when the present one began */
};

static const struct sched_req_ops tree_ops;
static struct room_gate jobs = ROOM_GATE_INITIALIZER(TREE_JOBS_MAX);

/* ---- life -------------------------------------------------------------------------------- */

/* NULL: its client has as many as it may, or there is no memory. */
static struct tree_job *job_new(struct dir_walks *w, struct export_io *io, struct device *device,
				const struct flow_id *flow)
{
	struct tree_job *job;

	if (!room_gate_enter(&jobs, flow->client))
		return NULL;
	job = calloc(1, sizeof(*job));
	if (job == NULL) {
		room_gate_leave(&jobs, flow->client);
		return NULL;
	}
	job->req.flow = *flow;
	job->walks = w;
	job->device = device;
	job->pieces.spoilt = device_spoilt(device);
	job->io = export_io_ref(io);
	return job;
}

/* Of the files from the FIRST-th on nothing is fetched: they may be asked for again. */
static void leave_out(struct tree_job *job, uint32_t first)
{
	for (uint32_t i = first; i < job->n_files; i++)
		dir_walks_unhold(job->walks, &job->io->counters, job->files[i].dir->id,
				 job->files[i].index);
}

static void job_free(struct tree_job *job)
{
	uint64_t client = job->req.flow.client;

	if (!job->planned)
		leave_out(job, job->placed);
	for (uint32_t i = 0; i < job->n_files; i++)
		if (job->files[i].left != 0)
			dir_walks_unhold(job->walks, &job->io->counters, job->files[i].dir->id,
					 job->files[i].index);
	tree_pieces_fini(&job->pieces);
	for (unsigned int i = 0; i < job->n_dirs; i++) {
		dir_walks_end(job->walks, job->dirs[i].id);
		tree_dir_close(&job->dirs[i]);
	}
	export_io_put(job->io);
	free(job->files);
	free(job);
	room_gate_leave(&jobs, client);
}

/* Ends a job that has entered its export. */
static void leave(struct tree_job *job)
{
	struct export_io *io = export_io_ref(job->io);

	job_free(job);
	export_io_leave(io);
	export_io_put(io);
}

/* One more turn. It has its place in the order as a chunk, which takes as long, and counts what it brings. */
static void queue_turn(struct tree_job *job)
{
	struct dispatcher *d = &job->device->dispatcher;
	struct flow_id flow = job->req.flow;
	uint64_t block = job->pieces.next < job->pieces.n
				 ? job->pieces.pieces[job->pieces.next].block
				 : job->req.block;

	job->req = (struct sched_req){.ops = &tree_ops,
				      .class = SCHED_PREFETCH,
				      .file = job->dirs[0].id, /* no file's */
				      .offset = tree_job_piece(job->pieces.next),
				      .len = dispatcher_chunk(d),
				      .span = tree_job_piece(UINT32_MAX - job->pieces.next),
				      .counts = true,
				      .several = true,
				      .block = block,
				      .owner = job->dirs[0].id,
				      .flow = flow};
	if (dispatcher_submit(d, &job->req) != SCHED_ADDED)
		leave(job);
}

uint64_t tree_job_piece(uint32_t piece)
{
	return (uint64_t)piece << PIECE_SHIFT;
}

void tree_job_submit(struct dir_walks *w, uint64_t id, const struct dir_handle *handle,
		     struct backing *b, struct export_io *io, struct flow_id flow)
{
	struct tree_job *job = job_new(w, io, b->device, &flow);

	if (job == NULL) {
		dir_walks_end(w, id); /* its next read asks again */
		return;
	}
	if (!tree_dir_open(&job->dirs[0], b->fd, handle) || job->dirs[0].id != id ||
	    !export_io_enter(io)) {
		tree_dir_close(&job->dirs[0]);
		job_free(job);
		dir_walks_enlist(w, id, 0, NULL, NULL, true);
		dir_walks_end(w, id);
		return;
	}
	job->n_dirs = 1;
	job->req.block = backing_block_if_few(b, 0);
	queue_turn(job);
}

/* ---- a turn ------------------------------------------------------------------------------ */

/* Whether anybody can still want the rest. */
static bool goes_on(const struct tree_job *job)
{
	return !job->req.dropped && !atomic_load(&job->io->closing);
}

/* How long a turn is (ns): what a chunk would take. */
static uint64_t turn_length(struct dispatcher *d)
{
	struct cost_model cost = dispatcher_cost(d);
	double length = (double)dispatcher_chunk(d) * cost.ns_per_byte + cost.seek_ns;

	if (!cost_run_known(&cost))
		return TURN_DEFAULT;
	return length > TURN_MIN ? (uint64_t)length : TURN_MIN;
}

/* Between two waits for the disk: small reads may have it, and who waits for what came hears of it. */
static void pause_for_others(struct tree_job *job, struct dispatcher *d)
{
	dispatcher_progress(d, &job->req, tree_job_piece(job->pieces.next));
	(void)dispatcher_gap_since(d, &job->req, &job->slice);
}

struct turn {
	uint64_t begun, length; /* ns */
};

/* Whether that turn is over: one after the other has the disk. */
static bool is_over(struct dispatcher *d, const struct turn *turn)
{
	uint64_t now = dispatcher_now(d);

	return now > turn->begun + TURN_LONG ||
	       (now > turn->begun + turn->length && dispatcher_reads(d) > 1);
}

/* ---- what to fetch ----------------------------------------------------------------------- */

static bool pause_listing(void *arg)
{
	struct tree_job *job = arg;

	pause_for_others(job, &job->device->dispatcher);
	return goes_on(job);
}

/* DIR's list is known after this, if it can be had. MINE: it is part of the job. */
static void know(struct tree_job *job, const struct tree_dir *dir, bool mine)
{
	const struct tree_dir_pause pause = {.pause = pause_listing, .arg = job};
	struct dir_list *files, *dirs;

	if (dir_walks_listed(job->walks, dir->id, dir->stamp))
		return;
	if (tree_dir_read(dir, &pause, &files, &dirs) || goes_on(job)) /* or both are NULL */
		dir_walks_enlist(job->walks, dir->id, dir->stamp, files, dirs, mine);
}

static int by_inode(const void *a, const void *b)
{
	const struct tree_file *one = a, *other = b;

	return (one->inode > other->inode) - (one->inode < other->inode);
}

/* The files of DIR that are wanted now. */
static void pick(struct tree_job *job, const struct tree_dir *dir, bool sibling)
{
	uint32_t indices[FILES_MAX], n;
	const struct dir_list *list = NULL;

	n = dir_walks_pick(job->walks, dir->id, sibling, indices, FILES_MAX - job->n_files, &list);
	for (uint32_t i = 0; i < n; i++)
		job->files[job->n_files++] =
			(struct tree_file){.dir = dir,
					   .name = dir_list_name(list, indices[i]),
					   .inode = dir_list_inode(list, indices[i]),
					   .index = indices[i]};
}

/* One more sibling becomes part of the job. False: there is none to be had. */
static bool add_sibling(struct tree_job *job, struct dispatcher *d, const struct tree_dir *parent)
{
	struct tree_dir *dir = &job->dirs[job->n_dirs];
	char name[DIR_NAME_MAX];
	struct dir_name of;
	uint64_t inode;

	if (!dir_walks_sibling(job->walks, parent->id, name, &inode))
		return false;
	if (!tree_dir_open_at(dir, parent, name)) {
		tree_dir_close(dir);
		return true; /* it is gone, or another file system: what comes after? */
	}
	of = (struct dir_name){.id = dir->id, .parent = parent->id, .inode = dir->inode};
	if (!dir_walks_begin(job->walks, &of, job->dirs[0].id, dispatcher_now(d))) {
		tree_dir_close(dir);
		return true;
	}
	job->n_dirs++;
	know(job, dir, true);
	pick(job, dir, true);
	return true;
}

static void add_siblings(struct tree_job *job, struct dispatcher *d, const struct turn *turn)
{
	uint64_t id = dir_walks_parent(job->walks, job->dirs[0].id);
	struct tree_dir parent;

	if (id == 0)
		return;
	if (tree_dir_open_at(&parent, &job->dirs[0], "..") && parent.id == id) {
		know(job, &parent, false);
		while (goes_on(job) && !is_over(d, turn) && job->n_dirs < DIRS &&
		       job->n_files < FILES_ENOUGH && add_sibling(job, d, &parent))
			pause_for_others(job, d);
	} else { /* it was moved, or is closed to us */
		dir_walks_enlist(job->walks, id, 0, NULL, NULL, false);
	}
	tree_dir_close(&parent);
}

/* READs of files that come with this job need not ask for them again. */
static void announce(struct tree_job *job)
{
	struct dir_job of = {.id = job->dirs[0].id, .client = job->req.flow.client};

	for (uint32_t i = 0; i < job->pieces.n; i++)
		job->files[job->pieces.pieces[i].file].last = i;
	for (uint32_t i = 0; i < job->n_files; i++) {
		const struct tree_file *file = &job->files[i];

		if (file->left != 0)
			dir_walks_expect(job->walks, file->dir->id, file->index, &of, file->last);
	}
}

/* Which files. */
static void list(struct tree_job *job, struct dispatcher *d, const struct turn *turn)
{
	/* beyond its head a file needs a seek of its own anyway */
	job->pieces.whole_only = dir_walks_reads_on(job->walks, job->dirs[0].id, TREE_HEAD);
	job->files = malloc(FILES_MAX * sizeof(*job->files));
	if (job->files != NULL) {
		know(job, &job->dirs[0], true);
		pick(job, &job->dirs[0], false);
		add_siblings(job, d, turn);
	}
	if (job->n_files != 0)
		qsort(job->files, job->n_files, sizeof(*job->files), by_inode);
	job->listed = true;
}

/* Where the next one is; false: there is no room for more. */
static bool place(struct tree_job *job)
{
	struct tree_file *file = &job->files[job->placed];
	uint32_t len = tree_pieces_add(&job->pieces, file, job->placed);

	if (len != 0 &&
	    !dir_walks_hold(job->walks, &job->io->counters, file->dir->id, file->index, len)) {
		job->pieces.n -= file->left;
		file->left = 0;
		return false;
	}
	job->placed++;
	return true;
}

/*
 * Which files, and where they are: the file system may have the disk look for each, so this takes turns too. JOB is planned
 * when all are placed that there is room for.
 */
static void plan(struct tree_job *job, struct dispatcher *d, const struct turn *turn)
{
	struct readahead_counters *counters = &job->io->counters;

	if (!job->listed)
		list(job, d, turn);
	while (job->placed < job->n_files && goes_on(job)) {
		if (!place(job))
			break;
		pause_for_others(job, d);
		if (job->placed < job->n_files && is_over(d, turn))
			return;
	}
	leave_out(job, job->placed);
	tree_pieces_sort(&job->pieces);
	announce(job);
	if (job->pieces.n != 0)
		readahead_count(counters, READAHEAD_CHUNKS, 1);
	job->planned = true;
}

/* ---- the request ------------------------------------------------------------------------- */

/* A piece of FILE is there. */
static void came(struct tree_job *job, struct tree_file *file)
{
	if (--file->left == 0)
		dir_walks_fetched(job->walks, file->dir->id, file->index);
}

static void execute(struct dispatcher *d, struct sched_req *r)
{
	struct tree_job *job = CONTAINER_OF(r, struct tree_job, req);
	const struct turn turn = {.begun = dispatcher_now(d), .length = turn_length(d)};
	const struct tree_piece *piece;
	uint64_t bytes = 0;

	job->slice = turn.begun;
	r->io_len = 0;
	if (!job->planned && goes_on(job))
		plan(job, d, &turn);
	if (!job->planned)
		return;
	tree_pieces_pause(&job->pieces, !goes_on(job) || is_over(d, &turn));
	while ((piece = tree_pieces_next(&job->pieces, job->files)) != NULL) {
		bytes += piece->len;
		readahead_count(&job->io->counters, READAHEAD_PREFETCHED, piece->len);
		came(job, &job->files[piece->file]);
		pause_for_others(job, d);
		if (is_over(d, &turn) || !goes_on(job))
			tree_pieces_pause(&job->pieces, true);
	}
	r->io_len = bytes;
}

static void finish(struct dispatcher *d, struct sched_req *r)
{
	struct tree_job *job = CONTAINER_OF(r, struct tree_job, req);

	(void)d;
	if (goes_on(job) && (!job->planned || job->pieces.next < job->pieces.n))
		queue_turn(job);
	else
		leave(job);
}

static const struct sched_req_ops tree_ops = {
	.execute = execute,
	.finish = finish,
};
