/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Statistics as JSON: counters of the engine, its state, and the devices' queues. */
#include "stats.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "backing.h"
#include "io.h"
#include "pacer.h"
#include "ra_methods.h"
#include "writeback.h"

struct text {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at, t->left, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

static void say_counters(struct text *t, const struct readahead_counters *counters)
{
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		say(t, "%s\"%s\":%" PRIu64, i ? "," : "", readahead_counter_names[i],
		    readahead_counted(counters, i));
}

static void say_engine(struct text *t)
{
	struct readahead_stats s;

	readahead_stats(ra_engine, &s);
	say(t,
	    ",\"unread_bytes\":%" PRIu64 ",\"unread_bytes_max\":%" PRIu64
	    ",\"readahead_memory\":%" PRIu64 ",\"streams\":%u,\"cursors\":%u,\"cursors_used\":%u"
	    ",\"cursors_made\":%" PRIu64 ",\"cursors_recycled\":%" PRIu64
	    ",\"table_size\":%u,\"table_entries\":%u,\"table_evictions\":%" PRIu64
	    ",\"descriptors\":%u",
	    s.unread, s.unread_max, s.memory, s.streams, s.cursors, s.cursors_used, s.cursors_made,
	    s.cursors_recycled, s.table_size, s.entries, s.evictions, backing_count());
}

static void say_writeback(struct text *t)
{
	struct writeback_view w;
	struct pacer_view p;

	writeback_view(&w);
	pacer_view(&p);
	say(t,
	    ",\"writeback_files\":%u,\"writeback_bytes\":%" PRIu64 ",\"writeback_errors\":%" PRIu64
	    ",\"writeback_untracked\":%" PRIu64 ",\"commits\":%" PRIu64
	    ",\"paced_replies\":%" PRIu64 ",\"paced_us\":%" PRIu64 ",\"paced_max_us\":%" PRIu64
	    ",\"pacing_refused\":%" PRIu64,
	    w.files, w.pushed, w.errors, w.untracked, w.commits, p.replies, p.delay / 1000,
	    p.delay_max / 1000, p.refused);
}

static void say_device(struct text *t, struct ra_device *d)
{
	struct dispatcher_stats now;
	const struct sched_stats *s = &now.counted;

	dispatcher_stats(&d->dispatcher, &now);
	say(t,
	    "{\"device\":\"%u:%u\",\"scheduler\":\"%s\",\"depth\":%u,\"queued_demand\":%u"
	    ",\"queued_prefetch\":%u,\"served_demand\":%" PRIu64 ",\"served_prefetch\":%" PRIu64
	    ",\"served_writeback\":%" PRIu64 ",\"writeback_share\":%.3f,\"demand_bytes\":%" PRIu64
	    ",\"prefetch_bytes\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"absorbed\":%" PRIu64
	    ",\"merged\":%" PRIu64 ",\"expired\":%" PRIu64 ",\"dropped\":%" PRIu64
	    ",\"refused\":%" PRIu64 ",\"switches\":%" PRIu64 ",\"wait_p50_us\":%" PRIu64
	    ",\"wait_p99_us\":%" PRIu64 ",\"wait_max_us\":%" PRIu64
	    ",\"seek_us\":%.0f,\"bytes_per_s\":%.0f,\"chunk\":%" PRIu64 "}",
	    major(d->dev), minor(d->dev), now.policy->name, now.depth, now.queued[SCHED_DEMAND],
	    now.queued[SCHED_PREFETCH], s->served[SCHED_DEMAND], s->served[SCHED_PREFETCH],
	    s->served[SCHED_WRITEBACK], now.writeback_share, s->bytes[SCHED_DEMAND],
	    s->bytes[SCHED_PREFETCH], s->joined, s->absorbed, s->merged, s->expired, s->dropped,
	    s->refused, s->switches, sched_wait_percentile(s, 50) / 1000,
	    sched_wait_percentile(s, 99) / 1000, s->wait_max / 1000, now.cost.seek_ns / 1000,
	    now.cost.ns_per_byte > 0 ? 1e9 / now.cost.ns_per_byte : 0, now.chunk);
}

size_t ra_stats_json(char *buffer, size_t size)
{
	struct text t = {.at = buffer, .left = size};
	struct readahead_counters *sum = aligned_alloc(64, (sizeof(*sum) + 63) / 64 * 64);
	struct ra_device *d;

	say(&t, "{");
	if (sum != NULL) {
		ra_stats_sum(sum);
		say_counters(&t, sum);
		free(sum);
	}
	say_engine(&t);
	say_writeback(&t);
	say(&t, ",\"devices\":[");
	for (unsigned int i = 0; (d = device_nth(i)) != NULL; i++) {
		say(&t, "%s", i ? "," : "");
		say_device(&t, d);
	}
	say(&t, "]}");
	return (size_t)(t.at - buffer);
}

void ra_stats_log(void)
{
	static char line[16384];

	ra_stats_json(line, sizeof(line));
	LogEvent(COMPONENT_FSAL, "RA_STATS %s", line);
}

void ra_stats_log_export(uint16_t export_id, const struct readahead_counters *counters)
{
	char line[1024];
	struct text t = {.at = line, .left = sizeof(line)};

	say(&t, "{\"export\":%u,", export_id);
	say_counters(&t, counters);
	say(&t, "}");
	LogEvent(COMPONENT_FSAL, "RA_EXPORT_STATS %s", line);
}
