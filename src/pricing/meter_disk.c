/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Queue length and queueing delay of a disk. See meter_disk.h. */
#include <string.h>

#include "pricing/meter.h"
#include "pricing/meter_disk.h"

/* Numbers of /sys/dev/block/MAJOR:MINOR/stat; those behind TIME_IN_QUEUE are not in old kernels. */
enum {
	READS,
	WRITES = 4,
	IN_FLIGHT = 8,
	TIME_IN_QUEUE = 10, /* ms */
	DISCARDS = 11,
	FLUSHES = 15,
	COLUMNS
};

void meter_disk_init(struct meter_disk *m, unsigned int major, unsigned int minor,
		     const struct disk_limits *limits)
{
	memset(m, 0, sizeof(*m));
	m->major = major;
	m->minor = minor;
	m->limits = *limits;
}

static bool stat_read(struct meter_disk *m, struct price_source *s, uint64_t column[COLUMNS])
{
	const char *at;
	unsigned int n = 0;

	memset(column, 0, COLUMNS * sizeof(*column));
	/* what is above a partition is its disk; above a disk there is no such file */
	if (!source_read(s, "/sys/dev/block/%u:%u/../stat", m->major, m->minor) &&
	    !source_read(s, "/sys/dev/block/%u:%u/stat", m->major, m->minor))
		return false;
	for (at = s->text; n < COLUMNS && text_number(&at, &column[n]); n++)
		;
	return n > TIME_IN_QUEUE;
}

/* The kernel's side. Without its file all of it stands still. */
static void sample_kernel(struct meter_disk *m, struct price_source *s, uint64_t now,
			  double seconds)
{
	uint64_t column[COLUMNS], window = m->limits.window;

	m->unknown[0] = '\0';
	if (!stat_read(m, s, column)) {
		meter_unknown(m->unknown, s->name);
		m->inflight.n = m->kernel.n = m->kernel_ended.n = 0;
		return;
	}
	m->inflight_sum +=
		meter_stood(seconds, m->limits.step, m->inflight_before, (double)column[IN_FLIGHT]);
	m->inflight_before = (double)column[IN_FLIGHT];
	rate_add(&m->inflight, window, now, m->inflight_sum);
	rate_add(&m->kernel, window, now, (double)column[TIME_IN_QUEUE] / 1e3);
	rate_add(&m->kernel_ended, window, now,
		 (double)column[READS] + (double)column[WRITES] + (double)column[DISCARDS] +
			 (double)column[FLUSHES]);
}

static void sample_ours(struct meter_disk *m, uint64_t now, double seconds,
			const struct disk_sample *ours)
{
	uint64_t window = m->limits.window;

	m->waiting_sum += meter_stood(seconds, m->limits.step, m->before.waiting, ours->waiting);
	m->running_sum += meter_stood(seconds, m->limits.step, m->before.running, ours->running);
	m->before = *ours;
	rate_add(&m->waiting, window, now, m->waiting_sum);
	rate_add(&m->running, window, now, m->running_sum);
	rate_add(&m->ended, window, now, (double)ours->ended);
}

static double higher(double a, double b)
{
	return a > b ? a : b;
}

/* The average time in a queue of that average length. One that stands still takes for ever. */
static double wait_of(double length, double ended_per_second, double for_ever)
{
	if (!(length > 0))
		return 0;
	return ended_per_second > 0 ? length / ended_per_second : for_ever;
}

void meter_disk_sample(struct meter_disk *m, struct price_source *s, uint64_t now,
		       const struct disk_sample *ours)
{
	uint64_t window = m->limits.window;
	double seconds = m->last && now > m->last ? (double)(now - m->last) / 1e9 : 0;
	double waiting, kernel, for_ever = m->limits.saturation_delay;

	m->last = now;
	sample_ours(m, now, seconds, ours);
	sample_kernel(m, s, now, seconds);

	waiting = rate_per_second(&m->waiting, window);
	kernel = higher(rate_per_second(&m->kernel, window), rate_per_second(&m->inflight, window));
	m->length = waiting + higher(kernel, rate_per_second(&m->running, window));
	m->delay = wait_of(waiting, rate_per_second(&m->ended, window), for_ever) +
		   wait_of(kernel, rate_per_second(&m->kernel_ended, window), for_ever);
	m->by_length = meter_share(m->length, m->limits.saturation_length);
	m->by_delay = meter_share(m->delay, m->limits.saturation_delay);
	m->utilization = m->limits.method == DISK_DELAY ? m->by_delay : m->by_length;
	m->utilization = higher(m->utilization, ours->longer);
}
