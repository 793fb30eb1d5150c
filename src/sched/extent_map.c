/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The extent cache of one file. See extent_map.h. */
#include "sched/extent_map.h"

void extent_map_init(struct extent_map *m)
{
	pthread_mutex_init(&m->lock, NULL);
	m->valid = false;
	m->n = 0;
}

void extent_map_fini(struct extent_map *m)
{
	pthread_mutex_destroy(&m->lock);
}

void extent_map_invalidate(struct extent_map *m)
{
	pthread_mutex_lock(&m->lock);
	m->valid = false;
	pthread_mutex_unlock(&m->lock);
}

static bool find(const struct extent_map *m, uint64_t offset, uint64_t *block)
{
	int low = 0, high = m->n;

	while (low < high) {
		int mid = (low + high) / 2;
		const struct extent *e = &m->extents[mid];

		if (offset < e->offset) {
			high = mid;
		} else if (offset >= e->offset + e->length) {
			low = mid + 1;
		} else {
			*block = e->block + (offset - e->offset);
			return true;
		}
	}
	return false;
}

bool extent_map_lookup(struct extent_map *m, uint64_t offset, extent_fetch fetch, void *arg,
		       uint64_t *block)
{
	bool found;

	pthread_mutex_lock(&m->lock);
	if (!m->valid || offset < m->from || offset >= m->to) {
		int n = fetch(arg, offset, m->extents, EXTENT_MAP_MAX, &m->to);

		m->valid = n >= 0;
		m->n = n > 0 ? n : 0;
		m->from = offset;
	}
	found = m->valid && find(m, offset, block);
	pthread_mutex_unlock(&m->lock);
	return found;
}
