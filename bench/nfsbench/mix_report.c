/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What work mix found, as a table and as JSON. */
#include "mix_parts.h"
#include "report_parts.h"
#include "transport.h"

#include <errno.h>
#include <string.h>

static double rate(const struct mix_run *r)
{
	return r->seconds > 0 ? (double)r->total.count / r->seconds : 0;
}

static void table_row(const char *name, const struct latency *l)
{
	if (l->count)
		printf("%-8s %8llu  mean %.2f ms  p50 %.2f  p99 %.2f  max %.2f\n", name,
		       (unsigned long long)l->count, (double)l->sum / (double)l->count / 1e3,
		       latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.99) / 1e3,
		       l->max / 1e3);
}

static void table(const struct mix_run *r)
{
	printf("offered %llu calls/s (%s), answered %.1f\n",
	       (unsigned long long)r->options->offered, r->schedule.poisson ? "Poisson" : "even",
	       rate(r));
	for (int op = 0; op < MIX_OPS; op++)
		table_row(mix_op_name((enum mix_op)op), &r->latency[op]);
	table_row("all", &r->total);
	transport_table(&r->load);
	if (r->errors || r->mismatches || r->under_way)
		printf("FAILED: %llu errors, %llu answers with wrong bytes, %u not answered\n",
		       (unsigned long long)r->errors, (unsigned long long)r->mismatches,
		       r->under_way);
}

static void json(FILE *f, const struct mix_run *r)
{
	fprintf(f, "{\n  \"command\": ");
	json_string(f, r->options->command ? r->options->command : "nfsbench");
	fprintf(f,
		",\n  \"work\": \"mix\",\n  \"offered_s\": %llu,\n  \"poisson\": %s,\n"
		"  \"seconds\": %.6f,\n  \"answered_s\": %.4f,\n  \"issued\": %llu,\n"
		"  \"not_answered\": %u,\n  \"most_under_way\": %u,\n  \"issued_late_s\": %.6f,\n"
		"  \"errors\": %llu,\n  \"mismatches\": %llu,\n  \"complete\": %s,\n"
		"  \"problem\": ",
		(unsigned long long)r->options->offered, r->schedule.poisson ? "true" : "false",
		r->seconds, rate(r), (unsigned long long)r->issued, r->under_way, r->peak,
		r->latest_issue_s, (unsigned long long)r->errors, (unsigned long long)r->mismatches,
		r->under_way ? "false" : "true");
	json_string(f, r->load.problem);
	fprintf(f, ",\n");
	transport_json(f, &r->load);
	fprintf(f, "  \"ops\": {");
	for (int op = 0, some = 0; op < MIX_OPS; op++) {
		if (!r->latency[op].count)
			continue;
		fprintf(f, "%s\n    \"%s\": ", some++ ? "," : "", mix_op_name((enum mix_op)op));
		json_latency(f, &r->latency[op]);
	}
	fprintf(f, "\n  },\n  \"total\": ");
	json_latency(f, &r->total);
	fprintf(f, "\n}\n");
}

int mix_report(const struct mix_run *r)
{
	const char *path = r->options->json;
	bool is_stdout = path && strcmp(path, "-") == 0;
	FILE *f = is_stdout ? stdout : path ? fopen(path, "w") : NULL;
	int failed = 0;

	if (!r->options->quiet && !is_stdout)
		table(r);
	if (r->load.problem[0])
		fprintf(stderr, "nfsbench: %s\n", r->load.problem);
	if (!path)
		return 0;
	if (f) {
		json(f, r);
		failed = ferror(f) | (is_stdout ? fflush(f) : fclose(f));
	}
	if (!f || failed)
		fprintf(stderr, "nfsbench: cannot write %s: %s\n", path, strerror(errno));
	return !f || failed ? -1 : 0;
}
