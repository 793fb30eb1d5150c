/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The results of work clients: each group's figures over its steady interval. */
#include "report_parts.h"

/* What the slowest and the fastest of a group's flows got in the interval. */
static void flow_extremes(const struct load *load, unsigned int group, uint64_t *least,
			  uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (unsigned int i = 0; i < load->flow_count; i++) {
		const struct flow *f = &load->flows[i];

		if (f->group != group)
			continue;
		if (f->steady_bytes < *least)
			*least = f->steady_bytes;
		if (f->steady_bytes > *most)
			*most = f->steady_bytes;
	}
}

static unsigned int commits_of(const struct load *load, unsigned int group)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < load->flow_count; i++)
		n += load->flows[i].group == group ? load->flows[i].commits : 0;
	return n;
}

static double per_second(double amount, const struct steady *s)
{
	double seconds = steady_seconds(s);

	return seconds > 0 ? amount / seconds : 0;
}

void table_clients(const struct load *load)
{
	for (unsigned int i = 0; i < load->group_count && load->groups[i].spec; i++) {
		const struct group *g = &load->groups[i];
		const struct steady *s = &g->steady;
		const struct latency *l = &s->latency;

		printf("%-12s %-15s from %.2f to %.2f s: %8.2f MB/s  %8.1f requests/s  latency ms: "
		       "p50 %.2f  p99 %.2f  max %.2f\n",
		       g->name, g->spec->from ? g->spec->from : "", s->from, s->to,
		       per_second((double)s->bytes / 1e6, s), per_second((double)s->requests, s),
		       latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.99) / 1e3,
		       l->max / 1e3);
	}
}

static void json_windows(FILE *f, const struct steady *s)
{
	fprintf(f, "\"windows_mb\": [");
	for (unsigned int i = 0; i < steady_windows(s); i++)
		fprintf(f, "%s%.3f", i ? ", " : "", (double)s->window[i] / 1e6);
	fprintf(f, "], ");
}

static void json_client(FILE *f, const struct load *load, unsigned int index)
{
	const struct group *g = &load->groups[index];
	const struct steady *s = &g->steady;
	uint64_t least, most;

	flow_extremes(load, index, &least, &most);
	fprintf(f, "{\"name\": ");
	json_string(f, g->name);
	fprintf(f, ", \"from\": ");
	json_string(f, g->spec->from ? g->spec->from : "");
	fprintf(f,
		", \"flows\": %llu, \"from_s\": %.6f, \"to_s\": %.6f, \"bytes\": %llu, "
		"\"requests\": %llu, \"mb_s\": %.4f, \"requests_s\": %.3f, \"commits\": %u, "
		"\"flow_bytes_least\": %llu, \"flow_bytes_most\": %llu, ",
		(unsigned long long)g->spec->flows, s->from, s->to, (unsigned long long)s->bytes,
		(unsigned long long)s->requests, per_second((double)s->bytes / 1e6, s),
		per_second((double)s->requests, s), commits_of(load, index),
		(unsigned long long)least, (unsigned long long)most);
	json_windows(f, s);
	fprintf(f, "\"latency_ms\": ");
	json_latency(f, &s->latency);
	fprintf(f, "}");
}

void json_clients(FILE *f, const struct load *load)
{
	if (!load->groups[0].spec)
		return;
	fprintf(f, "  \"clients\": [");
	for (unsigned int i = 0; i < load->group_count; i++) {
		fprintf(f, "%s\n    ", i ? "," : "");
		json_client(f, load, i);
	}
	fprintf(f, "\n  ],\n");
}
