/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * schedsim [--disk KIND[,KIND…]] [--work WORK[,WORK…]] [--seconds N] [--set NAME=NUMBER]… [--rules NAME] [--clients] [--json]
 *
 * A line for each disk, work and server: the plugin (ra) beside the kernel alone (stock). Of readers
 * and streams, while writers are at work if there are any. --clients: what each address had, and the engine, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "works.h"

struct options {
	const char *disks, *works, *servers;
	uint64_t seconds;
	bool json, clients;
	const struct readahead_rules *rules; /* NULL: the default */
	struct sim_params params;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* What all clients of one kind had. */
struct row {
	uint64_t answers, bytes, p50, p99, worst; /* ns */
	double least, most;			  /* bytes of one of them */
};

/* Readers in any order of their own are streams. */
static enum sim_work kind_of(const struct sim_client *c)
{
	return c->kind.work < SIM_BACKWARD ? c->kind.work : SIM_STREAM;
}

/* Of all clients of WORK; of ADDRESS, or all. */
static void sum(const struct sim *s, enum sim_work work, int address, uint64_t until,
		struct row *row)
{
	uint64_t *all, n = 0;

	*row = (struct row){.least = 1e300};
	for (unsigned int i = 0; i < s->n; i++)
		n += s->clients[i].got.answers;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		abort();
	for (unsigned int i = 0; i < s->n; i++) {
		const struct sim_client *c = &s->clients[i];

		if (kind_of(c) != work ||
		    (address >= 0 && c->kind.address != (unsigned int)address))
			continue;
		row->bytes += c->got.bytes;
		row->least = (double)c->got.bytes < row->least ? (double)c->got.bytes : row->least;
		row->most = (double)c->got.bytes > row->most ? (double)c->got.bytes : row->most;
		for (uint64_t k = 0; k < c->got.answers && c->got.answer[k].at <= until; k++)
			all[row->answers++] = c->got.answer[k].latency;
	}
	qsort(all, row->answers, sizeof(*all), by_value);
	if (row->answers) {
		row->p50 = all[row->answers / 2];
		row->p99 = all[row->answers * 99 / 100];
		row->worst = all[row->answers - 1];
	}
	free(all);
}

static uint64_t stable_at(const struct sim *s)
{
	uint64_t at = 0;

	for (unsigned int i = 0; i < s->n; i++)
		at = s->clients[i].got.stable > at ? s->clients[i].got.stable : at;
	return at;
}

static uint64_t acked_at(const struct sim *s)
{
	uint64_t at = 0;

	for (unsigned int i = 0; i < s->n; i++)
		if (s->clients[i].kind.work == SIM_WRITE && s->clients[i].got.acked > at)
			at = s->clients[i].got.acked;
	return at;
}

static void print(const struct options *o, const struct sim *s, const char *work)
{
	uint64_t stable = stable_at(s), until = stable ? stable : s->events.now;
	double seconds = (double)(s->events.now - SEC) / 1e9;
	struct row random, stream, writer;
	const char *form =
		o->json ? "{\"disk\": \"%s\", \"work\": \"%s\", \"server\": \"%s\", "
			  "\"streams_mb_s\": "
			  "%.1f, \"ratio\": %.2f, \"reads_s\": %.1f, \"p50_ms\": %.1f, \"p99_ms\": "
			  "%.1f, \"worst_ms\": %.1f, \"acked_s\": %.2f, \"commit_s\": %.2f, "
			  "\"done_s\": %.2f}\n"
			: "%-13s %-10s %-6s %7.1f %6.2f %8.1f %8.1f %8.1f %8.1f %7.2f %7.2f "
			  "%7.2f\n";

	sum(s, SIM_RANDOM, -1, until, &random);
	sum(s, SIM_STREAM, -1, until, &stream);
	sum(s, SIM_WRITE, -1, until, &writer);
	printf(form, s->disk.kind->name, work, s->stock ? "stock" : "ra",
	       (double)stream.bytes / 1e6 / seconds,
	       stream.bytes && stream.least > 0 ? stream.most / stream.least : 0,
	       (double)random.answers * 1e9 / (double)(until - SEC), (double)random.p50 / 1e6,
	       (double)random.p99 / 1e6, (double)random.worst / 1e6,
	       stable ? (double)(acked_at(s) - SEC) / 1e9 : 0,
	       stable ? (double)(stable - SEC) / 1e9 : 0, seconds);
}

static uint64_t counted(const struct sim *s, enum readahead_counter which)
{
	return readahead_counted(&s->counters, which);
}

static void print_engine(const struct sim *s)
{
	struct readahead_stats stats;

	readahead_stats(s->engine, &stats);
	printf("    chunks %llu, fetched ahead %.1f MB, of them used %.1f, wasted %.1f, unread "
	       "%.1f, at "
	       "most %.1f; refused %llu; curbed %llu\n",
	       (unsigned long long)counted(s, READAHEAD_CHUNKS),
	       (double)(counted(s, READAHEAD_PLANNED) - counted(s, READAHEAD_UNFETCHED)) / 1e6,
	       (double)counted(s, READAHEAD_USED) / 1e6, (double)counted(s, READAHEAD_WASTED) / 1e6,
	       (double)stats.unread / 1e6, (double)stats.unread_max / 1e6,
	       (unsigned long long)counted(s, READAHEAD_REFUSED),
	       (unsigned long long)counted(s, READAHEAD_CURBED));
	printf("    the disk: %llu small reads, %llu chunks of %.2f MB, %llu reads waited for "
	       "one\n",
	       (unsigned long long)s->queue.stats.served[SCHED_DEMAND],
	       (unsigned long long)s->queue.stats.served[SCHED_PREFETCH],
	       (double)s->queue.stats.bytes[SCHED_PREFETCH] / 1e6 /
		       (double)(s->queue.stats.served[SCHED_PREFETCH] + 1),
	       (unsigned long long)s->queue.stats.joined);
}

/* A line for each address. */
static void print_clients(const struct sim *s)
{
	static const char *const names[] = {"random", "stream", "writer"};
	double seconds = (double)(s->events.now - SEC) / 1e9;
	unsigned int last = s->clients[s->n - 1].kind.address;

	for (unsigned int a = 0; a <= last; a++) {
		uint64_t arms = 0;
		struct row row;
		enum sim_work work = SIM_RANDOM;

		for (unsigned int i = 0; i < s->n; i++)
			if (s->clients[i].kind.address == a) {
				arms += s->disk.time[i];
				work = kind_of(&s->clients[i]);
			}
		sum(s, work, (int)a, s->events.now, &row);
		printf("    client %-3u %s %7.1f MB/s %7.1f /s, p50 %.1f ms, p99 %.1f ms, worst "
		       "%.1f "
		       "ms, share of the disk %.3f\n",
		       a, names[work], (double)row.bytes / 1e6 / seconds,
		       (double)row.answers / seconds, (double)row.p50 / 1e6, (double)row.p99 / 1e6,
		       (double)row.worst / 1e6, (double)arms / 1e9 / seconds / s->disk.arms);
	}
}

static int run(const struct options *o, const struct sim_disk_kind *disk,
	       const struct sim_work_kind *work, bool stock)
{
	unsigned int n;
	struct sim_client_kind *kinds = sim_work_clients(work, &n);
	struct sim *s = calloc(1, sizeof(*s));
	int err = kinds && s ? sim_init(s, disk, &o->params, stock, kinds, n) : ENOMEM;

	if (err) {
		fprintf(stderr, "schedsim: %s on %s: %s\n", work->name, disk->name, strerror(err));
	} else {
		s->first = work->first;
		if (o->rules)
			s->tuning.rules = o->rules;
		sim_run(s, (o->seconds ? o->seconds : work->seconds) * SEC);
		print(o, s, work->name);
		if (o->clients)
			print_clients(s);
		if (o->clients && !stock)
			print_engine(s);
	}
	if (s)
		sim_fini(s);
	free(s);
	free(kinds);
	return err;
}

/* Whether LIST, names with commas, or "all", holds NAME. */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(list, "all"))
		return true;
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static int run_all(const struct options *o)
{
	int err = 0;

	if (!o->json)
		printf("disk          work       server streams  ratio  reads/s   p50 ms   p99 ms  "
		       "worst ms  acked  COMMIT   done\n");
	for (const struct sim_disk_kind *d = sim_disk_kinds; d->name; d++)
		for (const struct sim_work_kind *w = sim_works; w->name; w++)
			for (int stock = 1; stock >= 0; stock--)
				if (listed(o->disks, d->name) && listed(o->works, w->name) &&
				    listed(o->servers, stock ? "stock" : "ra"))
					err |= run(o, d, w, stock);
	return err ? 1 : 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: schedsim [--disk KIND,...] [--work WORK,...] [--server ra,stock] "
			"[--seconds N] [--set NAME=NUMBER] [--rules NAME] [--clients] "
			"[--json]\nKIND, all or some of:");
	for (const struct sim_disk_kind *d = sim_disk_kinds; d->name; d++)
		fprintf(stderr, "\n  %-13s %s", d->name, d->about);
	fprintf(stderr, "\nWORK, all or some of:");
	for (const struct sim_work_kind *w = sim_works; w->name; w++)
		fprintf(stderr, "\n  %-13s %s", w->name, w->about);
	fprintf(stderr, "\nNAME: a parameter of ganesha-ra-config(8) that is a number\n");
	return 2;
}

static bool option(struct options *o, const char *name, const char *value)
{
	if (!strcmp(name, "--disk"))
		o->disks = value;
	else if (!strcmp(name, "--work"))
		o->works = value;
	else if (!strcmp(name, "--server"))
		o->servers = value;
	else if (!strcmp(name, "--seconds"))
		o->seconds = strtoull(value, NULL, 10);
	else if (!strcmp(name, "--rules"))
		return (o->rules = rules_find(value)) != NULL;
	else if (!strcmp(name, "--set"))
		return sim_params_set(&o->params, value);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct options o = {.disks = "own", .works = "all", .servers = "all"};

	sim_params_default(&o.params);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			o.json = true;
		else if (!strcmp(argv[i], "--clients"))
			o.clients = true;
		else if (i + 1 == argc || !option(&o, argv[i], argv[i + 1]))
			return usage();
		else
			i++;
	}
	return run_all(&o);
}
