/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty pages against the kernel's limits, and what cached data is worth. See meter_memory.h. */
#include <string.h>

#include "pricing/meter.h"
#include "pricing/meter_memory.h"

void meter_memory_init(struct meter_memory *m, const struct memory_limits *limits)
{
	memset(m, 0, sizeof(*m));
	m->limits = *limits;
}

static bool vmstat(const char *text, const char *key, uint64_t *pages)
{
	const char *at = text_line(text, key);

	return at && text_numbers(at, pages, 1);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static bool sample_dirty(struct meter_memory *m, struct price_source *s)
{
	uint64_t dirty, writeback, background, limit, active, inactive, idle;

	if (!source_read(s, "/proc/vmstat") || !vmstat(s->text, "nr_dirty ", &dirty) ||
	    !vmstat(s->text, "nr_writeback ", &writeback) ||
	    !vmstat(s->text, "nr_dirty_threshold ", &limit) ||
	    !vmstat(s->text, "nr_dirty_background_threshold ", &background) ||
	    !vmstat(s->text, "nr_active_file ", &active) ||
	    !vmstat(s->text, "nr_inactive_file ", &inactive) ||
	    !vmstat(s->text, "nr_free_pages ", &idle))
		return false;
	m->dirty_pages = dirty + writeback;
	m->full_pages = background / 2 + limit / 2;
	m->read_pages = less(active + inactive + idle, m->dirty_pages);
	m->dirty = meter_share((double)m->dirty_pages, (double)m->full_pages);
	return true;
}

static void sample_reads(struct meter_memory *m, uint64_t now, const struct ghost_counts *c)
{
	ghost_worth_sample(&m->reads, m->limits.window, m->limits.reads_min, now, c);
	m->hit_small = m->reads.hit_small;
	m->hit_large = m->reads.hit_large;
	m->worth = m->reads.worth;
}

void meter_memory_sample(struct meter_memory *m, struct price_source *s, uint64_t now,
			 const struct ghost_counts *reads)
{
	m->unknown[0] = '\0';
	m->worth = m->hit_small = m->hit_large = 0;
	if (!sample_dirty(m, s)) {
		meter_unknown(m->unknown, s->name);
		m->dirty = 0;
		m->dirty_pages = m->full_pages = m->read_pages = 0;
	}
	if (reads)
		sample_reads(m, now, reads);
	m->utilization = m->dirty > m->worth ? m->dirty : m->worth;
}
