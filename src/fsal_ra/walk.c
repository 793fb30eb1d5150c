/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Hooks of walks over directories. See walk.h. */
#include "walk.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "disk/prefetch.h"
#include "disk/tree_dir.h"
#include "disk/tree_job.h"
#include "disk/tree_listing.h"
#include "disk/tree_pieces.h"
#include "disk/wire_handle.h"
#include "fs_dev.h"
#include "open_handle.h"
#include "params.h"
#include "request_flow.h"

static struct dir_walks *walks; /* NULL: off */

/* ---- life ------------------------------------------------------------------------------- */

void walk_start(struct readahead *engine)
{
	if (ra_module_params.walk_memory != 0)
		walks = dir_walks_create(ra_module_params.walk_memory, engine, exports_past());
}

void walk_stop(void)
{
	dir_walks_destroy(walks);
	walks = NULL;
}

void walk_sweep(uint64_t now)
{
	if (walks != NULL)
		dir_walks_sweep(walks, NULL, now, ra_module_params.cursor_idle * CLOCK_MS);
}

/* ---- what is where ---------------------------------------------------------------------- */

static uint64_t id_of(const struct fsal_obj_handle *obj)
{
	return tree_id(fs_dev(obj->fs), obj->fileid);
}

/* The walks learn how the kernel finds the directory. */
static void tell(struct fsal_obj_handle *dir_hdl, const struct dir_name *name)
{
	struct dir_handle handle = {0};
	struct kernel_handle kh;

	if (!open_handle_decode(ra_sub_of(dir_hdl), &kh) || kh.fh.handle_bytes > DIR_HANDLE_MAX)
		return;
	handle.type = kh.fh.handle_type;
	handle.len = (uint8_t)kh.fh.handle_bytes;
	memcpy(handle.bytes, kh.bytes, handle.len);
	dir_walks_seen(walks, name, &handle, clock_now());
}

/* Whether IO's export is read ahead at all; whether that obeys prices is in *PRICED. */
static bool reads_ahead(struct export_io *io, bool *priced)
{
	struct readahead_tuning t;

	export_io_tuning(io, &t);
	*priced = t.priced;
	return !t.heuristic->off;
}

uint64_t walk_dir(struct fsal_obj_handle *dir_hdl)
{
	struct dir_name name;

	if (walks == NULL || dir_hdl->fs == NULL)
		return 0;
	name = (struct dir_name){.id = id_of(dir_hdl),
				 .parent = atomic_load(&ra_handle_of(dir_hdl)->parent),
				 .inode = dir_hdl->fileid};
	if (!dir_walks_known(walks, name.id, name.parent))
		tell(dir_hdl, &name);
	return name.id;
}

void walk_lists_on(uint64_t dir)
{
	if (dir != 0 && tree_listing_any())
		tree_listing_goes_on(dir, clock_now());
}

void walk_list(uint64_t dir, struct fsal_obj_handle *dir_hdl, const fsal_cookie_t *whence)
{
	struct export_io *io = ra_export_of_op()->io;
	uint64_t now = clock_now();
	struct dir_handle handle;
	int mount_fd;
	bool priced; /* the listing looks itself, in each turn */

	if (dir == 0)
		return;
	walk_lists_on(dir);
	if (!reads_ahead(io, &priced) || (whence != NULL && *whence != 0) ||
	    dir_hdl->fs->path == NULL || !dir_walks_list(walks, dir, now, &handle))
		return;
	mount_fd = open(dir_hdl->fs->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount_fd < 0)
		return;
	tree_listing_submit(&handle, mount_fd, io, ra_flow_of_op(now), now);
	close(mount_fd);
}

void walk_found(uint64_t dir, struct fsal_obj_handle *obj)
{
	if (obj != NULL)
		atomic_store(&ra_handle_of(obj)->parent, dir);
}

void walk_merge(struct ra_handle *known, const struct ra_handle *dupe)
{
	uint64_t dir = atomic_load(&dupe->parent);

	if (dir != 0)
		atomic_store(&known->parent, dir);
}

/* ---- reads ------------------------------------------------------------------------------ */

void walk_read_begin(struct walk_read *read, const struct ra_handle *hdl, uint64_t offset,
		     uint64_t now)
{
	uint64_t dir = atomic_load(&hdl->parent);

	if (walks == NULL || offset != 0 || dir == 0)
		return;
	read->dir = dir;
	read->inode = hdl->obj_handle.fileid;
	read->io = export_io_ref(ra_export_of_op()->io);
	read->flow = ra_flow_of_op(now);
}

bool walk_read_waits(const struct walk_read *read, struct call *call)
{
	struct dispatcher *d = &call->backing->device->dispatcher;
	struct dir_read at = {.dir = read->dir, .inode = read->inode};
	struct sched_req own;
	uint64_t job;
	uint32_t piece;

	if (read->dir == 0 || !dir_walks_due(walks, &at, read->flow.client, &job, &piece))
		return false;
	own = call->req;
	call->due = own.len;
	call->req.file = job;
	call->req.offset = tree_job_piece(piece);
	call->req.len = call_length(call->read_arg);
	if (dispatcher_join(d, &call->req) == SCHED_WAITS) {
		readahead_count(&read->io->counters, READAHEAD_JOINED, 1);
		return true;
	}
	call->due = 0;
	call->req = own; /* it came just now, or the job has ended: as any other */
	return false;
}

bool walk_read_again(struct call *call)
{
	struct backing *b = call->backing;
	uint64_t len = call->due;
	bool let_go = call->req.let_go;
	enum sched_verdict verdict;

	call->due = 0;
	call->req.let_go = false;
	if (len == 0 && !let_go)
		return false;
	if (!demand_is_left(b, call->read_arg->offset, call_length(call->read_arg), let_go))
		return false;
	if (len != 0) {
		call->req.file = b->file;
		call->req.offset = call->read_arg->offset; /* of a walk's file: 0 */
		call->req.len = len;
	}
	verdict = dispatcher_submit(&b->device->dispatcher, &call->req);
	if (verdict == SCHED_ADDED || verdict == SCHED_WAITS)
		return true; /* CALL may be over */
	call->refused = let_go && verdict == SCHED_FULL;
	return false;
}

void walk_read_end(struct walk_read *read, struct backing *b, bool resident, uint64_t now)
{
	struct dir_read at = {.dir = read->dir,
			      .inode = read->inode,
			      .now = now,
			      .resident = resident,
			      .reader = read->reader};
	struct dir_handle handle;
	bool priced;

	if (read->dir == 0)
		return;
	if (b != NULL && device_queues_demand(b->device) && reads_ahead(read->io, &priced)) {
		uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed);

		at.missing = read->missing < size ? read->missing : size;
		at.is_long = size > TREE_WHOLE_MAX;
		at.price = priced ? board_readahead_price(&b->device->prices) : 0;
		at.account = read->io->export_id;
		if (dir_walks_read(walks, &read->io->counters, &at, &handle))
			tree_job_submit(walks, at.dir, &handle, b, read->io, read->flow);
	}
	export_io_put(read->io);
}
