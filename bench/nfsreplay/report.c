/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What came of a replay: by operation and by client, as a table and as JSON. */
#include "nfsbench/report_parts.h"
#include "replay.h"

#include <errno.h>
#include <string.h>

static void add(struct replay_figures *to, const struct replay_figures *f)
{
	to->count += f->count;
	to->errors += f->errors;
	to->mismatches += f->mismatches;
	to->unplayed += f->unplayed;
	to->bytes += f->bytes;
}

static struct replay_figures total(const struct replay *r)
{
	struct replay_figures all = {0};

	for (int k = 0; k < TRACE_KINDS; k++)
		add(&all, &r->kinds[k]);
	return all;
}

static bool complete(const struct replay *r)
{
	return !r->failed && !r->schedule.left;
}

bool replay_good(const struct replay *r)
{
	const struct replay_figures all = total(r);

	return !r->failed && !r->problem[0] && !all.errors && !all.unplayed;
}

static double mean(const struct latency *l)
{
	return l->count ? (double)l->sum / (double)l->count / 1e3 : 0;
}

static void table_row(const char *name, const struct replay_figures *f,
		      const struct replay_times *t)
{
	const struct latency *l = &t->waited;

	printf("%-12s %8llu %6llu %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f\n", name,
	       (unsigned long long)f->count, (unsigned long long)f->errors + f->unplayed,
	       (double)f->bytes / 1e6, mean(l), latency_percentile(l, 0.5) / 1e3,
	       latency_percentile(l, 0.9) / 1e3, latency_percentile(l, 0.99) / 1e3, l->max / 1e3,
	       latency_percentile(&t->late, 0.99) / 1e3);
}

static double recorded_seconds(const struct replay *r)
{
	return 1e-6 * (double)r->trace->ops[r->trace->op_count - 1].at;
}

void replay_table(const struct replay *r)
{
	struct replay_figures all = total(r);
	struct replay_times times = {0};

	printf("%-12s %8s %6s %9s %9s %9s %9s %9s %9s %9s\n", "operation", "answers", "errors",
	       "MB", "mean ms", "p50", "p90", "p99", "max", "late p99");
	for (int k = 0; k < TRACE_KINDS; k++) {
		if (r->kinds[k].count || r->kinds[k].unplayed)
			table_row(trace_kind_name((enum trace_kind)k), &r->kinds[k], &r->times[k]);
		replay_times_merge(&times, &r->times[k]);
	}
	table_row("all", &all, &times);
	printf("%u clients, %.2f s of trace in %.2f s, mean %.2f ms behind the schedule\n",
	       r->trace->client_count, recorded_seconds(r), 1e-9 * (double)r->last_answer,
	       mean(&times.late));
	if (!replay_good(r) || !complete(r))
		printf("%s: %llu errors, %llu answers with wrong bytes, %llu not sent, %u left\n",
		       replay_good(r) ? "NOT COMPLETE" : "FAILED", (unsigned long long)all.errors,
		       (unsigned long long)all.mismatches, (unsigned long long)all.unplayed,
		       r->schedule.left);
	else
		printf("no errors%s\n", r->options->verify ? ", every byte read compared" : "");
}

static void json_figures(FILE *f, const struct replay_figures *g)
{
	fprintf(f,
		"\"count\": %llu, \"errors\": %llu, \"mismatches\": %llu, \"unplayed\": %llu, "
		"\"bytes\": %llu",
		(unsigned long long)g->count, (unsigned long long)g->errors,
		(unsigned long long)g->mismatches, (unsigned long long)g->unplayed,
		(unsigned long long)g->bytes);
}

static void json_row(FILE *f, const struct replay_figures *g, const struct replay_times *t)
{
	fprintf(f, "{");
	json_figures(f, g);
	fprintf(f, ", \"latency_ms\": ");
	json_latency(f, &t->latency);
	fprintf(f, ", \"late_ms\": ");
	json_latency(f, &t->late);
	fprintf(f, ", \"waited_ms\": ");
	json_latency(f, &t->waited);
	fprintf(f, "}");
}

static void json_by_operation(FILE *f, const struct replay *r)
{
	struct replay_figures all = total(r);
	struct replay_times times = {0};
	const char *comma = "";

	fprintf(f, "  \"operations\": {");
	for (int k = 0; k < TRACE_KINDS; k++) {
		replay_times_merge(&times, &r->times[k]);
		if (!r->kinds[k].count && !r->kinds[k].unplayed)
			continue;
		fprintf(f, "%s\n    \"%s\": ", comma, trace_kind_name((enum trace_kind)k));
		json_row(f, &r->kinds[k], &r->times[k]);
		comma = ",";
	}
	fprintf(f, "\n  },\n  \"total\": ");
	json_row(f, &all, &times);
	fprintf(f, ",\n");
}

static void json_by_client(FILE *f, const struct replay *r)
{
	fprintf(f, "  \"clients\": {");
	for (uint32_t c = 0; c < r->trace->client_count; c++) {
		fprintf(f, "%s\n    \"%s\": ", c ? "," : "", r->trace->clients[c].name);
		json_row(f, &r->clients[c], &r->of_client[c]);
	}
	fprintf(f, "\n  }\n");
}

static void json_all(FILE *f, const struct replay *r)
{
	static const char *const paces[] = {"recorded", "think", "fast"};
	const struct replay_options *o = r->options;

	fprintf(f, "{\n  \"command\": ");
	json_string(f, o->command ? o->command : "nfsreplay");
	fprintf(f, ",\n  \"trace\": ");
	json_string(f, o->trace);
	fprintf(f,
		",\n  \"units\": \"seconds; latencies, how late requests were sent, and both: in "
		"milliseconds\",\n  \"pace\": \"%s\",\n  \"speed\": %g,\n  \"recorded_s\": %.6f,\n "
		" "
		"\"elapsed_s\": %.6f,\n  \"verified\": %s,\n  \"complete\": %s,\n  \"problem\": ",
		paces[o->pace], o->speed, recorded_seconds(r), 1e-9 * (double)r->last_answer,
		o->verify ? "true" : "false", complete(r) ? "true" : "false");
	json_string(f, r->problem);
	fprintf(f, ",\n");
	json_by_operation(f, r);
	json_by_client(f, r);
	fprintf(f, "}\n");
}

int replay_json(const struct replay *r, const char *path)
{
	const bool is_stdout = strcmp(path, "-") == 0;
	FILE *f = is_stdout ? stdout : fopen(path, "w");
	int failed;

	if (f) {
		json_all(f, r);
		failed = ferror(f);
		failed |= is_stdout ? fflush(f) : fclose(f);
		if (!failed)
			return 0;
	}
	fprintf(stderr, "nfsreplay: cannot write %s: %s\n", path, strerror(errno));
	return -1;
}
