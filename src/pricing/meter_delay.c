/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What longer delays say of a cluster's use. See meter_delay.h. */
#include "pricing/meter_delay.h"

void meter_delay_add(struct meter_delay *m, enum delay_kind kind, uint64_t took)
{
	bool quick = kind < DELAY_WRITE && took < DELAY_MEMORY;
	struct delay_count *c = quick ? &m->kind[kind].quick : &m->kind[kind].judged;

	atomic_fetch_add_explicit(&c->sum, took, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->n, 1, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

double meter_delay_mean(const struct meter_delay *m, enum delay_kind kind, uint32_t least)
{
	const struct delay_count *judged = &m->kind[kind].judged, *quick = &m->kind[kind].quick;
	uint64_t n = get(&judged->n) + get(&quick->n);
	uint64_t sum = get(&judged->sum) + get(&quick->sum);

	return n != 0 && n >= least ? (double)sum / (double)n : 0;
}

/* What requests say that took MEAN ns. */
static double judge(struct meter_delay *m, enum delay_kind kind, double mean)
{
	if (kind >= DELAY_WRITE && mean < DELAY_MEMORY)
		mean = DELAY_MEMORY;
	m->kind[kind].calm += m->kind[kind].calm / DELAY_DRIFT;
	if (m->kind[kind].calm <= 0 || mean < m->kind[kind].calm)
		m->kind[kind].calm = mean;
	return 1 - m->kind[kind].calm / mean;
}

/* Whether there is something to wait for before a kind is judged of which N requests have come. */
static bool too_early(struct meter_delay *m, enum delay_kind kind, uint64_t n)
{
	m->kind[kind].silent = n == m->kind[kind].n_last ? m->kind[kind].silent + 1 : 0;
	m->kind[kind].n_last = n;
	m->kind[kind].windows++;
	return n - m->kind[kind].n_before < DELAY_SAMPLES && m->kind[kind].silent < DELAY_SILENT &&
	       m->kind[kind].windows < DELAY_WINDOWS;
}

/* A window of a kind is over: how busy the cluster is by that. Where most of its time was that of quick ones, it is not. */
static double end_window(struct meter_delay *m, enum delay_kind kind)
{
	uint64_t n = get(&m->kind[kind].judged.n);
	uint64_t sum = get(&m->kind[kind].judged.sum);
	uint64_t quick = get(&m->kind[kind].quick.sum);
	uint64_t came = n - m->kind[kind].n_before;
	uint64_t took = sum - m->kind[kind].sum_before;
	bool slow = came >= DELAY_SAMPLES && took > 0 && took >= quick - m->kind[kind].quick_before;

	if (too_early(m, kind, n))
		return m->kind[kind].utilization;
	m->kind[kind].n_before = n;
	m->kind[kind].sum_before = sum;
	m->kind[kind].quick_before = quick;
	m->kind[kind].windows = 0;
	m->kind[kind].utilization = slow ? judge(m, kind, (double)took / (double)came) : 0;
	return m->kind[kind].utilization;
}

double meter_delay_sample(struct meter_delay *m, uint64_t now)
{
	double most = 0, u;

	if (m->begun != 0 && now - m->begun < DELAY_WINDOW)
		return m->utilization;
	for (int kind = 0; kind < DELAY_KINDS; kind++) {
		u = end_window(m, (enum delay_kind)kind);
		if (u > most)
			most = u;
	}
	m->utilization = m->begun != 0 ? most : 0;
	m->begun = now;
	return m->utilization;
}
