/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The extent cache of one file. See extents.h. */
#include "disk/extents.h"

#include <assert.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include "common/clock.h"
#include "disk/seek_evidence.h"

void extent_map_init(struct extent_map *m)
{
	lock_init(&m->lock, LOCK_EXTENTS);
	atomic_init(&m->changed, 0);
	atomic_init(&m->changes, 0);
	m->askers = NULL;
	m->now = clock_now;
	m->not_before = 0;
	m->asking = m->valid = false;
	m->n = 0;
}

void extent_map_fini(struct extent_map *m)
{
	lock_fini(&m->lock);
}

void extent_map_invalidate(struct extent_map *m)
{
	atomic_fetch_add(&m->changed, 1);
}

void extent_map_set_changes(struct extent_map *m, uint32_t n)
{
	atomic_store(&m->changes, n);
}

int extent_fetch_fiemap(void *arg, uint64_t offset, struct extent *extents, int max,
			uint64_t *covered)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent[EXTENT_MAP_MAX];
	} f = {.map = {.fm_start = offset,
		       .fm_length = FIEMAP_MAX_OFFSET - offset,
		       .fm_extent_count = (uint32_t)max}};
	int n = 0;

	assert(max > 0 && max <= EXTENT_MAP_MAX);
	*covered = UINT64_MAX;
	if (ioctl(*(const int *)arg, FS_IOC_FIEMAP, &f.map) < 0)
		return -1;
	for (uint32_t i = 0; i < f.map.fm_mapped_extents; i++) {
		const struct fiemap_extent *e = &f.map.fm_extents[i];

		if (!(e->fe_flags & FIEMAP_EXTENT_LAST) && i + 1 == (uint32_t)max)
			*covered = e->fe_logical + e->fe_length;
		if (e->fe_flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN)) {
			*covered = e->fe_logical; /* it will have a place: ask again then */
			break;
		}
		extents[n++] =
			(struct extent){.offset = e->fe_logical,
					.length = e->fe_length,
					.block = e->fe_physical,
					.unwritten = e->fe_flags & (FIEMAP_EXTENT_UNWRITTEN |
								    FIEMAP_EXTENT_DATA_INLINE)};
	}
	return n;
}

/* The extent that OFFSET is in; NULL: none that is known. */
static const struct extent *find(const struct extent_map *m, uint64_t offset)
{
	int low = 0, high = m->n;

	while (low < high) {
		int mid = (low + high) / 2;
		const struct extent *e = &m->extents[mid];

		if (offset < e->offset)
			high = mid;
		else if (offset >= e->offset + e->length)
			low = mid + 1;
		else
			return e;
	}
	return NULL;
}

static bool is_valid(const struct extent_map *m)
{
	return m->valid && m->as_of == atomic_load(&m->changed);
}

static bool covers(const struct extent_map *m, uint64_t offset)
{
	return is_valid(m) && offset >= m->from && offset < m->to;
}

/* Whether the file system may be asked now. */
static bool may_ask(const struct extent_map *m)
{
	return !m->asking && atomic_load(&m->changes) == 0 && m->now() >= m->not_before;
}

/* Who asks, and how. */
struct asker {
	extent_fetch fetch;
	void *arg;
	bool if_few; /* only beside few others: he submits */
};

/* BY is counted among those that ask of the device; false: he asks for nothing, for there are too many. */
static bool count_asker(struct extent_map *m, const struct asker *by)
{
	uint32_t n;

	if (m->askers == NULL)
		return true;
	n = atomic_load_explicit(m->askers, memory_order_relaxed);
	do {
		if (by->if_few && n >= EXTENT_ASKERS_MAX)
			return false;
	} while (!atomic_compare_exchange_weak(m->askers, &n, n + 1));
	return true;
}

static void discount_asker(struct extent_map *m)
{
	if (m->askers != NULL)
		atomic_fetch_sub(m->askers, 1);
}

/* Asks for what lies from OFFSET on, if that may be now; with the lock, which is given back meanwhile. */
static void ask(struct extent_map *m, uint64_t offset, const struct asker *by)
{
	struct extent extents[EXTENT_MAP_MAX];
	uint64_t to = 0, as_of, begun, took;
	int n;

	lock_assert_held(&m->lock);
	if (!may_ask(m) || !count_asker(m, by))
		return;
	m->asking = true;
	as_of = atomic_load(&m->changed);
	lock_drop(&m->lock);
	begun = m->now();
	n = by->fetch(by->arg, offset, extents, EXTENT_MAP_MAX, &to);
	took = m->now() - begun;
	discount_asker(m);
	lock_take(&m->lock);
	m->asking = false;
	if (took >= EXTENT_SLOW)
		m->not_before = begun + took + EXTENT_PAUSE * took;
	m->valid = n >= 0;
	m->as_of = as_of;
	m->n = n > 0 ? n : 0;
	memcpy(m->extents, extents, (size_t)m->n * sizeof(*extents));
	m->from = offset;
	m->to = to;
}

/* As find(), asked for if need be; NULL also if it is not known now. With the lock, as ask(). */
static const struct extent *look_up(struct extent_map *m, uint64_t offset, const struct asker *by)
{
	if (!covers(m, offset))
		ask(m, offset, by);
	return covers(m, offset) ? find(m, offset) : NULL;
}

/* The same; what lies up to LEN bytes behind is cached then, too, as far as there is room. */
static const struct extent *look_up_all(struct extent_map *m, uint64_t offset, uint64_t len,
					const struct asker *by)
{
	if (covers(m, offset) && m->from < offset && m->to < offset + len)
		ask(m, offset, by);
	return look_up(m, offset, by);
}

static bool place_of(struct extent_map *m, uint64_t offset, const struct asker *by, uint64_t *block)
{
	const struct extent *e;

	lock_take(&m->lock);
	(void)look_up(m, offset, by);
	e = find(m, offset); /* what it was before is better than nothing */
	if (e != NULL)
		*block = e->block + (offset - e->offset);
	lock_drop(&m->lock);
	return e != NULL;
}

bool extent_map_lookup(struct extent_map *m, uint64_t offset, extent_fetch fetch, void *arg,
		       uint64_t *block)
{
	return place_of(m, offset, &(struct asker){.fetch = fetch, .arg = arg}, block);
}

bool extent_map_lookup_if_few(struct extent_map *m, uint64_t offset, extent_fetch fetch, void *arg,
			      uint64_t *block)
{
	const struct asker by = {.fetch = fetch, .arg = arg, .if_few = true};

	return place_of(m, offset, &by, block);
}

/* What lies in E behind OFFSET, up to LEN bytes, continues the span, or begins it. */
static void add_to(struct extent_span *s, const struct extent *e, uint64_t offset, uint64_t len)
{
	uint64_t block = e->block + (offset - e->offset), left = e->offset + e->length - offset;

	if (s->pieces == 0)
		s->block = s->end = block;
	s->pieces += s->pieces == 0 || block != s->end;
	s->seeks += seek_is_far(s->end, block);
	s->end = block + (left < len ? left : len);
}

bool extent_map_written(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			void *arg, struct extent_span *span)
{
	const struct asker by = {.fetch = fetch, .arg = arg};
	uint64_t upto = offset + len;
	const struct extent *e;

	*span = (struct extent_span){0};
	lock_take(&m->lock);
	e = look_up(m, offset, &by);
	while (e != NULL && !e->unwritten && offset < upto) {
		add_to(span, e, offset, upto - offset);
		offset = e->offset + e->length;
		if (offset < upto)
			e = find(m, offset);
	}
	lock_drop(&m->lock);
	return e != NULL && !e->unwritten;
}

/* How far a turn has come: LEN bytes, of which the last is in front of BLOCK, in the time of SPENT bytes in one place. */
struct reach {
	uint64_t len, spent, block;
};

/* What lies in E behind OFFSET comes to R's turn, in part perhaps; false: no more does. */
static bool reach_into(struct reach *r, const struct extent *e, uint64_t offset, uint64_t turn,
		       uint64_t seek)
{
	uint64_t block = e->block + (offset - e->offset), left = e->offset + e->length - offset;
	uint64_t more = r->len && seek_is_far(r->block, block) ? seek : 0, room;

	if (r->spent + more >= turn)
		return false;
	room = turn - r->spent - more;
	if (left > room && left - room > seek)
		left = room;
	r->len += left;
	r->spent += more + left;
	r->block = block + left;
	return r->spent < turn;
}

static uint64_t reach_of(struct extent_map *m, uint64_t offset, uint64_t turn, uint64_t seek,
			 const struct asker *by)
{
	struct reach r = {0};
	const struct extent *e;
	bool more = true;

	lock_take(&m->lock);
	e = look_up_all(m, offset, turn, by);
	while (e != NULL && more) {
		more = reach_into(&r, e, offset + r.len, turn, seek);
		if (more)
			e = find(m, offset + r.len);
	}
	lock_drop(&m->lock);
	if (e == NULL && r.spent < turn)
		r.len += turn - r.spent;
	return r.len < turn ? r.len : turn;
}

uint64_t extent_map_reach(struct extent_map *m, uint64_t offset, uint64_t turn, uint64_t seek,
			  extent_fetch fetch, void *arg)
{
	return reach_of(m, offset, turn, seek, &(struct asker){.fetch = fetch, .arg = arg});
}

uint64_t extent_map_reach_if_few(struct extent_map *m, uint64_t offset, uint64_t turn,
				 uint64_t seek, extent_fetch fetch, void *arg)
{
	const struct asker by = {.fetch = fetch, .arg = arg, .if_few = true};

	return reach_of(m, offset, turn, seek, &by);
}

uint64_t extent_map_whole(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			  void *arg)
{
	const struct asker by = {.fetch = fetch, .arg = arg};
	uint64_t at = offset, upto = offset + len, whole = len, block = 0;
	const struct extent *e;

	lock_take(&m->lock);
	e = look_up_all(m, offset, len, &by);
	for (; e != NULL && at < upto; e = find(m, at)) {
		if (at > offset && seek_is_far(block, e->block))
			whole = at - offset;
		at = e->offset + e->length;
		block = e->block + e->length;
	}
	lock_drop(&m->lock);
	return at > upto ? whole : len;
}

/* PIECE among the N that are in order before it. */
static void put_in_order(struct extent *pieces, int n, struct extent piece)
{
	for (; n > 0 && pieces[n - 1].block > piece.block; n--)
		pieces[n] = pieces[n - 1];
	pieces[n] = piece;
}

int extent_map_in_order(struct extent_map *m, uint64_t offset, uint64_t len, extent_fetch fetch,
			void *arg, struct extent *pieces)
{
	const struct asker by = {.fetch = fetch, .arg = arg};
	uint64_t upto = offset + len;
	const struct extent *e;
	int n = 0;

	lock_take(&m->lock);
	e = look_up_all(m, offset, len, &by);
	for (; e != NULL && offset < upto; e = find(m, offset)) {
		uint64_t end = e->offset + e->length;
		struct extent piece = {.offset = offset, .block = e->block + (offset - e->offset)};

		piece.length = (end < upto ? end : upto) - offset;
		put_in_order(pieces, n++, piece);
		offset = end;
	}
	lock_drop(&m->lock);
	return offset < upto ? 0 : n;
}

bool extent_map_peek(struct extent_map *m, uint64_t offset, uint64_t *block)
{
	const struct extent *e;

	lock_take(&m->lock);
	e = find(m, offset);
	if (e != NULL)
		*block = e->block + (offset - e->offset);
	lock_drop(&m->lock);
	return e != NULL;
}
