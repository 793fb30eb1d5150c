/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What longer delays say of a cluster's use. See meter_delay.h. */
#include "pricing/meter_delay.h"

void meter_delay_add(struct meter_delay *m, enum delay_kind kind, uint64_t took)
{
	atomic_fetch_add_explicit(&m->kind[kind].sum, took, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->kind[kind].n, 1, memory_order_relaxed);
}

/* What the window says by requests of a kind. */
static double end_window(struct meter_delay *m, enum delay_kind kind)
{
	uint32_t n = atomic_load_explicit(&m->kind[kind].n, memory_order_relaxed);
	uint64_t sum = atomic_load_explicit(&m->kind[kind].sum, memory_order_relaxed);
	uint32_t came = n - m->kind[kind].n_before;
	double mean = came ? (double)(sum - m->kind[kind].sum_before) / came : 0;

	m->kind[kind].n_before = n;
	m->kind[kind].sum_before = sum;
	if (came < DELAY_SAMPLES || mean <= 0)
		return 0;
	m->kind[kind].calm += m->kind[kind].calm / DELAY_DRIFT;
	if (m->kind[kind].calm <= 0 || mean < m->kind[kind].calm)
		m->kind[kind].calm = mean;
	return 1 - m->kind[kind].calm / mean;
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
