/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The results of a load, as a table and as JSON. Throughput is in 10^6 bytes a second. */
#include "report_parts.h"
#include "transport.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a group of flows did together. */
struct summary {
	unsigned int flows;
	uint64_t bytes, requests, errors, mismatches;
	uint64_t files; /* of work ends: read to the last piece */
	double first_end, last_end, acknowledged, committed; /* seconds */
	uint64_t beside, beside_bytes;
	double mb_s, requests_s, files_s;
	double beside_s, beside_mb_s; /* the same two while the main group ran */
	double slowest_fastest;	      /* ratio of the flows' times, 1 is fair; 0 when unknown */
};

static void add_flow(struct summary *s, const struct flow *f)
{
	s->flows++;
	s->bytes += f->bytes;
	s->requests += f->requests;
	if (f->pieces)
		s->files += f->requests / (1 + f->pieces->count);
	s->beside += f->beside;
	s->beside_bytes += f->beside_bytes;
	s->errors += f->errors;
	s->mismatches += f->mismatches;
	if (s->flows == 1 || f->end < s->first_end)
		s->first_end = f->end;
	if (f->end > s->last_end)
		s->last_end = f->end;
	if (f->acknowledged > s->acknowledged)
		s->acknowledged = f->acknowledged;
	if (f->committed > s->committed)
		s->committed = f->committed;
}

/* What they did while the main group ran; who was done before it is measured until then. */
static void rate_beside(struct summary *s, double main_end)
{
	double seconds = s->last_end < main_end ? s->last_end : main_end;

	if (seconds > 0) {
		s->beside_s = (double)s->beside / seconds;
		s->beside_mb_s = (double)s->beside_bytes / 1e6 / seconds;
	}
}

/* The group's figures, or of all flows if group is negative. */
static struct summary summarise(const struct load *load, int group)
{
	struct summary s = {0};

	for (unsigned int i = 0; i < load->flow_count; i++) {
		if (group < 0 || load->flows[i].group == (unsigned int)group)
			add_flow(&s, &load->flows[i]);
	}
	if (s.last_end > 0) {
		s.mb_s = (double)s.bytes / 1e6 / s.last_end;
		s.requests_s = (double)s.requests / s.last_end;
		s.files_s = (double)s.files / s.last_end;
	}
	rate_beside(&s, load->main_end);
	if (s.first_end > 0)
		s.slowest_fastest = s.last_end / s.first_end;
	return s;
}

static void table_beside(const struct load *load, unsigned int index, const struct summary *s)
{
	const struct latency *l = &load->groups[index].beside;

	printf("%-8s      while the %s ran (%.2f s): %.2f MB/s, %.1f requests/s, p50 %.2f ms, "
	       "p99 %.2f ms\n",
	       "", load->groups[load->main_group].name, load->main_end, s->beside_mb_s, s->beside_s,
	       latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.99) / 1e3);
}

static void table_group(const struct load *load, unsigned int index)
{
	const struct group *g = &load->groups[index];
	const struct latency *l = &g->latency;
	struct summary s = summarise(load, (int)index);

	printf("%-8s %3u  %8.2f MB/s  %8.1f requests/s  first/last done %.2f/%.2f s (ratio %.2f)\n",
	       g->name, s.flows, s.mb_s, s.requests_s, s.first_end, s.last_end, s.slowest_fastest);
	if (s.files)
		printf("%-8s      %llu files, %.1f files/s\n", "", (unsigned long long)s.files,
		       s.files_s);
	if (s.acknowledged > 0)
		printf("%-8s      last WRITE acknowledged at %.2f s", "", s.acknowledged);
	if (s.committed > 0)
		printf(", COMMIT answered at %.2f s", s.committed);
	if (s.acknowledged > 0)
		putchar('\n');
	if (index != load->main_group)
		table_beside(load, index, &s);
	printf("%-8s      latency ms: p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  max %.2f\n", "",
	       latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.9) / 1e3,
	       latency_percentile(l, 0.99) / 1e3, latency_percentile(l, 0.999) / 1e3, l->max / 1e3);
}

static bool reads(const struct load *load)
{
	for (unsigned int i = 0; i < load->flow_count; i++) {
		if (load->flows[i].op == FLOW_READ)
			return true;
	}
	return false;
}

void report_table(const struct load *load)
{
	uint64_t errors = load_errors(load), mismatches = load_mismatches(load);

	for (unsigned int i = 0; i < load->group_count && !load->groups[0].spec; i++)
		table_group(load, i);
	table_clients(load);
	transport_table(load);
	if (errors || mismatches)
		printf("FAILED: %llu errors, %llu answers with wrong bytes\n",
		       (unsigned long long)errors, (unsigned long long)mismatches);
	else
		printf("%s\n", !reads(load)	       ? "no errors"
			       : load->options->verify ? "no errors, every byte read compared"
						       : "no errors, bytes not compared");
}

static void json_summary(FILE *f, const struct summary *s, const struct latency *l)
{
	fprintf(f,
		"\"flows\": %u, \"bytes\": %llu, \"requests\": %llu, \"mb_s\": %.4f, "
		"\"requests_s\": %.3f, \"files_s\": %.3f, \"beside_requests_s\": %.3f, "
		"\"first_end_s\": %.6f, "
		"\"last_end_s\": %.6f, "
		"\"slowest_fastest\": %.4f, \"acknowledged_s\": %.6f, \"committed_s\": %.6f, "
		"\"beside_mb_s\": %.4f, \"errors\": %llu, \"mismatches\": %llu, "
		"\"latency_ms\": ",
		s->flows, (unsigned long long)s->bytes, (unsigned long long)s->requests, s->mb_s,
		s->requests_s, s->files_s, s->beside_s, s->first_end, s->last_end,
		s->slowest_fastest, s->acknowledged, s->committed, s->beside_mb_s,
		(unsigned long long)s->errors, (unsigned long long)s->mismatches);
	json_latency(f, l);
}

static void json_groups(FILE *f, const struct load *load)
{
	fprintf(f, "  \"groups\": {");
	for (unsigned int i = 0; i < load->group_count; i++) {
		struct summary s = summarise(load, (int)i);

		fprintf(f, "%s\n    ", i ? "," : "");
		json_string(f, load->groups[i].name);
		fprintf(f, ": {");
		json_summary(f, &s, &load->groups[i].latency);
		fprintf(f, ", \"beside_latency_ms\": ");
		json_latency(f, &load->groups[i].beside);
		fprintf(f, "}");
	}
	fprintf(f, "\n  },\n");
}

static void json_flows(FILE *f, const struct load *load)
{
	fprintf(f, "  \"readers\": [");
	for (unsigned int i = 0; i < load->flow_count; i++) {
		const struct flow *w = &load->flows[i];

		fprintf(f,
			"%s\n    {\"group\": \"%s\", \"file\": \"%c%04u\", \"bytes\": %llu, "
			"\"requests\": %llu, \"first_answer_s\": %.6f, \"end_s\": %.6f, "
			"\"acknowledged_s\": %.6f, \"committed_s\": %.6f, \"max_ms\": %.3f, "
			"\"errors\": %llu, \"mismatches\": %llu}",
			i ? "," : "", load->groups[w->group].name, w->creates ? 'w' : 'f', w->file,
			(unsigned long long)w->bytes, (unsigned long long)w->requests, w->first,
			w->end, w->acknowledged, w->committed, (double)w->max_us / 1e3,
			(unsigned long long)w->errors, (unsigned long long)w->mismatches);
	}
	fprintf(f, "\n  ]\n");
}

static void json_all(FILE *f, const struct load *load)
{
	struct latency all = {0};
	struct summary s = summarise(load, -1);

	for (unsigned int i = 0; i < load->group_count; i++)
		latency_merge(&all, &load->groups[i].latency);
	fprintf(f, "{\n  \"command\": ");
	json_string(f, load->options->command ? load->options->command : "nfsbench");
	fprintf(f,
		",\n  \"work\": \"%s\",\n  \"units\": \"mb_s is 10^6 bytes a second; times in "
		"seconds since began_s, of CLOCK_MONOTONIC; latencies in milliseconds; beside: "
		"while the %s ran\",\n",
		load->options->work_name, load->groups[load->main_group].name);
	fprintf(f, "  \"began_s\": %.6f,\n  \"elapsed_s\": %.6f,\n  \"main_end_s\": %.6f,\n",
		1e-9 * (double)load->began, load->elapsed, load->main_end);
	fprintf(f, "  \"verified\": %s,\n  \"problem\": ",
		load->options->verify && reads(load) ? "true" : "false");
	json_string(f, load->problem);
	fprintf(f, ",\n  \"complete\": %s,\n  \"total\": {", load->timed_out ? "false" : "true");
	json_summary(f, &s, &all);
	fprintf(f, "},\n");
	transport_json(f, load);
	json_clients(f, load);
	json_groups(f, load);
	json_flows(f, load);
	fprintf(f, "}\n");
}

int report_json(const struct load *load, const char *path)
{
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *f = is_stdout ? stdout : fopen(path, "w");
	int failed;

	if (!f) {
		fprintf(stderr, "nfsbench: cannot write %s: %s\n", path, strerror(errno));
		return -1;
	}
	json_all(f, load);
	failed = ferror(f);
	if (is_stdout)
		failed |= fflush(f);
	else
		failed |= fclose(f);
	if (failed)
		fprintf(stderr, "nfsbench: cannot write %s: %s\n", path, strerror(errno));
	return failed ? -1 : 0;
}
