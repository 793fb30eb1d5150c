/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Handles of our own of a FSAL that reaches a cluster by itself, and reading through them.
 *
 *   handle --handle_to_wire--> wire_to_host --> create_handle --> a second sub-handle: ours
 *
 * The FSAL must not see what we read as a client's, nor share that one's state, so the handle is a private
 * one. It belongs to the FSAL's export, which must outlive it: each has a reference on the export, and is
 * counted (export_io), and the end of an export gives all back and waits for them. Every call has an op
 * context of its own, of the FSAL's export (FSALs look into it) and nobody's request: it may come on any
 * thread, with another's context or none.
 *
 * Which FSALs: those whose client keeps what was read, and GLUSTER, for which what is fetched ahead is kept here
 * (remote/use_once.h), else everything would be moved twice.
 */
#include "remote_io.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "common/clock.h"
#include "common/lock.h"
#include "disk/backing_remote.h"
#include "disk/watcher.h"
#include "ceph_client.h"
#include "params.h"
#include "read_below.h"
#include "remote/hint.h"
#include "remote/use_once.h"
#include "remote/vouching.h"
#include "subcall.h"
#include "thread_name.h"

/* What nobody came for is kept no longer (ns). */
#define KEPT_AGE (30 * CLOCK_SECOND)
/* The end waits so long for a call into a cluster (ns). */
#define WATCH_END (5 * CLOCK_SECOND)
/* While an export drains its handles are looked for so often (ns). */
#define DRAIN_LOOK (10 * CLOCK_MS)

/* What is known of a FSAL's client: how much it keeps (bytes); 0: nothing, we do. OFF: nor do we. */
struct remote_kind {
	const char *name;
	unsigned int minor; /* of its device */
	uint64_t cache;
	bool off;
	/* Its file systems, volumes and snapshots number files alike; so many bytes of a key, from its beginning, tell. */
	size_t telling;
	_Atomic uint64_t usual;
	bool by_us; /* what is left of it at the end it cannot release by itself: it needs a context */
};

/*
 * CEPH's cache is asked for when its first export is made; before, what client_oc_size is where nobody set it. GLUSTER's key
 * is the volume's id, of which a snapshot has another one, and what the volume calls the file.
 */
static struct remote_kind kinds[] = {
	{"CEPH", 1, UINT64_C(200) << 20, .telling = BACKING_KEY_MAX, .by_us = true},
	{"GLUSTER", 2, 0, .telling = 16},
};

/* What a client's cache holds (bytes), as far as one was asked. */
static _Atomic uint64_t known_cache = UINT64_MAX;

/* Of all files of FSALs that keep nothing; NULL: no module, or no memory. */
static struct use_once *kept;

static struct remote_kind *kind_of(const struct fsal_module *fsal)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcasecmp(kinds[i].name, fsal->name) == 0)
			return &kinds[i];
	return NULL;
}

bool remote_is_cluster(const struct fsal_obj_handle *sub)
{
	return kind_of(sub->fsal) != NULL;
}

bool remote_is_far(const struct fsal_obj_handle *sub)
{
	const struct remote_kind *kind = kind_of(sub->fsal);

	return kind != NULL && kind->by_us;
}

/* ---- calls into the FSAL below ----------------------------------------------------------- */

struct remote_handle {
	struct fsal_obj_handle *own;
	struct fsal_export *export;    /* the FSAL's */
	struct gsh_export *gsh_export; /* referenced */
	struct export_io *io;	       /* that counts it */
};

/* Runs on scope exit. */
static void leave(struct req_op_context *ctx)
{
	(void)ctx;
	release_op_context();
}

static void enter(struct req_op_context *ctx, const struct remote_handle *h)
{
	get_gsh_export_ref(h->gsh_export); /* the context's */
	init_op_context_simple(ctx, h->gsh_export, h->export);
}

/* The rest of the scope runs as nobody's request, in the FSAL's export of H. */
#define AS_NOBODY(h)                                                                               \
	struct req_op_context ctx __attribute__((cleanup(leave)));                                 \
	enter(&ctx, h)

static ssize_t remote_read(void *handle, void *buffer, size_t len, uint64_t offset)
{
	struct remote_handle *h = handle;
	struct ra_io_arg io;
	struct fsal_io_arg *arg = ra_io_arg_init(&io, buffer, len, offset);
	fsal_status_t status;

	AS_NOBODY(h);
	status = read_below(h->own, true, arg);
	ra_io_arg_fini(arg);
	return FSAL_IS_ERROR(status) ? -1 : (ssize_t)arg->io_amount;
}

static bool remote_size(void *handle, uint64_t *size)
{
	struct remote_handle *h = handle;
	struct fsal_attrlist attrs;
	bool good;

	AS_NOBODY(h);
	fsal_prepare_attrs(&attrs, ATTR_SIZE);
	watcher_leaves();
	good = !FSAL_IS_ERROR(h->own->obj_ops->getattrs(h->own, &attrs)) &&
	       (attrs.valid_mask & ATTR_SIZE) != 0;
	watcher_returns();
	*size = attrs.filesize;
	fsal_release_attrs(&attrs);
	return good;
}

#define CHANGE_ATTRS (ATTR_CHANGE | ATTR_SIZE | ATTR_CTIME | ATTR_MTIME)

/*
 * What ATTRS, asked for at NOW (s since 1970) or later, say of the change; false: they have not all. GLUSTER's change attribute
 * is the later one of ctime and mtime.
 */
static bool read_change(const struct fsal_attrlist *attrs, int64_t now, uint64_t *change,
			bool *settled)
{
	*change = vouching_change(attrs->change, attrs->filesize);
	*settled = vouching_is_settled(attrs->ctime.tv_sec, now) &&
		   vouching_is_settled(attrs->mtime.tv_sec, now);
	return (attrs->valid_mask & CHANGE_ATTRS) == CHANGE_ATTRS;
}

static bool remote_change(void *handle, uint64_t *change, bool *settled)
{
	struct remote_handle *h = handle;
	int64_t now = time(NULL);
	struct fsal_attrlist attrs;
	bool good;

	AS_NOBODY(h);
	fsal_prepare_attrs(&attrs, CHANGE_ATTRS);
	good = !FSAL_IS_ERROR(h->own->obj_ops->getattrs(h->own, &attrs)) &&
	       read_change(&attrs, now, change, settled);
	fsal_release_attrs(&attrs);
	return good;
}

/* What time(2) said at AT (ns). */
static int64_t seconds_at(uint64_t at)
{
	uint64_t passed = elapsed(at, clock_now());
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ((int64_t)now.tv_sec * (int64_t)CLOCK_SECOND + now.tv_nsec - (int64_t)passed) /
	       (int64_t)CLOCK_SECOND;
}

void remote_shown(struct ra_handle *hdl, const struct fsal_attrlist *attrs, uint64_t asked)
{
	struct use_once_attrs a = {.asked = asked};

	if (asked == 0 || attrs == NULL || !remote_keeps(hdl) ||
	    hdl->obj_handle.type != REGULAR_FILE)
		return;
	if (!read_change(attrs, seconds_at(asked), &a.change, &a.settled))
		return;
	a.stamp = vouching_stamp(a.change, (uint32_t)attrs->ctime.tv_nsec,
				 (uint32_t)attrs->mtime.tv_nsec);
	backing_shown(&hdl->slot, &a);
}

/* By the core's close, which counts it: what a read opened of h->own counts as one of the server's open files. */
static void give_back(const struct remote_handle *h)
{
	AS_NOBODY(h);
	(void)fsal_close(h->own);
	h->own->obj_ops->release(h->own);
}

static void remote_close(void *handle)
{
	struct remote_handle *h = handle;

	AS_NOBODY(
		h); /* with it the export's last reference may go, when the handle does not count any more */
	watcher_leaves();
	give_back(h);
	watcher_returns();
	export_io_handle_closed(h->io);
	put_gsh_export(h->gsh_export);
	free(h);
}

static const struct remote_calls calls = {
	.read = remote_read,
	.size = remote_size,
	.change = remote_change,
	.close = remote_close,
};

/* ---- opening ----------------------------------------------------------------------------- */

/* A second handle of SUB's file, h->own, with its ATTRS; 0 or an errno: ESTALE where the file is gone. */
static int second_handle(struct remote_handle *h, const struct fsal_obj_handle *sub,
			 struct fsal_attrlist *attrs)
{
	struct fsal_export *export = h->export;
	unsigned char wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = {.addr = wire, .len = sizeof(wire)};
	fsal_status_t status;

	AS_NOBODY(h);
	status = sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV3, &desc);
	if (!FSAL_IS_ERROR(status))
		status = export->exp_ops.wire_to_host(export, FSAL_DIGEST_NFSV3, &desc, 0);
	if (!FSAL_IS_ERROR(status))
		status = export->exp_ops.create_handle(export, &desc, &h->own, attrs);
	if (!FSAL_IS_ERROR(status))
		return 0;
	return status.major == ERR_FSAL_STALE || status.major == ERR_FSAL_NOENT ? ESTALE : EIO;
}

/* H with a second handle of SUB's file, which has *SIZE bytes; 0 or an errno. */
static int open_second(struct remote_handle *h, const struct fsal_obj_handle *sub, uint64_t *size)
{
	struct fsal_attrlist attrs;
	int err;

	fsal_prepare_attrs(&attrs, ATTR_SIZE | ATTR_FILEID);
	err = second_handle(h, sub, &attrs);
	*size = attrs.filesize;
	fsal_release_attrs(&attrs);
	if (err)
		return err;
	/* one that all share is not ours to read ahead on */
	if (h->own != sub && h->own->type == REGULAR_FILE)
		return 0;
	give_back(h);
	return EOPNOTSUPP;
}

/* What SLOT's file is called, of a FSAL of KIND in which its number is INODE. */
static uint64_t name_of(const struct backing_slot *slot, struct remote_kind *kind, uint64_t inode)
{
	size_t len = slot->key_len < kind->telling ? slot->key_len : kind->telling;

	return backing_remote_name(inode, slot->key, len, &kind->usual);
}

/* A backing of the file of SLOT, a SUB of a FSAL of KIND, for the export IO, which has said that a handle may be opened. */
static struct backing *open_backing(const struct backing_slot *slot,
				    const struct fsal_obj_handle *sub, struct remote_kind *kind,
				    struct export_io *io, int *err)
{
	struct remote_file f = {
		.calls = &calls, .cache = kind->cache, .keep = kind->cache == 0 ? kept : NULL};
	struct device *device = export_io_cluster(io, kind->minor, err);
	struct remote_handle *h = device != NULL ? calloc(1, sizeof(*h)) : NULL;
	struct backing *b = NULL;

	if (h == NULL)
		return NULL;
	h->export = op_ctx->fsal_export->sub_export;
	h->gsh_export = op_ctx->ctx_export;
	h->io = io;
	*err = open_second(h, sub, &f.size);
	if (*err == 0) {
		f.handle = h;
		f.file = name_of(slot, kind, h->own->fileid);
		b = backing_remote_new(&f, io, device, err);
		if (b == NULL)
			give_back(h);
	}
	if (b == NULL)
		free(h);
	else
		get_gsh_export_ref(h->gsh_export);
	return b;
}

struct backing *remote_open(struct backing_slot *slot, struct export_io *io, uint64_t now, int *err)
{
	const struct fsal_obj_handle *sub = container_of(slot, struct ra_handle, slot)->sub_handle;
	struct remote_kind *kind = kind_of(sub->fsal);
	struct backing *b;

	*err = EOPNOTSUPP;
	if (kind == NULL || kind->off || (kind->cache == 0 && kept == NULL))
		return NULL;
	*err = ESTALE; /* it closes: no line in the log */
	if (op_ctx->ctx_export == NULL || !export_io_handle_opens(io))
		return NULL;
	*err = ENOMEM;
	b = open_backing(slot, sub, kind, io, err);
	if (b == NULL)
		export_io_handle_closed(io);
	return b;
}

/* ---- exports ----------------------------------------------------------------------------- */

/* Exports that have a cluster below, until they are released. */
static struct {
	pthread_mutex_t lock;
	struct ra_export *first;
} far = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void remember(struct ra_export *exp)
{
	pthread_mutex_lock(&far.lock);
	exp->next_far = far.first;
	far.first = exp;
	pthread_mutex_unlock(&far.lock);
}

void remote_export_gone(const struct ra_export *exp)
{
	pthread_mutex_lock(&far.lock);
	for (struct ra_export **at = &far.first; *at != NULL; at = &(*at)->next_far)
		if (*at == exp) {
			*at = exp->next_far;
			break;
		}
	pthread_mutex_unlock(&far.lock);
}

void remote_hide(struct fsal_obj_handle *sub)
{
	PTHREAD_RWLOCK_wrlock(&sub->fsal->RA_MODULE_LOCK);
	glist_del(&sub->handles);
	glist_init(&sub->handles); /* its FSAL may still take it out */
	PTHREAD_RWLOCK_unlock(&sub->fsal->RA_MODULE_LOCK);
}

void remote_exports_end(void)
{
	for (struct ra_export *exp = far.first; exp != NULL; exp = exp->next_far) {
		struct fsal_export *sub = exp->export.sub_export;
		struct req_op_context ctx;

		LogEvent(COMPONENT_FSAL, "RA: a request of export %u has never ended",
			 exp->export.export_id);
		init_op_context_simple(&ctx, NULL, sub); /* it looks for its client there */
		sub->exp_ops.release(sub);
		release_op_context();
	}
	far.first = NULL;
}

/* Readers that libcephfs has forgotten are woken (remote/overdue.h), on a thread that may wait for the cluster. */
static void look_after_readers(void)
{
	backings_wake_overdue(clock_now());
}

static void start_watching(void)
{
	if (watcher_start(look_after_readers, OVERDUE_LOOK, ra_name_thread) != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: no thread to look after reads of the cluster: one that its "
			"client forgets is not woken");
}

/*
 * Once, as the USER of the first export: exports are made one by one. True: what its cache holds is known now.
 */
static bool ask_client(struct remote_kind *kind, const char *user)
{
	static bool asked;
	struct ceph_client c;

	if (asked || kind->cache == 0)
		return false;
	asked = true;
	ceph_client_ask(&c, user);
	ceph_client_say(&c, ra_module_params.readahead_memory);
	kind->off = c.known && (!c.caches || c.cache == 0);
	if (!c.known || kind->off)
		return false;
	kind->cache = c.cache;
	atomic_store(&known_cache, c.cache);
	return true;
}

bool remote_export_root(struct ra_export *exp)
{
	struct remote_kind *kind = kind_of(exp->export.sub_export->fsal);
	bool told;
	int err;

	if (kind == NULL || atomic_load(&exp->io->devices) != 0 ||
	    export_io_cluster(exp->io, kind->minor, &err) == NULL)
		return false;
	if (kind->by_us) {
		remember(exp);
		start_watching();
	}
	told = ask_client(kind, exp->user_below);
	LogEvent(COMPONENT_FSAL,
		 "RA: export %u: files of FSAL %s are fetched ahead into %s; their writing out is "
		 "its affair (no turns of write-back)",
		 exp->export.export_id, exp->export.sub_export->fsal->name,
		 kind->cache != 0 ? "its client's own cache" : "memory of ours");
	return told;
}

void remote_drain(struct ra_export *exp, uint64_t until)
{
	uint64_t begun = clock_now();
	uint32_t left;

	do { /* one that was being opened comes into its slot late */
		backing_sweep_export(exp->io);
		left = export_io_handles_closed(exp->io, until != 0 ? DRAIN_LOOK : 0);
	} while (left != 0 && clock_now() < until);
	if (until != 0)
		export_io_waited(begun);
	if (left != 0)
		LogWarn(COMPONENT_FSAL,
			"RA: export %u goes while %u of our handles of the FSAL below are in use",
			exp->io->export_id, left);
}

/* ---- memory ------------------------------------------------------------------------------ */

uint64_t remote_memory(uint64_t memory)
{
	return hint_memory(memory, atomic_load(&known_cache));
}

void remote_set_memory(uint64_t memory)
{
	if (kept == NULL)
		kept = use_once_new(memory, KEPT_AGE);
	else
		use_once_limit(kept, memory);
}

uint64_t remote_kept(void)
{
	return kept != NULL ? use_once_held(kept) : 0;
}

void remote_sweep(uint64_t now)
{
	if (kept != NULL)
		use_once_sweep(kept, now);
}

void remote_watch_stop(void)
{
	if (!watcher_stop(WATCH_END))
		LogWarn(COMPONENT_FSAL, "RA: the cluster does not answer: the thread that looks "
					"after its readers is left to it");
}

void remote_stop(void)
{
	use_once_free(kept);
	kept = NULL;
}
