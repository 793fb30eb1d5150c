/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See report.h. Groups by operation; clients by what their caches and calls did, second by second. */
#include "report.h"

static double seconds_counted(const struct run *run)
{
	return 1e-9 * (double)(run->counted.until - run->counted.from);
}

static void op_json(const struct tally *g, enum op_kind kind, double seconds, FILE *out)
{
	const struct latency *l = &g->latency[kind];
	double n = g->ops[kind] ? (double)g->ops[kind] : 1;

	fprintf(out,
		"{\"ops\": %llu, \"ops_s\": %.3f, \"mb_s\": %.4f, \"latency_ms\": {\"mean\": %.4f, "
		"\"p50\": %.3f, \"p90\": %.3f, \"p99\": %.3f, \"max\": %.3f}}",
		(unsigned long long)g->ops[kind], (double)g->ops[kind] / seconds,
		(double)g->bytes[kind] / 1e6 / seconds, (double)l->sum / n / 1e3,
		latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.9) / 1e3,
		latency_percentile(l, 0.99) / 1e3, l->max / 1e3);
}

static void group_json(const struct run *run, unsigned int i, FILE *out)
{
	const struct group_result *g = &run->groups[i];
	const struct tally *did = &g->did;
	double seconds = seconds_counted(run);
	uint64_t ops = 0, bytes = 0;
	const char *comma = "";

	fprintf(out, "{\"name\": \"%s\", \"operations\": {", run->o->groups[i].name);
	for (int kind = 0; kind < OP_KINDS; kind++) {
		ops += did->ops[kind];
		bytes += did->bytes[kind];
		if (!did->ops[kind])
			continue;
		fprintf(out, "%s\"%s\": ", comma, op_kind_names[kind]);
		op_json(did, (enum op_kind)kind, seconds, out);
		comma = ", ";
	}
	fprintf(out,
		"}, \"ops\": %llu, \"ops_s\": %.3f, \"mb\": %.3f, \"mb_s\": %.4f, \"blocked\": "
		"%llu, "
		"\"blocked_s\": %.4f, \"ended\": %u, \"first_end_s\": %.4f, \"last_end_s\": %.4f, "
		"\"held_s\": %.4f, \"under_way\": %llu, \"under_way_s\": %.4f}",
		(unsigned long long)ops, (double)ops / seconds, (double)bytes / 1e6,
		(double)bytes / 1e6 / seconds, (unsigned long long)did->blocked,
		1e-9 * (double)did->blocked_ns, g->ended, g->first_end, g->last_end, g->held_at,
		(unsigned long long)did->under_way, 1e-9 * (double)did->under_way_ns);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void seconds_json(const char *name, const uint64_t pages[WRITE_BACK_SECONDS], FILE *out)
{
	fprintf(out, "\"%s\": [", name);
	for (unsigned int s = 0; s < WRITE_BACK_SECONDS; s++)
		fprintf(out, "%s%llu", s ? ", " : "", (unsigned long long)pages[s]);
	fprintf(out, "]");
}

/* Pages that were marked for commit in the first, second, ... second after their write(), and those
 * of which no more is known than that they were not until then. */
static void times_json(const struct write_back_times *t, FILE *out)
{
	fprintf(out, "\"write_back\": {");
	seconds_json("committed", t->in_second, out);
	fprintf(out, ", ");
	seconds_json("kept", t->kept, out);
	fprintf(out, "}");
}

/* When since the load began a write waited for memory first. */
static void first_blocked_json(const struct run *run, const struct client_counts *n, FILE *out)
{
	if (n->first_blocked)
		fprintf(out, "\"first_blocked_s\": %.4f, ",
			1e-9 * (double)(n->first_blocked - run->began));
	else
		fprintf(out, "\"first_blocked_s\": null, ");
}

static void calls_json(const struct client_counts *n, const struct client_counts *from, FILE *out)
{
	fprintf(out, "\"calls\": {");
	for (int k = 0; k < CALL_KINDS; k++)
		fprintf(out, "%s\"%s\": %llu", k ? ", " : "", call_kind_names[k],
			(unsigned long long)(n->calls[k] - from->calls[k]));
	fprintf(out, "}, \"ways_s\": {");
	for (int w = 0; w < AUCTION_WAYS; w++)
		fprintf(out, "%s\"%s\": %.3f", w ? ", " : "", auction_way_names[w],
			1e-9 * (double)(n->way_ns[w] - from->way_ns[w]));
	fprintf(out, "}");
}

#define SERIES(name, format, value)                                                                \
	do {                                                                                       \
		fprintf(out, ", \"" name "\": [");                                                 \
		for (uint32_t s = 0; s < run->seconds; s++)                                        \
			fprintf(out, "%s" format, s ? ", " : "", m->samples[s].value);             \
		fprintf(out, "]");                                                                 \
	} while (0)

static void history_json(const struct run *run, const struct member *m, FILE *out)
{
	fprintf(out, "\"history\": {\"seconds\": %u", run->seconds);
	SERIES("price", "%.4f", price);
	SERIES("price_readahead", "%.4f", price_ahead);
	SERIES("bid", "%.4f", bid);
	SERIES("worth", "%.3f", worth);
	SERIES("way", "%u", way);
	SERIES("unsaved_mb", "%.2f", unsaved_mb);
	SERIES("limit_mb", "%.2f", limit_mb);
	SERIES("read_mb", "%.2f", read_mb);
	SERIES("written_mb", "%.2f", written_mb);
	SERIES("saved_mb", "%.2f", saved_mb);
	SERIES("blocked_s", "%.3f", blocked_s);
	SERIES("blocked", "%u", blocked);
	SERIES("ops", "%u", ops);
	fprintf(out, "}");
}

static void client_json(const struct run *run, const struct member *m, FILE *out)
{
	const struct client_counts *n = &m->counted_until, *from = &m->counted_from;
	uint64_t ahead = n->pages_hit_ahead - from->pages_hit_ahead;
	uint64_t hits = n->pages_hit - from->pages_hit;
	uint64_t all = hits + ahead + n->pages_missed - from->pages_missed;

	fprintf(out,
		"{\"believed\": %s, \"hit_rate\": %.5f, \"hit_rate_cached\": %.5f, \"pages\": "
		"%llu, "
		"\"read_mb\": %.3f, \"sent_mb\": %.3f, \"written_mb\": %.3f, \"saved_mb\": %.3f, "
		"\"cancelled_mb\": %.3f, \"blocked_s\": %.4f, \"evicted\": %llu, ",
		m->client.detector.believed ? "true" : "false", share(hits + ahead, all),
		share(hits, all), (unsigned long long)all,
		(double)(n->bytes[CALL_READ] - from->bytes[CALL_READ]) / 1e6,
		(double)(n->bytes[CALL_WRITE] - from->bytes[CALL_WRITE]) / 1e6,
		(double)(n->written - from->written) / 1e6, (double)(n->saved - from->saved) / 1e6,
		(double)(n->cancelled - from->cancelled) / 1e6,
		1e-9 * (double)(n->blocked_ns - from->blocked_ns),
		(unsigned long long)m->client.cache.evicted);
	first_blocked_json(run, n, out);
	calls_json(n, from, out);
	fprintf(out, ", ");
	times_json(&m->client.write_back, out);
	fprintf(out, ", ");
	history_json(run, m, out);
	fprintf(out, "}");
}

static void problems_json(const struct run *run, FILE *out)
{
	uint64_t wrong = 0, errors = 0;
	const char *first = "";

	for (uint64_t i = 0; i < run->o->clients; i++) {
		const struct client_counts *n = &run->members[i].client.n;

		wrong += n->wrong;
		if (n->errors && !errors)
			first = n->error;
		errors += n->errors;
	}
	fprintf(out, "\"wrong_words\": %llu, \"errors\": %llu, \"first_error\": \"%s\"",
		(unsigned long long)wrong, (unsigned long long)errors, first);
}

static void add_times(struct write_back_times *into, const struct write_back_times *from)
{
	into->pages += from->pages;
	for (unsigned int s = 0; s < WRITE_BACK_SECONDS; s++) {
		into->in_second[s] += from->in_second[s];
		into->kept[s] += from->kept[s];
	}
}

void report_json(const struct run *run, FILE *out)
{
	struct write_back_times all = {0};

	fprintf(out, "{\"seconds\": %.4f, ", seconds_counted(run));
	problems_json(run, out);
	fprintf(out, ", \"groups\": [");
	for (unsigned int i = 0; i < run->o->n_groups; i++) {
		fprintf(out, "%s", i ? ",\n " : "\n ");
		group_json(run, i, out);
	}
	fprintf(out, "],\n \"clients\": [");
	for (uint64_t i = 0; i < run->o->clients; i++) {
		fprintf(out, "%s", i ? ",\n " : "\n ");
		client_json(run, &run->members[i], out);
		add_times(&all, &run->members[i].client.write_back);
	}
	fprintf(out, "],\n ");
	times_json(&all, out);
	fprintf(out, "}\n");
}
