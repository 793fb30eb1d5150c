/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Observed seek cost and bandwidth, and the chunk size that follows. See cost.h. */
#include "sched/cost.h"

/* Observations before an average is believed; it then forgets at this rate. */
#define COST_SURE 8
/* A seek among others takes that part of a lone one's time at least. */
#define AMONG_SHARE 16
/* A jump that took so many times what a seek does was held up; and of a step what is no seek at least (ns). */
#define HUNG	  8
#define STEP_SEEK 0.5e6
/* Steps are judged by so many: what was asked for ahead makes one of them short, and the next one long. */
#define STEPS_JUDGED 8
/* With few streams, rounds of turns in the longest wait. */
#define ROUNDS 3
/* Chunk sizes are multiples of this. */
#define CHUNK_STEP (256u << 10)

/* A turn of a device that serves reads beside each other (ns), and its bytes at least. */
#define DIRECT_TURN  UINT64_C(4000000)
#define DIRECT_BYTES (1u << 20)

/* A disk of 7200 rpm, until the device has shown what it is. */
static const struct cost_model prior = {.ns_per_byte = 8, .seek_ns = 9e6};

static void average(double *mean, uint32_t *n, double x)
{
	if (*n < COST_SURE)
		++*n;
	*mean += (x - *mean) / *n;
}

/* One more in a row that is not believed; true: so many are right, and the average of the N known is not. */
static bool outvoted(uint32_t *in_a_row, uint32_t *n)
{
	if (++*in_a_row < COST_SURE)
		return false;
	*n = 0;
	return true;
}

static void observe_run(struct cost_model *m, uint64_t bytes, uint64_t service)
{
	double per_byte = (double)service / (double)bytes;

	if (bytes < COST_RUN)
		return;
	/* a pause by another program is no bandwidth */
	if (m->runs == COST_SURE && per_byte >= 4 * m->ns_per_byte && !outvoted(&m->slow, &m->runs))
		return;
	m->slow = 0;
	average(&m->ns_per_byte, &m->runs, per_byte);
}

/* USUAL: what any seek may take (ns), whatever those before did. */
static void observe_seek(struct cost_model *m, double ns, double usual)
{
	if (usual < m->seek_ns)
		usual = m->seek_ns;
	/* what hung is no seek; but what any disk may take is one, also where a cache answers most reads */
	if (m->jumps == COST_SURE && ns > HUNG * usual && !outvoted(&m->hung, &m->jumps))
		return;
	m->hung = 0;
	average(&m->seek_ns, &m->jumps, ns);
}

static void observe_jump(struct cost_model *m, uint64_t bytes, uint64_t service)
{
	double transfer = m->runs < COST_SURE ? 0 : (double)bytes * m->ns_per_byte;

	/* it was in memory: another had read it meanwhile */
	if ((double)service * 4 < transfer && !outvoted(&m->fast, &m->runs))
		return;
	m->fast = 0;
	if (m->runs < COST_SURE)
		transfer = 0;
	/* a small read is all seek, also before the bandwidth is known */
	if (m->runs == COST_SURE || bytes <= COST_RUN)
		observe_seek(m, (double)service > transfer ? (double)service - transfer : 0,
			     prior.seek_ns);
}

void cost_observe(struct cost_model *m, uint64_t bytes, uint64_t service, bool contiguous)
{
	if (!bytes)
		return;
	if (contiguous)
		observe_run(m, bytes, service);
	else
		observe_jump(m, bytes, service);
}

/* STEPS_JUDGED steps took so long each, NS for BYTES, on average. */
static void observe_steps(struct cost_model *m, uint64_t bytes, uint64_t ns)
{
	double per_byte = cost_run_known(m) ? m->ns_per_byte : prior.ns_per_byte;
	double seek = (double)ns - (double)bytes * per_byte;

	if (seek <= 0)
		observe_run(m, bytes, ns);
	observe_seek(m, seek > 0 ? seek : 0, STEP_SEEK);
}

void cost_observe_step(struct cost_model *m, uint64_t bytes, uint64_t service, bool run)
{
	if (run) {
		observe_run(m, bytes, service);
		return;
	}
	m->step_bytes += bytes;
	m->step_ns += service;
	if (++m->steps < STEPS_JUDGED)
		return;
	observe_steps(m, m->step_bytes / STEPS_JUDGED, m->step_ns / STEPS_JUDGED);
	m->step_bytes = m->step_ns = m->steps = 0;
}

bool cost_run_known(const struct cost_model *m)
{
	return m->runs >= COST_SURE;
}

bool cost_seek_known(const struct cost_model *m)
{
	return m->jumps >= COST_SURE;
}

void cost_restore(struct cost_model *m, double ns_per_byte, double seek_ns)
{
	if (ns_per_byte > 0 && !cost_run_known(m)) {
		m->ns_per_byte = ns_per_byte;
		m->runs = COST_SURE;
	}
	if (seek_ns > 0 && !cost_seek_known(m)) {
		m->seek_ns = seek_ns;
		m->jumps = COST_SURE;
	}
}

uint64_t cost_chunk_within(const struct cost_limits *l, double bytes)
{
	uint64_t chunk;

	if (bytes <= (double)l->chunk_min)
		return l->chunk_min;
	chunk = bytes >= (double)l->chunk_max ? l->chunk_max : (uint64_t)bytes;
	if (chunk > CHUNK_STEP)
		chunk -= chunk % CHUNK_STEP;
	return chunk < l->chunk_min ? l->chunk_min : chunk;
}

/* The bytes of a turn, at NS_PER_BYTE, of which no more than its share goes into M's seek that it begins with. */
static double worth_its_seek(const struct cost_model *m, const struct cost_limits *l,
			     double ns_per_byte)
{
	return m->seek_ns / ns_per_byte * (100 - l->seek_share) / l->seek_share;
}

uint64_t cost_chunk_direct(const struct cost_model *m, const struct cost_limits *l)
{
	double per_byte = cost_run_known(m) ? m->ns_per_byte : prior.ns_per_byte;
	double bytes = (double)cost_run_bytes(m, DIRECT_TURN);
	double worth = cost_seek_known(m) && per_byte > 0 ? worth_its_seek(m, l, per_byte) : 0;

	if (worth > bytes)
		bytes = worth;
	return cost_chunk_within(l, bytes > DIRECT_BYTES ? bytes : DIRECT_BYTES);
}

uint64_t cost_slice(const struct cost_model *m, const struct cost_limits *l, uint32_t n)
{
	uint64_t seek = (uint64_t)m->seek_ns, least = l->demand_wait / 4;
	uint64_t slice = l->demand_wait > seek + least ? l->demand_wait - seek : least;

	/* several make the gap longer: give the turn a share of that */
	return slice + (n > 1 ? (uint64_t)((n - 1) * m->seek_ns / 3) : 0);
}

/* The bytes of a turn, with its seek, that takes NS. */
static double fit_in(const struct cost_model *m, double ns)
{
	return (ns - m->seek_ns) / m->ns_per_byte;
}

/* M, or what stands in for it. */
static const struct cost_model *known(const struct cost_model *m)
{
	return cost_run_known(m) && cost_seek_known(m) && m->ns_per_byte > 0 ? m : &prior;
}

uint64_t cost_run_bytes(const struct cost_model *m, uint64_t ns)
{
	return cost_run_known(m) && m->ns_per_byte > 0 ? (uint64_t)((double)ns / m->ns_per_byte)
						       : 0;
}

uint64_t cost_seek_bytes(const struct cost_model *m)
{
	m = known(m);
	return (uint64_t)(m->seek_ns / m->ns_per_byte);
}

void cost_observe_among(struct cost_model *m, uint64_t bytes, uint32_t seeks, uint64_t service)
{
	uint32_t n = m->amongs;

	if (!seeks)
		return;
	average(&m->among_ns, &m->amongs, (double)service / seeks);
	average(&m->among_bytes, &n, (double)bytes / seeks);
}

uint64_t cost_among_bytes(const struct cost_model *m)
{
	const struct cost_model *k = known(m);
	double seek = m->among_ns - m->among_bytes * k->ns_per_byte;

	if (m->amongs < COST_SURE || seek > k->seek_ns)
		seek = k->seek_ns;
	/* for 0, as out of a cache below, none would be asked for so again, and tell */
	if (seek < k->seek_ns / AMONG_SHARE)
		seek = k->seek_ns / AMONG_SHARE;
	return (uint64_t)(seek / k->ns_per_byte);
}

uint64_t cost_slice_bytes(const struct cost_model *m, const struct cost_limits *l)
{
	m = known(m);
	return (uint64_t)((double)cost_slice(m, l, 1) / m->ns_per_byte);
}

uint64_t cost_seek_bytes_seen(const struct cost_model *m, double small_ns)
{
	if (!cost_run_known(m) || m->ns_per_byte <= 0)
		return 0;
	return (uint64_t)((cost_seek_known(m) ? m->seek_ns : small_ns / 2) / m->ns_per_byte);
}

uint64_t cost_chunk(const struct cost_model *m, const struct cost_limits *l, uint32_t streams,
		    bool demands)
{
	double bytes = (double)l->chunk_default, fit;

	if (!streams)
		streams = 1;
	if (m->runs >= COST_SURE && m->jumps >= COST_SURE) {
		bytes = worth_its_seek(m, l, m->ns_per_byte);
		fit = fit_in(m, (double)l->max_wait / ROUNDS / streams);
		if (fit > bytes)
			bytes = fit;
	} else {
		m = &prior;
	}
	fit = fit_in(m, (double)l->max_wait / streams);
	if (fit < bytes)
		bytes = fit;
	fit = fit_in(m, (double)cost_slice(m, l, 1));
	if (demands && fit < bytes)
		bytes = fit;
	return cost_chunk_within(l, bytes);
}
