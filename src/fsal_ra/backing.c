/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Our own descriptors: opening by handle, residency, FIEMAP, their bound. See backing.h. */
#include "backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include "device.h"
#include "io.h"
#include "subcall.h"
#include "subfd.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same on all architectures */
#endif
/* Unmapped parts of a file get addresses up here, by inode: file order, after everything mapped. */
#define UNMAPPED_BASE (UINT64_C(1) << 62)
/* Bytes of one mapping asked of mincore at a time. */
#define MINCORE_SPAN (4u << 20)

TAILQ_HEAD(backing_list, backing);
static struct {
	pthread_mutex_t lock;
	struct backing_list open; /* oldest first */
	uint32_t n;
	enum { PROBE_CACHESTAT, PROBE_MINCORE } probe;
	long page;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .open = TAILQ_HEAD_INITIALIZER(all.open)};

/* ---- residency -------------------------------------------------------------------------- */

/* Linux' struct cachestat_range and struct cachestat, which Debian 12's headers do not have. */
struct cache_range {
	uint64_t offset, len;
};
struct cache_counts {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static bool cachestat_pages(int fd, uint64_t offset, uint64_t len, uint64_t *pages)
{
	struct cache_range range = {offset, len};
	struct cache_counts counts;

	if (syscall(SYS_cachestat, fd, &range, &counts, 0))
		return false;
	*pages = counts.cached;
	return true;
}

bool ra_probe_find(const char *name)
{
	return !strcmp(name, "auto") || !strcmp(name, "cachestat") || !strcmp(name, "mincore");
}

static bool have_cachestat(void)
{
	int fd = memfd_create("ra-probe", MFD_CLOEXEC);
	uint64_t pages;
	bool have;

	if (fd < 0)
		return false;
	have = cachestat_pages(fd, 0, 4096, &pages);
	close(fd);
	return have;
}

void backing_start(void)
{
	const char *name = ra_module_params.residency_probe;

	all.page = sysconf(_SC_PAGESIZE);
	all.probe = strcmp(name, "mincore") && have_cachestat() ? PROBE_CACHESTAT : PROBE_MINCORE;
	if (all.probe == PROBE_MINCORE && !strcmp(name, "cachestat"))
		LogWarn(COMPONENT_FSAL, "RA: Residency_Probe = cachestat: this kernel has none "
					"(Linux 6.5 does); using mincore");
}

/* The mapping of the file up to at least END, made or remade; map_lock held. */
static bool map_upto(struct backing *b, uint64_t end)
{
	uint64_t size = b->size;

	if (end <= b->map_len)
		return true;
	if (b->map)
		munmap(b->map, b->map_len);
	b->map_len = size > end ? size : end;
	b->map = mmap(NULL, b->map_len, PROT_NONE, MAP_SHARED | MAP_NORESERVE, b->fd, 0);
	if (b->map == MAP_FAILED) {
		b->map = NULL;
		b->map_len = 0;
	}
	return b->map != NULL;
}

static bool mincore_resident(struct backing *b, uint64_t offset, uint64_t end)
{
	unsigned char vec[MINCORE_SPAN >> 12];
	bool resident = false;

	pthread_mutex_lock(&b->map_lock);
	if (!map_upto(b, end))
		goto out;
	while (offset < end) {
		uint64_t n = end - offset < MINCORE_SPAN ? end - offset : MINCORE_SPAN;

		if (mincore((char *)b->map + offset, n, vec))
			goto out;
		for (uint64_t i = 0; i < (n + all.page - 1) / all.page; i++)
			if (!(vec[i] & 1))
				goto out;
		offset += n;
	}
	resident = true;
out:
	pthread_mutex_unlock(&b->map_lock);
	return resident;
}

bool backing_resident(struct backing *b, uint64_t offset, uint64_t len)
{
	uint64_t size = atomic_load_explicit(&b->size, memory_order_relaxed);
	uint64_t end = offset + len < size ? offset + len : size, pages;

	if (offset >= end)
		return true; /* nothing to read there */
	offset -= offset % all.page;
	if (all.probe == PROBE_MINCORE)
		return mincore_resident(b, offset, end);
	return cachestat_pages(b->fd, offset, end - offset, &pages) &&
	       pages >= (end - offset + all.page - 1) / all.page;
}

/* ---- where it is on the disk ------------------------------------------------------------ */

static int fetch_extents(void *arg, uint64_t offset, struct extent *extents, int max,
			 uint64_t *covered)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent[EXTENT_MAP_MAX];
	} f = {.map = {.fm_start = offset,
		       .fm_length = FIEMAP_MAX_OFFSET - offset,
		       .fm_extent_count = max}};
	struct backing *b = arg;
	int n = 0;

	*covered = UINT64_MAX;
	if (ioctl(b->fd, FS_IOC_FIEMAP, &f.map) < 0)
		return -1;
	for (uint32_t i = 0; i < f.map.fm_mapped_extents; i++) {
		const struct fiemap_extent *e = &f.map.fm_extents[i];

		if (!(e->fe_flags & FIEMAP_EXTENT_LAST) && i + 1 == (uint32_t)max)
			*covered = e->fe_logical + e->fe_length;
		if (e->fe_flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN)) {
			*covered = e->fe_logical; /* it will have a place: ask again then */
			break;
		}
		extents[n++] = (struct extent){
			.offset = e->fe_logical, .length = e->fe_length, .block = e->fe_physical};
	}
	return n;
}

uint64_t backing_block(struct backing *b, uint64_t offset)
{
	uint64_t block;

	if (extent_map_lookup(&b->extents, offset, fetch_extents, b, &block))
		return block;
	return UNMAPPED_BASE + ((b->file & 0xfffff) << 40) + offset % (UINT64_C(1) << 40);
}

uint64_t backing_place(struct backing *b, uint64_t offset)
{
	uint64_t block = backing_block(b, offset), before;

	if (block < UNMAPPED_BASE || !offset)
		return block;
	before = backing_block(b, offset - 1);
	return before < UNMAPPED_BASE ? before + 1 : block;
}

uint64_t backing_refresh_size(struct backing *b)
{
	struct stat st;

	if (!fstat(b->fd, &st))
		atomic_store_explicit(&b->size, (uint64_t)st.st_size, memory_order_relaxed);
	return atomic_load_explicit(&b->size, memory_order_relaxed);
}

/* ---- opening ----------------------------------------------------------------------------- */

static struct backing *open_backing(struct ra_handle *hdl, int *err)
{
	struct backing *b;
	struct stat st;
	int fd = ra_subfd_open(hdl, O_RDONLY, err);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(b = gsh_calloc(1, sizeof(*b)))) {
		close(fd);
		*err = EOPNOTSUPP;
		return NULL;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the kernel's read-ahead off */
	b->fd = fd;
	b->file = st.st_ino;
	atomic_init(&b->holds, 2); /* the handle's and the caller's */
	atomic_init(&b->uses, 2);
	atomic_init(&b->size, (uint64_t)st.st_size);
	pthread_mutex_init(&b->map_lock, NULL);
	extent_map_init(&b->extents);
	b->device = device_find(st.st_dev, ra_export_of_op());
	if (b->device == NULL) { /* more devices than the table holds: read straight through */
		backing_put(b);
		backing_put(b);
		*err = EOPNOTSUPP;
		return NULL;
	}
	return b;
}

/* ---- references and their bound --------------------------------------------------------- */

struct backing *backing_hold(struct backing *b)
{
	atomic_fetch_add_explicit(&b->holds, 1, memory_order_relaxed);
	return b;
}

void backing_release(struct backing *b)
{
	if (atomic_fetch_sub_explicit(&b->holds, 1, memory_order_acq_rel) != 1)
		return;
	extent_map_fini(&b->extents);
	pthread_mutex_destroy(&b->map_lock);
	gsh_free(b);
}

bool backing_use(struct backing *b)
{
	unsigned int uses = atomic_load_explicit(&b->uses, memory_order_relaxed);

	while (uses)
		if (atomic_compare_exchange_weak(&b->uses, &uses, uses + 1))
			return true;
	return false;
}

void backing_unuse(struct backing *b)
{
	if (atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel) != 1)
		return;
	if (b->map)
		munmap(b->map, b->map_len);
	close(b->fd);
}

void backing_put(struct backing *b)
{
	backing_unuse(b);
	backing_release(b);
}

/* Another use and hold of B, which has one. */
static struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add_explicit(&b->uses, 1, memory_order_relaxed);
	return backing_hold(b);
}

static void unlink_backing(struct backing *b)
{
	TAILQ_REMOVE(&all.open, b, link);
	all.n--;
	b->hdl = NULL;
}

/*
 * Takes B, which is linked, from its handle; the table's lock held. False if the handle is dropping
 * it just now: then that thread waits for the table's lock, so the handle cannot go away meanwhile.
 */
static bool steal(struct backing *b)
{
	struct backing_slot *slot = &b->hdl->slot;
	bool mine;

	pthread_mutex_lock(&slot->lock);
	mine = slot->backing == b;
	if (mine)
		slot->backing = NULL;
	pthread_mutex_unlock(&slot->lock);
	if (mine) {
		atomic_store(&b->gone, true);
		unlink_backing(b);
	}
	return mine;
}

/* Makes room for one more: the least recently used of some of the oldest goes. */
static void make_room(struct backing_list *out)
{
	for (int tries = 0; all.n >= ra_module_params.descriptors_max && tries < 8; tries++) {
		struct backing *b, *victim = NULL;
		int looked = 0;

		TAILQ_FOREACH(b, &all.open, link) {
			if (!victim || b->used < victim->used)
				victim = b;
			if (++looked == 64)
				break;
		}
		if (victim && steal(victim))
			TAILQ_INSERT_TAIL(out, victim, link);
	}
}

static void put_all(struct backing_list *list)
{
	struct backing *b;

	while ((b = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, b, link);
		backing_put(b);
	}
}

/* Publishes B in its handle, unless another thread was faster: then that one's is returned. */
static struct backing *publish(struct ra_handle *hdl, struct backing *b)
{
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);
	struct backing_slot *slot = &hdl->slot;
	struct backing *other = NULL;

	pthread_mutex_lock(&all.lock);
	make_room(&out);
	pthread_mutex_lock(&slot->lock);
	if (slot->backing) {
		other = backing_ref(slot->backing);
	} else {
		slot->backing = b;
		b->hdl = hdl;
		TAILQ_INSERT_TAIL(&all.open, b, link);
		all.n++;
	}
	pthread_mutex_unlock(&slot->lock);
	pthread_mutex_unlock(&all.lock);
	put_all(&out);
	if (!other)
		return b;
	backing_put(b); /* nobody else knows it: both of its references */
	backing_put(b);
	return other;
}

/* Once an export: what it does not get. */
static void say_degraded(struct ra_export *exp, const struct fsal_obj_handle *sub, int err)
{
	if (!atomic_exchange(&exp->io->degraded, true))
		LogWarn(COMPONENT_FSAL,
			"RA: export %u: FSAL %s below gives no file descriptor (%s): all passes "
			"through, without read-ahead",
			exp->io->export_id, sub->fsal->name, strerror(err));
}

struct backing *backing_get(struct ra_handle *hdl, uint64_t now)
{
	struct backing_slot *slot = &hdl->slot;
	struct backing *b;
	int err;

	if (__atomic_load_n(&slot->none, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&slot->lock);
	b = slot->backing;
	if (b)
		backing_ref(b);
	pthread_mutex_unlock(&slot->lock);
	if (!b) {
		b = open_backing(hdl, &err);
		if (!b) {
			if (err == EOPNOTSUPP || err == EPERM) {
				say_degraded(ra_export_of_op(), hdl->sub_handle, err);
				__atomic_store_n(&slot->none, true, __ATOMIC_RELAXED);
			}
			return NULL;
		}
		b = publish(hdl, b);
	}
	atomic_store_explicit(&b->used, now, memory_order_relaxed);
	return b;
}

struct backing *backing_peek(struct ra_handle *hdl)
{
	struct backing *b;

	pthread_mutex_lock(&hdl->slot.lock);
	b = hdl->slot.backing;
	if (b)
		backing_hold(b);
	pthread_mutex_unlock(&hdl->slot.lock);
	return b;
}

void backing_invalidate(struct ra_handle *hdl)
{
	struct backing *b = backing_peek(hdl);

	if (!b)
		return;
	extent_map_invalidate(&b->extents); /* may wait for FIEMAP: not under the slot's lock */
	backing_release(b);
}

void backing_drop(struct ra_handle *hdl)
{
	struct backing_slot *slot = &hdl->slot;
	struct backing *b;

	pthread_mutex_lock(&slot->lock);
	b = slot->backing;
	slot->backing = NULL;
	pthread_mutex_unlock(&slot->lock);
	if (!b)
		return;
	atomic_store(&b->gone, true);
	pthread_mutex_lock(&all.lock);
	unlink_backing(b);
	pthread_mutex_unlock(&all.lock);
	backing_put(b);
}

void backing_sweep(uint64_t now, bool everything)
{
	uint64_t idle = ra_module_params.descriptor_idle * 1000000u;
	struct backing_list out = TAILQ_HEAD_INITIALIZER(out);
	struct backing *b, *next;

	pthread_mutex_lock(&all.lock);
	for (b = TAILQ_FIRST(&all.open); b; b = next) {
		struct stat st;

		next = TAILQ_NEXT(b, link);
		if ((everything || (now > b->used && now - b->used > idle) ||
		     (!fstat(b->fd, &st) && st.st_nlink == 0)) &&
		    steal(b))
			TAILQ_INSERT_TAIL(&out, b, link);
	}
	pthread_mutex_unlock(&all.lock);
	put_all(&out);
}

uint32_t backing_count(void)
{
	return __atomic_load_n(&all.n, __ATOMIC_RELAXED);
}
