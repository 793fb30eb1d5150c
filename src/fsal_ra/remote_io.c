/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Handles of our own of a FSAL that reaches a cluster by itself, and reading through them.
 *
 *   handle --handle_to_wire--> wire_to_host --> create_handle --> a second sub-handle: ours
 *
 * The FSAL must not see what we read as a client's, nor share that one's state, so the handle is a private
 * one. It belongs to the FSAL's export, which must outlive it: each is counted (export_io), and the end of
 * an export waits for them. Every call has an op context of its own, of the FSAL's export and nobody's
 * request: it may come on any thread, with another's context or none.
 *
 * Which FSALs: those whose client keeps what was read, else everything would be moved twice.
 */
#include "remote_io.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "common/clock.h"
#include "common/lock.h"
#include "disk/backing_remote.h"
#include "subcall.h"

/* What is known of a FSAL's client: how much it keeps (bytes); 0: nothing, or it is nearer than a cache. */
struct remote_kind {
	const char *name;
	unsigned int minor; /* of its device */
	uint64_t cache;
};

/* client_oc_size is 200 MiB where nobody changed it, of which some is written data. */
static const struct remote_kind kinds[] = {
	{"CEPH", 1, UINT64_C(160) << 20},
};

static const struct remote_kind *kind_of(const struct fsal_module *fsal)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcasecmp(kinds[i].name, fsal->name) == 0)
			return &kinds[i];
	return NULL;
}

/* ---- calls into the FSAL below ----------------------------------------------------------- */

struct remote_handle {
	struct fsal_obj_handle *own;
	struct fsal_export *export; /* the FSAL's */
};

/* Runs on scope exit. */
static void leave(struct req_op_context *ctx)
{
	(void)ctx;
	release_op_context();
}

/* The rest of the scope runs as nobody's request, in the FSAL's export EXP. */
#define AS_NOBODY(exp)                                                                             \
	struct req_op_context ctx __attribute__((cleanup(leave)));                                 \
	init_op_context_simple(&ctx, NULL, exp)

/* A read under way, which may end on another thread. */
struct pending {
	struct lock lock;
	pthread_cond_t ended;
	bool over;
	fsal_status_t status;
};

static void read_ended(struct fsal_obj_handle *obj, fsal_status_t status, void *obj_data, void *arg)
{
	struct pending *p = arg;

	lock_take(&p->lock);
	p->status = status;
	p->over = true;
	pthread_cond_signal(&p->ended);
	lock_drop(&p->lock);
}

/* One round of a read: a FSAL may want to be called once more to end it. */
static fsal_status_t read_round(struct fsal_obj_handle *own, struct fsal_io_arg *arg)
{
	struct pending p = {.over = false};

	lock_init(&p.lock, LOCK_LEAF);
	pthread_cond_init(&p.ended, NULL);
	own->obj_ops->read2(own, true, read_ended, arg, &p);
	lock_take(&p.lock);
	while (!p.over)
		pthread_cond_wait(&p.ended, &p.lock.mutex);
	lock_drop(&p.lock);
	pthread_cond_destroy(&p.ended);
	lock_fini(&p.lock);
	return p.status;
}

static ssize_t remote_read(void *handle, void *buffer, size_t len, uint64_t offset)
{
	struct remote_handle *h = handle;
	struct ra_io_arg io;
	struct fsal_io_arg *arg = ra_io_arg_init(&io, buffer, len, offset);
	fsal_status_t status;

	AS_NOBODY(h->export);
	do
		status = read_round(h->own, arg);
	while (!FSAL_IS_ERROR(status) && ra_io_wants_resume(arg));
	ra_io_arg_fini(arg);
	return FSAL_IS_ERROR(status) ? -1 : (ssize_t)arg->io_amount;
}

static bool remote_size(void *handle, uint64_t *size)
{
	struct remote_handle *h = handle;
	struct fsal_attrlist attrs;
	bool good;

	AS_NOBODY(h->export);
	fsal_prepare_attrs(&attrs, ATTR_SIZE);
	good = !FSAL_IS_ERROR(h->own->obj_ops->getattrs(h->own, &attrs)) &&
	       (attrs.valid_mask & ATTR_SIZE) != 0;
	*size = attrs.filesize;
	fsal_release_attrs(&attrs);
	return good;
}

static void give_back(struct fsal_export *export, struct fsal_obj_handle *own)
{
	AS_NOBODY(export);
	if (own->type == REGULAR_FILE)
		(void)own->obj_ops->close(own);
	own->obj_ops->release(own);
}

static void remote_close(void *handle)
{
	struct remote_handle *h = handle;

	give_back(h->export, h->own);
	free(h);
}

static const struct remote_calls calls = {
	.read = remote_read,
	.size = remote_size,
	.close = remote_close,
};

/* ---- opening ----------------------------------------------------------------------------- */

/* A second handle *OWN of SUB's file, with its ATTRS; 0 or an errno: ESTALE where the file is gone. */
static int second_handle(struct fsal_export *export, const struct fsal_obj_handle *sub,
			 struct fsal_obj_handle **own, struct fsal_attrlist *attrs)
{
	unsigned char wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = {.addr = wire, .len = sizeof(wire)};
	fsal_status_t status;

	AS_NOBODY(export);
	status = sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV3, &desc);
	if (!FSAL_IS_ERROR(status))
		status = export->exp_ops.wire_to_host(export, FSAL_DIGEST_NFSV3, &desc, 0);
	if (!FSAL_IS_ERROR(status))
		status = export->exp_ops.create_handle(export, &desc, own, attrs);
	if (!FSAL_IS_ERROR(status))
		return 0;
	return status.major == ERR_FSAL_STALE || status.major == ERR_FSAL_NOENT ? ESTALE : EIO;
}

/* As backing_remote_new(), of the handle OWN, which is given back where that fails. */
static struct backing *backing_of(struct fsal_export *export, struct fsal_obj_handle *own,
				  uint64_t size, const struct remote_kind *kind,
				  struct export_io *io, int *err)
{
	struct remote_handle *h = calloc(1, sizeof(*h));
	struct remote_file f = {.calls = &calls,
				.handle = h,
				.file = own->fileid,
				.size = size,
				.cache = kind->cache};
	struct device *device = NULL;
	struct backing *b = NULL;

	*err = ENOMEM;
	if (h != NULL) {
		*h = (struct remote_handle){.own = own, .export = export};
		device = export_io_cluster(io, kind->minor, err);
	}
	if (device != NULL)
		b = backing_remote_new(&f, io, device);
	if (b != NULL)
		return b;
	free(h);
	give_back(export, own);
	return NULL;
}

struct backing *remote_open(struct backing_slot *slot, struct export_io *io, uint64_t now, int *err)
{
	struct fsal_obj_handle *sub = container_of(slot, struct ra_handle, slot)->sub_handle;
	struct fsal_obj_handle *own = NULL;
	struct fsal_export *export = op_ctx->fsal_export->sub_export;
	const struct remote_kind *kind = kind_of(sub->fsal);
	struct fsal_attrlist attrs;
	struct backing *b = NULL;

	*err = EOPNOTSUPP;
	if (kind == NULL)
		return NULL;
	*err = ESTALE; /* it closes: no line in the log */
	if (!export_io_handle_opens(io))
		return NULL;
	fsal_prepare_attrs(&attrs, ATTR_SIZE | ATTR_FILEID);
	*err = second_handle(export, sub, &own, &attrs);
	if (own != NULL && own != sub && own->type == REGULAR_FILE)
		b = backing_of(export, own, attrs.filesize, kind, io, err);
	else if (own != NULL)
		give_back(export, own);
	fsal_release_attrs(&attrs);
	if (b == NULL)
		export_io_handle_closed(io);
	return b;
}

/* ---- exports ----------------------------------------------------------------------------- */

void remote_export_root(struct ra_export *exp)
{
	const struct remote_kind *kind = kind_of(exp->export.sub_export->fsal);
	int err;

	if (kind == NULL || atomic_load(&exp->io->devices) != 0 ||
	    export_io_cluster(exp->io, kind->minor, &err) == NULL)
		return;
	LogEvent(COMPONENT_FSAL,
		 "RA: export %u: files of FSAL %s are fetched ahead into its client's own cache; "
		 "their writing "
		 "out is its affair (no turns of write-back, no pacing)",
		 exp->export.export_id, exp->export.sub_export->fsal->name);
}

void remote_drain(struct ra_export *exp, uint64_t timeout)
{
	uint32_t left;

	backing_sweep_export(exp->io);
	left = export_io_handles_closed(exp->io, timeout);
	if (left != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: export %u goes while %u of our handles of the FSAL below are in use",
			exp->io->export_id, left);
}
